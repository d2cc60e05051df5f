//! Questions and answers before a decision: the rounds in which a call is foreseen.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use checkrein_contract::{BoxFuture, CallKind, Effect, Facts, Finding, Foreseen, Place, Question, Verdict, Winner};
use checkrein_gate::{AnyTool, Approved, Concurrency, Definition, FactSource, Failure, Registry, RunContext, Shown};
use serde_json::{Value, json};

/// Everything in the project may be read.
const POLICY: &str = r#"
version = 1
[[rule]]
id = "project"
decision = "allow"
reason = "the project may be read"
effect = "read"
paths = ["{root}/**"]
"#;

type Effects = fn(&Facts, &Place) -> Foreseen;

/// A tool that is nothing but its effects.
struct Foresees {
    definition: Definition,
    effects: Effects,
}

impl AnyTool for Foresees {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn kind(&self, _args: &Value) -> CallKind {
        CallKind::Pure
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

    fn effects(&self, _args: &Value, place: &Place, facts: &Facts) -> Foreseen {
        (self.effects)(facts, place)
    }

    fn run<'a>(&'a self, _approved: &'a Approved, _context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async { Ok(Value::Null) })
    }

    fn render(&self, _args: &Value, _value: &Value) -> Result<Shown, String> {
        Ok(Shown::default())
    }
}

/// Answers with itself, or with `file`, and remembers what it was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<Question>>);

impl FactSource for Asked {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
        self.0.lock().unwrap().push(question.clone());
        let answer = match question {
            Question::RealPath { path } => path.as_str().into(),
            _ => Finding::from("file"),
        };
        Box::pin(async move { Some(answer) })
    }
}

fn world(effects: Effects) -> (checkrein_testkit::World, Arc<Asked>) {
    let definition = Definition {
        name: "foresees".to_owned(),
        description: "Does nothing.".to_owned(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output: json!({}),
        implementation: Value::Null,
        host_only: false,
    };
    let mut registry = Registry::new();
    registry.add_any(Arc::new(Foresees { definition, effects })).unwrap();
    let place =
        Place { root: "/srv/shop".into(), cwd: "/srv/shop".into(), home: "/home/dev".into(), ..Place::default() };
    let mut world = checkrein_testkit::World::new(registry, POLICY, place);
    let asked = Arc::new(Asked::default());
    world.gate.facts = Arc::clone(&asked) as Arc<dyn FactSource>;
    (world, asked)
}

fn kind(path: &str) -> Question {
    Question::Kind { path: path.to_owned() }
}

/// Shows R190 (foresee): an answer leads to a further question, each is asked once, and the decision rests on the effects
/// that are foreseen with all of them.
#[tokio::test]
async fn answers_lead_to_further_questions() {
    let (world, asked) = world(|facts, place| {
        let (first, second) = (format!("{}/a", place.root), format!("{}/b", place.root));
        if !facts.has(&kind(&first)) {
            let questions = vec![kind(&first), kind(&first)];
            return Foreseen { effects: vec![Effect::unknown("not yet")], questions, parts: Vec::new() };
        }
        if facts.text(&kind(&second)).is_none() {
            return Foreseen { questions: vec![kind(&first), kind(&second)], ..Foreseen::default() };
        }
        Foreseen { parts: vec![3], ..Foreseen::of(vec![Effect::read(second)]) }
    });
    let judged = world.judge("foresees", "{}").await.unwrap();
    let path = "/srv/shop/b".to_owned();
    let real = |path: &str| Question::RealPath { path: path.to_owned() };
    let root = "/srv/shop";
    let folding = Question::CaseFolding { path: root.to_owned() };
    let questions = [kind("/srv/shop/a"), kind("/srv/shop/b"), real(&path), real(root), folding];
    assert_eq!(*asked.0.lock().unwrap(), questions);
    assert!(questions.iter().all(|question| judged.facts().answer(question).is_some()), "all of them are on record");
    assert_eq!((judged.effects(), judged.decision().verdict), ([Effect::read(path)].as_slice(), Verdict::Allow));
    assert_eq!(judged.decision().trace[0].part, 3);
}

/// What asks on and on is not understood, so nobody is spared the question and the session goes on.
#[tokio::test]
async fn questions_without_end_come_to_an_end() {
    let (world, asked) = world(|facts, place| {
        let next = kind(&format!("{}/{}", place.root, facts.iter().count()));
        Foreseen { effects: Vec::new(), questions: vec![next], parts: Vec::new() }
    });
    let judged = world.judge("foresees", "{}").await.unwrap();
    assert_eq!(asked.0.lock().unwrap().len(), 4);
    assert_eq!((judged.decision().verdict, &judged.decision().trace[0].winner), (Verdict::Ask, &Winner::NotUnderstood));
}

/// A tool that panics in a later round is as little understood as one that does so at once.
#[tokio::test]
async fn a_panic_in_a_later_round_is_not_understood() {
    let (world, _asked) = world(|facts, place| {
        assert!(facts.is_empty(), "on fire");
        Foreseen::of(vec![Effect::read(format!("{}/a", place.root))])
    });
    let judged = world.judge("foresees", "{}").await.unwrap();
    assert_eq!(judged.decision().verdict, Verdict::Ask);
    assert!(judged.decision().reason.contains("on fire"), "{}", judged.decision().reason);
}

/// A yes holds although a name has other addresses by then, and not when a path leads elsewhere.
#[tokio::test]
async fn an_approval_does_not_hang_on_addresses() {
    /// Each time another answer, to questions of one kind.
    struct Shifts(bool, AtomicUsize);
    impl FactSource for Shifts {
        fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Finding>> {
            let shifts = self.0 == matches!(question, Question::Addresses { .. });
            let answer = if shifts { self.1.fetch_add(1, Ordering::SeqCst) } else { 0 };
            Box::pin(async move { Some(Finding::Text(format!("/srv/shop/{answer}"))) })
        }
    }
    for (addresses, same) in [(true, true), (false, false)] {
        let (mut world, _asked) = world(|_facts, place| {
            let mut foreseen = Foreseen::of(vec![Effect::write(format!("{}/a", place.root))]);
            foreseen.questions.push(Question::Addresses { host: "shop.example".to_owned() });
            foreseen
        });
        world.gate.facts = Arc::new(Shifts(addresses, AtomicUsize::new(0)));
        let (first, second) =
            (world.judge("foresees", "{}").await.unwrap(), world.judge("foresees", "{}").await.unwrap());
        assert_ne!(first.facts(), second.facts());
        assert_eq!(first.binds() == second.binds(), same);
    }
}
