//! What a yes rests on: a call whose paths, files or tool changed since a person said yes is another call, and is refused with
//! what changed. What changes by itself never counts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use checkrein_contract::{
    Actor, Answer, ApprovalRequest, BoxFuture, CallKind, Code, Connect, Effect, Facts, Finding, Foreseen, Layer, Place,
    PolicySource, Question, Remembered, RuleId, Run, SessionId, Verdict,
};
use checkrein_gate::{
    AnyTool, Approved, Concurrency, Definition, FactSource, Failure, RecordedApproval, Registry, RunContext, Shown,
};
use checkrein_policy::{Policy, Variables, remember};
use checkrein_testkit::{NOW, World, Yes, request};
use proptest::prelude::{Just, Strategy, prop_oneof};
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
    approval.record(&dana(), Answer::Approved { expires_at: NOW + 1_000, uses: 1 });
    assert!(judged.admit(Some(&approval), NOW).is_ok());
    there.put(content("/p/a"), "sha256:01");
    let finished = world.call_with("do", "{}", Yes::Recorded(&approval)).await;
    assert!(finished.text.contains("what would run now is not what was approved"), "{}", finished.text);
}

/// Whoever says yes here.
fn dana() -> Actor {
    Actor::Person("dana".to_owned())
}

/// One thing that happens around a question.
#[derive(Clone, Debug)]
enum Op {
    /// The call with this argument is judged; where it asks, the question is raised.
    Ask(u8),
    /// Somebody answers a question.
    Say(usize, Actor, Answer),
    /// The call with this argument would run by this question's answer.
    Run(usize, u8),
    /// The file that it writes has another content.
    Edit(u8),
    /// The path leads elsewhere.
    Rename(u8),
    /// The tool is another one.
    Redefine(u8),
    /// Time goes on, or back.
    Clock(u64),
    /// The policy is another one.
    Policy(usize),
    /// It is another session.
    Session(u8),
    /// The yes to this question is remembered, as the rules that follow from it.
    Remember(usize),
    /// It is taken back.
    Forget,
}

const POLICIES: [&str; 3] = [
    "version = 1",
    "version = 1\n[[rule]]\nid = \"w\"\ndecision = \"deny\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"/p/**\"]\n",
    "version = 1\n[[rule]]\nid = \"w\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"/p/**\"]\n",
];

fn op() -> impl Strategy<Value = Op> {
    let who = prop_oneof![
        6 => Just(dana()),
        1 => Just(Actor::Person("sam".to_owned())),
        1 => Just(Actor::Model),
        1 => Just(Actor::Code),
    ];
    let yes = (NOW..NOW + 60, 1_u32..3).prop_map(|(expires_at, uses)| Answer::Approved { expires_at, uses });
    let reason = String::new;
    let what = prop_oneof![
        6 => yes,
        1 => Just(Answer::Denied { reason: reason() }),
        1 => Just(Answer::Revoked { reason: reason() }),
        1 => Just(Answer::Withdrawn { reason: reason() }),
    ];
    prop_oneof![
        6 => (0_u8..2).prop_map(Op::Ask),
        8 => (0_usize..2, who, what).prop_map(|(at, who, what)| Op::Say(at, who, what)),
        12 => (0_usize..2, 0_u8..2).prop_map(|(at, n)| Op::Run(at, n)),
        1 => (0_u8..4).prop_map(Op::Edit),
        1 => (0_u8..2).prop_map(Op::Rename),
        1 => (0_u8..2).prop_map(Op::Redefine),
        1 => (NOW..NOW + 60).prop_map(Op::Clock),
        1 => (0_usize..3).prop_map(Op::Policy),
        1 => (0_u8..2).prop_map(Op::Session),
        1 => (0_usize..2).prop_map(Op::Remember),
        1 => Just(Op::Forget),
    ]
}

/// What counts of a question, kept without the code under test.
struct Raised {
    approval: RecordedApproval,
    /// Everything that was there when it was raised.
    then: (u8, u8, u8, u8, u8, u8),
    /// Until when it may be used, and how often; `None`: not, or not any more.
    yes: Option<(u64, u32)>,
    answered: bool,
    /// What the yes would be as rules.
    rules: String,
}

/// The policy of the project, and what is remembered in the session.
fn in_force(world: &World, project: usize, remembered: Option<&str>) -> Arc<Policy> {
    let source = |layer, file: &str, text: &str| PolicySource {
        layer,
        file: file.to_owned(),
        text: text.to_owned(),
        only_tightens: false,
    };
    let own = source(Layer::Project, "policy.toml", POLICIES[project]);
    let rule = remembered.map(|text| Remembered::source(&RuleId::new("r-1"), text));
    let sources: Vec<PolicySource> = std::iter::once(own).chain(rule).collect();
    Arc::new(Policy::load(&sources, &Variables::new(&world.place, &world.identity)).unwrap())
}

/// Shows R96, R97, R99, R100, I10: no sequence of questions, answers, remembered yeses, replays, edits, renames, other tools,
/// clocks, policies and sessions lets a call run that was neither approved exactly as it would run, and as often as was said,
/// nor covered by a remembered yes that stands and whose file is what it was; and what was, runs.
#[test]
fn nothing_runs_but_what_was_approved() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (by_yes, by_rule, refused) = (Cell::new(0_u32), Cell::new(0_u32), Cell::new(0_u32));
    let sequence = proptest::collection::vec(op(), 0..80);
    let tried = proptest::test_runner::TestRunner::deterministic().run(&sequence, |ops| {
        let effects = [Effect::write("/p/a.txt")];
        // What it runs, it comes with.
        let does: Does<'_> = (&effects, Some("/p/pay"));
        let (mut world, there) = world(does);
        let mut asked: Vec<Raised> = Vec::new();
        // The rules that stand, and what the program of the tool was then.
        let mut remembered: Option<(String, u8)> = None;
        let mut program = 0_u8;
        let (mut now, mut policy, mut here) = (NOW, 0, (0_u8, 0_u8, 0_u8, 0_u8));
        for op in ops {
            match op {
                Op::Ask(n) => {
                    let judged = runtime.block_on(world.judge("do", &json!({ "n": n }).to_string())).unwrap();
                    if judged.decision().verdict == Verdict::Ask && asked.len() < 2 {
                        let mut raised = request(&world.session, &judged);
                        raised.approvers.four_eyes = true;
                        raised.identity.0.insert("person".to_owned(), "sam".to_owned());
                        let then = (n, here.0, here.1, here.2, here.3, program);
                        let rules = remember::rules(judged.decision(), judged.runs()).unwrap();
                        let approval = RecordedApproval::new(raised);
                        asked.push(Raised { approval, then, yes: None, answered: false, rules });
                    }
                }
                Op::Say(at, who, what) => {
                    let Some(one) = asked.get_mut(at) else { continue };
                    one.approval.record(&who, what.clone());
                    let person = matches!(&who, Actor::Person(_));
                    match what {
                        Answer::Approved { expires_at, uses } if who == dana() && !one.answered => {
                            (one.yes, one.answered) = (Some((expires_at, uses)), true);
                        }
                        Answer::Denied { .. } if person => one.answered = true,
                        Answer::Withdrawn { .. } if person || who == Actor::Code => one.answered = true,
                        Answer::Revoked { .. } if person => one.yes = None,
                        _ => {}
                    }
                }
                Op::Run(at, n) => {
                    let judged = runtime.block_on(world.judge("do", &json!({ "n": n }).to_string())).unwrap();
                    let now_here = (n, here.0, here.1, here.2, here.3, program);
                    let covered = asked.get(at).is_some_and(|one| {
                        one.then == now_here && one.yes.is_some_and(|(until, left)| now <= until && left > 0)
                    });
                    let admitted = judged.admit(asked.get(at).map(|one| &one.approval), now);
                    // A remembered yes is for the path, wherever the tool comes from, while its program is the same.
                    let stands = remembered.as_ref().is_some_and(|(_, then)| *then == program) && here.1 == 0;
                    proptest::prop_assert_eq!(admitted.is_ok(), policy == 2 || policy == 0 && (covered || stands));
                    let used = admitted.ok().and_then(|approved| approved.approval().cloned());
                    let by_one = policy == 0 && covered && !stands;
                    proptest::prop_assert_eq!(used.is_some(), by_one, "an allow leaves a yes unused");
                    by_rule.set(by_rule.get() + u32::from(policy == 0 && stands));
                    if let (Some(_), Some(one)) = (used, asked.get_mut(at)) {
                        one.approval.record_use();
                        one.yes = one.yes.map(|(until, left)| (until, left - 1));
                        by_yes.set(by_yes.get() + 1);
                    } else {
                        refused.set(refused.get() + 1);
                    }
                }
                Op::Edit(to) => {
                    here.0 = to % 2;
                    there.put(content("/p/a.txt"), if here.0 == 0 { "sha256:00" } else { "sha256:01" });
                    program = to / 2;
                    there.put(content("/p/pay"), if program == 0 { "sha256:00" } else { "sha256:01" });
                }
                Op::Rename(to) => {
                    here.1 = to;
                    let path = if to == 0 { "/p/a.txt" } else { "/p/b.txt" };
                    there.put(Question::RealPath { path: "/p/a.txt".to_owned() }, path);
                }
                Op::Redefine(to) => {
                    here.2 = to;
                    let description = if to == 0 { "Does it." } else { "Does something else." };
                    world.gate.registry = registry(description, does);
                }
                Op::Session(to) => {
                    if here.3 != to {
                        // Rules are events of one session.
                        remembered = None;
                        world.gate.policy = in_force(&world, policy, None);
                    }
                    here.3 = to;
                    world.session = SessionId::new(format!("s-{}", to + 1));
                }
                Op::Clock(to) => now = to,
                Op::Policy(to) => {
                    policy = to;
                    world.gate.policy = in_force(&world, to, remembered.as_ref().map(|(text, _)| text.as_str()));
                }
                Op::Remember(at) => {
                    // The state of a session takes it only from whoever said yes, in the session of the question; and only
                    // what would have let the call run is offered.
                    let fits = |one: &&Raised| one.yes.is_some() && one.then.4 == here.3 && one.then.2 == 0;
                    let Some(one) = asked.get(at).filter(fits) else { continue };
                    remembered = Some((one.rules.clone(), one.then.5));
                    world.gate.policy = in_force(&world, policy, Some(&one.rules));
                }
                Op::Forget => {
                    remembered = None;
                    world.gate.policy = in_force(&world, policy, None);
                }
            }
        }
        Ok(())
    });
    tried.unwrap();
    let met = (by_yes.get(), by_rule.get(), refused.get());
    assert!(met.0 > 30 && met.1 > 50 && met.2 > 50, "all happen often: {met:?}");
}
