//! Snapshots of what the model reads: of every tool a success, a cut and an error.

use serde_json::{Value, json};

use crate::support::World;

/// One call as the snapshot shows it; of long texts the beginning and the end.
async fn shown(world: &mut World, tool: &str, args: Value) -> String {
    let text = world.call(tool, args.clone()).await.text;
    let lines: Vec<_> = text.lines().collect();
    let text = match lines.len() {
        0..=14 => text.clone(),
        all => format!("{}\n<{} lines>\n{}", lines[..4].join("\n"), all - 9, lines[all - 5..].join("\n")),
    };
    let place = world.path("..").canonicalize().unwrap();
    let text = text.replace(place.to_str().unwrap(), "<PLACE>");
    let line = |line: &str| match line.char_indices().nth(300) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}<{} bytes>{}", &line[..at], line.len() - at - 40, &line[line.len() - 40..]),
    };
    let text: Vec<_> = text.lines().map(line).collect();
    format!("--> {tool} {args}\n{}\n", text.join("\n"))
}

async fn all(world: &mut World, calls: &[(&str, Value)]) -> String {
    let mut text = Vec::new();
    for (tool, args) in calls {
        text.push(shown(world, tool, args.clone()).await);
    }
    text.join("\n")
}

#[tokio::test]
async fn reading() {
    let mut world = World::new();
    world.file("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    world.file("long.txt", (1..=5_000).map(|n| format!("line {n}\n")).collect::<String>());
    world.file("wide.csv", format!("{}\n", "1,".repeat(1_500)).repeat(60));
    world.file("image.png", b"\x89PNG\0");
    world.file("empty", "");
    let calls = [
        ("read", json!({"file_path": "src/main.rs"})),
        ("read", json!({"file_path": "long.txt"})),
        ("read", json!({"file_path": "long.txt", "offset": 4_999, "limit": 10})),
        ("read", json!({"file_path": "wide.csv"})),
        ("read", json!({"file_path": "empty"})),
        ("read", json!({"file_path": "none.rs"})),
        ("read", json!({"file_path": "src"})),
        ("read", json!({"file_path": "image.png"})),
        ("read", json!({"file_path": "src/main.rs", "offset": 9})),
        ("read", json!({"file_path": ".env"})),
        ("read", json!({"offset": 0})),
    ];
    insta::assert_snapshot!(all(&mut world, &calls).await);
}

#[tokio::test]
async fn changing() {
    let mut world = World::new();
    world.file("a.rs", "let x = 1;\nlet y = 1;\n");
    let edit = |edits: Value| ("edit", json!({"file_path": "a.rs", "edits": edits}));
    let calls = [
        ("write", json!({"file_path": "notes.md", "content": "# Plan\n"})),
        ("write", json!({"file_path": "a.rs", "content": "x\n"})),
        edit(json!([{"old": "x", "new": "z"}])),
        ("read", json!({"file_path": "a.rs"})),
        edit(json!([{"old": "x", "new": "z"}])),
        edit(json!([{"old": " = 1", "new": " = 2", "replace_all": true}, {"old": "y", "new": "w"}])),
        edit(json!([{"old": " = 2", "new": " = 3"}])),
        edit(json!([{"old": "let q", "new": "let r"}])),
        edit(json!([])),
        ("write", json!({"file_path": "a.rs", "content": "let a = 1;\n"})),
        ("write", json!({"file_path": "/etc/passwd", "content": "x"})),
    ];
    insta::assert_snapshot!(all(&mut world, &calls).await);
}

#[tokio::test]
async fn searching() {
    let mut world = World::new();
    for n in 0..130 {
        world.file(&format!("src/mod{n:03}/a.rs"), "fn a() {}\nfn b() {}\n");
    }
    world.file("README.md", "# Title\n");
    world.file("withheld.md", "# Title\n");
    world.file("data.json", format!("{{\"title\": \"{}\"}}\n", "x".repeat(5_000)));
    let calls = [
        ("glob", json!({"pattern": "*.md"})),
        ("glob", json!({"pattern": "*.rs"})),
        ("glob", json!({"pattern": "*.c"})),
        ("glob", json!({"pattern": "*", "path": "none"})),
        ("glob", json!({"pattern": "[a"})),
        ("grep", json!({"pattern": "^# ", "include": "*.md"})),
        ("grep", json!({"pattern": "fn [ab]"})),
        ("grep", json!({"pattern": "title", "path": "data.json"})),
        ("grep", json!({"pattern": "nowhere"})),
        ("grep", json!({"pattern": "fn a("})),
    ];
    insta::assert_snapshot!(all(&mut world, &calls).await);
}

#[tokio::test]
async fn running() {
    let manifest = "version = 1\nname = \"find_order\"\ndescription = \"Find an order.\"\n\
                    argv = [\"bash\", \"find.sh\", \"{order}\"]\n\
                    [params.order]\ntype = \"string\"\nrequired = true";
    let mut world = World::with_command(manifest);
    world.file("find.sh", "[ $1 = o-1 ] || { echo \"no order $1\" >&2; exit 4; }\necho '{ \"id\": 1 }'\n");
    world.file("out.json", "{\"count\": 3}\n");
    let calls = [
        ("bash", json!({"command": "echo hello"})),
        ("bash", json!({"command": "true"})),
        ("bash", json!({"command": "echo out; echo err >&2; exit 3"})),
        ("bash", json!({"command": "seq 20000"})),
        ("bash", json!({"command": "sleep 600", "timeout_s": 1})),
        ("bash", json!({"command": "sudo reboot"})),
        ("bash", json!({"command": "ls", "timeout_s": 601})),
        ("verify", json!({"run": ["true"]})),
        ("verify", json!({"run": ["bash", "-c", "echo 1 failed; exit 101"]})),
        ("verify", json!({"json": "out.json", "pointer": "/count", "equals": 4})),
        ("find_order", json!({"order": "o-1"})),
        ("find_order", json!({"order": "o-2"})),
    ];
    insta::assert_snapshot!(all(&mut world, &calls).await);
}

/// Shows R32, R38: what models are told of the tools, word by word.
#[test]
fn offered() {
    let specs = serde_json::to_string_pretty(&World::new().registry().specs()).unwrap();
    insta::assert_snapshot!(specs);
}
