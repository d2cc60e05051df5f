//! `show`: a session as a person reads it afterwards. Each page is a snapshot; read it before you accept a changed one.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::support::Desk;

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"reading the project is free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a person decides what is written\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"keep\"\ndecision = \"deny\"\nreason = \"the notes are kept\"\neffect = \"delete\"\npaths = [\"{root}/notes.txt\"]\n\
    [[rule]]\nid = \"look\"\ndecision = \"allow\"\nreason = \"looking changes nothing\"\neffect = \"run\"\nread_only = true\n\
    [[rule]]\nid = \"remove\"\ndecision = \"allow\"\nreason = \"judged by what it removes\"\neffect = \"run\"\nwords = [\"rm\"]\n";
const ODD: &str = "[[rule]]\nid = \"odd\"\ndecision = \"allow\"\nreason = \"a tool of this task\"\neffect = \"tool\"\ntool = \"odd\"\n\
    [[rule]]\nid = \"run-odd\"\ndecision = \"allow\"\nreason = \"a tool of this task\"\neffect = \"run\"\nprogram = [\"./odd\"]\n";

/// A desk with a task of this script; what it is given for task.toml besides.
fn desk(script: &str, more: &str) -> (Desk, std::path::PathBuf) {
    let desk = Desk::new();
    let task = desk.task(&format!("version = 1\n{script}"), POLICY, more);
    desk.write("task/notes.txt", "one\ntwo\n");
    (desk, task)
}

/// The page without what differs from run to run: times, and how long a call took.
fn page(desk: &Desk, arguments: &[&str]) -> String {
    let ended = desk.run(["show"].iter().chain(arguments));
    assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.err);
    let time = |word: &str| {
        word.split_once(':').is_some_and(|(minutes, seconds)| {
            [minutes, seconds].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    let calm = |line: &str| {
        let first = line.trim_start().split(' ').next().unwrap_or_default();
        let line = if time(first) && first.len() <= 5 { line.replacen(first, "0:00", 1) } else { line.to_owned() };
        let line = line.split(", after ").next().filter(|_| line.contains("  ended: ")).unwrap_or(&line).to_owned();
        line.split(" [").next().filter(|_| line.ends_with(" s]")).unwrap_or(&line).to_owned()
    };
    // One time more or less on a line of its own moves nothing else.
    desk.steady(&ended.out.lines().map(calm).collect::<Vec<_>>().join("\n"))
}

/// Shows R170, R172: a write that a person said yes to, one that a rule refuses, and why each was decided so.
#[test]
fn an_approval_and_a_denial() {
    let script = "[[step]]\ntext = \"I read the notes, and add to them.\"\ncalls = [{ tool = \"read\", args = { file_path = \"notes.txt\" } }, \
            { tool = \"write\", args = { file_path = \"more.txt\", content = \"three\\nfour\\n\" } }]\n\
        [[step]]\ntext = \"Now the old ones can go.\"\ncalls = [{ tool = \"bash\", args = { command = \"cat notes.txt && rm notes.txt\" } }]\n\
        [[step]]\ntext = \"The notes are longer, and the old ones are still there.\"\n";
    let (desk, task) = desk(script, "[identity]\nperson = \"sam\"\ntenant = \"acme\"\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    let id = lines.outcome()["approvals"][0].as_str().expect("it asks").to_owned();
    let session = lines.session();
    assert_snapshot!("waiting", page(&desk, &[&session]));
    assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
    assert_eq!(desk.json(["resume", &session]).status(), "completed");
    assert_snapshot!("approved_and_denied", page(&desk, &[&session]));
    assert_snapshot!("why_asked", page(&desk, &[&session, "--why", "c1-2"]));
    assert_snapshot!("why_denied", page(&desk, &[&session, "--why", "c2-1"]));
    let lines = desk.run(["show", &session, "--why", "c1-2", "--json"]).out;
    let kinds: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["proposal", "decision", "ask", "approval", "decision", "started", "finished"]);
    let none = desk.run(["show", &session, "--why", "c9-9"]);
    assert!(none.code == 2 && none.err.contains("no call of this session: c1-1, c1-2, c2-1"), "{}", none.err);
}

/// A failure with what is behind it, and a result that is long: cut for the model, folded for people, whole with --full.
#[test]
fn a_failure_and_a_long_result() {
    let script = "[[step]]\ncalls = [{ tool = \"odd\", args = {} }, { tool = \"bash\", args = { command = \"seq 1 20000\" } }, \
            { tool = \"nonsense\", args = { a = 1 } }]\n\
        [[step]]\ntext = \"done\"\n";
    let (desk, task) = desk(script, "");
    desk.write("task/policy.toml", &[POLICY, ODD].concat());
    let tool = "version = 1\nname = \"odd\"\ndescription = \"Odd.\"\nargv = [\"./odd\"]\noutput = \"text\"\neffects = [{ tool = \"odd\" }]\n";
    desk.write("task/tools/odd.toml", tool);
    let odd = desk.write("task/odd", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&odd, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_snapshot!(page(&desk, &[&lines.session()]));
    let full = page(&desk, &[&lines.session(), "--full"]);
    assert!(full.lines().count() > 1_000 && !full.contains("--full to see"), "{}", full.lines().count());
    assert!(full.contains("command: seq 1 20000"), "all arguments");
}

/// What a sub-session did stands where it was asked for, further in.
#[test]
fn a_sub_session() {
    let script = "[[step]]\ntext = \"Somebody else looks.\"\ncalls = [{ tool = \"task\", args = { prompt = \"What do the notes say?\" } }]\n\
        [[step]]\nsub = 1\ncalls = [{ tool = \"read\", args = { file_path = \"notes.txt\" } }, { tool = \"bash\", args = { command = \"rm notes.txt\" } }]\n\
        [[step]]\nsub = 1\ntext = \"One and two.\"\n\
        [[step]]\ntext = \"They say one and two.\"\n";
    let (desk, task) = desk(script, "[[verify]]\nfile = \"notes.txt\"\ncontains = \"two\"\n");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    assert_snapshot!(page(&desk, &[&lines.session()]));
}

/// Another agent's calls, seen through its hook.
#[test]
fn a_watched_session() {
    let desk = Desk::new();
    desk.write("home/.config/checkrein/policy.toml", POLICY);
    for command in ["cat notes.txt", "rm notes.txt", "curl https://example.org/"] {
        let payload = serde_json::json!({
            "session_id": "theirs-1", "cwd": desk.path("home"), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command }, "permission_mode": "default",
        });
        let mut hook = desk.command(["hook", "--for", "claude"]);
        hook.stdin(std::fs::File::open(desk.write("payload.json", &payload.to_string())).expect("a payload"));
        hook.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the hook answers");
    }
    let session = desk.run(["sessions"]).out.split(' ').next().expect("one session").to_owned();
    let page = page(&desk, &[&session]).replace(&format!("SESSION{}", &session[10..]), "SESSION");
    assert_snapshot!(page);
}

/// Shows R50: what execution refuses (arguments that are no JSON, that do not fit, a tool that is not there) is shown and
/// replayed as it was said.
#[test]
fn what_was_refused_is_shown_as_it_was_said() {
    let script = "[[step]]\ncalls = [{ tool = \"read\", raw = \"{\\\"file_path\\\": \\\"no\" }, { tool = \"read\", args = { file_path = 7, depth = true } }, \
            { tool = \"peruse\", args = { page = [1, 2] } }, { tool = \"write\", raw = \"all of it\" }]\n\
        [[step]]\ntext = \"done\"\n";
    let (desk, task) = desk(script, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.status(), lines.of("started").len()), ("completed", 0), "{}", lines.outcome());
    let session = lines.session();
    assert_snapshot!("refused", page(&desk, &[&session]));
    for call in ["c1-1", "c1-2", "c1-3", "c1-4"] {
        assert!(page(&desk, &[&session, "--why", call]).contains(call));
    }
    for arguments in [vec!["replay", &session], vec!["export", &session, "--transcript"], vec!["journal", "verify"]] {
        let ended = desk.run(&arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {}{}", ended.out, ended.err);
    }
}
