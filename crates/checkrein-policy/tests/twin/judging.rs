//! What the layers say together, and what stands above the rules: the twin of `decide`. Part of what shows R1,
//! R2, R11, R12.

use std::net::IpAddr;

use checkrein_contract::{Effect, Facts, Finding, Foreseen, Layer, Question, Run, Tree, Verdict};

use crate::description::{File, Kind, Rule};
use crate::rules::{Covered, covers};

/// How one effect is judged, and by what: a rule's id, or a word for what is no rule.
pub(crate) type Step = (Verdict, String);

/// The verdict over all effects, and of each of them.
pub(crate) fn decide(files: &[File], foreseen: &Foreseen, facts: &Facts) -> (Verdict, Vec<Step>) {
    if foreseen.effects.is_empty() {
        return (Verdict::Allow, vec![(Verdict::Allow, "no effect".to_owned())]);
    }
    let steps: Vec<Step> = foreseen.effects.iter().map(|effect| judge(files, effect, facts)).collect();
    let strictest = steps.iter().map(|(verdict, _)| *verdict).max().expect("there are effects");
    let nobody = files.iter().any(|file| file.on_ask_deny);
    (if strictest == Verdict::Ask && nobody { Verdict::Deny } else { strictest }, steps)
}

fn judge(files: &[File], effect: &Effect, facts: &Facts) -> Step {
    if matches!(effect, Effect::Write { incidental: true, .. }) {
        return (Verdict::Allow, "incidental".to_owned());
    }
    let (mut verdict, mut by) = by_layers(files, effect, facts);
    // What a program's own settings name goes with the program, unless a rule speaks of it.
    if by == "default" && matches!(effect, Effect::Connect(to) if to.own) {
        (verdict, by) = (Verdict::Allow, "own".to_owned());
    }
    if verdict == Verdict::Deny {
        return (verdict, by);
    }
    if !is_clear(files, effect, facts) {
        return (Verdict::Ask, "not understood".to_owned());
    }
    if verdict == Verdict::Allow && !is_founded(effect, facts) {
        return (Verdict::Ask, "rests on".to_owned());
    }
    (verdict, by)
}

/// A deny in any layer wins; else the strongest layer that is not silent decides, by its strictest rule.
fn by_layers(files: &[File], effect: &Effect, facts: &Facts) -> Step {
    let said: Vec<(Layer, Verdict, &Rule)> = Layer::ALL
        .into_iter()
        .flat_map(|layer| files.iter().filter(move |file| file.layer == layer))
        .flat_map(|file| file.rules.iter().map(move |rule| (file, rule)))
        .filter_map(|(file, rule)| {
            let verdict = says(rule, effect, facts)?;
            let counts = !(file.only_tightens && verdict == Verdict::Allow);
            counts.then_some((file.layer, verdict, rule))
        })
        .collect();
    if let Some((_, verdict, rule)) = said.iter().find(|(_, verdict, _)| *verdict == Verdict::Deny) {
        return (*verdict, rule.id.clone());
    }
    let Some((strongest, ..)) = said.first() else {
        let deny = files.iter().any(|file| file.default_deny);
        return (if deny { Verdict::Deny } else { Verdict::Ask }, "default".to_owned());
    };
    let own: Vec<_> = said.iter().filter(|(layer, ..)| layer == strongest).collect();
    let strictest = own.iter().map(|(_, verdict, _)| *verdict).max().expect("it said something");
    let (_, verdict, rule) = own.iter().find(|(_, verdict, _)| *verdict == strictest).expect("it is among them");
    (*verdict, rule.id.clone())
}

/// An allow counts where everything is covered; a deny also where a part is, and asks where it is only walked over.
fn says(rule: &Rule, effect: &Effect, facts: &Facts) -> Option<Verdict> {
    if rule.word != effect.word() {
        return None;
    }
    match covers(rule, effect, facts) {
        Covered::Broken => Some(Verdict::Deny),
        Covered::Nothing => None,
        Covered::Everything => Some(rule.verdict),
        Covered::Part => (rule.verdict != Verdict::Allow).then_some(rule.verdict),
        Covered::WalkedOver => (rule.verdict != Verdict::Allow).then_some(Verdict::Ask),
    }
}

/// Whether everything that must be known of an effect is.
fn is_clear(files: &[File], effect: &Effect, facts: &Facts) -> bool {
    let has_real_path = |path: &str| facts.real_path(path).is_some();
    let folding = |(question, answer): (&Question, Option<&Finding>)| {
        matches!(question, Question::CaseFolding { .. }) && answer.is_none()
    };
    if effect.path().is_some() && facts.iter().any(folding) {
        return false;
    }
    match effect {
        Effect::Connect(to) if to.scheme.as_deref() == Some("invalid") => false,
        Effect::Unknown { .. } => false,
        Effect::Read { path, glob: true } | Effect::List { path, glob: true, .. } => {
            facts.answer(&Question::Matches { pattern: path.clone() }).is_some()
        }
        Effect::Write { glob: true, .. } | Effect::Delete { glob: true, .. } | Effect::Metadata { glob: true, .. } => {
            true
        }
        Effect::Delete { path, recursive: true, .. } => {
            has_real_path(path) && held(&Tree { root: path.clone(), ..Tree::default() }, facts).is_some()
        }
        Effect::ReadTree(tree) => has_real_path(&tree.root) && (tree.asks_each || held(tree, facts).is_some()),
        Effect::Connect(to) => {
            let rules = files.iter().flat_map(|file| &file.rules);
            let asked =
                rules.into_iter().any(|rule| matches!(&rule.kind, Kind::Host(host) if host.addresses.is_some()));
            let question = Question::Addresses { host: to.host.clone() };
            !asked || to.host.parse::<IpAddr>().is_ok() || facts.answer(&question).is_some()
        }
        Effect::Run(_) | Effect::Tool { .. } => true,
        plain => plain.path().is_none_or(has_real_path),
    }
}

/// What a tree was found to hold.
pub(crate) fn held(tree: &Tree, facts: &Facts) -> Option<Vec<String>> {
    facts.iter().find_map(|(question, answer)| match (question, answer) {
        (Question::Holds { tree: asked, .. }, Some(Finding::List(files))) if asked == tree => Some(files.clone()),
        _ => None,
    })
}

/// Whether what an allow rests on holds.
fn is_founded(effect: &Effect, facts: &Facts) -> bool {
    match effect {
        Effect::Run(run) => is_run_founded(run, facts),
        Effect::Tool { tool, server: Some(server), .. } => {
            facts.text(&Question::Definition { server: server.clone(), tool: tool.clone() }) == Some("approved")
        }
        _ => true,
    }
}

fn is_run_founded(run: &Run, facts: &Facts) -> bool {
    run.rests_on.iter().all(|on| match on {
        Question::Changed { .. } => facts.text(on) == Some("unchanged"),
        Question::Kind { .. } => facts.text(on) == Some("none"),
        Question::GitHelpers { .. } => {
            facts.list(on).is_some_and(|names| names.iter().all(|name| name.starts_with("hook ")))
        }
        _ => false,
    })
}
