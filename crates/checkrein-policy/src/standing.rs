//! Standing answers: what a person said yes or no to earlier in a session, and how far it reaches.
//!
//! A yes covers the same tool and words, in the same folder and environment, over the same file contents. It never covers a
//! *deny*, an *ask* of the organisation, or an effect that was no part of what was shown. A no covers as much, and denies.

use std::collections::BTreeMap;

use checkrein_contract::{
    Call, Code, Connect, Decision, Effect, Facts, Foreseen, Layer, Place, Question, Run, Verdict, Winner,
};
use serde::Deserialize;

use crate::{Policy, Scene, decide, paths, shell};

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Standing {
    /// The tool it was given for.
    pub tool: String,
    /// The command line.
    pub command: Option<String>,
    /// The path.
    pub path: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The MCP server.
    pub server: Option<String>,
    /// The server's tool.
    pub name: Option<String>,
    /// How much more than exactly this it covers.
    #[serde(rename = "match")]
    pub reach: Reach,
    /// The folder the command was for; the session's own where absent.
    pub cwd: Option<String>,
    /// How long it holds; anything but `session` is over.
    pub scope: Option<String>,
    /// What the files it ran held, by path.
    pub files: BTreeMap<String, String>,
    /// Taken back.
    pub revoked: bool,
    /// Used up.
    pub used: bool,
    /// Uses that are left.
    pub uses_left: Option<u32>,
    /// Who passed it on. A yes counts from the person alone.
    pub from: Option<String>,
}

/// How much more than exactly the same an answer covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// These words, or this path.
    #[default]
    Exact,
    /// Commands that begin with these words.
    Prefix,
    /// Paths below this one.
    Folder,
}

/// Answers of a session.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// What was agreed to.
    pub yes: Vec<Standing>,
    /// What was refused.
    pub no: Vec<Standing>,
}

/// Decides like [`decide`], with what was answered before.
pub fn decide_after(
    policy: &Policy,
    call: &Call,
    foreseen: &Foreseen,
    scene: Scene<'_>,
    answers: &Answers,
) -> Decision {
    let mut decision = decide::by_rules(policy, foreseen, scene.facts);
    let refused = answers.no.iter().any(|no| !no.covered(call, foreseen, scene, &decision).is_empty());
    if refused {
        let reason = "this was refused earlier in the session".to_owned();
        return Decision { verdict: Verdict::Deny, code: Code::DeniedByPerson, reason, ..decision };
    }
    if decision.verdict == Verdict::Ask {
        let mut open: Vec<usize> = (0..decision.trace.len())
            .filter(|at| decision.trace.get(*at).is_some_and(|step| step.decision == Verdict::Ask))
            .collect();
        for yes in answers.yes.iter().filter(|yes| yes.stands(scene.facts)) {
            let covered = yes.covered(call, foreseen, scene, &decision);
            open.retain(|at| !covered.contains(at));
        }
        if open.is_empty() {
            let reason = "this was agreed to earlier in the session".to_owned();
            decision = Decision { verdict: Verdict::Allow, code: Code::Allowed, reason, ..decision };
        }
    }
    decide::unattended(policy, decision)
}

impl Standing {
    /// Whether it still holds at all.
    fn stands(&self, facts: &Facts) -> bool {
        let own = self.from.as_deref().is_none_or(|from| matches!(from, "person" | "user"));
        let lasting = self.scope.as_deref().is_none_or(|scope| scope == "session");
        let same = self.files.iter().all(|(path, digest)| {
            let question = |path: &str| Question::Digest { path: path.to_owned() };
            let now = facts.text(&question(path));
            now == Some(digest.as_str())
        });
        own && lasting && same && !self.revoked && !self.used && self.uses_left != Some(0)
    }

    /// The effects it covers, by their place in the trace.
    fn covered(&self, call: &Call, foreseen: &Foreseen, scene: Scene<'_>, decision: &Decision) -> Vec<usize> {
        if self.tool != call.tool && !(self.tool == "mcp" && call.server.is_some()) {
            return Vec::new();
        }
        let mut covered = match (&self.command, &self.path, &self.host, &self.server) {
            (Some(command), ..) => self.command(command, foreseen, scene),
            (_, Some(path), ..) => each(foreseen, |effect| self.covers_path(path, effect, scene)),
            (.., Some(host), _) => each(foreseen, |effect| covers_host(host, effect)),
            (.., Some(server)) => each(foreseen, |effect| self.covers_tool(server, call, effect, scene)),
            _ => Vec::new(),
        };
        covered.retain(|at| decision.trace.get(*at).is_some_and(|step| !is_firm(&step.winner)));
        covered
    }

    fn command(&self, command: &str, foreseen: &Foreseen, scene: Scene<'_>) -> Vec<usize> {
        let cwd = self.cwd.clone().unwrap_or_else(|| scene.place.cwd.clone());
        let place = Place { cwd, ..scene.place.clone() };
        let shown = shell::foresee(command, Scene { place: &place, ..scene });
        match self.reach {
            Reach::Exact => exactly(&parts(&shown), foreseen),
            Reach::Prefix | Reach::Folder => beginning(&shown, foreseen, &place.cwd),
        }
    }

    /// A tool that was agreed to works in the project; what it touches elsewhere was no part of that.
    fn covers_tool(&self, server: &str, call: &Call, effect: &Effect, scene: Scene<'_>) -> bool {
        let same = call.server.as_deref() == Some(server) && self.name.as_ref() == Some(&call.tool);
        if !same || !is_agreed(server, &call.tool, scene.facts) {
            return false;
        }
        match effect {
            Effect::Tool { .. } => true,
            _ => effect.path().is_some_and(|written| {
                let real = scene.facts.real_path(written);
                let inside = |path: &str| paths::is_within(path, &scene.place.root);
                inside(written) && real.is_some_and(inside)
            }),
        }
    }

    fn covers_path(&self, path: &str, effect: &Effect, scene: Scene<'_>) -> bool {
        let place = Place { cwd: scene.place.root.clone(), ..scene.place.clone() };
        let agreed = paths::absolute(path, &place);
        let Some(written) = effect.path().filter(|_| !effect.is_glob()) else { return false };
        let real = scene.facts.real_path(written);
        [Some(written), real].into_iter().all(|path| match (path, self.reach) {
            (Some(path), Reach::Folder) => paths::is_within(path, &agreed),
            (Some(path), Reach::Exact | Reach::Prefix) => path == agreed,
            (None, _) => false,
        })
    }
}

/// What no answer of a person reaches: the organisation's own *ask*, and what an *allow* rests on.
fn is_firm(winner: &Winner) -> bool {
    match winner {
        Winner::Rule(rule) => matches!(rule.layer, Layer::Floor | Layer::Managed),
        Winner::RestsOn { .. } => true,
        _ => false,
    }
}

/// A yes was for the tool as it was then.
fn is_agreed(server: &str, tool: &str, facts: &Facts) -> bool {
    facts.text(&Question::Definition { server: server.to_owned(), tool: tool.to_owned() }) == Some("approved")
}

fn each(foreseen: &Foreseen, covers: impl Fn(&Effect) -> bool) -> Vec<usize> {
    foreseen.effects.iter().enumerate().filter(|(_, effect)| covers(effect)).map(|(at, _)| at).collect()
}

/// A plain read of that host: an address that asks for another reason still asks.
fn covers_host(host: &str, effect: &Effect) -> bool {
    let Effect::Connect(Connect { host: to, port, scheme, method, user_info, .. }) = effect else { return false };
    to == &host.to_ascii_lowercase()
        && scheme.as_deref() == Some("https")
        && *port == 443
        && method.as_deref().is_none_or(|method| matches!(method, "GET" | "HEAD"))
        && !user_info
}

/// The effects of each simple command, in order.
fn parts(foreseen: &Foreseen) -> Vec<Vec<&Effect>> {
    let mut parts: Vec<(u32, Vec<&Effect>)> = Vec::new();
    for (index, effect) in foreseen.effects.iter().enumerate() {
        let part = foreseen.parts.get(index).copied().unwrap_or(0);
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, effects)) => effects.push(effect),
            None => parts.push((part, vec![effect])),
        }
    }
    parts.into_iter().map(|(_, effects)| effects).collect()
}

/// The commands that were agreed to, one after the other and all of them.
fn exactly(shown: &[Vec<&Effect>], foreseen: &Foreseen) -> Vec<usize> {
    let now = parts(foreseen);
    let mut covered = Vec::new();
    if shown.is_empty() {
        return covered;
    }
    for window in now.windows(shown.len()) {
        if window == shown {
            let effects: Vec<&&Effect> = window.iter().flatten().collect();
            covered.extend(each(foreseen, |effect| effects.iter().any(|known| std::ptr::eq(**known, effect))));
        }
    }
    covered
}

/// Commands that begin with the words agreed to. What they write, delete or connect to beyond what was shown is not covered.
fn beginning(shown: &Foreseen, foreseen: &Foreseen, cwd: &str) -> Vec<usize> {
    let agreed = shown.effects.iter().find_map(|effect| match effect {
        Effect::Run(run) => Some(run),
        _ => None,
    });
    let Some(agreed) = agreed else { return Vec::new() };
    let begins = |run: &Run| run.argv.starts_with(&agreed.argv) && run.env == agreed.env && run.folder == cwd;
    each(foreseen, |effect| match effect {
        Effect::Run(run) => begins(run),
        other => shown.effects.contains(other),
    })
}
