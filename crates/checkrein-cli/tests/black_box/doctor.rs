//! `doctor`, on this machine as it is and with real lacks made around it. Nothing here pretends: each lack is the
//! kernel's own.

use std::process::Command;

use insta::assert_snapshot;

use crate::support::{Desk, ended, skipped};

/// Answers "no such call" to the three calls of Landlock, then becomes the program named.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
step = lambda code, jt, jf, k: struct.pack("HBBI", code, jt, jf, k)
program = b"".join([step(0x20, 0, 0, 0), step(0x35, 0, 2, 444), step(0x25, 1, 0, 446),
                    step(0x06, 0, 0, 0x00050026), step(0x06, 0, 0, 0x7fff0000)])
kept = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]
whole = Filter(len(program) // 8, ctypes.addressof(kept))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(whole)) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// Whether everything is in use here, so that a lack can be made and seen.
fn everything_is_here(desk: &Desk) -> bool {
    let plain = desk.run(["doctor", "--json"]);
    let lacking = plain.out.lines().any(|line| line.contains("\"in_use\":false"));
    if lacking {
        skipped("this machine lacks a layer of the sandbox; `checkrein doctor` says which");
    }
    !lacking
}

/// The report of a command that ends in running `doctor`.
fn report(desk: &Desk, program: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir(desk.path("."));
    desk.surroundings(&mut command);
    let ended = ended(command.output().expect("it starts"));
    assert_eq!(ended.err, "");
    (ended.code, steady(desk, &ended.out))
}

fn steady(desk: &Desk, text: &str) -> String {
    let lines = desk.steady(text);
    let lines = lines.lines().map(|line| match line.split_once("in use, version ") {
        Some((head, _)) => format!("{head}in use, version N"),
        // Which control groups there are is another machine's matter.
        None if line.starts_with("  limits ") => "  limits      LIMITS".to_owned(),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Shows R174, R178: every layer is tried, and said to be there only when it held.
#[test]
fn all_layers() {
    let desk = Desk::new();
    if !everything_is_here(&desk) {
        return;
    }
    let (code, said) = report(&desk, env!("CARGO_BIN_EXE_checkrein"), &["doctor"]);
    assert_eq!(code, 0, "{said}");
    assert_snapshot!(said);
}

/// Without user namespaces files are still held, and what is not is named.
#[test]
fn no_user_namespaces() {
    let desk = Desk::new();
    if !everything_is_here(&desk) {
        return;
    }
    let line =
        format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {} doctor", env!("CARGO_BIN_EXE_checkrein"));
    let (code, said) = report(&desk, "unshare", &["-Ur", "sh", "-c", &line]);
    assert_eq!(code, 1, "{said}");
    assert_snapshot!(said);
}

#[test]
fn no_landlock() {
    let desk = Desk::new();
    if !everything_is_here(&desk) {
        return;
    }
    let arguments = ["-c", WITHOUT_LANDLOCK, env!("CARGO_BIN_EXE_checkrein"), "doctor"];
    let (code, said) = report(&desk, "python3", &arguments);
    assert_eq!(code, 1, "{said}");
    assert_snapshot!(said);
}

/// A program that is confined already finds what is left to it, and says so.
#[test]
fn inside_a_confined_process() {
    let desk = Desk::new();
    if !everything_is_here(&desk) {
        return;
    }
    std::fs::create_dir_all(desk.path("task")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_checkrein"), desk.path("task/inner")).unwrap();
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"./inner doctor\" } }]\n[[step]]\ntext = \"done\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"inner\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"./inner\"]\n";
    let task = desk.task(script, policy, "workspace = \"in-place\"\n");
    let run = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(run.status(), "completed", "{}", run.outcome());
    let said = run.result(0);
    let (report, _) = said.split_once("[not granted").unwrap_or((said, ""));
    assert_snapshot!(steady(&desk, report));
}

/// Where what runs can not be held to its grant, it is asked about; where the task demands it, it is refused.
#[test]
fn what_can_not_be_enforced_is_asked_about() {
    let desk = Desk::new();
    if !everything_is_here(&desk) {
        return;
    }
    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"make\" } }]\n[[step]]\ntext = \"done\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"make\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"make\"]\n";
    let run = |more: &str, secret: bool| {
        let task = desk.task(script, policy, &format!("workspace = \"in-place\"\n{more}"));
        desk.write("task/Makefile", "all:\n\t@cat .env || echo nothing\n");
        if secret {
            desk.write("task/.env", "KEY=1\n");
        }
        let binary = env!("CARGO_BIN_EXE_checkrein");
        let line =
            format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {binary} run {} --json", task.display());
        let mut command = Command::new("unshare");
        command.args(["-Ur", "sh", "-c", &line]).env_clear().current_dir(desk.path("."));
        desk.surroundings(&mut command);
        let out = ended(command.output().expect("it starts")).out;
        let decision = out.lines().find(|line| line.contains("\"type\":\"decision\"")).unwrap_or_default().to_owned();
        serde_json::from_str::<serde_json::Value>(&decision).unwrap()["code"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(run("", false), "ALLOWED", "nothing there has to be hidden");
    assert_eq!(run("", true), "ASK_UNCONFINED");
    assert_eq!(run("sandbox = \"required\"\n", true), "DENIED_UNCONFINED");
}
