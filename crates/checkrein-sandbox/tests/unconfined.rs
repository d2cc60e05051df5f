//! The unconfined sandbox with real programs: how they end, what is kept of what they print, and that nothing stays
//! behind.

mod support;

use std::path::PathBuf;

use checkrein_contract::{Code, FinishedAs};
use checkrein_gate::Sandbox as _;
use checkrein_sandbox::Unconfined;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use support::{Ended, World, is_gone};

/// A pipe with a name, on which a program says that it has got so far.
fn fifo(world: &World) -> (PathBuf, String) {
    let path = world.folder.path().join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let text = path.to_str().unwrap().to_owned();
    (path, text)
}

async fn read_to_end(path: PathBuf) -> String {
    tokio::task::spawn_blocking(move || std::fs::read_to_string(path).unwrap()).await.unwrap()
}

/// Shows R178: what is not enforced is not claimed.
#[tokio::test]
async fn it_says_that_it_confines_nothing() {
    let enforcement = Unconfined::new(Vec::new()).enforcement();
    assert!(!enforcement.confines);
    assert!(enforcement.words.contains("not restricted"), "{}", enforcement.words);
}

/// Shows R75, R188: exit code and signal are facts of their own.
#[tokio::test]
async fn exit_code_and_signal_are_told_apart() {
    let mut world = World::new();
    let out = Ended { stdout: "out".into(), stdout_total: 3, stderr: "err".into(), ..Ended::default() };
    let exited = world.bash("printf out; printf err >&2; exit 3").await;
    assert_eq!(exited, Ended { exit: Some(3), ..out.clone() });
    let killed = world.bash("printf out; printf err >&2; kill -9 $$").await;
    assert_eq!(killed, Ended { signal: Some(9), ..out });
    assert_eq!(
        world.bash("cat; pwd").await.stdout.trim(),
        world.folder.path().canonicalize().unwrap().to_str().unwrap()
    );
}

/// Shows R68, R71: the end is kept, and the whole is in a file.
#[tokio::test]
async fn a_long_stream_is_spilled_whole() {
    let mut world = World::new();
    let ended = world.run(json!({"argv": ["seq", "20000"], "keep_bytes": 12})).await;
    let whole: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    assert_eq!((ended.exit, ended.stdout_total), (Some(0), whole.len() as u64));
    assert_eq!(ended.stdout, "19999\n20000\n");
    assert_eq!(std::fs::read_to_string(ended.spilled.unwrap()).unwrap(), whole);
}

/// Shows R146: a time limit ends the whole group, and is reported apart from how the program took it.
#[tokio::test]
async fn a_time_limit_ends_grandchildren_too() {
    let mut world = World::new();
    let ended = world.bash_until_it_prints("sleep 600 & echo $!; wait").await;
    assert_eq!((ended.timed_out, ended.exit, ended.signal), (true, None, Some(15)));
    assert!(is_gone(&ended.stdout));

    let polite = world.bash_until_it_prints("trap 'echo bye; exit 7' TERM; sleep 600 & echo $!; wait").await;
    assert_eq!((polite.timed_out, polite.exit, polite.signal), (true, Some(7), None));
    assert!(polite.stdout.ends_with("bye\n"), "{polite:?}");
}

/// Shows R146: what does not listen is ended all the same.
#[tokio::test]
async fn a_group_that_ignores_the_first_signal_is_killed() {
    let mut world = World::new();
    let ended = world.bash_until_it_prints("trap '' TERM; sleep 600 & echo $!; wait").await;
    assert_eq!((ended.timed_out, ended.exit, ended.signal), (true, None, Some(9)));
    assert!(is_gone(&ended.stdout));
}

/// Shows R146: a child that keeps the pipe open hangs nobody, and does not outlive the call.
#[tokio::test]
async fn a_held_pipe_does_not_hang() {
    let ended = World::new().bash("sleep 600 & echo $!").await;
    assert_eq!((ended.exit, ended.timed_out), (Some(0), false));
    assert!(is_gone(&ended.stdout));
}

/// Shows R146: nobody holds it up by leaving the group either.
#[tokio::test]
async fn a_process_that_left_the_group_does_not_hang_the_call() {
    let mut world = World::new();
    let ended = world.bash("setsid sleep 5 & echo $!").await;
    assert_eq!((ended.exit, ended.timed_out), (Some(0), false));
}

/// Shows R147: cancelling reaches the program and everything it started.
#[tokio::test]
async fn cancelling_ends_the_group() {
    let mut world = World::new();
    let cancel = world.cancel.clone();
    let (path, fifo) = fifo(&world);
    let line = format!("sleep 600 & echo $! > {fifo}; wait");
    let (ended, pid) = tokio::join!(world.bash(&line), async {
        let pid = read_to_end(path).await;
        cancel.cancel();
        pid
    });
    assert_eq!((ended.cancelled, ended.timed_out, ended.exit), (true, false, None));
    assert!(is_gone(&pid));

    let file = world.folder.path().join("started");
    let never = world.bash(&format!("touch {}", file.display())).await;
    assert_eq!(never, Ended { cancelled: true, ..Ended::default() });
    assert!(!file.exists(), "cancelled before it started");
}

/// Shows R146, R147: a run that is dropped half way leaves nothing running.
#[tokio::test]
async fn dropping_the_run_ends_the_group() {
    let mut world = World::new();
    let (path, fifo) = fifo(&world);
    let line = format!("sleep 600 & echo $$ $! > {fifo}; wait");
    let pids = tokio::select! {
        ended = world.bash(&line) => panic!("it ended by itself: {ended:?}"),
        pids = read_to_end(path) => pids,
    };
    assert!(pids.split_whitespace().count() == 2 && pids.split_whitespace().all(is_gone), "{pids}");
}

/// Shows R175: programs get a clean environment; secrets of the host are not in it.
#[tokio::test]
async fn only_listed_variables_reach_a_program() {
    let mut world = World::with_env(&[
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/dev"),
        ("LC_ALL", "C.UTF-8"),
        ("LC_API_KEY", "no"),
        ("GH_TOKEN", "no"),
        ("GPG_PASSPHRASE", "no"),
        ("BASH_ENV", "/no"),
        ("LD_PRELOAD", "/no"),
    ]);
    let ended = world.run(json!({"argv": ["env"], "keep_bytes": 4096})).await;
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["ADDED=by the tool", "HOME=/home/dev", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"]);
}

/// Shows R58, R174: what can not be started is said to be so, each with its reason, and never as a program that failed.
#[tokio::test]
async fn what_can_not_start_says_why() {
    let mut world = World::new();
    let script = world.folder.path().join("script");
    std::fs::write(&script, "#!/not/there\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for (args, reason) in [
        (json!({"argv": ["no-such-program"]}), "there is no program `no-such-program` here"),
        (json!({"argv": ["./no-such-program"]}), "there is no program `./no-such-program` here"),
        (json!({"argv": ["./script"]}), "the interpreter of `./script` is missing"),
        (json!({"argv": ["true"], "cwd": "/no/such/folder"}), "the working directory /no/such/folder is no folder"),
        (json!({"argv": ["echo", "a\u{0}b"]}), "nul byte"),
        (json!({"argv": []}), "no program was named"),
        (json!({"argv": ["."]}), "ermission"),
    ] {
        let finished = world.call(args.clone()).await;
        assert_eq!((finished.ended, finished.code), (FinishedAs::Failed, Some(Code::SandboxUnavailable)), "{args}");
        assert!(finished.text.contains(reason), "{args}: {}", finished.text);
    }
}
