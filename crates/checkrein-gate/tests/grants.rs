//! What a grant lets those who carry a call out touch, and what of it has to be enforced before an *allow* stands.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use checkrein_contract::{BoxFuture, Code, Connect, Effect, Facts, Finding, Foreseen, Place, Question, Run, Verdict};
use checkrein_gate::{
    Approved, CommandSpec, Enforcement, FactSource, Failure, Registry, Rendered, RunContext, RunOutput, Sandbox,
    SandboxFailure, Tool, error_text,
};
use checkrein_testkit::{NoPrograms, World, Yes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const POLICY: &str = r#"
version = 1
[[rule]]
id = "run"
decision = "allow"
reason = "a test"
effect = "run"
program = ["./build", "fetch"]
[[rule]]
id = "host"
decision = "allow"
reason = "a test"
effect = "connect"
hosts = ["allowed.example"]
schemes = ["http", "https"]
[[rule]]
id = "named"
decision = "allow"
reason = "a test"
effect = "connect"
hosts = ["named.example"]
ports = [8080]
[[rule]]
id = "no-inner"
decision = "deny"
reason = "a test"
effect = "connect"
addresses = ["link-local"]
[[rule]]
id = "sources"
decision = "allow"
reason = "a test"
effect = "write"
paths = ["{root}/src/**"]
[[rule]]
id = "settings"
decision = "ask"
reason = "a test"
effect = "write"
paths = ["{root}/src/settings.toml", "**/*.key"]
"#;

/// Notes what the grant of its call says to a list of questions.
struct Probe(Arc<Mutex<Vec<String>>>);

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// It runs code that nobody has looked at.
    code: bool,
    /// It names a host.
    named: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Output {}

impl Tool for Probe {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "probe";
    const DESCRIPTION: &'static str = "Looks at its grant.";

    fn runs_programs(&self, _input: &Input) -> bool {
        true
    }

    fn effects(&self, input: &Input, _place: &Place, _facts: &Facts) -> Foreseen {
        let program = if input.code { "./build" } else { "fetch" }.to_owned();
        let argv = vec![program.clone()];
        let mut effects = vec![Effect::Run(Run { program, argv, modelled: !input.code, ..Run::default() })];
        if input.named {
            let to = Connect { host: "named.example".to_owned(), port: 8080, ..Connect::default() };
            effects.push(Effect::Connect(to));
        }
        Foreseen::of(effects)
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        _input: Input,
        _context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        let grant = approved.grant();
        let mut said = self.0.lock().unwrap();
        let public: IpAddr = "203.0.114.7".parse().unwrap();
        for (host, port, address) in [
            ("named.example", 8080, public),
            ("named.example", 80, public),
            ("allowed.example", 80, public),
            ("allowed.example", 443, "10.0.0.1".parse().unwrap()),
            ("allowed.example", 443, "169.254.169.254".parse().unwrap()),
            ("other.example", 443, public),
        ] {
            let answer = grant.may_connect(host, port, &[address]).map_or_else(|why| why, |()| "yes".to_owned());
            said.push(format!("{host}:{port} at {address}: {answer}"));
        }
        let root = &grant.place().root;
        let path = |name: &str| format!("{root}/{name}");
        said.push(format!("connects {}, runs code {}", grant.connects(), grant.runs_code()));
        said.push(format!(
            "rules let write src {} and notes {}",
            grant.rules_allow_writing(&path("src/a.rs")),
            grant.rules_allow_writing(&path("notes.txt"))
        ));
        said.push(format!(
            "kept from reading .env {} and src {}; kept from writing settings {} and notes {}",
            grant.is_kept_from_reading(&path(".env")),
            grant.is_kept_from_reading(&path("src/a.rs")),
            grant.is_kept_from_writing(&path("src/settings.toml")),
            grant.is_kept_from_writing(&path("notes.txt"))
        ));
        said.push(format!(
            "kept from coming key {} and key of a package {}",
            grant.is_kept_from_coming(&path("src/a.key")),
            grant.is_kept_from_coming(&path("node_modules/a/a.key"))
        ));
        Box::pin(async { Ok(Output {}) })
    }

    fn render(&self, _input: &Input, _output: &Output) -> Rendered {
        Rendered::whole("looked")
    }

    fn examples() -> Vec<Value> {
        vec![json!({"code": true, "named": false})]
    }
}

/// A sandbox that enforces so much and is never asked to run anything.
struct Enforces(Enforcement);

impl Sandbox for Enforces {
    fn enforcement(&self) -> Enforcement {
        self.0.clone()
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        command: CommandSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<RunOutput, SandboxFailure>> {
        NoPrograms { confines: false }.run(approved, command, cancel)
    }
}

/// Answers as a plain file system would, and says this of what a tree holds.
struct Holds(Option<Vec<String>>);

impl FactSource for Holds {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        let answer = match question {
            Question::RealPath { path } => Some(path.as_str().into()),
            Question::CaseFolding { .. } => Some("exact".into()),
            Question::Addresses { .. } => Some(Finding::List(vec!["203.0.114.7".to_owned()])),
            Question::Holds { .. } => self.0.clone().map(Finding::List),
            _ => None,
        };
        Box::pin(async move { answer })
    }
}

fn world(
    said: &Arc<Mutex<Vec<String>>>,
    (confines, hides, hosts): (bool, bool, bool),
    holds: Option<&[&str]>,
) -> World {
    let mut registry = Registry::new();
    registry.add(Probe(Arc::clone(said))).unwrap();
    let place =
        Place { root: "/p".to_owned(), cwd: "/p".to_owned(), home: "/home/user".to_owned(), ..Place::default() };
    let mut world = World::new(registry, POLICY, place);
    let words = "so much".to_owned();
    world.gate.sandbox = Arc::new(Enforces(Enforcement { confines, hides, hosts, words }));
    world.gate.facts = Arc::new(Holds(holds.map(|names| names.iter().map(|name| (*name).to_owned()).collect())));
    world
}

/// What cannot be enforced is asked about, and refused where the task demands it; what needs no enforcing is not.
#[tokio::test]
async fn what_can_not_be_enforced_is_not_allowed() {
    let none = Some(&[] as &[&str]);
    let (code, named) = (json!({"code": true, "named": false}), json!({"code": false, "named": true}));
    for (enforced, holds, args, expected) in [
        ((true, true, true), none, &code, ""),
        ((false, false, false), none, &named, "nothing here confines what runs"),
        ((true, true, false), none, &named, "nothing here holds a program to the hosts"),
        ((true, true, false), none, &code, ""),
        ((true, false, false), none, &code, ""),
        ((true, false, false), Some(&["/p/.env"] as &[&str]), &code, "nothing here keeps secrets and control files"),
        ((true, false, false), None, &code, "it can not be told what there is"),
    ] {
        let mut world = world(&Arc::default(), enforced, holds);
        let judged = world.judge("probe", &args.to_string()).await.unwrap();
        let decision = judged.decision();
        if expected.is_empty() {
            assert_eq!(decision.verdict, Verdict::Allow, "{enforced:?} {}", decision.reason);
            continue;
        }
        assert_eq!((decision.verdict, decision.code), (Verdict::Ask, Code::AskUnconfined), "{enforced:?}");
        assert!(decision.reason.contains(expected), "{}", decision.reason);
        world.confinement_required = true;
        let judged = world.judge("probe", &args.to_string()).await.unwrap();
        assert_eq!((judged.decision().verdict, judged.decision().code), (Verdict::Deny, Code::DeniedUnconfined));
        world.unconfined_allowed = true;
        assert_eq!(world.judge("probe", &args.to_string()).await.unwrap().decision().verdict, Verdict::Allow);
    }
}

/// A connection is granted by what was judged, or for code by the rules, by name, and never into another network.
#[tokio::test]
async fn a_grant_answers_for_what_is_met() {
    for (args, expected) in [
        (
            json!({"code": false, "named": true}),
            ["yes", "it was not granted", "it was not granted", "it was not granted"],
        ),
        (
            json!({"code": true, "named": false}),
            ["yes", "it was not granted", "yes", "its name leads to a private address"],
        ),
    ] {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let mut world = world(&said, (true, true, true), Some(&[]));
        let finished = world.call_with("probe", &args.to_string(), Yes::Nobody).await;
        assert_eq!(finished.text, "looked");
        let said = said.lock().unwrap();
        for (line, expected) in said.iter().zip(expected) {
            assert!(line.ends_with(&format!(": {expected}")), "{args}: {said:#?}");
        }
        assert!(said[4].ends_with("it was not granted") && said[5].ends_with("it was not granted"), "{said:#?}");
        let code = args["code"] == true;
        assert_eq!(said[6], format!("connects {}, runs code {code}", !code));
        assert_eq!(said[7], "rules let write src true and notes false");
        assert_eq!(
            said[8],
            "kept from reading .env true and src false; kept from writing settings true and notes false"
        );
        assert_eq!(said[9], "kept from coming key true and key of a package false");
    }
}

/// An error may quote anything; nothing in it steers whoever shows it.
#[test]
fn an_error_steers_nobody() {
    let text = error_text(Code::FsNotFound, "there is no `a\u{1b}[31m\u{202e}b\u{9b}`");
    assert!(text.contains(r"\\u{1b}[31m\\u{202e}b\\u{9b}"), "{text}");
}
