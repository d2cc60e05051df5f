//! What a yes rests on: a call whose paths, files or tool changed since a person said yes is another call, and is refused with
//! what changed. What changes by itself never counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use checkrein_contract::{
    ApprovalRequest, BoxFuture, CallKind, Code, Connect, Effect, Facts, Finding, Foreseen, Place, Question, Run,
    Verdict,
};
use checkrein_gate::{
    AnyTool, Approved, Concurrency, Definition, FactSource, Failure, RecordedApproval, Registry, RunContext, Shown,
};
use checkrein_testkit::{NOW, World, Yes, request};
use serde_json::{Value, json};

/// The world of a test: what is found is what was put there; paths lead to themselves.
#[derive(Clone, Default)]
struct There(Arc<Mutex<BTreeMap<Question, Finding>>>);

impl There {
    fn put(&self, question: Question, answer: &str) {
        self.0.lock().unwrap().insert(question, answer.into());
    }

    fn list(&self, question: Question, answer: &[&str]) {
        let list = answer.iter().map(|item| (*item).to_owned()).collect();
        self.0.lock().unwrap().insert(question, Finding::List(list));
    }
}

impl FactSource for There {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        let known = self.0.lock().unwrap().get(question).cloned();
        let found = known.or_else(|| match question {
            Question::RealPath { path } => Some(path.as_str().into()),
            Question::Digest { .. } => Some("sha256:00".into()),
            Question::Kind { .. } => Some("none".into()),
            Question::CaseFolding { .. } => Some("exact".into()),
            Question::Changed { .. } => Some("unchanged".into()),
            Question::Matches { .. } | Question::Holds { .. } | Question::GitHelpers { .. } => {
                Some(Finding::List(Vec::new()))
            }
            _ => None,
        });
        Box::pin(async move { found })
    }
}

/// A tool that would do these things.
struct Doing {
    definition: Definition,
    effects: Vec<Effect>,
    files: Vec<String>,
}

impl AnyTool for Doing {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, _args: &Value) -> CallKind {
        CallKind::Once
    }

    fn concurrency(&self, _args: &Value) -> Concurrency {
        Concurrency::Exclusive
    }

    fn timeout_ms(&self, _args: &Value) -> u64 {
        1_000
    }

    fn runs_programs(&self, _args: &Value) -> bool {
        false
    }

    fn files(&self, _args: &Value, _place: &Place) -> Vec<String> {
        self.files.clone()
    }

    fn effects(&self, _args: &Value, _place: &Place, _facts: &Facts) -> Foreseen {
        let mut foreseen = Foreseen::of(self.effects.clone());
        let globs = self.effects.iter().filter(|effect| effect.is_glob()).filter_map(Effect::path);
        foreseen.questions.extend(globs.map(|path| Question::Matches { pattern: path.to_owned() }));
        foreseen
    }

    fn run<'a>(&'a self, _approved: &'a Approved, _context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async { Ok(json!("did it")) })
    }

    fn render(&self, _args: &Value, _value: &Value) -> Result<Shown, String> {
        Ok(Shown::default())
    }
}

/// What a tool does, and the file it comes with.
type Does<'a> = (&'a [Effect], Option<&'a str>);

fn registry(description: &str, (effects, file): Does<'_>) -> Registry {
    let mut registry = Registry::new();
    let definition = Definition {
        name: "do".to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "additionalProperties": false }),
        output: json!({}),
        implementation: Value::Null,
        host_only: false,
    };
    let files = file.map(str::to_owned).into_iter().collect();
    registry.add_any(Arc::new(Doing { definition, effects: effects.to_vec(), files })).unwrap();
    registry
}

fn world(does: Does<'_>) -> (World, There) {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let mut world = World::new(registry("Does it.", does), "version = 1", place);
    let there = There::default();
    world.gate.facts = Arc::new(there.clone());
    (world, there)
}

async fn said_yes(world: &World) -> RecordedApproval {
    assert_eq!(world.judge("do", "{}").await.unwrap().decision().verdict, Verdict::Ask);
    world.approved("do", "{}").await
}

/// The refusal after a change of the world, with a yes to what was there before.
async fn stale(does: Does<'_>, change: impl FnOnce(&mut World, &There)) -> String {
    let (mut world, there) = world(does);
    let approval = said_yes(&world).await;
    change(&mut world, &there);
    let finished = world.call_with("do", "{}", Yes::Recorded(&approval)).await;
    assert_eq!(finished.code, Some(Code::ApprovalStale), "{}", finished.text);
    let text: Value = serde_json::from_str(&finished.text).unwrap();
    text["message"].as_str().unwrap().strip_prefix("what was approved has changed since: ").unwrap().to_owned()
}

fn content(path: &str) -> Question {
    Question::Digest { path: path.to_owned() }
}

/// Shows R96, R98: each thing that a yes rests on, changed, makes the yes stale, and is named: where paths lead, what the
/// files hold that it writes, deletes or runs, the tool itself.
#[tokio::test]
async fn what_a_yes_rests_on_is_named_when_it_changes() {
    let run = |program: &str, folder: &str, rests_on: Vec<Question>| {
        let (program, folder) = (program.to_owned(), folder.to_owned());
        Effect::Run(Run { argv: vec![program.clone()], program, folder, rests_on, ..Run::default() })
    };
    let glob = |path: &str| Effect::Delete { path: path.to_owned(), recursive: false, glob: true };
    let script = vec![Question::Changed { path: "/p/in.sh".to_owned() }];
    let pattern = Question::Matches { pattern: "/p/*.o".to_owned() };
    let new = |path: &'static str| move |_: &mut World, there: &There| there.put(content(path), "sha256:01");
    let cases = [
        (stale((&[Effect::write("/p/a.txt")], None), new("/p/a.txt")).await, "the content of `a.txt`"),
        (stale((&[Effect::delete("/p/d/b", false)], None), new("/p/d/b")).await, "the content of `d/b`"),
        (stale((&[run("/opt/x/tool", "", vec![])], None), new("/opt/x/tool")).await, "the content of `tool`"),
        (stale((&[run("./go.sh", "/p/bin", vec![])], None), new("/p/bin/go.sh")).await, "the content of `bin/go.sh`"),
        (stale((&[run("./go.sh", "", vec![])], None), new("/p/go.sh")).await, "the content of `go.sh`"),
        (stale((&[run("sh", "/p", script.clone())], None), new("/p/in.sh")).await, "the content of `in.sh`"),
        (
            stale((&[Effect::metadata("/p/m")], Some("/srv/tasks/pay")), new("/srv/tasks/pay")).await,
            "the content of `pay`",
        ),
        (
            stale((&[Effect::write("/p/a.txt")], None), |_, there| {
                there.put(Question::RealPath { path: "/p/a.txt".to_owned() }, "/p/other.txt");
            })
            .await,
            "where `a.txt` leads",
        ),
        (
            stale((&[glob("/p/*.o")], None), |_, there| there.list(pattern.clone(), &["/p/a.o"])).await,
            "the content of `a.o`, what `*.o` matches",
        ),
        (
            stale((&[run("sh", "/p", script)], None), |_, there| {
                there.put(Question::Changed { path: "/p/in.sh".to_owned() }, "changed");
            })
            .await,
            "whether `in.sh` was changed in this session",
        ),
        (
            stale((&[Effect::metadata("/p/m")], None), |world, _| {
                world.gate.registry = registry("Does something else.", (&[Effect::metadata("/p/m")], None));
            })
            .await,
            "the definition of the tool",
        ),
        (
            stale((&[Effect::write("/p/a")], None), |world, _| {
                world.gate.registry = registry("Does it.", (&[Effect::write("/p/b")], None));
            })
            .await,
            "the content of `a`, the content of `b`, what the call would do, where `a` leads, and 1 more",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
}

/// What a pattern matched is looked at file by file.
#[tokio::test]
async fn what_a_pattern_matched_is_looked_at() {
    let effect = Effect::Delete { path: "/p/*.o".to_owned(), recursive: false, glob: true };
    let (mut world, there) = world((&[effect], None));
    there.list(Question::Matches { pattern: "/p/*.o".to_owned() }, &["/p/a.o"]);
    let approval = said_yes(&world).await;
    there.put(content("/p/a.o"), "sha256:01");
    let finished = world.call_with("do", "{}", Yes::Recorded(&approval)).await;
    assert!(finished.text.contains("has changed since: the content of `a.o`\""), "{}", finished.text);
}

/// Shows R99: the time, what was spent, addresses behind a name, and the content of what is only read, of a cache and of a
/// path that the tool only looks at: none of it makes a yes stale.
#[tokio::test]
async fn what_changes_by_itself_does_not_count() {
    let connect = Effect::Connect(Connect { host: "example.org".to_owned(), port: 443, ..Connect::default() });
    let cache = Effect::Write { path: "/p/cache".to_owned(), incidental: true, glob: false };
    let effects = [connect, Effect::read("/p/r"), cache, Effect::list("/p/l"), Effect::metadata("/p/m")];
    let (mut world, there) = world((&effects, None));
    let approval = said_yes(&world).await;
    there.list(Question::Addresses { host: "example.org".to_owned() }, &["203.0.113.7"]);
    ["/p/r", "/p/cache", "/p/l", "/p/m"].iter().for_each(|path| there.put(content(path), "sha256:01"));
    world.spend.steps += 7;
    world.spend.usage.input += 1_000;
    let judged = world.judge("do", "{}").await.unwrap();
    assert!(judged.admit(Some(&approval), NOW + 900).is_ok());
    assert!(world.call_with("do", "{}", Yes::Recorded(&approval)).await.code.is_none());
}

/// A yes from a journal that named no parts is one yes still; what changed can not be said of it.
#[tokio::test]
async fn a_yes_without_parts_says_less() {
    let (mut world, there) = world((&[Effect::write("/p/a")], None));
    let judged = world.judge("do", "{}").await.unwrap();
    assert!(judged.rests_on().iter().any(|one| one.what == "the content of `a`"));
    let mut approval =
        RecordedApproval::new(ApprovalRequest { rests_on: Vec::new(), ..request(&world.session, &judged) });
    approval.record(&dana(), checkrein_contract::Answer::Approved { expires_at: NOW + 1_000, uses: 1, remember: None });
    assert!(judged.admit(Some(&approval), NOW).is_ok());
    there.put(content("/p/a"), "sha256:01");
    let finished = world.call_with("do", "{}", Yes::Recorded(&approval)).await;
    assert!(finished.text.contains("what would run now is not what was approved"), "{}", finished.text);
}

/// Whoever says yes here.
fn dana() -> checkrein_contract::Actor {
    checkrein_contract::Actor::Person("dana".to_owned())
}
