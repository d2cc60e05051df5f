//! Tasks in plain words, options of a run, and the commands that answer without a session.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::Desk;

const READS: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"a.txt\" } }, { tool = \"write\", args = { file_path = \"b.txt\", content = \"x\" } }]\n[[step]]\ntext = \"done\"\n";

/// Shows R10, R11: words in a project folder: it may be read, and nothing is written without a yes.
#[test]
fn words_in_a_project_folder() {
    let desk = Desk::new();
    desk.write("project/a.txt", "hello\n");
    let script = desk.write("script.toml", READS);
    let model = format!("script:{}", script.display());
    let mut command = desk.command(["run", "look", "around", "--model", &model, "--json"]);
    let ended = crate::support::ended(command.current_dir(desk.path("project")).output().unwrap());
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    let outcome: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
    assert_eq!(outcome["workspace"], desk.path("project").to_str().unwrap());
    let session: Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
    assert_eq!(session["prompt"], "look around");
    assert_eq!((outcome["status"].as_str(), outcome["tool_runs"]["read"].as_u64()), (Some("needs_approval"), Some(1)));
    assert!(!desk.path("project/b.txt").exists());
    let done = desk.json(["run", "look", "--model", &model, "--unattended"]);
    assert_eq!(done.of("finished")[1]["code"], "DENIED_UNATTENDED", "{}", done.outcome());
}

/// A policy found in a repository only tightens: its deny counts, its allow does not; the person's own counts in full.
#[test]
fn a_policy_that_is_found_only_tightens() {
    let desk = Desk::new();
    desk.write("a.txt", "hello\n");
    let script = desk.write("script.toml", READS);
    let model = format!("script:{}", script.display());
    let rule = |decision: &str, effect: &str| {
        format!(
            "[[rule]]\nid = \"{effect}\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"{effect}\"\npaths = [\"{{root}}/**\"]\n"
        )
    };
    desk.write(".checkrein/policy.toml", &format!("version = 1\n{}{}", rule("deny", "read"), rule("allow", "write")));
    let found = desk.json(["run", "look", "--model", &model, "--unattended"]);
    let codes: Vec<_> = found.of("finished").iter().map(|end| end["code"].clone()).collect();
    assert_eq!(codes, ["DENIED", "DENIED_UNATTENDED"]);
    assert!(!desk.path("b.txt").exists());

    desk.write("home/.config/checkrein/policy.toml", &format!("version = 1\n{}", rule("allow", "write")));
    let own = desk.json(["run", "look", "--model", &model, "--unattended"]);
    let codes: Vec<_> = own.of("finished").iter().map(|end| end["code"].clone()).collect();
    assert_eq!(codes, [Value::from("DENIED"), Value::Null]);
    assert_eq!(fs::read_to_string(desk.path("b.txt")).unwrap(), "x");
}

/// What may run is confined, unless a person says otherwise for this run; each session says which.
#[test]
fn an_allowed_program_is_confined_unless_somebody_says_otherwise() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"touch made\" } }]\n[[step]]\ntext = \"done\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"touch\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nwords = [\"touch\"]\n[[rule]]\nid = \"times\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";
    let task = desk.task(script, policy, "");
    let confined = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((confined.status(), confined.of("decision")[0]["code"].as_str()), ("completed", Some("ALLOWED")));
    assert!(desk.path("task/made").exists());
    let shown = desk.run(["show", &confined.session()]);
    assert!(shown.out.contains("programs are confined to what was granted"), "{}", shown.out);
    fs::remove_file(desk.path("task/made")).unwrap();
    let said = desk.json(["run".as_ref(), task.as_os_str(), "--unconfined".as_ref()]);
    assert_eq!(said.status(), "completed");
    assert!(desk.path("task/made").exists());
    let shown = desk.run(["show", &said.session()]);
    assert!(
        shown.out.contains("programs run unconfined") && shown.out.contains("allowed by: --unconfined"),
        "{}",
        shown.out
    );
}

/// Limits and identity from the command line; every line of a run has the documented head.
#[test]
fn options_of_a_run() {
    let desk = Desk::new();
    let script =
        "version = 1\n[[step]]\nrepeat = \"forever\"\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n";
    let task = desk.task(script, "version = 1\n", "");
    let run = desk.json([
        "run".as_ref(),
        task.as_os_str(),
        "--budget".as_ref(),
        "steps=2".as_ref(),
        "--as".as_ref(),
        "person=kim".as_ref(),
        "--unattended".as_ref(),
    ]);
    assert_eq!((run.ended.code, run.outcome()["steps"].as_u64()), (5, Some(2)));
    assert_eq!(run.of("session")[0]["identity"]["person"], "kim");
    for line in &run.lines {
        assert_eq!(line["v"], 1);
        assert!(line["seq"].is_u64() && line["by"].is_string(), "{line}");
        let kind = line["type"].as_str().unwrap();
        let documented =
            ["session", "proposal", "decision", "ask", "approval", "started", "finished", "trim", "stop", "outcome"];
        assert!(documented.contains(&kind), "{kind}");
    }
    for key in [
        "status",
        "code",
        "reason",
        "session",
        "answer",
        "citations",
        "tool_runs",
        "steps",
        "usage",
        "approvals",
        "workspace",
        "journal_head",
    ] {
        assert!(run.outcome().get(key).is_some(), "{key}");
    }
}

/// `policy check` and `policy test`: words for people, JSON for programs, exit codes for scripts.
#[test]
fn the_policy_answers() {
    let desk = Desk::new();
    desk.write("README.md", "x");
    let mut all = String::new();
    for arguments in [
        vec!["policy", "check", "ls"],
        vec!["policy", "check", "ls && sudo rm -rf /"],
        vec!["policy", "check", "--tool", "read", "--args", "{\"path\": \"README.md\"}"],
        vec!["policy", "check", "--tool", "read", "--args", "{\"path\": \".env\"}"],
        vec!["policy", "check", "--tool", "launch", "--args", "{}"],
    ] {
        let ended = desk.run(&arguments);
        all.push_str(&format!(
            "$ checkrein {}\n{}(exit {})\n\n",
            arguments.join(" "),
            desk.steady(&ended.out) + "\n",
            ended.code
        ));
    }
    assert_snapshot!(all);
    let json: Value = serde_json::from_str(&desk.run(["policy", "check", "sudo ls", "--json"]).out).unwrap();
    assert_eq!((json["decision"].as_str(), json["trace"][0]["rule"].as_str()), (Some("deny"), Some("floor-privilege")));
    assert!(json["trace"][0]["line"].is_u64() && json["trace"][0]["file"] == "floor.toml");

    desk.write("facts.json", "{\"links\": {}}");
    let linked = desk.path("README.md").display().to_string();
    desk.write("facts.json", &format!("{{\"links\": {{\"{linked}\": \"/etc/shadow\"}}}}"));
    let args = "{\"path\": \"README.md\"}";
    assert_eq!(desk.run(["policy", "check", "--tool", "read", "--args", args, "--facts", "facts.json"]).code, 11);

    desk.write("cases.json", "[{\"note\": \"a\", \"call\": {\"tool\": \"bash\", \"command\": \"sudo ls\"}, \"expected\": \"deny\"}, {\"note\": \"b\", \"call\": {\"tool\": \"bash\", \"command\": \"ls\"}, \"expected\": \"allow\"}]");
    let tested = desk.run(["policy", "test", "cases.json", "--json"]);
    let last: Value = serde_json::from_str(tested.out.lines().last().unwrap()).unwrap();
    assert_eq!(
        (tested.code, &last["total"], &last["right"], &last["over_cautious"]),
        (0, &2.into(), &2.into(), &0.into())
    );
}

/// What `--help` says.
#[test]
fn help() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(["--help"]).out);
    assert_snapshot!(desk.run(["run", "--help"]).out);
}

/// Errors have two readers: the model gets a code and the next action, the operator what is behind it, also later.
#[test]
fn the_operator_sees_what_is_behind_a_failure() {
    let desk = Desk::new();
    desk.write(
        "task/tools/shop.toml",
        "version = 1\nname = \"shop\"\ndescription = \"Asks the shop.\"\nargv = [\"./shop\"]\neffects = [{ tool = \"shop\" }]\n",
    );
    let shop = desk.write("task/shop", "#!/no/such/interpreter\n");
    fs::set_permissions(shop, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"shop\", args = {} }]\n[[step]]\ntext = \"done\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"shop\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"tool\"\ntool = \"shop\"\n\
                  [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"./shop\"]\n";
    let lines = desk.json(["run".as_ref(), desk.task(script, policy, "").as_os_str()]);
    let finished = lines.of("finished")[0];
    assert_eq!(finished["code"], "SANDBOX_UNAVAILABLE", "{finished}");
    let cause = finished["cause"].as_str().unwrap();
    assert!(cause.contains("the interpreter of ") && cause.contains("is missing"), "{cause}");
    assert!(!lines.result(0).contains("interpreter"), "{}", lines.result(0));
    let shown = desk.run(["show", &lines.session()]);
    assert!(shown.out.contains("SANDBOX_UNAVAILABLE") && shown.out.contains("missing\n"), "{}", shown.out);
}
