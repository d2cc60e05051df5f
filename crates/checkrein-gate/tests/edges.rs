//! What goes wrong inside tools, hooks and schemas, and what the token tells a body: each has its answer.

mod support;

use std::sync::{Arc, Mutex};

use checkrein_contract::{
    Answer, BoxFuture, Call, CallKind, Code, Effect, Facts, FinishedAs, Foreseen, Place, Verdict,
};
use checkrein_gate::hooks::Quota;
use checkrein_gate::schema::{JsonSchemaCompiler, SchemaCompiler, check_subset, mode_parameters};
use checkrein_gate::{
    After, Approved, Around, Before, Failure, Hook, HookFailure, Next, RecordedApproval, Registry, Rendered,
    RunContext, Tool, input_schema,
};
use checkrein_testkit::{World, Yes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

/// Each violation of a schema in the words a model reads, with its path.
#[test]
fn violations_say_what_is_wanted() {
    let string = |rest: Value| {
        let mut schema = json!({ "type": "string" });
        schema.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        schema
    };
    for (schema, value, expected) in [
        (string(json!({ "enum": ["a", "b"] })), json!("c"), "must be one of [\"a\",\"b\"], got \"c\""),
        (string(json!({ "pattern": "^a" })), json!("b"), "must match `^a`, got \"b\""),
        (string(json!({ "minLength": 2 })), json!("a"), "must have at least 2 characters"),
        (string(json!({ "maxLength": 2 })), json!("abc"), "must have at most 2 characters"),
        (json!({ "minimum": 2 }), json!(1), "must not be below 2, got 1"),
        (json!({ "maximum": 2 }), json!(3), "must not be above 2, got 3"),
        (json!({ "exclusiveMinimum": 2 }), json!(2), "must be above 2, got 2"),
        (json!({ "exclusiveMaximum": 2 }), json!(2), "must be below 2, got 2"),
        (json!({ "minItems": 1 }), json!([]), "must have at least 1 entries"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "must have at most 1 entries"),
        (json!({ "uniqueItems": true }), json!([1, 1]), "does not meet `uniqueItems`"),
        (json!({ "type": ["string", "boolean"] }), json!(1), " or "),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "boolean" }] }), json!(1), "must be of type string, got 1"),
        (json!({ "oneOf": [{ "type": "string", "minLength": 9 }] }), json!("a"), "must have at least 9 characters"),
        (json!({ "type": "boolean" }), json!("é".repeat(90)), "é..."),
    ] {
        let compiled = JsonSchemaCompiler.compile(&json!({ "properties": { "a": schema } })).unwrap();
        let found = compiled.violations(&json!({ "a": value }));
        assert!(
            found.iter().any(|violation| violation.path == "/a" && violation.problem.contains(expected)),
            "{found:?}"
        );
        assert!(found.iter().all(|violation| violation.to_string().starts_with("/a: ")), "{found:?}");
    }
    assert!(JsonSchemaCompiler.compile(&json!({ "type": "sting" })).is_err());
}

/// What may be absent, anything, or one of several shapes is told to the model without the generator's notes.
#[test]
fn generated_schemas_are_tidied() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        deep: Option<bool>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Either {
        Text(String),
        Flag { on: bool },
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Outer {
        /// Said of it.
        inner: Option<Inner>,
        either: Either,
        anything: Vec<Value>,
        plain: Value,
        /// Said of both.
        maybe: Option<Either>,
    }
    let schema = input_schema::<Outer>();
    let properties = &schema["properties"];
    assert_eq!(properties["inner"]["description"], "Said of it.");
    assert_eq!(properties["inner"]["properties"]["deep"]["type"], "boolean");
    assert_eq!(properties["either"]["anyOf"][1]["additionalProperties"], false);
    assert_eq!(properties["anything"]["items"], json!({}));
    assert_eq!(properties["plain"], json!({}));
    assert_eq!(properties["maybe"]["description"], "Said of both.");
    assert!(!properties["maybe"].to_string().contains("null"), "{}", properties["maybe"]);
    assert_eq!(check_subset(&schema, true), []);
}

#[test]
fn schemas_outside_the_subset() {
    for (schema, expected) in [
        (json!({ "type": "object", "properties": 7, "additionalProperties": false }), "`properties` is an object"),
        (
            json!({ "type": "object", "properties": { "a": { "const": {} } }, "additionalProperties": false }),
            "`const` holds only plain values",
        ),
    ] {
        let found = format!("{:?}", check_subset(&schema, true));
        assert!(found.contains(expected), "{found}");
    }
    let found = mode_parameters(&json!({ "properties": {}, "oneOf": [{}] }));
    assert!(found.len() == 1 && found[0].why == "the arguments are a `oneOf`", "{found:?}");
}

#[test]
fn a_failure_tells_its_causes() {
    let inner = Failure::new(Code::FsIo, "the disk").because(std::io::Error::other("is full"));
    assert_eq!((inner.to_string(), inner.chain()), ("FS_IO: the disk".to_owned(), "the disk: is full".to_owned()));
}

/// A tool that does what its argument says.
struct Odd(Arc<Mutex<Vec<String>>>);

#[derive(JsonSchema)]
struct OddInput {
    what: String,
}

impl<'de> Deserialize<'de> for OddInput {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Plain {
            what: String,
        }
        let Plain { what } = Plain::deserialize(deserializer)?;
        if what == "unreadable" { Err(serde::de::Error::custom("not this one")) } else { Ok(Self { what }) }
    }
}

#[derive(Deserialize, JsonSchema)]
struct OddOutput {
    #[serde(deserialize_with = "shown")]
    what: String,
}

fn shown<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let what = String::deserialize(deserializer)?;
    if what == "unshown" { Err(serde::de::Error::custom("not this one")) } else { Ok(what) }
}

impl Serialize for OddOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.what.as_str() {
            "unwritable" => Err(serde::ser::Error::custom("no")),
            "shapeless" => serializer.collect_map([("that", 1)]),
            what => serializer.collect_map([("what", what)]),
        }
    }
}

impl Tool for Odd {
    type Input = OddInput;
    type Output = OddOutput;
    const NAME: &'static str = "odd";
    const DESCRIPTION: &'static str = "Goes wrong as it is told.";

    fn kind(&self, _input: &OddInput) -> CallKind {
        CallKind::Idempotent
    }

    fn effects(&self, input: &OddInput, place: &Place, _facts: &Facts) -> Foreseen {
        let args = json!({ "what": input.what });
        Foreseen::of(vec![
            Effect::Tool { tool: "odd".to_owned(), server: None, args },
            Effect::read(format!("{}/a", place.root)),
        ])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: OddInput,
        _context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<OddOutput, Failure>> {
        Box::pin(async move {
            let grant = approved.grant();
            let may = ["/srv/shop/b", "/srv/other/b", "/srv/shop/.env"].map(|path| grant.may_read(path));
            let mut told = self.0.lock().unwrap();
            told.push(format!("{may:?}"));
            told.push(format!("{:?} {} {}", approved.kind(), grant.effects().len(), grant.place().root));
            told.push(format!("{:?}", approved.approval().map(ToString::to_string)));
            told.push(format!("{approved:?}"));
            Ok(OddOutput { what: input.what })
        })
    }

    fn render(&self, _input: &OddInput, output: &OddOutput) -> Rendered {
        assert!(output.what != "panics", "on fire");
        let text = if output.what == "long" { format!("x{}y", "é€".repeat(50_000)) } else { output.what.clone() };
        Rendered::whole(text)
    }

    fn examples() -> Vec<Value> {
        vec![json!({ "what": "a" })]
    }
}

const POLICY: &str = r#"
version = 1
[[rule]]
id = "odd"
decision = "allow"
reason = "a test"
effect = "tool"
tool = "odd"
[[rule]]
id = "careful"
decision = "ask"
reason = "a person looks at this"
effect = "tool"
tool = "odd"
where.what = { equals = "careful" }
[[rule]]
id = "shop"
decision = "allow"
reason = "a test"
effect = "read"
paths = ["{root}/**"]
"#;

type Told = Arc<Mutex<Vec<String>>>;

fn world() -> (World, Told) {
    let told = Told::default();
    let mut registry = Registry::default();
    registry.add(Odd(Arc::clone(&told))).unwrap();
    let place =
        Place { root: "/srv/shop".into(), cwd: "/srv/shop".into(), home: "/home/dev".into(), ..Place::default() };
    (World::new(registry, POLICY, place), told)
}

fn args(what: &str) -> String {
    json!({ "what": what }).to_string()
}

/// The token tells a body what it was allowed for; what a person agreed to reaches what only asks, and never what is denied.
#[tokio::test]
async fn a_body_knows_what_it_may() {
    let (mut world, told) = world();
    assert_eq!(world.call("odd", &args("a")).await.ended, FinishedAs::Ok);
    let first: Vec<String> = std::mem::take(&mut *told.lock().unwrap());
    assert_eq!(first[..3], ["[true, false, false]", "Idempotent 2 /srv/shop", "None"]);
    assert!(first[3].starts_with("Approved { call: Call {") && !first[3].contains("policy"), "{}", first[3]);
    let approval = world.approved("odd", &args("careful")).await;
    let finished = world.call_with("odd", &args("careful"), Yes::Recorded(&approval)).await;
    assert_eq!(finished.ended, FinishedAs::Ok, "{}", finished.text);
    let second = told.lock().unwrap().clone();
    assert_eq!(second[0], "[true, true, false]", "outside asks, and a person agreed; a secret stays denied");
    assert_eq!(second[2], format!("{:?}", Some(approval.request().id.to_string())));
}

/// Values that can not be written, read or shown are failed calls with a code of their own.
#[tokio::test]
async fn what_a_tool_can_get_wrong() {
    for (what, code, words) in [
        ("unwritable", Code::InvalidToolOutput, "can not be written as JSON"),
        ("shapeless", Code::InvalidToolOutput, "what"),
        ("unshown", Code::InvalidToolOutput, "the tool's result can not be read: not this one"),
        ("panics", Code::ToolPanicked, "broke off while showing its result"),
    ] {
        let (mut world, _) = world();
        let finished = world.call("odd", &args(what)).await;
        assert_eq!((finished.ended, finished.code), (FinishedAs::Failed, Some(code)), "{what}: {}", finished.text);
        assert!(finished.text.contains(words) && !finished.text.contains("on fire"), "{}", finished.text);
    }
}

/// Arguments that fit the schema but not the tool are not understood, so nothing is spared a question.
#[tokio::test]
async fn arguments_that_fit_the_schema_only() {
    let (world, _) = world();
    let judged = world.judge("odd", &args("unreadable")).await.unwrap();
    assert_eq!(judged.decision().verdict, Verdict::Ask);
    assert!(judged.decision().reason.contains("fit the schema but not the tool"), "{}", judged.decision().reason);
    assert!(format!("{judged:?}").starts_with("Judged { call: "), "{judged:?}");
}

/// A long text is cut between characters, and says so where the rest could not be kept.
#[tokio::test]
async fn a_text_is_cut_between_characters() {
    struct Nowhere;
    impl checkrein_gate::Spill for Nowhere {
        fn save(&self, _name: &str, _bytes: &[u8]) -> Option<std::path::PathBuf> {
            None
        }
        fn path(&self, name: &str) -> std::path::PathBuf {
            name.into()
        }
    }
    let (mut world, _) = world();
    world.gate.spill = Arc::new(Nowhere);
    let finished = world.call("odd", &args("long")).await;
    assert!(finished.cut && finished.text.contains("the rest could not be kept: ask for less in one call"));
    let (head, tail) = finished.text.split_once('\n').unwrap();
    let tail = tail.split_once('\n').unwrap().1;
    let (head, tail) = (head.strip_prefix('x').unwrap(), tail.strip_suffix('y').unwrap());
    assert!(head.starts_with("é€é") && tail.ends_with("é€"), "{}", finished.text.len());
    assert!(head.chars().chain(tail.chars()).all(|c| c == 'é' || c == '€'));
}

/// A hook that goes wrong at one of its places.
struct Wrong(&'static str);

impl Hook for Wrong {
    fn name(&self) -> &str {
        "wrong"
    }

    fn around<'a>(&'a self, _call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Around> {
        assert!(self.0 != "around", "on fire");
        Box::pin(next.run())
    }

    fn after<'a>(&'a self, _call: &'a Call, _value: &'a Value) -> BoxFuture<'a, Result<After, HookFailure>> {
        Box::pin(async move {
            assert!(self.0 != "panics after", "on fire");
            match self.0 {
                "fails after" => Err(HookFailure("it is late".to_owned())),
                "refuses after" => Ok(After::Fail("not this value".to_owned())),
                "changes" => Ok(After::Change(json!({ "what": "changed" }))),
                _ => Ok(After::Keep),
            }
        })
    }
}

/// A hook that fails fails the call, wherever it does; one that keeps to its default changes nothing.
#[tokio::test]
async fn what_a_hook_can_get_wrong() {
    for (hook, words) in [
        ("around", "a hook around the call panicked"),
        ("panics after", "hook `wrong`: it panicked"),
        ("fails after", "hook `wrong`: it is late"),
        ("refuses after", "hook `wrong`: not this value"),
    ] {
        let (world, _) = world();
        let finished = world.hook(Wrong(hook)).call("odd", &args("a")).await;
        // Where the body was never reached, nothing ran.
        let ended = if hook == "around" { FinishedAs::Answered } else { FinishedAs::Failed };
        assert_eq!((finished.ended, finished.code), (ended, Some(Code::HookFailed)), "{hook}");
        assert!(finished.text.contains(words), "{hook}: {}", finished.text);
    }
    let (world, _) = world();
    let finished = world.hook(Wrong("")).hook(Wrong("changes")).call("odd", &args("a")).await;
    assert_eq!((finished.ended, finished.text.as_str()), (FinishedAs::Ok, "changed"));
}

/// A quota counts its own tool only.
#[tokio::test]
async fn a_quota_is_for_one_tool() {
    let quota = Quota::new("other", 0);
    let call = |tool: &str| Call {
        id: checkrein_contract::CallId::new("c"),
        tool: tool.to_owned(),
        server: None,
        args: Value::Null,
    };
    assert_eq!(quota.before(&call("odd")).await.unwrap(), Before::Continue);
    assert!(matches!(quota.before(&call("other")).await.unwrap(), Before::Deny(_)));
    let (world, _) = world();
    assert_eq!(world.hook(quota).call("odd", &args("a")).await.ended, FinishedAs::Ok);
}

/// An approval that nobody has answered, and one that was refused without a word, admit nothing.
#[tokio::test]
async fn an_approval_without_an_answer() {
    let (mut world, _) = world();
    let given = world.approved("odd", &args("careful")).await;
    assert!(matches!(given.answer(), Some(Answer::Approved { .. })) && given.uses_left() == 1);
    let mut open = RecordedApproval::new(given.request().clone());
    assert_eq!((open.answer(), open.uses_left()), (None, 0));
    let finished = world.call_with("odd", &args("careful"), Yes::Recorded(&open)).await;
    assert_eq!(finished.code, Some(Code::NeedsApproval));
    open.record(&dana(), Answer::Denied { reason: String::new() });
    let finished = world.call_with("odd", &args("careful"), Yes::Recorded(&open)).await;
    assert_eq!(finished.code, Some(Code::DeniedByPerson));
    assert!(finished.text.contains("a person said no"), "{}", finished.text);
}

/// Whoever says yes here.
fn dana() -> checkrein_contract::Actor {
    checkrein_contract::Actor::Person("dana".to_owned())
}
