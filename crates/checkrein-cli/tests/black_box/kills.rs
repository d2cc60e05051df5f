//! Kills and full disks, by a tracer, with no hook in our code: the n-th flush or write of the real binary is its last, or
//! fails, for n = 1, 2, 3 ... until a run meets no fault. Afterwards the session is resumed, and the world is read
//! independently: no finished effect happened twice, and the journal verifies.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Desk, Ended, ended, skipped};

/// Faults that a run may take before the loop counts as broken; far above what a run has.
const MOST: u32 = 400;

const POLICY: &str = r#"
version = 1
[[rule]]
id = "append"
decision = "allow"
reason = "the task"
effect = "run"
words = ["sh", "append.sh"]
[[rule]]
id = "read"
decision = "allow"
reason = "the task"
effect = "read"
paths = ["{root}/**"]
[[rule]]
id = "write"
decision = "allow"
reason = "the task"
effect = "write"
paths = ["{root}/**"]
[[rule]]
id = "note"
decision = "allow"
reason = "the task"
effect = "tool"
tool = "note"
"#;

const SCRIPT: &str = r#"
version = 1
[[step]]
calls = [{ tool = "bash", args = { command = "sh append.sh one" } }]
[[step]]
calls = [
    { tool = "write", args = { file_path = "new.txt", content = "x" } },
    { tool = "bash", args = { command = "sh append.sh two" } },
]
[[step]]
calls = [{ tool = "note", args = { word = "three" } }]
[[step]]
text = "done"
"#;

fn tracer_is_here() -> bool {
    let here = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    if !here {
        skipped("strace is not installed here");
    }
    here
}

struct Bench {
    desk: Desk,
}

impl Bench {
    fn new() -> Self {
        let desk = Desk::new();
        desk.task(SCRIPT, POLICY, "workspace = \"copy\"\ntools = [\"bash\", \"write\", \"note\"]\n");
        desk.write("task/append.sh", "echo \"$1\" >> ledger.txt\n");
        desk.write(
            "task/tools/note.toml",
            "version = 1\nname = \"note\"\ndescription = \"Notes a word.\"\nargv = [\"sh\", \"append.sh\", \"{word}\"]\noutput = \"text\"\n[params.word]\ntype = \"string\"\nrequired = true\n",
        );
        Self { desk }
    }

    /// Runs the task under the tracer with this fault.
    fn run(&self, fault: &str) -> Ended {
        let traced = fault.split(':').next().unwrap_or_default();
        let binary = env!("CARGO_BIN_EXE_checkrein");
        let trace = format!("trace={traced}");
        let inject = format!("inject={fault}");
        let log = self.desk.path("strace.log");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", &trace, "-e", &inject, "-o"]).arg(&log).arg(binary);
        command.args(["run", "task", "--json"]).env_clear().current_dir(self.desk.path(""));
        self.desk.surroundings(&mut command);
        ended(command.output().expect("strace starts"))
    }

    /// Whether the fault was met.
    fn faulted(&self) -> bool {
        let log = fs::read_to_string(self.desk.path("strace.log")).unwrap_or_default();
        log.contains("INJECTED") || log.contains("killed by SIGKILL")
    }

    /// The one session, if it was begun.
    fn session(&self) -> Option<(String, u64)> {
        let listed = self.desk.run(["sessions", "--json"]);
        assert_eq!(listed.code, 0, "the journal opens: {}", listed.err);
        let line: Value = serde_json::from_str(listed.out.lines().next()?).expect("JSON");
        Some((line["session"].as_str()?.to_owned(), line["events"].as_u64()?))
    }

    /// Goes on after the fault, and reads the world.
    fn recover(&self, what: &str) {
        let Some((session, events)) = self.session() else { return };
        if events == 0 {
            return;
        }
        let resumed = self.desk.run(["resume", &session, "--json"]);
        let over = resumed.code == 2 && resumed.err.contains("has ended");
        assert!(over || resumed.code == 0, "{what}: {}{}", resumed.out, resumed.err);
        let verified = self.desk.run(["journal", "verify", &session]);
        assert_eq!(verified.code, 0, "{what}: {}", verified.out);
        self.compare(&session, what);
    }

    /// No word twice in the ledger; every call that ended well has its word there.
    fn compare(&self, session: &str, what: &str) {
        let shown = self.desk.run(["show", session, "--json"]);
        let lines: Vec<Value> = shown.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let workspace = self.desk.path("state/sessions").join(session).join("workspace");
        let ledger = fs::read_to_string(workspace.join("ledger.txt")).unwrap_or_default();
        let mut words: BTreeMap<&str, u32> = BTreeMap::new();
        ledger.lines().for_each(|word| *words.entry(word).or_default() += 1);
        assert!(words.values().all(|count| *count == 1), "{what}: an effect happened twice: {words:?}");
        let arguments = |call: &Value| {
            let calls = lines
                .iter()
                .filter(|line| line["type"] == "proposal")
                .flat_map(|line| line["calls"].as_array().cloned().unwrap_or_default());
            calls
                .into_iter()
                .find(|proposed| proposed["id"] == *call)
                .map(|proposed| proposed["args"].to_string())
                .unwrap_or_default()
        };
        for finished in lines.iter().filter(|line| line["type"] == "finished" && line["as"] == "ok") {
            let arguments = arguments(&finished["call"]);
            for word in ["one", "two", "three"].iter().filter(|word| arguments.contains(**word)) {
                assert!(words.contains_key(word), "{what}: `{word}` is finished in the journal and not in the world");
            }
        }
    }
}

/// Loops until a run meets no fault; the number of faults that were met.
fn until_none_is_met(fault: impl Fn(u32) -> String, check: impl Fn(&Bench, &Ended, &str)) -> u32 {
    for n in 1..MOST {
        let bench = Bench::new();
        let fault = fault(n);
        let run = bench.run(&fault);
        if !bench.faulted() {
            assert_eq!(run.code, 0, "a run without a fault completes: {}{}", run.out, run.err);
            return n - 1;
        }
        check(&bench, &run, &fault);
        bench.recover(&fault);
    }
    panic!("no run without a fault within {MOST}");
}

/// Shows R147, R167, R169, I1, I2: killed at any flush.
#[test]
fn killed_at_any_flush() {
    if !tracer_is_here() {
        return;
    }
    let met = until_none_is_met(|n| format!("fdatasync:signal=KILL:when={n}"), |_, _, _| {});
    assert!(met >= 8, "a run of four turns flushes more often than {met} times");
}

/// Shows R167, R169: killed at any write to the journal.
#[test]
fn killed_at_any_write() {
    if !tracer_is_here() {
        return;
    }
    let met = until_none_is_met(|n| format!("pwrite64:signal=KILL:when={n}"), |_, _, _| {});
    assert!(met >= 30, "a run writes more often than {met} times");
}

/// A disk that is full for one write, and one that stays full: a clear error, nothing lost, and it goes on when there is
/// room again.
#[test]
fn the_disk_is_full_at_any_write() {
    if !tracer_is_here() {
        return;
    }
    for stays in ["", "+"] {
        let met = until_none_is_met(
            |n| format!("pwrite64:error=ENOSPC:when={n}{stays}"),
            |_, run, fault| {
                let said = run.err.contains("disk") && run.err.starts_with("error: ");
                assert!(run.code == 0 || said, "{fault}: {} {}", run.code, run.err);
            },
        );
        assert!(met >= 30, "a run writes more often than {met} times");
    }
}
