//! A cassette that is recorded anew, accepted or rejected turn by turn; and one that keeps its answers under new keys.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::Desk;
use crate::terminal::at_a_terminal;

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";

/// Three turns: how many tokens the first one has, what the second one looks for, what the last one says.
fn script(tokens: u32, second: &str, answer: &str) -> String {
    format!(
        "version = 1\n[[step]]\nusage = {{ input = {tokens}, output = 5 }}\ncalls = [{{ tool = \"read\", args = {{ file_path = \"notes.txt\" }} }}]\n\
         [[step]]\ncalls = [{{ tool = \"glob\", args = {{ pattern = \"{second}\" }} }}]\n\
         [[step]]\ntext = \"{answer}\"\n"
    )
}

/// A cassette of one script, and beside it a recording of another one that nobody has decided about.
fn refreshed(second: &str) -> Desk {
    let desk = Desk::new();
    desk.write("task/notes.txt", "the key is under the mat\n");
    desk.task(&script(100, "*", "Done."), POLICY, "workspace = \"copy\"\n");
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    desk.write("task/script.toml", second);
    let told = desk.run(["cassette", "refresh", "c.jsonl", "--yes"]);
    assert_eq!(told.code, 1, "{}{}", told.out, told.err);
    desk
}

fn plays(desk: &Desk) -> Value {
    let played = desk.json(["run", "task", "--model", "replay:c.jsonl"]);
    assert_eq!(played.status(), "completed", "{}", played.outcome());
    desk.sound();
    assert_eq!(desk.run(["cassette", "check", "c.jsonl"]).code, 0);
    let usage = &played.of("proposal")[0]["usage"]["input"];
    serde_json::json!([usage, played.outcome()["answer"]])
}

/// Turns that say something else are decided together, and this is said; one with other tokens stands alone. What is rejected
/// is as it was, what is accepted as it is now, and the cassette plays. Shows R192.
#[test]
fn each_turn_is_accepted_or_rejected() {
    let newer = script(200, "*.txt", "Done now.");
    let desk = refreshed(&newer);
    let some = desk.run(["cassette", "refresh", "c.jsonl", "--accept=main:3"]);
    assert_eq!(some.code, 1, "{}", some.err);
    assert_snapshot!("turns_accepted", desk.steady(&some.out));
    assert_eq!(plays(&desk), serde_json::json!([100, "Done now."]));
    let wrong = desk.run(["cassette", "refresh", "c.jsonl", "--reject=main:2"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("`main:2` is no turn that is different; those are main:1"),
        "{}",
        wrong.err
    );
    let rest = desk.run(["cassette", "refresh", "c.jsonl", "--reject=main:1"]);
    assert_eq!((rest.code, rest.out.as_str()), (0, "c.jsonl.new is gone, and c.jsonl is as it was\n"));
    assert_eq!(plays(&desk), serde_json::json!([100, "Done now."]));
    assert!(!desk.path("c.jsonl.new").exists());
    // The other way round.
    let desk = refreshed(&newer);
    let before = std::fs::read_to_string(desk.path("c.jsonl")).unwrap();
    let some = desk.run(["cassette", "refresh", "c.jsonl", "--reject=main:2"]);
    assert!(
        some.code == 1 && some.out.contains("rejected with them, since they hold what each other says: main:3\n"),
        "{}",
        some.out
    );
    assert_eq!(std::fs::read_to_string(desk.path("c.jsonl")).unwrap(), before, "nothing was accepted");
    let rest = desk.run(["cassette", "refresh", "c.jsonl", "--accept=main:1"]);
    assert_eq!(rest.code, 0, "{}{}", rest.out, rest.err);
    assert_eq!(plays(&desk), serde_json::json!([200, "Done."]));
    let now = std::fs::read_to_string(desk.path("c.jsonl")).unwrap();
    assert_eq!(now.replace("\"input\":200", "\"input\":100"), before, "and nothing else is another");
}

/// A person at a terminal is asked about each, once where turns hold each other, and may put it off.
#[test]
fn a_person_is_asked_about_each_turn() {
    let desk = refreshed(&script(200, "*.txt", "Done now."));
    let Some(later) = at_a_terminal(&desk, "cassette refresh c.jsonl", "l\nl\n") else { return };
    assert_eq!(later.code, 1, "{}", later.out);
    let run = at_a_terminal(&desk, "cassette refresh c.jsonl", "x\nr\na\n").unwrap();
    assert_eq!(run.code, 0, "{}", run.out);
    let asked: Vec<&str> = run.out.lines().skip_while(|line| !line.starts_with("main:")).collect();
    assert_snapshot!("turns_asked", desk.steady(&asked.join("\n").replace('\r', "")));
    assert_eq!(plays(&desk), serde_json::json!([200, "Done."]));
    assert!(!desk.path("c.jsonl.new").exists());
}

/// A cassette comes from anywhere: neither the task nor the model that it names is used before a person has said so.
#[test]
fn what_a_cassette_names_is_the_persons_to_use() {
    let desk = Desk::new();
    desk.task("version = 1\n[[step]]\ntext = \"Done.\"\n", POLICY, "workspace = \"copy\"\n");
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    let sessions = || desk.run(["sessions"]).out.lines().count();
    let before = sessions();
    for more in [vec![], vec!["--model", "script:task/script.toml"]] {
        let refused = desk.run([vec!["cassette", "refresh", "c.jsonl"], more].concat());
        assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
        assert!(refused.err.contains("say --yes"), "{}", refused.err);
        assert_eq!((sessions(), desk.path("c.jsonl.new").exists()), (before, false));
    }
    let Some(no) = at_a_terminal(&desk, "cassette refresh c.jsonl", "n\n") else { return };
    assert_eq!((no.code, sessions()), (1, before), "{}", no.out);
    assert_snapshot!("refresh_asks", desk.steady(&no.out.replace('\r', "")));
    let yes = at_a_terminal(&desk, "cassette refresh c.jsonl", "y\n").expect("as before");
    assert_eq!((yes.code, desk.path("c.jsonl.new").exists()), (0, true), "{}", yes.out);
}

fn tool(description: &str) -> String {
    format!(
        "version = 1\nname = \"count\"\ndescription = \"{description}\"\nargv = [\"wc\", \"-c\", \"notes.txt\"]\nkind = \"pure\"\n\
         [params.file]\ntype = \"string\"\ndescription = \"a file\"\n"
    )
}

/// A tool that is only described otherwise keeps the answers, and the cassette says so ever after; anything else is refused.
#[test]
fn answers_are_kept_under_new_keys() {
    let desk = Desk::new();
    desk.write("task/notes.txt", "the key is under the mat\n");
    desk.write("task/tools/count.toml", &tool("Counts."));
    desk.task(&script(100, "*", "Done."), POLICY, "workspace = \"copy\"\n");
    let recorded = desk.json(["run", "task", "--record", "c.jsonl"]);
    assert_eq!(recorded.status(), "completed", "{}", recorded.ended.err);
    let same = desk.run(["cassette", "re-key", "c.jsonl"]);
    assert_eq!((same.code, same.out.as_str()), (0, "the keys of c.jsonl are what they were\n"), "{}", same.err);
    desk.write("task/tools/count.toml", &tool("Counts the bytes of a file."));
    assert_eq!(desk.json(["run", "task", "--model", "replay:c.jsonl"]).outcome()["code"], "CASSETTE_MISS");
    let made = desk.run(["cassette", "re-key", "c.jsonl"]);
    assert_eq!(made.code, 0, "{}", made.err);
    assert_snapshot!("re_keyed", made.out);
    assert_eq!(plays(&desk), serde_json::json!([100, "Done."]));
    let checked = desk.run(["cassette", "check", "c.jsonl"]);
    assert!(
        checked.out.contains("  re-keyed: at 20") && checked.out.contains(", for other words or schemas of count\n"),
        "{}",
        checked.out
    );
    let text = std::fs::read_to_string(desk.path("c.jsonl")).unwrap();
    let settings = std::fs::read_to_string(desk.path("task/task.toml")).unwrap();
    for (what, file, now) in [
        ("task.toml changed as well", "task/task.toml", settings.replace("Do it.", "Do that.")),
        ("/tools", "task/tools/more.toml", tool("Counts.").replace("\"count\"", "\"more\"")),
    ] {
        let before = std::fs::read(desk.path(file)).ok();
        desk.write(file, &now);
        let refused = desk.run(["cassette", "re-key", "c.jsonl"]);
        assert!(refused.code == 2 && refused.err.contains(what), "{what}: {}{}", refused.out, refused.err);
        match before {
            Some(bytes) => std::fs::write(desk.path(file), bytes).unwrap(),
            None => std::fs::remove_file(desk.path(file)).unwrap(),
        }
    }
    std::fs::remove_file(desk.path("task/tools/count.toml")).unwrap();
    let gone = desk.run(["cassette", "re-key", "c.jsonl"]);
    assert!(gone.code == 2 && gone.err.contains("the tool `count` is not there any more"), "{}{}", gone.out, gone.err);
    assert_eq!(std::fs::read_to_string(desk.path("c.jsonl")).unwrap(), text, "what is refused changes nothing");
}
