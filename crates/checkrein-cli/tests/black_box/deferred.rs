//! A task with very many tools and skills, seen from outside: what it costs, what waits, and what the journal says.

use serde_json::Value;

use crate::support::{Desk, Lines};

const POLICY: &str = "version = 1\n[[rule]]\nid = \"stock\"\ndecision = \"ask\"\nreason = \"stock is counted by people\"\neffect = \"tool\"\ntool = \"stock_7\"\n";

const SCRIPT: &str = r#"
version = 1
[[step]]
calls = [{ tool = "find_tools", args = { query = "count stock of hall 7" } }]
[[step]]
when = { tool_result = "find_tools", contains = "\"tool\":\"stock_7\"" }
calls = [{ tool = "call_tool", args = { tool = "stock_7", args = { article = "a-1" } } }]
[[step]]
when = { tool_result = "call_tool", contains = "counted a-1" }
calls = [{ tool = "load_skill", args = { name = "close-day-150" } }]
[[step]]
text = "It was counted."
"#;

/// Two hundred command tools, and as many skills.
fn warehouse(script: &str) -> Desk {
    let desk = Desk::new();
    let names: Vec<String> = (0..200).map(|n| format!("stock_{n}")).collect();
    for (n, name) in names.iter().enumerate() {
        let manifest = format!(
            "version = 1\nname = \"{name}\"\ndescription = \"Count the stock of hall {n}. It takes a while, and whoever stands \
             in the hall has to wait for it.\"\nkind = \"once\"\nargv = [\"sh\", \"count.sh\", \"{{article}}\"]\noutput = \"text\"\n\
             effects = [{{ tool = \"{name}\", article = \"{{article}}\" }}]\n[params.article]\ntype = \"string\"\nrequired = true\n\
             description = \"The number of the article, as it stands on its label.\"\n"
        );
        desk.write(&format!("task/tools/{name}.toml"), &manifest);
        let skill = format!(
            "---\nname: close-day-{n:03}\ndescription: How to close the books of hall {n} at the end of a day.\n---\nCount twice.\n"
        );
        desk.write(&format!("task/skills/close-day-{n:03}/SKILL.md"), &skill);
    }
    desk.write("task/count.sh", "echo \"counted $1\"\necho \"$1\" >> counted.txt\n");
    let skills: Vec<String> = (0..200).map(|n| format!("\"skills/close-day-{n:03}\"")).collect();
    let more = format!("workspace = \"copy\"\ntools = {names:?}\nskills = [{}]\n", skills.join(", "));
    desk.task(script, POLICY, &more);
    desk
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// Shows R39, R86, R169: two hundred tools and two hundred skills cost less than 2,000 tokens each in every request; the one that
/// is looked up asks a person under its own name, is gone on with, and the whole verifies and replays.
#[test]
fn two_hundred_tools_and_skills() {
    let desk = warehouse(SCRIPT);
    let dry = Lines::of_command(&mut desk.command(["run", "task", "--dry"]));
    let projected = dry.outcome();
    assert_eq!(projected["deferred"], 200);
    assert!(number(&projected["tools"]) < 2_000 && number(&projected["instructions"]) < 2_300, "{projected}");
    let said = desk.run(["run", "task", "--dry"]);
    assert!(said.out.contains("200 tools, which are only named until they are looked up"), "{}", said.out);
    let listed = Lines::of_command(&mut desk.command(["tools", "list", "task"])).lines;
    let deferred =
        |name: &str| listed.iter().find(|line| line["name"] == name).expect("it is listed")["deferred"].clone();
    assert_eq!((deferred("stock_7"), deferred("call_tool"), listed.len()), (true.into(), false.into(), 203));
    let shown = desk.run(["tools", "list", "task"]);
    assert!(shown.out.contains("stock_7      (only named) Count the stock of hall 7\n"), "{}", shown.out);

    let lines = desk.json(["run", "task"]);
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    let session = lines.session();
    let waiting = desk.exported(&["approvals", "list", "--json"]);
    assert_eq!((&waiting[0]["tool"], &waiting[0]["arguments"]["article"]), (&"stock_7".into(), &"a-1".into()));
    let approved = desk.run(["approvals", "approve", waiting[0]["id"].as_str().unwrap(), "--by", "dana"]);
    assert_eq!(approved.code, 0, "{}", approved.err);
    let lines = desk.json(["resume", &session]);
    assert_eq!(lines.outcome()["answer"], "It was counted.", "{}", lines.outcome());
    assert_eq!(lines.outcome()["tool_runs"]["stock_7"], 1);
    let counted = std::fs::read_to_string(lines.workspace().join("counted.txt")).unwrap();
    assert_eq!(counted, "a-1\n");
    desk.sound();

    let events = desk.events(&session);
    let proposed: Vec<&Value> = events
        .iter()
        .filter_map(|event| event["calls"].as_array())
        .flatten()
        .filter(|call| !call["through"].is_null())
        .collect();
    assert_eq!(
        (proposed.len(), &proposed[0]["tool"], &proposed[0]["through"]["tool"]),
        (1, &"stock_7".into(), &"call_tool".into())
    );
    let judged = events.iter().filter(|event| event["type"] == "decision").map(|event| event["tool"].as_str().unwrap());
    assert!(judged.clone().any(|tool| tool == "stock_7") && judged.clone().all(|tool| tool != "call_tool"));
    let prefix = Lines::of_command(&mut desk.command(["show", &session, "--prefix"])).lines;
    let moved = prefix.iter().filter(|row| row["parts_at"].is_u64()).count();
    assert_eq!(moved, 0, "no request began otherwise than the one before: {prefix:?}");
    let cassette = desk.path("recorded.jsonl");
    let made = desk.run(["cassette".as_ref(), "from-session".as_ref(), session.as_ref(), cassette.as_os_str()]);
    assert_eq!(made.code, 0, "{}{}", made.out, made.err);
    let recorded = std::fs::read_to_string(&cassette).unwrap();
    assert!(recorded.contains("call_tool"), "the model's own words");
}

/// Shows R39: what can not be deferred is a mistake of the file, with its line and the nearest name.
#[test]
fn mistakes_of_the_key() {
    let desk = Desk::new();
    for (written, says) in [
        (
            "deferred = [\"raed\"]",
            "task.toml:6: `deferred` names `raed`, which is no tool of this task; it has: read (did you mean `read`?)",
        ),
        ("deferred = [\"find_tools\"]", "`deferred` names `find_tools`, which is no tool of this task"),
        ("deferred = \"read\"", "`deferred` is `true`, `false`, or a list of names of tools"),
        ("deferred = [7]", "`deferred` is `true`, `false`, or a list of names of tools"),
    ] {
        desk.task(
            "version = 1\n[[step]]\ntext = \"x\"\n",
            "version = 1\n",
            &format!("tools = [\"read\"]\n{written}\n"),
        );
        let ended = desk.run(["run", "task"]);
        assert!(ended.code == 2 && ended.err.contains(says), "{written}: {}", ended.err);
    }
}
