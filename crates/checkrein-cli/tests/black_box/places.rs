//! Places where things go wrong by nature: another user, a full disk, a disk that can not be written, two processes at
//! once. Each is real; where this machine does not permit one, the test says that it was skipped.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Desk, Ended, ended, skipped};

/// An ordinary user; nobody, on every Linux.
const NOBODY: u32 = 65_534;

const POLICY: &str = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n[[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"the task\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n[[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"the task\"\neffect = \"run\"\nwords = [\"sh\", \"append.sh\"]\n";

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id starts");
    id.stdout.starts_with(b"0\n")
}

/// Gives the desk to nobody, and the binary with it.
fn give_away(desk: &Desk) -> PathBuf {
    let binary = desk.path("checkrein");
    fs::copy(env!("CARGO_BIN_EXE_checkrein"), &binary).expect("a copy");
    let mut all = vec![desk.path("")];
    while let Some(path) = all.pop() {
        chown(&path, Some(NOBODY), Some(NOBODY)).expect("given away");
        if path.is_dir() {
            all.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        }
    }
    binary
}

/// Runs as nobody.
fn as_nobody(desk: &Desk, binary: &PathBuf, arguments: &[&str]) -> Ended {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).args(arguments);
    command.env_clear().current_dir(desk.path(""));
    desk.surroundings(&mut command);
    ended(command.output().expect("setpriv starts"))
}

/// An ordinary user works as root does, meets the operating system's refusals as errors, and can not look into another
/// user's state.
#[test]
fn an_ordinary_user() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"read\", args = { file_path = \"locked.txt\" } }, { tool = \"write\", args = { file_path = \"open.txt\", content = \"hello\" } }, { tool = \"write\", args = { file_path = \"shut/a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";
    desk.task(script, POLICY, "");
    desk.write("task/locked.txt", "not for you");
    desk.write("task/shut/keep.txt", "");
    let binary = give_away(&desk);
    for (path, mode) in [("task/locked.txt", 0o600), ("task/shut", 0o755)] {
        chown(desk.path(path), Some(0), Some(0)).unwrap();
        fs::set_permissions(desk.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let run = as_nobody(&desk, &binary, &["run", "task", "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let codes: Vec<String> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["type"] == "finished")
        .map(|line| line["code"].as_str().unwrap_or("ok").to_owned())
        .collect();
    assert_eq!(codes, ["FS_PERMISSION_DENIED", "ok", "FS_PERMISSION_DENIED"]);
    assert_eq!(fs::read_to_string(desk.path("task/open.txt")).unwrap(), "hello");
    assert_eq!(as_nobody(&desk, &binary, &["journal", "verify"]).code, 0);

    for path in ["state", "state/journal.db"] {
        chown(desk.path(path), Some(0), Some(0)).unwrap();
    }
    for arguments in [vec!["run", "task"], vec!["sessions"], vec!["approvals", "list"]] {
        let refused = as_nobody(&desk, &binary, &arguments);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{arguments:?}: {}", refused.err);
        assert!(refused.err.contains("/state"), "{}", refused.err);
    }
}

/// A mounted file system for one test.
struct Mount(PathBuf);

impl Mount {
    fn new(desk: &Desk, size: &str) -> Option<Self> {
        let path = desk.path("state");
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "none"])
            .arg(&path)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        skipped("mounting is not permitted here");
        None
    }

    fn remount(&self, options: &str) {
        let done = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A disk that runs full in the middle of a session: a clear error, nothing lost, and it goes on when there is room.
#[test]
fn a_disk_that_runs_full() {
    let desk = Desk::new();
    let Some(mount) = Mount::new(&desk, "400k") else { return };
    let script = "version = 1\n[[step]]\nrepeat = 12\ncalls = [{ tool = \"bash\", args = { command = \"sh append.sh\" } }]\n[[step]]\ntext = \"done\"\n";
    let task = desk.task(script, POLICY, "[budget]\ntokens = 10000000\n");
    desk.write(
        "task/append.sh",
        "n=$(cat ledger.txt 2>/dev/null | wc -l)\necho \"$n\" >> ledger.txt\nseq \"$n\" 8000\n",
    );
    let run = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.err.contains("disk is full"), "{}", run.err);
    let done = fs::read_to_string(desk.path("task/ledger.txt")).unwrap().lines().count();
    assert!((1..12).contains(&done), "it ran full in the middle: {done}");
    mount.remount("size=20m");
    let sessions = desk.run(["sessions", "--json"]);
    let row: serde_json::Value = serde_json::from_str(sessions.out.lines().next().unwrap()).unwrap();
    let session = row["session"].as_str().unwrap();
    let mut resumed = desk.run(["resume", session]);
    if resumed.code == 3 {
        // The disk was full between a call's start and its end: a person looks at what it did, and says so.
        let call = resumed.out.split("--unknown ").nth(1).and_then(|rest| rest.split('=').next()).unwrap();
        resumed = desk.run(["resume", session, "--unknown", &format!("{call}=done")]);
    }
    assert_eq!(resumed.code, 0, "{}{}", resumed.out, resumed.err);
    let ledger = fs::read_to_string(desk.path("task/ledger.txt")).unwrap();
    let mut lines: Vec<_> = ledger.lines().collect();
    assert!(lines.len() <= 12, "nothing was run twice: {ledger}");
    lines.dedup();
    assert_eq!(lines.len(), ledger.lines().count());
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}

/// A disk that can not be written: an error that says so, for every command that would write.
#[test]
fn a_disk_that_can_not_be_written() {
    let desk = Desk::new();
    let Some(mount) = Mount::new(&desk, "2m") else { return };
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"rm x\" } }]\n[[step]]\ntext = \"done\"\n";
    let task = desk.task(script, POLICY, "");
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(paused.status(), "needs_approval");
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    mount.remount("ro");
    for arguments in [vec!["run", "task"], vec!["resume", &paused.session()], vec!["approvals", "approve", &id]] {
        let refused = desk.run(&arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}{}", refused.out, refused.err);
        assert!(refused.err.to_lowercase().contains("read-only"), "{arguments:?}: {}", refused.err);
    }
    mount.remount("rw");
    assert_eq!(desk.run(["approvals", "deny", &id]).code, 0);
    assert_eq!(desk.json(["resume", &paused.session()]).status(), "completed");
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}

/// Two processes on one session: the second is told that the first is at it, and the effect happens once.
#[test]
fn two_processes_on_one_session() {
    let desk = Desk::new();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"sh append.sh\" } }]\n[[step]]\ntext = \"done\"\n";
    let ask = POLICY.replacen(
        "decision = \"allow\"\nreason = \"the task\"\neffect = \"run\"",
        "decision = \"ask\"\nreason = \"the task\"\neffect = \"run\"",
        1,
    );
    let task = desk.task(script, &ask, "");
    // The first to get here waits for a word on the pipe; the second would leave its own line.
    desk.write("task/append.sh", "echo here >> ledger.txt\nread word < pipe\n");
    assert!(Command::new("mkfifo").arg(desk.path("task/pipe")).status().unwrap().success());
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "approve", &id]).code, 0);
    let first = desk.command(["resume", &paused.session()]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    // Opening the pipe returns when the first process' script has opened its end.
    let pipe = fs::OpenOptions::new().write(true).open(desk.path("task/pipe")).unwrap();
    let second = desk.run(["resume", &paused.session()]);
    use std::io::Write as _;
    (&pipe).write_all(b"go\n").unwrap();
    drop(pipe);
    let first = ended(first.wait_with_output().unwrap());
    assert_eq!(fs::read_to_string(desk.path("task/ledger.txt")).unwrap(), "here\n", "once");
    assert_eq!((first.code, second.code), (0, 1), "{}{}\n{}{}", first.out, first.err, second.out, second.err);
    assert!(second.err.contains("is being driven by another process"), "{}", second.err);
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
}

/// A session whose process was killed is told from one that runs, and goes on.
#[test]
fn what_was_killed_is_not_called_running() {
    let desk = Desk::new();
    let bash = "[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"sh append.sh\" } }]\n";
    let task = desk.task(&format!("version = 1\n{bash}[[step]]\ntext = \"done\"\n"), POLICY, "");
    desk.write("task/append.sh", "read word < pipe\n");
    assert!(Command::new("mkfifo").arg(desk.path("task/pipe")).status().unwrap().success());
    let mut driving =
        desk.command(["run".as_ref(), task.as_os_str()]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let open = fs::OpenOptions::new().write(true).open(desk.path("task/pipe")).unwrap();
    let row = || {
        let line = desk.run(["sessions", "--json"]).out;
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    assert_eq!((&row()["status"], &row()["left"]), (&"running".into(), &false.into()));
    assert!(desk.run(["sessions"]).out.contains("running"));
    driving.kill().unwrap();
    driving.wait().unwrap();
    drop(open);
    assert_eq!((&row()["status"], &row()["left"]), (&"running".into(), &true.into()));
    let session = row()["session"].as_str().unwrap().to_owned();
    for told in [desk.run(["sessions"]).out, desk.run(["show", &session]).out] {
        assert!(told.contains("broken off") && told.contains("resume"), "{told}");
    }
    let resumed = desk.json(["resume", &session, "--unknown", "c1-1=done"]);
    assert_eq!(resumed.status(), "completed", "{}", resumed.outcome());
    assert_eq!(row()["left"], false);
    assert!(!desk.run(["show", &session]).out.contains("broken off"));
}

/// A remembered yes can not be taken back under a process that drives its session; whoever wants that is told how it goes.
#[test]
fn a_yes_is_not_taken_back_under_a_running_process() {
    let desk = Desk::new();
    let bash = "[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"sh append.sh 1\" } }]\n";
    let script = format!("version = 1\n{bash}{bash}[[step]]\ntext = \"done\"\n");
    let task = desk.task(&script, POLICY.split("[[rule]]\nid = \"run\"").next().unwrap(), "");
    desk.write("task/append.sh", "echo $1 >> ledger.txt\ntest -e once || { touch once; read word < pipe; }\n");
    assert!(Command::new("mkfifo").arg(desk.path("task/pipe")).status().unwrap().success());
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    let id = paused.outcome()["approvals"][0].as_str().unwrap().to_owned();
    let ended = desk.run(["approvals", "approve", &id, "--remember", "--yes", "--json"]);
    let offer: serde_json::Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
    let rule = offer["rule"].as_str().unwrap();
    let driving = desk.command(["resume", &paused.session()]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let first = fs::OpenOptions::new().write(true).open(desk.path("task/pipe")).unwrap();
    let refused = desk.run(["approvals", "revoke", rule, "--reason", "enough"]);
    assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
    for told in ["is being driven by another process", "Ctrl-C", &format!("approvals revoke {rule}"), "resume"] {
        assert!(refused.err.contains(told), "{told}: {}", refused.err);
    }
    drop(first);
    assert_eq!(ended_of(driving), 0);
    assert_eq!(fs::read_to_string(desk.path("task/ledger.txt")).unwrap(), "1\n1\n");
    assert_eq!(desk.run(["approvals", "revoke", rule, "--reason", "enough"]).code, 0);
}

fn ended_of(child: std::process::Child) -> i32 {
    ended(child.wait_with_output().unwrap()).code
}
