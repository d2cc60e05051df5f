//! Hostile bytes through every tool: what programs, names and errors hold is made visible, and nothing of it is obeyed.
//! What a file holds reaches the model as it is, since it has to be named to be edited; fronts make it visible, and are
//! tested with the binary.

use serde_json::{Value, json};

use crate::support::World;

/// Text that turns a terminal's head: escapes that set colours and titles, a bell, a carriage return that writes over a
/// line, letters that run backwards, and bytes that are no letters at all.
const HOSTILE: &[u8] =
    b"\x1b[31mred\x1b]0;title\x07 over\rwritten \xe2\x80\xaebackwards\xe2\x80\xac \xff\xfe \xc2\x9b2J end\n";

/// The same as text, for arguments.
fn text() -> String {
    String::from_utf8_lossy(HOSTILE).into_owned()
}

/// For every tool calls that would show such text, be it content, a name or an error.
fn calls(world: &World, tool: &str) -> Vec<Value> {
    let name = "a\u{1b}[31m\u{202e}b.txt";
    world.file(name, "plain\n");
    world.file("hostile.txt", HOSTILE);
    match tool {
        "read" => vec![json!({"file_path": name}), json!({"file_path": text()})],
        "glob" => vec![json!({"pattern": "*.txt"}), json!({"pattern": text()})],
        "grep" => vec![json!({"pattern": "plain"}), json!({"pattern": format!("({}", text())})],
        "bash" => vec![json!({"command": "cat hostile.txt"}), json!({"command": "cat hostile.txt >&2; ls; exit 3"})],
        "edit" => vec![json!({"file_path": "hostile.txt", "edits": [{"old_string": text(), "new_string": "x"}]})],
        "write" => vec![json!({"file_path": text(), "content": text()})],
        // Nothing listens there; `web shown` has a hostile page.
        "web_fetch" => vec![json!({"url": "http://127.0.0.1:9/\u{202e}\u{9b}"})],
        "todo" => vec![json!({"items": [{"text": text()}]})],
        "verify" => vec![json!({"run": ["cat", "hostile.txt", "none"]})],
        "shop" => vec![json!({})],
        other => panic!("say how `{other}` could show hostile text, or that it can not"),
    }
}

/// The first character that a terminal would obey: letters, line ends and tabs are none.
fn obeyed(text: &str) -> Option<char> {
    text.chars().find(|c| {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
        turns || c.is_control() && !matches!(c, '\n' | '\t')
    })
}

/// Shows R70, R74: whatever a file, a program or a name holds, nothing that a terminal obeys comes out of a tool.
#[tokio::test]
async fn nothing_that_a_terminal_obeys_comes_out() {
    let manifest = "version = 1\nname = \"shop\"\ndescription = \"x\"\n\
                    argv = [\"bash\", \"-c\", '''printf '\\033[31m\\342\\200\\256 \\377' >&2; exit 1''']";
    let mut world = World::with_command(manifest);
    let names: Vec<String> = world.registry().names().map(str::to_owned).collect();
    for name in names {
        for args in calls(&world, &name) {
            let finished = world.call(&name, args.clone()).await;
            assert_eq!(obeyed(&finished.text), None, "{name} {args}: {:?}", finished.text);
            assert!(!finished.text.is_empty());
        }
    }
}

/// Shows R70: a gigabyte without a line end costs neither memory nor a split character, and what is left out is told.
#[tokio::test]
async fn a_gigabyte_on_one_line() {
    let mut world = World::new();
    let finished = world.call("bash", json!({"command": "yes é | tr -d '\\n' | head -c 1073741824"})).await;
    assert!(finished.cut && finished.text.contains("of 1073741824 bytes"), "{:?}", finished.text.get(..200));
    assert!(finished.text.len() < 200_000, "{}", finished.text.len());
    assert_eq!(obeyed(&finished.text), None);
}
