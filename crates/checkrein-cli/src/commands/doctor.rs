//! `doctor`: what confines programs on this machine, tried just now. It reports, and changes nothing.

use std::io::Write as _;

use checkrein::HarnessError;
use checkrein::sandbox::{Found, Layer, Outcome, Proof};
use serde_json::json;

use super::{block_on, usage};
use crate::arguments::Listing;
use crate::context::Context;

/// Exit code when something does not hold.
const LACKING: u8 = 1;

/// What no run of this command can tell.
const UNTESTED: [&str; 3] = [
    "what AppArmor or SELinux take away from a program of another name",
    "what a container engine takes away when it starts a container another way",
    "programs that go out without asking the proxy that HTTP_PROXY and ALL_PROXY name: they have no network",
];

pub(super) fn run(arguments: &Listing, context: &Context) -> Result<u8, HarnessError> {
    let harness = context.harness()?;
    let confined =
        harness.confined().ok_or_else(|| usage("this program can not find itself, so it can confine nothing"))?;
    let proofs = block_on(confined.prove(harness.home.path()))?;
    let found = confined.found();
    let mut out = context.out();
    if arguments.json {
        for layer in Layer::ALL {
            let lack = lack(found, layer);
            let line = json!({ "layer": layer.as_str(), "in_use": found.has(layer), "reason": lack, "version": version(found, layer) });
            _ = writeln!(out, "{line}");
        }
        for proof in &proofs {
            let (outcome, seen) = outcome(proof);
            _ = writeln!(out, "{}", json!({ "claim": proof.claim, "outcome": outcome, "seen": seen }));
        }
    } else {
        _ = write!(out, "{}", page(found, &proofs, confined.limits_whole_calls()));
    }
    let all = proofs.iter().all(|proof| proof.outcome == Outcome::Held) && found.lacks.is_empty();
    Ok(if all { 0 } else { LACKING })
}

fn page(found: &Found, proofs: &[Proof], whole: Option<String>) -> String {
    let mut page = String::from("layers\n");
    for layer in Layer::ALL {
        let state = match (found.has(layer), version(found, layer), lack(found, layer)) {
            (true, Some(version), _) => format!("in use, version {version}"),
            (true, None, _) => "in use".to_owned(),
            (false, _, Some(reason)) => format!("not here: {reason}"),
            (false, _, None) => "not here".to_owned(),
        };
        page.push_str(&format!("  {:<11} {state}\n", layer.as_str()));
    }
    let limits = match whole {
        Some(kinds) => format!("for each process, and {kinds} for a call as a whole"),
        None => "for each process; no control group can be made for a call as a whole".to_owned(),
    };
    page.push_str(&format!("  {:<11} {limits}\n", "limits"));
    page.push_str("\ntried just now, as every program is run\n");
    for proof in proofs {
        let (word, seen) = outcome(proof);
        let seen = seen.map(|seen| format!(": {seen}")).unwrap_or_default();
        page.push_str(&format!("  {word:<11} {}{seen}\n", proof.claim));
    }
    page.push_str("\nnot to be told from here\n");
    for what in UNTESTED {
        page.push_str(&format!("  {what}\n"));
    }
    page.push_str(&format!("\n{}\n", conclusion(found, proofs)));
    page
}

fn conclusion(found: &Found, proofs: &[Proof]) -> String {
    let held = proofs.iter().filter(|proof| proof.outcome == Outcome::Held).count();
    let count = format!("{held} of {} held", proofs.len());
    if let Some(broken) = &found.broken {
        return format!("No program can be run here: {broken}.");
    }
    if held == proofs.len() && found.lacks.is_empty() {
        return format!("{count}. An allowed program runs here without a question, confined to what was granted.");
    }
    let asks = match (found.has(Layer::Namespaces), found.has(Layer::Network), found.has(Layer::Landlock)) {
        (false, _, false) => "Nothing confines programs here: each is asked about.",
        (false, ..) => {
            "Without namespaces secrets can not be hidden in a tree that may be read, nor hosts told apart: a program that \
             runs code where there are some, and one that connects, is asked about."
        }
        (true, false, _) => "Hosts can not be told apart: a program that connects is asked about.",
        (true, true, _) => "What is missing takes a second wall away, not the first.",
    };
    format!("{count}. {asks}")
}

fn lack(found: &Found, layer: Layer) -> Option<&str> {
    found.lacks.iter().find(|lack| lack.layer == layer).map(|lack| lack.reason.as_str())
}

fn version(found: &Found, layer: Layer) -> Option<i32> {
    (layer == Layer::Landlock && found.has(layer)).then_some(found.landlock)
}

fn outcome(proof: &Proof) -> (&'static str, Option<&str>) {
    match &proof.outcome {
        Outcome::Held => ("held", None),
        Outcome::Failed(seen) => ("NOT HELD", Some(seen)),
        Outcome::Untried(reason) => ("not tried", Some(reason)),
    }
}
