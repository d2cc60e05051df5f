//! The recorded calls, made commands, and the six policies as texts that can be changed. Part of what shows
//! R1, R2, R4, R8, R12-R14.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::LazyLock;

use checkrein_contract::{Decision, Facts, Foreseen, Identity, Layer, PolicySource, Question, Verdict};
use checkrein_policy::fixtures::{self, Fixture, World};
use checkrein_policy::{Manifest, Models, Policy, Scene, Variables, decide, foresee_until_known};
use checkrein_toml::Source;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::support;

/// The six policies.
pub(crate) const POLICIES: [&str; 6] = ["allow-git-npm", "auto-edit", "dev", "mcp-mixed", "strict-ci", "web"];

/// What is recorded.
pub(crate) struct Recorded {
    pub(crate) world: World,
    /// Calls of every tool that nobody answered before: what a person said is about those very words.
    pub(crate) all: Vec<Fixture>,
    /// Those of them that are command lines.
    pub(crate) commands: Vec<Fixture>,
    tools: Vec<Manifest>,
    policies: BTreeMap<String, Vec<PolicySource>>,
}

pub(crate) static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let source = Source { file: "cases.jsonl", text: include_str!("../decisions/cases.jsonl") };
    let fixtures = fixtures::read(source).expect("the fixtures load");
    let judge = support::judge(fixtures.world.clone());
    let bare = |fixture: &Fixture| {
        let ctx = &fixture.ctx;
        ctx.approvals.is_empty() && ctx.denials.is_empty() && ctx.hook.is_none() && ctx.managed_ask.is_empty()
    };
    let all: Vec<Fixture> = fixtures.all.into_iter().filter(|it| bare(it) && it.ctx.redirects.is_empty()).collect();
    let commands = all.iter().filter(|fixture| fixture.tool.as_deref() == Some("bash")).cloned().collect();
    Recorded { world: fixtures.world, all, commands, tools: judge.tools, policies: judge.policies }
});

/// The text of a recorded command.
pub(crate) fn command(fixture: &Fixture) -> &str {
    fixture.call.get("command").and_then(|command| command.as_str()).unwrap_or_default()
}

/// The same call with another command.
pub(crate) fn with_command(fixture: &Fixture, command: &str) -> Fixture {
    let mut other = fixture.clone();
    other.call.insert("command".to_owned(), json!(command));
    other
}

/// A call in the plain world.
pub(crate) fn made(policy: &str, command: &str) -> Fixture {
    let call =
        json!({"note": "made", "tool": "bash", "call": {"command": command}, "policy": policy, "expected": "ask"});
    serde_json::from_value(call).expect("it is a fixture")
}

/// The text of a policy.
pub(crate) fn text(policy: &str) -> &'static str {
    let sources = RECORDED.policies.get(policy).expect("its policy is there");
    &sources.first().expect("it has a file").text
}

/// The files of a policy, by its name.
type Sources = Box<dyn Fn(&str) -> Vec<PolicySource>>;

/// Judges by policies of one's own making, each loaded once for each place.
pub(crate) struct Judge {
    sources: Sources,
    loaded: BTreeMap<(String, String), Rc<Policy>>,
}

/// A policy file of a project.
pub(crate) fn project(text: String) -> PolicySource {
    PolicySource { layer: Layer::Project, file: "policy.toml".to_owned(), text, only_tightens: false }
}

impl Judge {
    /// By the six policies as they are.
    pub(crate) fn plain() -> Self {
        Self::by(|name| vec![project(text(name).to_owned())])
    }

    pub(crate) fn by(sources: impl Fn(&str) -> Vec<PolicySource> + 'static) -> Self {
        Self { sources: Box::new(sources), loaded: BTreeMap::new() }
    }

    fn policy(&mut self, fixture: &Fixture) -> Rc<Policy> {
        let place = fixture.ctx.place(&RECORDED.world);
        let name = fixture.policy.clone().unwrap_or_default();
        let key = (name.clone(), place.root.clone());
        let sources = &self.sources;
        let load = || {
            let variables = Variables::new(&place, &Identity::default());
            Rc::new(Policy::load(&sources(&name), &variables).expect("the policy loads"))
        };
        Rc::clone(self.loaded.entry(key).or_insert_with(load))
    }

    pub(crate) fn decision(&mut self, fixture: &Fixture) -> Decision {
        self.known(fixture, |_| false).0
    }

    pub(crate) fn verdict(&mut self, fixture: &Fixture) -> Verdict {
        self.decision(fixture).verdict
    }

    /// Judged with these questions left open; with what was found out.
    pub(crate) fn known(&mut self, fixture: &Fixture, open: impl Fn(&Question) -> bool) -> (Decision, Facts) {
        let policy = self.policy(fixture);
        let (ctx, world) = (&fixture.ctx, &RECORDED.world);
        let place = ctx.place(world);
        let call = fixture.call();
        let foresee = |facts: &Facts| -> Foreseen {
            fixtures::foresee(&call, &RECORDED.tools, Scene { place: &place, facts, models: Models::built_in() })
        };
        let answer = |question: &Question| {
            if open(question) { None } else { ctx.answer(question, &place, world) }
        };
        let (foreseen, facts) = foresee_until_known(&policy, foresee, answer);
        (decide(&policy, &foreseen, &facts), facts)
    }
}

/// A recorded command line.
pub(crate) fn recorded() -> impl Strategy<Value = Fixture> {
    select(RECORDED.commands.as_slice())
}

/// A recorded command line, or one made from the examples of the command models or from what rules are about.
pub(crate) fn commands() -> impl Strategy<Value = Fixture> {
    let example = select(EXAMPLES.as_slice()).prop_map(str::to_owned);
    let made = (select(POLICIES.as_slice()), prop_oneof![simple(), example]);
    prop_oneof![recorded(), made.prop_map(|(policy, text)| made_of(policy, &text))]
}

fn made_of(policy: &str, text: &str) -> Fixture {
    made(policy, &text.replace("\\n", "\n"))
}

/// The commands beside the command models.
static EXAMPLES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let texts = [
        include_str!("../commands/archive.txt"),
        include_str!("../commands/coreutils.txt"),
        include_str!("../commands/git.txt"),
        include_str!("../commands/network.txt"),
        include_str!("../commands/system.txt"),
        include_str!("../commands/text.txt"),
    ];
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.rsplit_once(" =>")).map(|(command, _)| command).collect()
});

/// A simple command that some rule is about, or that none is.
fn simple() -> impl Strategy<Value = String> {
    let programs = prop_oneof![
        Just("rm -rf"),
        Just("rm -r -f"),
        Just("rm --force --recursive"),
        Just("rm"),
        Just("cat"),
        Just("head -n 3"),
        Just("cp"),
        Just("mv"),
        Just("tee"),
        Just("touch"),
        Just("chmod 777"),
        Just("sudo cat"),
        Just("mkfs.ext4"),
        Just("dd if=/dev/zero of=x"),
        Just("curl -s"),
        Just("wget"),
        Just("git push --force origin"),
        Just("git push -f"),
        Just("git push origin"),
        Just("git reset --hard"),
        Just("git add"),
        Just("git log"),
        Just("npm publish"),
        Just("npm test"),
        Just("make"),
        Just("python3"),
        Just("node"),
        Just("find"),
        Just("grep -r x"),
        Just("sed -i s/a/b/"),
        Just("tar -xf"),
        Just("ln -s /etc/passwd"),
        Just("checkrein approvals approve"),
        Just("reboot"),
        Just("unheard-of"),
        Just("cargo build"),
        Just("sort -o"),
        Just("ls"),
        Just("echo"),
        Just("kubectl delete pod"),
        Just("docker run"),
    ];
    let operands = prop_oneof![
        Just(""),
        Just("."),
        Just("src"),
        Just("notes.txt"),
        Just(".env"),
        Just("/etc/passwd"),
        Just("/"),
        Just("/tmp/x"),
        Just(".git/config"),
        Just(".agent/permissions.toml"),
        Just("main"),
        Just("--version"),
        Just("-o /etc/cron.d/x"),
        Just("https://collector.example/a"),
        Just("/home/dev/.ssh/id_rsa"),
        Just("../other"),
        Just("--"),
        Just("a b c"),
    ];
    (programs, operands).prop_map(|(program, operand)| format!("{program} {operand}").trim_end().to_owned())
}
