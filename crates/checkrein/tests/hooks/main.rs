//! Payloads as Claude Code and Codex send them to a hook, each its own reported test: what the policy of `policy.toml` says
//! of the call. The shapes are those of `claude.md` and `codex.md`; the values are our own.
//!
//! Shows R1, R2, R77, R115: another agent's call is judged by what it would do, by the same policy as our own.

use std::path::Path;

use checkrein::PolicyFiles;
use checkrein::contract::{Layer, PolicySource};
use checkrein::hook::{Caller, Watch};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

fn main() {
    let fixtures = [(Caller::Claude, include_str!("claude.jsonl")), (Caller::Codex, include_str!("codex.jsonl"))];
    let mut trials = Vec::new();
    for (caller, text) in fixtures {
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
        assert!(lines.len() >= 100, "payloads are only ever added");
        for fixture in lines {
            let name = format!("{}: {}", caller.name(), fixture["note"].as_str().expect("a note"));
            trials.push(Trial::test(name, move || judged(caller, &fixture)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn judged(caller: Caller, fixture: &Value) -> Result<(), Failed> {
    let policy = PolicySource {
        layer: Layer::Project,
        file: "policy.toml".to_owned(),
        text: include_str!("policy.toml").to_owned(),
        only_tightens: false,
    };
    let watch = Watch {
        caller,
        root: Path::new("/home/dev/project"),
        home: Path::new("/home/dev"),
        policies: &PolicyFiles::default(),
        policy: Some(policy),
        store: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let payload = fixture["payload"].to_string();
    let judged = runtime.block_on(watch.judge(payload.as_bytes())).map_err(|error| error.to_string())?;
    let (decision, expected) = (judged.decision, fixture["expected"].as_str().unwrap_or_default());
    if decision.verdict.as_str() == expected {
        return Ok(());
    }
    let steps: Vec<String> =
        decision.trace.iter().map(|step| format!("  {} {:?} {:?}", step.decision, step.effect, step.winner)).collect();
    Err(Failed::from(format!(
        "expected {expected}, got {} ({})\n{}\n{}",
        decision.verdict,
        decision.reason,
        fixture["payload"]["tool_input"],
        steps.join("\n")
    )))
}
