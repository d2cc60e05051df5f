//! The registry: projection, subset, scoping, and nothing left behind.

mod support;

use std::sync::Arc;

use checkrein_contract::{BoxFuture, CallKind, Code, Facts, Foreseen, Place, ToolSpec};
use checkrein_gate::schema::{check_subset, mode_parameters};
use checkrein_gate::{
    AnyTool, Approved, Concurrency, Definition, Failure, Registry, RegistryError, RunContext, Shown, Typed,
    input_schema, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{Behaviour, Pay, Ran, World};

/// A tool with whatever schemas it is given.
struct Shaped(Definition);

impl Shaped {
    fn arguments(parameters: Value) -> Arc<dyn AnyTool> {
        Arc::new(Self(Definition {
            name: "shaped".to_owned(),
            description: "Only a shape.".to_owned(),
            parameters,
            output: json!({}),
            implementation: Value::Null,
            host_only: false,
        }))
    }
}

impl AnyTool for Shaped {
    fn definition(&self) -> &Definition {
        &self.0
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
        true
    }
    fn effects(&self, _args: &Value, _place: &Place, _facts: &Facts) -> Foreseen {
        Foreseen::default()
    }
    fn run<'a>(&'a self, _approved: &'a Approved, _context: RunContext<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async { Err(Failure::new(Code::ToolFailed, "only a shape")) })
    }
    fn render(&self, _args: &Value, _value: &Value) -> Result<Shown, String> {
        Ok(Shown::default())
    }
}

fn pay() -> Pay {
    Pay { ran: Ran::default(), behaviour: Behaviour::Well }
}

/// Shows R29, R30, R31: of everything a definition holds, exactly three fields reach a model.
#[test]
fn the_projection_is_exactly_three_fields() {
    let mut registry = Registry::new();
    registry.add(pay()).unwrap();
    registry
        .add_any(Shaped::arguments(json!({"type": "object", "properties": {}, "additionalProperties": false})))
        .unwrap();
    for spec in registry.specs() {
        let Value::Object(fields) = serde_json::to_value(&spec).unwrap() else { panic!("a spec is an object") };
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["description", "name", "parameters"]);
        let text = serde_json::to_string(&fields).unwrap();
        for inner in ["implementation", "timeout", "parallel", "output", "receipt", "attempts", "host_only"] {
            assert!(!text.contains(inner), "{inner} leaks into {text}");
        }
    }
    assert!(
        serde_json::from_value::<ToolSpec>(json!({"name": "a", "description": "b", "parameters": {}, "x": 1})).is_err()
    );
}

/// What says nothing of itself has no place where nothing may be changed.
#[test]
fn a_tool_says_that_it_only_looks() {
    assert!(!Shaped::arguments(json!({})).looks());
    assert!(!Typed::new(pay()).looks());
}

/// Shows R27, R28, R37: the schema follows the type.
#[test]
fn the_schema_is_generated_from_the_input_type() {
    let schema = input_schema::<support::PayInput>();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "order": {"type": "string", "description": "Order id."},
                "amount": {"type": "number", "minimum": 0.01, "description": "Euros."},
                "note": {"type": "string", "description": "A note for the customer."},
            },
            "required": ["order", "amount"],
            "additionalProperties": false,
        })
    );

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Nested {
        lines: Vec<Line>,
        size: Option<Size>,
        count: u32,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Line {
        text: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Size {
        Small,
        Large,
    }
    _ = (Size::Small, Size::Large);
    let schema = input_schema::<Nested>();
    assert_eq!(schema["properties"]["lines"]["items"]["additionalProperties"], false);
    assert_eq!(schema["properties"]["size"]["enum"], json!(["small", "large"]));
    assert_eq!(schema["properties"]["count"], json!({"type": "integer", "minimum": 0}));
    assert_eq!(check_subset(&schema, true), []);
}

/// Shows R49: what is outside the subset is refused, not ignored, and all of it is named.
#[test]
fn unsupported_keywords_are_refused_at_registration() {
    let cases = [
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "format": "email"}}, "additionalProperties": false}),
            "/properties/a: the keyword `format`",
        ),
        (
            json!({"type": "object", "patternProperties": {}, "additionalProperties": false}),
            "the keyword `patternProperties`",
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "#/x"}}, "additionalProperties": false}),
            "the keyword `$ref`",
        ),
        (json!({"type": "object", "properties": {}}), "says whether it is open"),
        (
            json!({"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": false}),
            "/properties/a: an object says",
        ),
        (
            json!({"type": "object", "required": ["b"], "properties": {}, "additionalProperties": false}),
            "`required` names \"b\"",
        ),
        (
            json!({"type": "object", "properties": {"a": {"enum": [{}]}}, "additionalProperties": false}),
            "`enum` holds only plain values",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": ["string", "number"]}}, "additionalProperties": false}),
            "`type` is one of",
        ),
        (
            json!({"type": "object", "properties": {"a": {"oneOf": [{}]}}, "additionalProperties": false}),
            "`oneOf` has two branches",
        ),
        (json!({"type": "string"}), "arguments are an object"),
        (json!(true), "arguments are an object"),
    ];
    for (schema, expected) in cases {
        let mut registry = Registry::new();
        let error = registry.add_any(Shaped::arguments(schema.clone())).unwrap_err();
        assert!(matches!(error, RegistryError::Schema { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{expected} in {error}");
        assert_eq!(registry.names().count(), 0, "nothing is left behind");
    }
    let deep = (0..20).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let schema = json!({"type": "object", "properties": {"a": deep}, "additionalProperties": false});
    assert!(Registry::new().add_any(Shaped::arguments(schema)).unwrap_err().to_string().contains("nested deeper"));
}

/// Shows R35, R194: registering and removing leaves nothing; a name is used once.
#[tokio::test]
async fn register_then_remove_leaves_nothing() {
    let mut world = World::new();
    let before = world.gate.registry.specs();
    let shape = || Shaped::arguments(json!({"type": "object", "properties": {}, "additionalProperties": false}));
    for _ in 0..3 {
        world.gate.registry.add_any(shape()).unwrap();
        assert!(matches!(world.gate.registry.add_any(shape()), Err(RegistryError::Duplicate { .. })));
        assert!(world.gate.registry.remove("shaped"));
        assert!(!world.gate.registry.remove("shaped"));
        assert_eq!(world.gate.registry.specs(), before);
        world.offered.insert("shaped".to_owned());
        assert_eq!(world.call("shaped", "{}").await.code, Some(Code::UnknownTool));
    }
}

/// Shows R33, R82: what a scope leaves out can not run, and scopes do not touch each other.
#[tokio::test]
async fn a_scope_hides_and_nothing_hidden_runs() {
    let mut world = World::new();
    let whole = world.gate.registry.clone();
    world.gate.registry = whole.scoped(|name| name != "pay");
    assert_eq!(world.call("pay", r#"{"order":"o-1","amount":5}"#).await.code, Some(Code::UnknownTool));
    assert_eq!(world.ran.count(), 0);
    assert_eq!(whole.names().collect::<Vec<_>>(), ["pay"]);
}

/// Shows R40: order depends on names alone.
#[test]
fn the_order_is_the_same_however_tools_were_registered() {
    let shape = |name: &str| -> Arc<dyn AnyTool> {
        Arc::new(Shaped(Definition {
            name: name.to_owned(),
            description: "Only a shape.".to_owned(),
            parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
            output: json!({}),
            implementation: Value::Null,
            host_only: name == "hidden",
        }))
    };
    let names = ["b", "a", "hidden", "c"];
    let specs = |order: &mut dyn Iterator<Item = &str>| {
        let mut registry = Registry::new();
        order.for_each(|name| registry.add_any(shape(name)).unwrap());
        registry.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>()
    };
    assert_eq!(specs(&mut names.into_iter()), ["a", "b", "c"]);
    assert_eq!(specs(&mut names.into_iter()), specs(&mut names.into_iter().rev()));
}

/// Shows R36: a parameter that switches between tools, or is tied to another, is found.
#[test]
fn mode_parameters_are_found() {
    let tied = json!({"properties": {
        "mode": {"enum": ["read", "write"]},
        "text": {"description": "Only when mode is write."},
        "path": {"type": "string"},
    }});
    let found: Vec<_> = mode_parameters(&tied).into_iter().map(|lint| lint.parameter).collect();
    assert_eq!(found, ["mode", "text"]);
    assert_eq!(mode_parameters(&input_schema::<support::PayInput>()), []);
}

#[test]
fn names_and_descriptions_are_checked() {
    let shape = |name: &str, description: &str| -> Arc<dyn AnyTool> {
        Arc::new(Shaped(Definition {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
            output: json!({}),
            implementation: Value::Null,
            host_only: false,
        }))
    };
    for name in ["", "a b", "a/b", &"x".repeat(65), "é"] {
        assert!(matches!(Registry::new().add_any(shape(name, "x")), Err(RegistryError::Name { .. })), "{name}");
    }
    assert!(matches!(Registry::new().add_any(shape("a", " ")), Err(RegistryError::NoDescription { .. })));
}

/// What a function takes and how it answers.
#[derive(Deserialize, JsonSchema)]
struct Parcel {
    /// Its number.
    #[schemars(range(max = 100))]
    number: u8,
}

/// Numbers that no JSON can hold.
#[derive(JsonSchema)]
struct NotJson;

impl serde::Serialize for NotJson {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it has no form"))
    }
}

/// Shows R27, R28: a function is a typed tool. Its arguments are validated before it is called, policies see them, and its
/// error is the model's to read.
#[tokio::test]
async fn a_function_is_a_tool() {
    const POLICY: &str = r#"
version = 1
[[rule]]
id = "parcels"
decision = "allow"
reason = "small numbers may be sent"
effect = "tool"
tool = "send"
where.number = { max = 50 }
[[rule]]
id = "odd"
decision = "allow"
reason = "a test"
effect = "tool"
tool = "odd"
"#;
    let send = tool("send", "Sends a parcel.", |parcel: Parcel| async move {
        if parcel.number == 13 { Err("nobody sends 13") } else { Ok(json!({ "sent": parcel.number })) }
    });
    let odd = tool("odd", "Returns what it can not.", |_: Parcel| async move { Ok::<_, String>(NotJson) });
    let mut registry = Registry::new();
    registry.add_any(Arc::new(send.idempotent().timeout_ms(5_000))).unwrap();
    registry.add_any(Arc::new(odd)).unwrap();
    let known = registry.get("send").unwrap();
    assert_eq!((known.kind(&Value::Null), known.timeout_ms(&Value::Null)), (CallKind::Idempotent, 5_000));
    assert_eq!(known.concurrency(&Value::Null), Concurrency::Exclusive);
    assert!(!known.looks() && !known.runs_programs(&Value::Null));
    let place = Place { root: "/srv".into(), cwd: "/srv".into(), home: "/home/dev".into(), ..Place::default() };
    let mut world = checkrein_testkit::World::new(registry, POLICY, place);
    for (tool, number, code, text) in [
        ("send", "7", None, "{\"sent\":7}"),
        ("send", "60", Some(Code::NeedsApproval), "send"),
        ("send", "101", Some(Code::InvalidArgs), "/number"),
        ("send", "13", Some(Code::ToolFailed), "nobody sends 13"),
        ("odd", "7", Some(Code::InvalidToolOutput), "can not be written as JSON"),
    ] {
        let ended = world.call(tool, &format!("{{\"number\": {number}}}")).await;
        assert_eq!(ended.code, code, "{tool} {number}: {}", ended.text);
        assert!(ended.text.contains(text), "{tool} {number}: {}", ended.text);
    }
}

/// What only looks may overlap; a text is told as it is; and what fits the schema and not the type does not reach the
/// function.
#[tokio::test]
async fn a_function_that_only_looks() {
    #[derive(JsonSchema)]
    struct Never {}
    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Err(serde::de::Error::custom("never"))
        }
    }
    let look = tool("look", "Looks.", |_: Parcel| async { Ok::<_, String>("a plain text") }).pure();
    assert_eq!(look.concurrency(&Value::Null), Concurrency::Parallel);
    assert!(look.looks());
    assert_eq!(look.render(&Value::Null, &json!("a plain text")).unwrap().rendered.text, "a plain text");
    let never = tool("never", "Takes nothing.", |_: Never| async { Ok::<_, String>(()) });
    let mut registry = Registry::new();
    registry.add_any(Arc::new(never)).unwrap();
    let policy = "version = 1\n[[rule]]\nid = \"a\"\ndecision = \"allow\"\nreason = \"a\"\neffect = \"tool\"\ntool = \"never\"\n";
    let place = Place { root: "/srv".into(), cwd: "/srv".into(), home: "/home/dev".into(), ..Place::default() };
    let mut world = checkrein_testkit::World::new(registry, policy, place);
    let ended = world.call("never", "{}").await;
    assert_eq!(ended.code, Some(Code::InvalidArgs), "{}", ended.text);
}
