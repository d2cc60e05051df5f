//! `cargo xtask corpus`: how the policy engine judges what others collected: the labelled commands of another guard, and
//! command lines as people write them.
//!
//! It gathers, and an example of `checkrein-policy` judges: this program imports none of ours. Nothing of what is gathered
//! is kept. It judges no figure, so it is no step of `cargo xtask test`.

use std::io::Write;
use std::process::Stdio;

use serde::Serialize;

use crate::cargo;
use crate::workspace::Workspace;

mod cases;
mod extract;
mod lines;
mod package;

/// The guard whose labelled commands are judged, and the version that the figures are about. Its licence is Apache-2.0.
const GUARD: (&str, &str) = ("shellfirm", "0.4.1");

/// Where its labelled commands lie.
const GUARD_CASES: &str = "tests/checks";

/// What judges: an example, so that it ships to nobody.
const JUDGE: &[&str] = &["run", "--quiet", "--release", "--locked", "-p", "checkrein-policy", "--example", "measure"];

/// What is handed to the example.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Material {
    Guard(Vec<cases::Case>),
    Lines(Vec<lines::Line>),
}

#[derive(Serialize)]
struct Order {
    verbose: bool,
    #[serde(flatten)]
    material: Material,
}

/// Measures by the guard's commands, or by command lines of this machine.
pub(crate) fn run(workspace: &Workspace, real_lines: bool, verbose: bool) -> Result<(), String> {
    let material = if real_lines {
        Material::Lines(lines::sample()?)
    } else {
        let (name, version) = GUARD;
        let folder = package::fetch(name, version)?;
        println!("{name} {version}, {GUARD_CASES}");
        Material::Guard(cases::read(&folder.join(GUARD_CASES))?)
    };
    judge(workspace, &Order { verbose, material })
}

fn judge(workspace: &Workspace, order: &Order) -> Result<(), String> {
    let text = serde_json::to_vec(order).map_err(|e| format!("what was gathered can not be written down: {e}"))?;
    let mut child = cargo::cargo(workspace, JUDGE)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo can not be started: {e}"))?;
    let sent = child.stdin.take().map(|mut stdin| stdin.write_all(&text));
    let status = child.wait().map_err(|e| format!("cargo can not be waited for: {e}"))?;
    if !status.success() {
        return Err(format!("`cargo {}` failed: see above", JUDGE.join(" ")));
    }
    match sent {
        Some(Ok(())) => Ok(()),
        _ => {
            Err("the example did not read what it was handed: mend crates/checkrein-policy/examples/measure".to_owned())
        }
    }
}
