//! Secrets of a task: a call that names one has it in its environment, and nobody reads it anywhere afterwards.

use crate::support::{Desk, Lines, files};

/// Put together at run time, and unlike anything that a pattern takes for a secret.
fn secret() -> String {
    ["plain", "words", "that", "open", "doors"].join("-")
}

const POLICY: &str = "version = 1\n[[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\n\
    program = [\"*\", \"./*\", \"/*/*\", \"/*/*/*\", \"/*/*/*/*\", \"/*/*/*/*/*\"]\n\
    [[rule]]\nid = \"tool\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"tool\"\ntool = \"shop\"\n\
    [[rule]]\nid = \"project\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";

fn run(desk: &Desk, commands: &[&str], more: &str) -> Lines {
    let step = |call: String| format!("[[step]]\ncalls = [{call}]\n");
    let mut script = "version = 1\n".to_owned();
    for command in commands {
        script.push_str(&step(format!("{{ tool = \"bash\", args = {{ command = '''{command}''' }} }}")));
    }
    script.push_str(&step("{ tool = \"shop\", args = {} }".to_owned()));
    script.push_str("[[step]]\ntext = \"done\"\n");
    desk.write(
        "task/tools/shop.toml",
        "version = 1\nname = \"shop\"\ndescription = \"Asks the shop.\"\nargv = [\"bash\", \"-c\", \"expr length $TOKEN; echo $TOKEN\"]\n\
         output = \"text\"\nenv = { TOKEN = \"${secret:SHOP}\" }\neffects = [{ tool = \"shop\" }]\n",
    );
    let task = desk.task(&script, POLICY, &format!("workspace = \"in-place\"\n{more}"));
    let mut command = desk.command(["run".as_ref(), task.as_os_str()]);
    command.env("CHECKREIN_SECRET_SHOP", secret()).env("CHECKREIN_SECRET_OTHER", "other-secret-words");
    Lines::of_command(&mut command)
}

/// Shows R164: the program has the secret, and no result, no file of the harness and no other call does.
#[test]
fn a_secret_is_used_and_never_seen() {
    let desk = Desk::new();
    let long = "for i in $(seq 3000); do echo \"$i ${secret:SHOP} end\"; done";
    let lines = run(
        &desk,
        &[
            "s=\"${secret:SHOP}\"; echo ${#s} \"$s\" and \"${s:0:5}\"",
            "env | grep -c CHECKREIN || true",
            long,
            "echo ${secret:OTHER}",
        ],
        "secrets = [\"SHOP\"]\n[env]\nGREETING = \"hello\"\n",
    );
    let length = secret().len();
    assert_eq!(lines.result(0).trim(), format!("{length} [redacted:secret SHOP] and plain"), "{}", lines.outcome());
    assert_eq!(lines.result(1).trim(), "0", "it is not there for a call that does not name it");
    assert!(lines.result(2).contains("3000 [redacted:secret SHOP] end"), "{}", lines.result(2));
    assert!(lines.result(3).contains("no secret `OTHER` for command lines; it has: SHOP"), "{}", lines.result(3));
    assert_eq!(lines.result(4).trim(), format!("{length}\n[redacted:secret SHOP]"));
    let all = [files(&desk.path("state")), files(&desk.path("task"))].concat();
    assert!(all.iter().any(|path| path.to_string_lossy().ends_with("-stdout.txt")), "the long output is in a file");
    for path in all {
        let content = std::fs::read(&path).unwrap();
        let found = content.windows(length).any(|bytes| bytes == secret().as_bytes());
        assert!(!found, "{}", path.display());
    }
    let named = lines.of("session")[0]["system"].as_str().unwrap_or_default().contains("${secret:SHOP}");
    assert!(named, "the model is told its name");
}

/// The task's own variables are there for every program; what would steer them is a mistake that names its line.
#[test]
fn variables_of_the_task() {
    let desk = Desk::new();
    let lines = run(&desk, &["echo \"$GREETING\""], "[env]\nGREETING = \"hello\"\n");
    assert_eq!(lines.result(0).trim(), "hello");
    for (more, said) in [
        ("[env]\nPATH = \"/tmp\"\n", "task.toml:7: `[env]` can not set `PATH`"),
        ("[env]\nA = \"${secret:SHOP}\"\n", "task.toml:7: every program would have a secret of `[env]`"),
        ("secrets = [\"no name\"]\n", "task.toml:6: `no name` is no name of a secret"),
        ("secrets = [\"NONE\"]\n", "the task needs the secret `NONE`: set CHECKREIN_SECRET_NONE"),
    ] {
        let desk = Desk::new();
        let task = desk.task(
            "version = 1\n[[step]]\ntext = \"x\"\n",
            "version = 1\n",
            &format!("workspace = \"in-place\"\n{more}"),
        );
        let ended = desk.run(["run".as_ref(), task.as_os_str()]);
        assert!(ended.err.contains(said), "{more}: {}", ended.err);
    }
}

/// What a person gives as a reason is kept in the journal: without the secrets and keys that the host knows by their values.
#[test]
fn a_reason_holds_no_secret() {
    let key = ["words", "of", "a", "model"].join("-");
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"sh go.sh > log.txt\" } }]\n[[step]]\ntext = \"done\"\n";
    for words in [&["deny"][..], &["withdraw"], &["approve", "revoke"], &["approve", "forget"]] {
        let desk = Desk::new();
        let out = "version = 1\n[[rule]]\nid = \"out\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"{root}/log.txt\"]\n\
                   [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";
        let task = desk.task(script, out, "");
        desk.write("task/go.sh", "echo gone\n");
        let paused = desk.json(["run".as_ref(), task.as_os_str()]);
        let mut id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
        let reason = format!("it holds {} and {key}", secret());
        for word in words {
            let (word, more): (_, &[&str]) = match *word {
                "approve" if words.contains(&"forget") => ("approve", &["--remember", "--yes"]),
                "approve" => ("approve", &[]),
                "forget" => ("revoke", &["--reason", &reason]),
                word => (word, &["--reason", &reason]),
            };
            let mut command = desk.command([&["approvals", word, &id], more, &["--json"]].concat());
            command.env("CHECKREIN_SECRET_SHOP", secret()).env("ANTHROPIC_API_KEY", &key);
            let ended = crate::support::ended(command.output().unwrap());
            assert_eq!(ended.code, 0, "{word}: {}{}", ended.out, ended.err);
            assert!(!ended.out.contains(&secret()) && !ended.out.contains(&key), "{}", ended.out);
            let line: serde_json::Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
            if let Some(rule) = line["rule"].as_str() {
                id = rule.to_owned();
            }
        }
        let journal = desk.run(["export", &paused.session()]).out;
        assert!(journal.contains("it holds [redacted:secret SHOP] and [redacted:"), "{words:?}: {journal}");
        assert!(!journal.contains(&secret()) && !journal.contains(&key), "{words:?}: {journal}");
    }
}
