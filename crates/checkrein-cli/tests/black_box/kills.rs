//! Kills and full disks, by a tracer, with no hook in our code: the n-th flush or write of the real binary is its last, or
//! fails, for n = 1, 2, 3 ... until a run meets no fault. Afterwards the session is resumed, and the world is read
//! independently: every effect happened once, and the journal verifies. Where a program that may not be repeated was cut off,
//! a person looks into the world and says what became of it.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
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

/// The same work by three sub-sessions at the same time, two of which change something.
const PARTS: &str = r#"
version = 1
[[step]]
calls = [
    { tool = "task", args = { prompt = "Append.", may = "work", within = ["ledger.txt"] } },
    { tool = "task", args = { prompt = "Note.", may = "work", within = ["keyed.txt"] } },
    { tool = "task", args = { prompt = "Look." } },
]
[[step]]
sub = 1
calls = [{ tool = "bash", args = { command = "sh append.sh one", needs = [{ kind = "write", target = "ledger.txt" }] } }]
[[step]]
sub = 1
text = "one is there"
[[step]]
sub = 2
calls = [{ tool = "note", args = { word = "two" } }]
[[step]]
sub = 2
text = "two is there"
[[step]]
sub = 3
calls = [{ tool = "read", args = { file_path = "append.sh" } }]
[[step]]
sub = 3
text = "I saw it"
[[step]]
text = "done"
"#;

/// Work by tools that requests only name.
const LOOKED_UP: &str = r#"
version = 1
[[step]]
calls = [{ tool = "find_tools", args = { names = ["bash", "note"] } }]
[[step]]
when = { tool_result = "find_tools", contains = "Notes a word." }
calls = [{ tool = "call_tool", args = { tool = "bash", args = { command = "sh append.sh one" } } }]
[[step]]
calls = [{ tool = "call_tool", args = { tool = "note", args = { word = "two" } } }]
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

pub(crate) struct Bench {
    pub(crate) desk: Desk,
    /// What the ledger holds when all is done.
    words: Vec<String>,
    /// How often a person was asked what became of a call.
    pub(crate) asked: Cell<u32>,
}

impl Bench {
    fn new() -> Self {
        Self::with(SCRIPT, &["one", "three", "two"])
    }

    /// Other work: a script, and the words that stand in the ledger when it is done, sorted.
    pub(crate) fn with(script: &str, words: &[&str]) -> Self {
        Self::with_more(script, words, "")
    }

    /// The same, with more in its task.toml.
    fn with_more(script: &str, words: &[&str], more: &str) -> Self {
        let desk = Desk::new();
        let head = "workspace = \"copy\"\ntools = [\"bash\", \"read\", \"write\", \"note\", \"task\"]\n";
        desk.task(script, POLICY, &[head, more].concat());
        desk.write("task/append.sh", "echo \"$1\" >> ledger.txt\n");
        // It can use a key: what it did under one it does not do again.
        // Effect and key are one write, so that a kill can not come between them.
        let once = "[ \"$1\" = \"$CHECKREIN_IDEMPOTENCY_KEY\" ] || exit 1\n\
                    grep -q \"^$1 \" keyed.txt 2>/dev/null || echo \"$1 $2\" >> keyed.txt\n";
        desk.write("task/once.sh", once);
        desk.write(
            "task/tools/note.toml",
            "version = 1\nname = \"note\"\ndescription = \"Notes a word.\"\nkind = \"idempotent\"\n\
             argv = [\"sh\", \"once.sh\", \"{key}\", \"{word}\"]\noutput = \"text\"\n\
             [params.word]\ntype = \"string\"\nrequired = true\n",
        );
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { desk, words, asked: Cell::new(0) }
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

    /// The one session that is no part of another, if it was begun.
    pub(crate) fn session(&self) -> Option<(String, u64)> {
        let listed = self.desk.run(["sessions", "--json"]);
        assert_eq!(listed.code, 0, "the journal opens: {}", listed.err);
        let mut lines = listed.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let line = lines.find(|line| !line["task"].as_str().is_some_and(|task| task.contains(", of ")))?;
        Some((line["session"].as_str()?.to_owned(), line["events"].as_u64()?))
    }

    /// Goes on after the fault, and reads the world.
    fn recover(&self, what: &str) {
        let Some((session, events)) = self.session() else { return };
        if events == 0 {
            return;
        }
        let mut resumed = self.desk.run(["resume", &session, "--json"]);
        let over = resumed.code == 2 && resumed.err.contains("has ended");
        while resumed.code == 3 {
            resumed = self.settle(&session, &resumed, what);
        }
        assert!(over || resumed.code == 0, "{what}: {}{}", resumed.out, resumed.err);
        let verified = self.desk.run(["journal", "verify"]);
        assert_eq!(verified.code, 0, "{what}: {}", verified.out);
        self.compare(&session, what);
    }

    /// What a person does whose session was lost while a program ran: looks into the ledger, and says what is there.
    pub(crate) fn settle(&self, session: &str, paused: &Ended, what: &str) -> Ended {
        let outcome: Value = serde_json::from_str(paused.out.lines().last().unwrap_or_default()).expect("JSON");
        assert_eq!(
            (&outcome["status"], &outcome["code"]),
            (&"needs_input".into(), &"TOOL_OUTCOME_UNKNOWN".into()),
            "{what}"
        );
        let reason = outcome["reason"].as_str().expect("a reason");
        let call = reason.split(['(', ')']).nth(1).expect("the call is named").to_owned();
        // What waits may be a part of the session.
        let part = reason.strip_prefix("in its sub-session ").and_then(|rest| rest.split(':').next());
        let waits = part.unwrap_or(session);
        let events = self.lines(waits);
        let proposed = events.iter().flat_map(|line| line["calls"].as_array().cloned().unwrap_or_default());
        let args =
            proposed.filter(|known| known["id"] == *call).map(|known| known["args"].to_string()).collect::<String>();
        let ledger = fs::read_to_string(self.workspace(session).join("ledger.txt")).unwrap_or_default();
        let happened = ledger.lines().any(|word| args.contains(word));
        self.asked.set(self.asked.get() + 1);
        let word = if happened { "done" } else { "repeat" };
        let said = format!("{call}={word}");
        let said = ["resume", waits, "--json", "--unknown", &said, "--note", "I looked", "--by", "dana"];
        let resumed = self.desk.run(said);
        if part.is_none() {
            return resumed;
        }
        assert_eq!(resumed.code, 0, "{what}: {}{}", resumed.out, resumed.err);
        self.desk.run(["resume", session, "--json"])
    }

    fn workspace(&self, session: &str) -> PathBuf {
        self.desk.path("state/sessions").join(session).join("workspace")
    }

    pub(crate) fn lines(&self, session: &str) -> Vec<Value> {
        let shown = self.desk.run(["show", session, "--json"]);
        shown.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Each word once in the ledger, whatever happened on the way: none lost, none twice.
    pub(crate) fn compare(&self, session: &str, what: &str) {
        let of = |file: &str| fs::read_to_string(self.workspace(session).join(file)).unwrap_or_default();
        let (ledger, keyed) = (of("ledger.txt"), of("keyed.txt"));
        let noted = keyed.lines().filter_map(|line| line.split_whitespace().nth(1));
        let mut words: Vec<&str> = ledger.lines().chain(noted).collect();
        words.sort_unstable();
        assert_eq!(words, self.words, "{what}");
    }
}

/// What a loop met.
#[derive(Debug)]
struct Met {
    faults: u32,
    /// How often a person had to say what became of a call.
    asked: u32,
}

/// Loops until a run meets no fault.
fn until_none_is_met(
    bench: impl Fn() -> Bench,
    fault: impl Fn(u32) -> String,
    check: impl Fn(&Bench, &Ended, &str),
) -> Met {
    let mut asked = 0;
    for n in 1..MOST {
        let bench = bench();
        let fault = fault(n);
        let run = bench.run(&fault);
        if !bench.faulted() {
            assert_eq!(run.code, 0, "a run without a fault completes: {}{}", run.out, run.err);
            return Met { faults: n - 1, asked };
        }
        check(&bench, &run, &fault);
        bench.recover(&fault);
        asked += bench.asked.get();
    }
    panic!("no run without a fault within {MOST}");
}

/// Shows R129, R147, R167, R169, I1, I2: killed at any flush. A program that may not be repeated is asked about; one that is
/// given its key again finds out by itself.
#[test]
fn killed_at_any_flush() {
    if !tracer_is_here() {
        return;
    }
    let met = until_none_is_met(Bench::new, |n| format!("fdatasync:signal=KILL:when={n}"), |_, _, _| {});
    assert!(met.faults >= 8, "a run of four turns flushes more often than {met:?}");
    assert!(met.asked >= 2, "two programs may not be repeated by themselves: {met:?}");
}

/// Shows R147, R167, R169, I6, I11: killed at any flush of a session or of one of its three sub-sessions, which go on at the
/// same time: each is taken up where it stands, none does its work twice, and both journals agree.
#[test]
fn killed_at_any_flush_of_sub_sessions() {
    if !tracer_is_here() {
        return;
    }
    let bench = || Bench::with(PARTS, &["one", "two"]);
    let met = until_none_is_met(bench, |n| format!("fdatasync:signal=KILL:when={n}"), |_, _, _| {});
    assert!(met.faults >= 12, "four sessions flush more often than {met:?}");
    assert!(met.asked >= 1, "one program may not be repeated by itself: {met:?}");
}

/// Shows R39, R167, R169: killed at any flush of a session whose tools are looked up, and called through another one: each is
/// done once, and what was looked up is looked up.
#[test]
fn killed_at_any_flush_of_deferred_calls() {
    if !tracer_is_here() {
        return;
    }
    let bench = || Bench::with_more(LOOKED_UP, &["one", "two"], "deferred = [\"bash\", \"note\"]\n");
    let met = until_none_is_met(bench, |n| format!("fdatasync:signal=KILL:when={n}"), |_, _, _| {});
    assert!(met.faults >= 6, "a run of four turns flushes more often than {met:?}");
    assert!(met.asked >= 1, "one program may not be repeated by itself: {met:?}");
}

/// Shows R167, R169: killed at any write to the journal.
#[test]
fn killed_at_any_write() {
    if !tracer_is_here() {
        return;
    }
    let met = until_none_is_met(Bench::new, |n| format!("pwrite64:signal=KILL:when={n}"), |_, _, _| {});
    assert!(met.faults >= 30, "a run writes more often than {met:?}");
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
            Bench::new,
            |n| format!("pwrite64:error=ENOSPC:when={n}{stays}"),
            |_, run, fault| {
                let said = run.err.contains("disk") && run.err.starts_with("error: ");
                assert!(run.code == 0 || said, "{fault}: {} {}", run.code, run.err);
            },
        );
        assert!(met.faults >= 30, "a run writes more often than {met:?}");
    }
}
