//! A yes that is remembered: what it covers, what it never covers, and how it is taken back.

use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Desk, Lines};
use crate::terminal::at_a_terminal;

const POLICY: &str = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"the project may be read\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
                      [[rule]]\nid = \"out\"\ndecision = \"allow\"\nreason = \"the output is there to be written\"\neffect = \"write\"\npaths = [\"{root}/**/log.txt\"]\n";
const GO: &str = "echo \"$1\"\n";

/// A script of one `bash` call a step; what each prints goes to a log.
fn script(commands: &[&str]) -> String {
    let step = |command: &&str| {
        let args =
            serde_json::json!({ "command": format!("{command} >> log.txt") }).to_string().replacen("\":", "\" =", 1);
        format!("[[step]]\ncalls = [{{ tool = \"bash\", args = {args} }}]\n")
    };
    let steps: String = commands.iter().map(step).collect();
    format!("version = 1\n{steps}[[step]]\ntext = \"done\"\n")
}

fn desk(commands: &[&str], more: &str) -> (Desk, Lines) {
    let desk = Desk::new();
    let task = desk.task(&script(commands), POLICY, more);
    desk.write("task/go.sh", GO);
    desk.write("task/sub/go.sh", GO);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    (desk, lines)
}

fn waits(lines: &Lines) -> String {
    assert_eq!(lines.status(), "needs_approval", "{}{}", lines.outcome(), lines.ended.err);
    lines.outcome()["approvals"][0].as_str().unwrap().to_owned()
}

/// Says yes to what waits, for the rest of the session; the name of the remembered yes.
fn remembered(desk: &Desk, lines: &Lines) -> String {
    let id = waits(lines);
    let ended = desk.run(["approvals", "approve", &id, "--remember", "--yes", "--by", "dana", "--json"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let offer: Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
    offer["rule"].as_str().unwrap().to_owned()
}

fn resumed(desk: &Desk, lines: &Lines) -> Lines {
    desk.json(["resume", &lines.session()])
}

fn log(desk: &Desk, file: &str) -> Vec<String> {
    std::fs::read_to_string(desk.path(file)).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Everything that a journal can be held against.
fn sound(desk: &Desk) {
    for command in [&["journal", "verify"][..], &["replay"]] {
        let ended = desk.run(command);
        assert_eq!(ended.code, 0, "{command:?}: {}{}", ended.out, ended.err);
    }
}

/// Shows R96, R97, R101: the rule and what it would have changed are shown first; without a yes to them nothing is remembered. Then the same words in
/// the same folder run without a question, in another folder they do not, nor in another session, nor once it is taken back.
#[test]
fn a_yes_counts_for_its_words_and_folder() {
    let commands = ["sh go.sh a", "sh go.sh a", "cd sub && sh go.sh a", "sh go.sh b", "sh go.sh a"];
    let (desk, lines) = desk(&commands, "");
    let id = waits(&lines);
    let shown = desk.run(["approvals", "approve", &id, "--remember", "--by", "dana"]);
    assert_eq!((shown.code, shown.err.contains("say --yes")), (2, true), "{}", shown.err);
    assert_eq!(desk.run(["approvals", "list"]).out.matches("pending").count(), 1, "nothing was changed");
    let rule = remembered(&desk, &lines);
    let elsewhere = resumed(&desk, &lines);
    let third = waits(&elsewhere);
    assert_eq!(
        (log(&desk, "task/log.txt"), log(&desk, "task/sub/log.txt").len()),
        (vec!["a".to_owned(), "a".to_owned()], 0)
    );
    let session = lines.session();
    let why = |call: &str| desk.run(["show", &session, "--why", call]).out;
    let list = desk.run(["approvals", "list", "--all"]).out;
    let parts = [shown.out, list, why("c1-1"), why("c2-1"), why("c3-1")].join("\n----\n");
    let timeless =
        |line: &str| line.split_once(", after ").map_or_else(|| line.to_owned(), |(said, _)| said.to_owned());
    let parts: Vec<String> = parts.replace(&rule, "RULE").lines().map(timeless).collect();
    assert_snapshot!(desk.steady(&parts.join("\n")));

    assert_eq!(desk.run(["approvals", "approve", &third, "--by", "dana"]).code, 0);
    let other = desk.json(["run".as_ref(), desk.path("task").as_os_str()]);
    waits(&other);
    let revoked = desk.run(["approvals", "revoke", &rule, "--by", "lee", "--reason", "enough"]);
    assert_eq!(revoked.code, 0, "{}{}", revoked.out, revoked.err);
    let again = desk.run(["approvals", "revoke", &rule]);
    assert_eq!((again.code, again.err.contains("lee took")), (2, true), "{}", again.err);
    let asked = resumed(&desk, &elsewhere);
    let other = waits(&asked);
    assert_eq!(desk.run(["approvals", "approve", &other, "--by", "dana"]).code, 0);
    // The same words as the first, now that the yes to them was taken back.
    let again = resumed(&desk, &asked);
    waits(&again);
    assert_eq!(log(&desk, "task/sub/log.txt"), ["a"]);
    assert_eq!(log(&desk, "task/log.txt"), ["a", "a", "b"]);
    sound(&desk);
    let shown = desk.run(["approvals", "show", &rule]);
    assert!(shown.out.contains("revoked by   person:lee enough"), "{}", shown.out);
    assert!(desk.run(["show", &session]).out.contains("takes the remembered yes"));
}

/// A file that the call runs is part of what was agreed to: changed in the session or beside it, the yes does not hold.
#[test]
fn a_yes_counts_while_its_files_are_what_they_were() {
    let (desk, lines) = desk(&["sh go.sh a", "sh go.sh a"], "");
    remembered(&desk, &lines);
    desk.write("task/go.sh", &format!("{GO}echo more\n"));
    let stale = resumed(&desk, &lines);
    assert_eq!(stale.of("finished")[0]["code"], "APPROVAL_STALE", "{}", stale.outcome());
    waits(&stale);
    let reason = stale.of("ask")[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("an earlier yes does not hold here: `go.sh` is not what it was when the yes was given"),
        "{reason}"
    );
    desk.write("task/go.sh", GO);
    assert_eq!(log(&desk, "task/log.txt").len(), 0);
    sound(&desk);
}

/// A program that nobody knows may go by whatever its words name, and by what goes into it.
#[test]
fn a_yes_counts_while_what_it_names_is_what_it_was() {
    for (command, changed) in [
        ("./tool conf.yml", "conf.yml"),
        ("./tool --with=conf", "conf"),
        ("./tool @later.yml", "later.yml"),
        ("./tool < in.txt", "in.txt"),
        ("cat in.txt | ./tool", "in.txt"),
    ] {
        let desk = Desk::new();
        let task = desk.task(&script(&[command, command]), POLICY, "");
        for (file, text) in [("tool", "#!/bin/sh\necho ran\n"), ("conf.yml", "a"), ("conf", "a"), ("in.txt", "a")] {
            let at = desk.write(&format!("task/{file}"), text);
            std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let lines = desk.json(["run".as_ref(), task.as_os_str()]);
        remembered(&desk, &lines);
        desk.write(&format!("task/{changed}"), "b");
        let asked = resumed(&desk, &lines);
        waits(&asked);
        let reason = asked.of("ask")[0]["reason"].as_str().unwrap();
        let changed = format!("`{changed}` is not what it was when the yes was given");
        // What comes to be there is read from then on.
        let appeared = "it was given for a call that reads other files";
        let why = if command.contains("later") { appeared } else { &changed };
        let why = format!("an earlier yes does not hold here: {why}");
        assert!(reason.contains(&why), "{command}: {reason}");
        assert_eq!(log(&desk, "task/log.txt").len(), 0);
    }
}

/// What a rule of anybody asks about or denies stays asked about and denied, whatever is remembered; the person's own policy may
/// say so later.
#[test]
fn a_yes_never_beats_a_rule() {
    let (desk, lines) = desk(&["sh go.sh a", "sh go.sh b", "sh go.sh c"], "");
    remembered(&desk, &lines);
    let own = |decision: &str| {
        let rule = format!(
            "version = 1\n[[rule]]\nid = \"mine\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"run\"\nprogram = \"sh\"\n"
        );
        desk.write("home/.config/checkrein/policy.toml", &rule);
    };
    own("ask");
    let asked = resumed(&desk, &lines);
    let id = waits(&asked);
    assert_eq!(log(&desk, "task/log.txt"), ["a"], "the yes to the very call was for the call");
    let refused = desk.run(["approvals", "approve", &id, "--remember", "--yes"]);
    assert_eq!(refused.code, 2, "{}", refused.out);
    assert!(refused.err.contains("wants a yes for each call; say yes to this one call"), "{}", refused.err);
    own("deny");
    assert_eq!(desk.run(["approvals", "approve", &id]).code, 0);
    let denied = resumed(&desk, &asked);
    assert_eq!(denied.status(), "completed");
    let codes: Vec<&Value> = denied.of("finished").iter().map(|end| &end["code"]).collect();
    assert_eq!(codes, ["DENIED", "DENIED"]);
    assert_eq!(log(&desk, "task/log.txt"), ["a"]);
    sound(&desk);
}

/// A path, a host and a tool are remembered by what they are; of a tool by all its arguments.
#[test]
fn what_becomes_of_other_calls() {
    let steps = [
        "tool = \"write\", args = { file_path = \"notes[1].md\", content = \"x\" }",
        "tool = \"write\", args = { file_path = \"notes[1].md\", content = \"y\" }",
        "tool = \"write\", args = { file_path = \"notes1.md\", content = \"y\" }",
        "tool = \"pay\", args = { to = \"dana\", sum = 5 }",
        "tool = \"pay\", args = { to = \"dana\", sum = 5 }",
        "tool = \"pay\", args = { to = \"dana\", sum = 5, twice = true }",
        "tool = \"pay\", args = { to = \"dana\", sum = 6 }",
    ];
    let steps: String = steps.iter().map(|step| format!("[[step]]\ncalls = [{{ {step} }}]\n")).collect();
    let desk = Desk::new();
    let more = "tools = [\"write\", \"pay\"]\n";
    let task = desk.task(&format!("version = 1\n{steps}[[step]]\ntext = \"done\"\n"), POLICY, more);
    desk.write(
        "task/tools/pay.toml",
        "version = 1\nname = \"pay\"\ndescription = \"Pays.\"\nargv = [\"sh\", \"pay.sh\", \"{to}\", \"{sum}\"]\noutput = \"text\"\n\
         [params.to]\ntype = \"string\"\nrequired = true\ndescription = \"to\"\n[params.sum]\ntype = \"number\"\nrequired = true\ndescription = \"sum\"\n\
         [params.twice]\ntype = \"boolean\"\ndescription = \"twice\"\n",
    );
    desk.write("task/pay.sh", "echo \"$1 $2\" >> log.txt\n");
    let mut lines = desk.json(["run".as_ref(), task.as_os_str()]);
    let mut rules = Vec::new();
    let mut asked = Vec::new();
    while lines.status() == "needs_approval" {
        let call = lines.of("ask")[0]["call"].as_str().unwrap().to_owned();
        if matches!(call.as_str(), "c1-1" | "c4-1") {
            rules.push(remembered(&desk, &lines));
        } else {
            assert_eq!(desk.run(["approvals", "approve", &waits(&lines)]).code, 0);
        }
        asked.push(call);
        lines = resumed(&desk, &lines);
    }
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_eq!(asked, ["c1-1", "c3-1", "c4-1", "c6-1", "c7-1"]);
    assert_eq!(log(&desk, "task/log.txt"), ["dana 5", "dana 5", "dana 5", "dana 6"]);
    let shown: Vec<String> =
        rules.iter().map(|rule| desk.run(["approvals", "show", rule]).out.replace(rule, "RULE")).collect();
    assert_snapshot!(desk.steady(&shown.join("\n")));
    sound(&desk);
}

/// Shows R97: whoever may not say yes can not have it remembered, and a fork begins without what was.
#[test]
fn a_yes_is_its_givers_and_its_sessions() {
    let desk = Desk::new();
    let policy = format!("{POLICY}[approvals]\nfour_eyes = true\n");
    let more = "workspace = \"copy\"\n[identity]\nperson = \"sam\"\n";
    let task = desk.task(&script(&["sh go.sh a", "sh go.sh a"]), &policy, more);
    desk.write("task/go.sh", GO);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    let id = waits(&lines);
    let own = desk.run(["approvals", "approve", &id, "--remember", "--yes"]);
    assert_eq!((own.code, own.err.contains("APPROVAL_NOT_YOURS")), (1, true), "{}", own.err);
    let rule = remembered(&desk, &lines);
    let done = resumed(&desk, &lines);
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    let late = desk.run(["approvals", "approve", &id, "--remember", "--yes", "--by", "dana"]);
    assert_eq!(late.code, 1, "{}", late.err);
    // Behind the yes, before the second call.
    let seq = |kind: &str, nth: usize| {
        let exported = desk.run(["export", &lines.session()]).out;
        let events = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["type"] == kind).nth(nth).unwrap()["seq"].as_u64().unwrap()
    };
    let made = desk.run(["fork", &format!("{}@{}", lines.session(), seq("finished", 0)), "--json"]);
    let fork: Value = serde_json::from_str(made.out.lines().last().unwrap()).unwrap();
    let asked = desk.json(["resume", fork["session"].as_str().unwrap()]);
    waits(&asked);
    let list = desk.run(["approvals", "list"]).out;
    assert_eq!(list.matches(&rule).count(), 1, "{list}");
    assert!(desk.run(["show", &asked.session()]).out.contains("the yeses that were remembered there do not count"));
    sound(&desk);
}

/// At the terminal: the rule is shown and agreed to, or nothing was said yes to and the question is asked again.
#[test]
fn remembered_at_the_terminal() {
    for (typed, code, runs) in [("r\ny\n", 0, 2), ("r\nn\nl\n", 3, 0), ("r\nn\ny\nl\n", 3, 1)] {
        let desk = Desk::new();
        desk.task(&script(&["sh go.sh a", "sh go.sh a"]), POLICY, "");
        desk.write("task/go.sh", GO);
        let Some(run) = at_a_terminal(&desk, "run task", typed) else { return };
        assert_eq!(run.code, code, "{}", run.out);
        assert!(
            run.out.contains("+ program = \"sh\"") && run.out.contains("[[\"sh\",\"go.sh\",\"a\"]]"),
            "{}",
            run.out
        );
        assert_eq!(log(&desk, "task/log.txt").len(), runs, "{}", run.out);
        sound(&desk);
    }
    let desk = Desk::new();
    let asks = format!(
        "{POLICY}[[rule]]\nid = \"each\"\ndecision = \"ask\"\nreason = \"r\"\neffect = \"run\"\nprogram = \"sh\"\n"
    );
    desk.task(&script(&["sh go.sh a"]), &asks, "");
    desk.write("task/go.sh", GO);
    let Some(run) = at_a_terminal(&desk, "run task", "r\n") else { return };
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("it can not be remembered, so it is a yes to this call: rule `each`"), "{}", run.out);
}
