//! Manifests of tools at work: what a call would do, the schema and the command that follow, and URLs as they are read.

use checkrein_contract::{Connect, Effect, Facts, Identity, Place, Question, Tree};
use checkrein_policy::url::Url;
use checkrein_policy::{Manifest, Models, Scene, Source};
use serde_json::{Value, json};

fn place() -> Place {
    Place { root: "/p".into(), cwd: "/p/src".into(), home: "/home/dev".into(), ..Place::default() }
}

fn manifest(rest: &str) -> Manifest {
    let text = format!("version = 1\nname = \"t\"\n{rest}\n");
    Manifest::load(Source { file: "t.toml", text: &text }).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn effects(rest: &str, args: Value) -> Vec<Effect> {
    let (place, facts) = (place(), Facts::default());
    let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
    manifest(rest).foresee(None, "t", &args, scene).effects
}

fn is_unknown(effects: &[Effect], what: &str) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Unknown { what: said } if said.contains(what)))
}

/// The schema a model sees, the defaults that are filled in, and the words that run.
#[test]
fn parameters_become_a_schema_and_a_command() {
    let pay = manifest(
        "argv = [\"./pay\", \"{to}\", \"--n={n}\", \"{identity.customer}\", \"{fast}\"]\n\
         params.to = { type = \"string\", required = true, pattern = \"^[a-z]+$\", description = \"Who.\" }\n\
         params.n = { type = \"integer\", default = 1, min = 1, max = 9 }\n\
         params.rate = { type = \"number\" }\n\
         params.fast = { type = \"boolean\", default = false }\n\
         params.size = { type = \"string\", one_of = [\"s\", \"l\"] }",
    );
    let schema = pay.schema();
    assert_eq!(schema["properties"]["to"], json!({ "type": "string", "pattern": "^[a-z]+$", "description": "Who." }));
    assert_eq!(schema["properties"]["n"], json!({ "type": "integer", "default": 1, "minimum": 1.0, "maximum": 9.0 }));
    assert_eq!(schema["properties"]["rate"], json!({ "type": "number" }));
    assert_eq!(schema["properties"]["fast"], json!({ "type": "boolean", "default": false }));
    assert_eq!(schema["properties"]["size"]["enum"], json!(["s", "l"]));
    assert_eq!(schema["required"], json!(["to"]));
    let customer = Identity([("customer".to_owned(), "c 7".to_owned())].into());
    let words = pay.command(&json!({ "to": "dana" }), &customer, "k").unwrap();
    assert_eq!(words, ["./pay", "dana", "--n=1", "c 7", "false"]);
    assert_eq!(pay.command(&json!({ "to": "dana" }), &Identity::default(), "k"), Err("identity.customer".to_owned()));
    assert_eq!(pay.acts_as(), ["t"]);
    let own = effects("params.n = { type = \"integer\", default = 1 }", json!({}));
    assert_eq!(own, [Effect::Tool { tool: "t".into(), server: None, args: json!({ "n": 1 }) }]);
}

/// Variables are the program's own, by names that are some; the harness keeps its own for itself.
#[test]
fn variables_of_a_program() {
    let shop = manifest("argv = [\"./shop\"]\nenv = { TOKEN = \"${secret:SHOP}\", MODE = \"live\" }");
    assert_eq!(shop.env["TOKEN"], "${secret:SHOP}");
    for wrong in [
        "argv = [\"./shop\"]\nenv = { \"A B\" = \"x\" }",
        "argv = [\"./shop\"]\nenv = { CHECKREIN_HOME = \"x\" }",
        "env = { MODE = \"live\" }",
    ] {
        let text = format!("version = 1\nname = \"t\"\n{wrong}\n");
        let error = Manifest::load(Source { file: "t.toml", text: &text }).unwrap_err().to_string();
        assert!(error.starts_with("t.toml:") && error.contains("`env` can not set"), "{error}");
    }
}

#[test]
fn effects_of_paths_and_hosts() {
    let one = |effect: &str, args: Value| effects(&format!("[[effects]]\n{effect}"), args);
    assert_eq!(one("list = \"{d}\"", json!({ "d": "a" })), [Effect::list("/p/src/a")]);
    assert_eq!(one("delete = \"~/{d}\"", json!({ "d": "a/../b" })), [Effect::delete("/home/dev/b", true)]);
    let connect = |host: &str, port| Effect::Connect(Connect { host: host.into(), port, ..Connect::default() });
    assert_eq!(one("connect = \"{h}\"", json!({ "h": "Shop.example" })), [connect("shop.example", 443)]);
    assert_eq!(one("connect = \"{h}:8080\"", json!({ "h": "a.example" })), [connect("a.example", 8080)]);
    assert!(is_unknown(&one("connect = \"a.example:{p}\"", json!({ "p": "x" })), "a port in a.example:x"));
    assert!(is_unknown(&one("read = \"{f}\"", json!({ "f": 7 })), "`t` was given 7 where a text is expected"));
    assert!(is_unknown(&one("read = \"{f}\"", json!({})), "`t` was called without `f`"));
    assert_eq!(one("read = \"{f?}\"", json!({})), []);
    assert_eq!(one("read = \"{f.*.name}\"", json!({ "f": [{ "name": "a" }, { "name": "b" }, 7] })).len(), 2);
    assert_eq!(one("read = \"file:%41%zz\"", json!({})), [Effect::read("/p/src/A%zz")]);
    assert_eq!(one("read = \"file://host\"", json!({})), [Effect::read("/")]);
    let tool = one("tool = \"pay\"\namount = \"{n}\"\nnote = \"to {who}\"\nfixed = 7", json!({ "n": 5, "who": "d" }));
    let args = json!({ "amount": 5, "note": "to d", "fixed": 7 });
    assert_eq!(tool, [Effect::Tool { tool: "pay".into(), server: None, args }]);
    assert!(is_unknown(&one("tool = \"pay\"\namount = \"{n}\"", json!({})), "without `n`"));
}

/// A pattern is looked up below its fixed part; where that leads elsewhere, nobody knows.
#[test]
fn effects_of_patterns_and_searches() {
    let glob = |pattern: &str, cwd: Value| {
        effects("[[effects]]\nglob = \"{g}\"\ncwd = \"{in?}\"", json!({ "g": pattern, "in": cwd }))
    };
    let list = |path: &str| [Effect::List { path: path.to_owned(), deep: true, glob: false }];
    assert_eq!(glob("a/**/*.rs", Value::Null), list("/p/src/a"));
    assert_eq!(glob("*.rs", json!("../docs")), list("/p/docs"));
    assert_eq!(glob("/etc/*", Value::Null), list("/etc"));
    assert_eq!(glob("/*", Value::Null), list("/"));
    for odd in ["a/*/../b", "{a,/etc}/x", "a\\*", "*/[.]./b", "@(a|/etc)"] {
        assert!(is_unknown(&glob(odd, Value::Null), "looks is not known"), "{odd}");
    }
    assert!(is_unknown(&glob("*", json!(7)), "a folder that is no text"));
    let search = |names: Value| effects("[[effects]]\nsearch = \"{d?}\"\nnames = \"{n}\"", json!({ "n": names }));
    let tree = |names: &[&str], skips_ignored| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        [Effect::ReadTree(Tree { root: "/p/src".into(), names, skips_ignored, ..Tree::default() })]
    };
    assert_eq!(search(json!("*.rs")), tree(&["*.rs"], false));
    assert_eq!(search(json!("*.{rs,toml}")), tree(&[], false));
    assert_eq!(search(Value::Null), tree(&[], true));
}

/// What a patch names, each as written; a step back is walked as the kernel walks it.
#[test]
fn effects_of_patches() {
    let patch = |lines: &[&str]| {
        effects("[[effects]]\npatch = \"{p}\"", json!({ "p": format!("*** Begin Patch\n{}\n", lines.join("\n")) }))
    };
    let found =
        patch(&["*** Add File: a", "+x", "*** Update File: ~/b", "*** Move to: /etc/c", "*** Delete File: d/../e"]);
    let expected = [
        Effect::write("/p/src/a"),
        Effect::write("/p/src/~/b"),
        Effect::delete("/p/src/~/b", false),
        Effect::write("/etc/c"),
        Effect::delete("/p/src/e", false),
    ];
    assert_eq!(found, expected);
    assert!(is_unknown(&patch(&["nothing"]), "a patch without a file in it"));
    let (place, facts) = (place(), Facts::default());
    let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
    let args = json!({ "p": "*** Add File: l/../e\n" });
    let foreseen = manifest("[[effects]]\npatch = \"{p}\"").foresee(None, "t", &args, scene);
    assert!(foreseen.questions.contains(&Question::RealPath { path: "/p/src/l".to_owned() }), "{foreseen:?}");
}

/// An argument that leaves the sandbox is not understood; one that is named after it means the opposite.
#[test]
fn leaving_the_sandbox() {
    let leaves = |args: Value| !effects("[[effects]]\nleaves_sandbox = \"unsafe|sandbox_mode\"", args).is_empty();
    for args in [json!({ "unsafe": true }), json!({ "unsafe": "yes" }), json!({ "sandbox_mode": "danger-full-access" })]
    {
        assert!(leaves(args.clone()), "{args}");
    }
    for args in
        [json!({}), json!({ "unsafe": false }), json!({ "sandbox_mode": "on" }), json!({ "sandbox_mode": null })]
    {
        assert!(!leaves(args.clone()), "{args}");
    }
    assert!(leaves(json!({ "sandbox_mode": "with_escalated_permissions" })));
    assert!(leaves(json!({ "sandbox_mode": "unsandboxed" })));
}

/// A host is read as the network reads it: letters that only look otherwise are the letters they stand for.
#[test]
fn hosts_in_other_letters() {
    for (written, host) in [
        ("ⓐ.ⒷC.example", "a.bc.example"),
        ("ａ.example", "a.example"),
        ("a。b．example｡", "a.b.example"),
        ("①②⓪.0.0.1", "120.0.0.1"),
        ("¹²⁷.⁰.⁰.₁", "127.0.0.1"),
        ("1²³.0.0.1", "123.0.0.1"),
        ("a\u{ad}b.example", "ab.example"),
        ("0x7f.1", "127.0.0.1"),
        ("0x.0.0.1", "0.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("[::FFFF:7F00:1]", "::ffff:127.0.0.1"),
    ] {
        assert_eq!(Url::parse(&format!("https://{written}/")).map(|url| url.host), Ok(host.to_owned()), "{written}");
    }
    for (written, why) in [
        ("https://a@b@c.example/", "more than one `@`"),
        ("https://1.2.3.4.5/", "no address and no name"),
        ("https://256.1/a", "no address and no name"),
        ("https://[::1/", "not closed"),
        ("https://[::g]/", "no IPv6 address"),
        ("https://a..b/", "its host is no name"),
        ("https://a.example:x/", "its port is no number"),
        ("https://a.example:99999/", "its port is too large"),
        ("1https://a.example/", "its scheme is none"),
        ("a.example", "no `://`"),
        ("https://a.example/\\b", "a backslash"),
        ("https://a.example/ b", "a blank"),
    ] {
        assert!(Url::parse(written).unwrap_err().contains(why), "{written}: {:?}", Url::parse(written));
    }
    let path = |written: &str| Url::parse(written).unwrap().path;
    assert_eq!(path("https://a.example/a/%2e%2E/./b?c"), "/b");
    assert_eq!(path("https://a.example/a%2fb"), "", "a slash that some read and some do not");
    assert_eq!(Url::parse("ftp://a.example:/x").unwrap().port, 21);
    assert_eq!(Url::parse("file:///etc/x").unwrap().path, "/etc/x");
}
