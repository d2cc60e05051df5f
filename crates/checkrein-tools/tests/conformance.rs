//! What every tool in the list has to keep, looped over the list: a tool that is added is tested at once.

use checkrein_contract::{CallKind, Code, Facts};
use checkrein_gate::schema::{JsonSchemaCompiler, SchemaCompiler, check_subset, mode_parameters};
use checkrein_gate::{AnyTool, Concurrency};
use serde_json::{Value, json};

use crate::support::{World, next_call};
use crate::web::{Server, answer};

fn each(mut check: impl FnMut(&dyn AnyTool, &Value)) {
    for (tool, examples) in checkrein_tools::with_examples(checkrein_policy::Models::built_in(), &[]) {
        assert!(!examples.is_empty(), "{}", tool.definition().name);
        examples.iter().for_each(|example| check(&*tool, example));
    }
}

/// A value of another type than the schema wants.
fn other_type(schema: &Value) -> Value {
    if schema["type"] == "string" { json!(7) } else { json!("seven") }
}

/// The same arguments, wrong in one way each.
fn mutations(schema: &Value, args: &Value) -> Vec<Value> {
    let mut wrong = vec![json!([]), json!("x"), Value::Null];
    let object = args.as_object().unwrap();
    let mut with = |name: &str, value: Option<Value>| {
        let mut changed = object.clone();
        changed.remove(name);
        changed.extend(value.map(|value| (name.to_owned(), value)));
        wrong.push(Value::Object(changed));
    };
    with("no_such_parameter", Some(json!(1)));
    for name in schema["required"].as_array().unwrap() {
        with(name.as_str().unwrap(), None);
    }
    for (name, property) in schema["properties"].as_object().unwrap() {
        with(name, Some(other_type(property)));
        if let Some(least) = property["minimum"].as_i64() {
            with(name, Some(json!(least - 1)));
        }
        if let Some(most) = property["maximum"].as_i64() {
            with(name, Some(json!(most + 1)));
        }
        if property["type"] == "array" {
            if property["minItems"].as_u64().is_some_and(|least| least > 0) {
                with(name, Some(json!([])));
            }
            // One that is left out has nothing in it to be wrong.
            let Some(first) = args[name].get(0) else { continue };
            for item in mutations(&property["items"], first) {
                with(name, Some(json!([item])));
            }
        }
    }
    wrong
}

/// Shows R27, R28, R45: the schema of the type takes every example and none of its mutations.
#[test]
fn schemas_take_the_examples_and_nothing_else() {
    each(|tool, example| {
        let schema = &tool.definition().parameters;
        let compiled = JsonSchemaCompiler.compile(schema).unwrap();
        let violations = compiled.violations(example);
        assert!(violations.is_empty(), "{} {example}: {violations:?}", tool.definition().name);
        for wrong in mutations(schema, example) {
            assert!(!compiled.violations(&wrong).is_empty(), "{} {wrong}", tool.definition().name);
        }
    });
}

/// Shows R45, R46, R190: the same at the gate, where it counts.
#[tokio::test]
async fn the_gate_refuses_every_mutation() {
    let world = World::new();
    for (tool, examples) in checkrein_tools::with_examples(checkrein_policy::Models::built_in(), &[]) {
        let (name, schema) = (&tool.definition().name, &tool.definition().parameters);
        for example in &examples {
            assert!(world.judge(name, example).await.is_ok(), "{name} {example}");
            for wrong in mutations(schema, example) {
                let refused = world.judge(name, &wrong).await.unwrap_err();
                assert_eq!(refused.decision.code, Code::InvalidArgs, "{name} {wrong}");
            }
        }
    }
}

/// Shows R36, R37, R38, R49: names, descriptions and schemas are such as models can use.
#[test]
fn definitions_are_fit_for_models() {
    let mut names = Vec::new();
    each(|tool, _| {
        let definition = tool.definition();
        names.push(definition.name.clone());
        assert!(mode_parameters(&definition.parameters).is_empty(), "{}", definition.name);
        assert!(
            check_subset(&definition.parameters, true).is_empty() && check_subset(&definition.output, false).is_empty()
        );
        assert!(
            definition.description.ends_with('.') && !definition.description.contains("  "),
            "{}",
            definition.description
        );
        assert!(definition.description.len() < 500, "{} is long", definition.name);
        for (name, property) in definition.parameters["properties"].as_object().unwrap() {
            let said = property["description"].as_str().unwrap_or_default();
            assert!(said.ends_with('.'), "{}.{name}: {said:?}", definition.name);
        }
    });
    names.dedup();
    assert_eq!(names, checkrein_tools::builtin_names());
    assert_eq!(names, ["bash", "edit", "glob", "grep", "read", "todo", "web_fetch", "write"]);
}

/// Shows R24, R29, R30: three fields of a definition reach a model, and the harness's own tool none.
#[test]
fn models_are_told_three_fields() {
    let world = World::new();
    let specs = world.registry().specs();
    assert_eq!(specs.len(), 8, "`verify` is not on offer");
    for spec in specs {
        let value = serde_json::to_value(&spec).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["description", "name", "parameters"]);
    }
}

/// Shows R136, R137: what says nothing is exclusive and never repeated, and only reading one file or page may overlap.
#[test]
fn the_strictest_answer_is_the_default() {
    each(|tool, example| {
        let name = tool.definition().name.as_str();
        let pure = ["glob", "grep", "read", "todo"].contains(&name);
        let kind = match name {
            _ if pure => CallKind::Pure,
            "web_fetch" => CallKind::Idempotent,
            _ => CallKind::Once,
        };
        assert_eq!(tool.kind(example), kind, "{name}");
        let parallel = tool.concurrency(example) == Concurrency::Parallel;
        assert_eq!(parallel, ["read", "web_fetch"].contains(&name), "{name}");
        assert_eq!(tool.kind(&json!({"no": "fit"})), CallKind::Once, "{name}");
        assert_eq!(tool.concurrency(&json!({"no": "fit"})), Concurrency::Exclusive, "{name}");
        assert!(tool.timeout_ms(example) > 0);
    });
}

/// Effects are computed from the arguments and the place alone, so asking twice gives the same.
#[test]
fn effects_are_pure_and_hardly_ever_none() {
    let world = World::new();
    each(|tool, example| {
        let effects = tool.effects(example, &world.place, &Facts::default());
        // The plan of the work is the session's own.
        assert_eq!(effects.effects.is_empty(), tool.definition().name == "todo");
        assert!(effects == tool.effects(example, &world.place, &Facts::default()));
    });
}

/// For every tool a call whose result does not fit, and what the cut has to say.
fn oversized(world: &World, tool: &str) -> Vec<(Value, &'static str)> {
    match tool {
        "read" => {
            world.file("long.txt", "é\n".repeat(3_000));
            world.file("wide.txt", format!("{}\n", "é".repeat(900)).repeat(100));
            world.file("line.txt", "é".repeat(3_000));
            vec![
                (json!({"file_path": "long.txt"}), "1000 more"),
                (json!({"file_path": "wide.txt"}), "72 more"),
                (json!({"file_path": "line.txt"}), "1000 more"),
            ]
        }
        "glob" => {
            (0..150).for_each(|n| world.file(&format!("many/é{n}.txt"), ""));
            vec![(json!({"pattern": "*.txt"}), "50 more"), (json!({"pattern": "many/*.txt"}), "50 more")]
        }
        "grep" => {
            world.file("long.txt", "é\n".repeat(300));
            world.file("wide.md", format!("é{}\n", "x".repeat(2_500)).repeat(3));
            vec![
                (json!({"pattern": "é", "include": "long.txt"}), "50 more"),
                (json!({"pattern": "é", "include": "*.md"}), "502 more"),
            ]
        }
        "bash" => {
            let print = "for i in {1..50000}; do printf é; done";
            vec![
                (json!({"command": print}), "36000 of 100000 bytes"),
                (json!({"command": format!("({print}) >&2")}), "36000 of 100000 bytes"),
            ]
        }
        "web_fetch" => {
            let head = "Content-Type: text/plain\r\n";
            let server = Server::new(move |_| answer("200 OK", head, "\u{e9}\n".repeat(30_000).as_bytes()));
            vec![(json!({"url": server.url("/")}), "of 90000 bytes")]
        }
        "shop" => vec![(json!({}), "24004 bytes left out here")],
        "verify" => vec![(json!({"run": ["bash", "-c", "seq 2000; exit 1"]}), "4893 of 8893 bytes")],
        // What they say is one line; the diff for people is bounded, and tested with them.
        "edit" | "write" => Vec::new(),
        // Bounded by its schema: 50 items of 200 characters.
        "todo" => Vec::new(),
        other => panic!("say how `{other}` is capped, or that it never needs to be"),
    }
}

/// Shows R69, R70, R74: every tool that caps says so, says how much is missing, splits no character, and names a call
/// that works.
#[tokio::test]
async fn no_cap_is_silent() {
    let manifest = "version = 1\nname = \"shop\"\ndescription = \"x\"\nargv = [\"bash\", \"-c\", '''printf '\"'; \
                    for i in $(seq 40000); do printf é; done; printf '\"' ''']";
    let mut world = World::with_command(manifest);
    let names: Vec<String> = world.registry().names().map(str::to_owned).collect();
    for name in names {
        for (args, said) in oversized(&world, &name) {
            let finished = world.call(&name, args.clone()).await;
            assert!(finished.cut, "{name} {args} is cut in silence");
            assert!(name == "shop" || !finished.text.contains("left out here"), "the gate must not have to cut");
            assert!(finished.text.contains(said), "{name} {args}: {}", tail(&finished.text));
            assert!(!finished.text.contains('\u{fffd}'), "{name} {args} splits a character");
            if let Some((tool, args)) = next_call(&finished.text) {
                let more = world.call(&tool, args.clone()).await;
                assert_eq!(more.code, None, "{name}: the named call {tool} {args} fails: {}", more.text);
            } else {
                assert!(finished.text.contains("narrow `pattern`"), "{name}: {}", tail(&finished.text));
            }
        }
    }
}

fn tail(text: &str) -> &str {
    text.get(text.len().saturating_sub(400)..).unwrap_or(text)
}

/// Shows R61, R74: a value is rendered the same every time.
#[tokio::test]
async fn rendering_is_pure() {
    let mut world = World::new();
    world.file("src/a.rs", "fn main() {}\n");
    for (tool, args) in [
        ("read", json!({"file_path": "src/a.rs"})),
        ("edit", json!({"file_path": "src/a.rs", "edits": [{"old": "main", "new": "other"}]})),
        ("write", json!({"file_path": "src/b.rs", "content": "fn b() {}\n"})),
        ("glob", json!({"pattern": "*.rs"})),
        ("grep", json!({"pattern": "fn"})),
        ("bash", json!({"command": "seq 30000; exit 3"})),
        ("verify", json!({"run": ["false"]})),
    ] {
        let finished = world.call(tool, args.clone()).await;
        let tool = world.registry().get(tool).unwrap();
        let (first, second) =
            (tool.render(&args, &world.value()).unwrap(), tool.render(&args, &world.value()).unwrap());
        assert_eq!(first, second);
        assert_eq!(first.rendered.text, finished.text);
        assert!(tool.render(&args, &json!({"not": "a value"})).is_err());
    }
}
