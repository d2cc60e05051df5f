//! The table at the end: how it ended, what it took, what to type next.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use checkrein::contract::{Outcome, Settlement, Status};
use checkrein::session::State;
use checkrein::usage::Counted;

use super::phrases::{compared, grouped, printable};

/// Prints the table.
pub(crate) fn closing(
    out: &mut dyn Write,
    outcome: &Outcome,
    state: &State,
    counted: Option<Counted>,
    took: Duration,
    program: &str,
) {
    let bold = Style::new().bold();
    let colour = match outcome.status {
        Status::Completed => AnsiColor::Green,
        Status::NeedsApproval | Status::NeedsInput => AnsiColor::Yellow,
        Status::Blocked | Status::BudgetExhausted | Status::Cancelled | Status::Failed => AnsiColor::Red,
    };
    let style = colour.on_default().bold();
    let mut rows: Vec<(&str, String)> = Vec::new();
    let ran: Vec<_> = outcome.tool_runs.iter().map(|(tool, count)| format!("{tool} {count}")).collect();
    rows.push(("session", outcome.session.to_string()));
    rows.push(("steps", outcome.steps.to_string()));
    rows.push(("tools run", if ran.is_empty() { "none".to_owned() } else { ran.join(", ") }));
    let estimated = if outcome.usage.estimated { " (estimated)" } else { "" };
    rows.push((
        "tokens",
        format!("{} in, {} out{estimated}", grouped(outcome.usage.input), grouped(outcome.usage.output)),
    ));
    if let Some(counted) = counted {
        rows.push(("counted", compared(&counted)));
    }
    if outcome.cost.unpriced {
        rows.push(("cost", format!("{} (no price is known for {})", outcome.cost, printable(&state.opened().model))));
    } else if !outcome.cost.is_nothing() {
        rows.push(("cost", outcome.cost.to_string()));
    }
    rows.push(("time", format!("{:.1} s", took.as_secs_f64())));
    if state.rounds() > 0 {
        let checks = state.opened().verify.len();
        let how = if outcome.status == Status::Completed { "passed" } else { "did not pass" };
        rows.push(("checks", format!("{checks} {how}, in round {}", state.rounds())));
    }
    if !outcome.citations.is_empty() {
        let sources: Vec<_> = outcome.citations.iter().map(|citation| printable(&citation.source)).collect();
        rows.push(("sources", sources.join(", ")));
    }
    rows.push(("workspace", outcome.workspace.clone()));
    _ = writeln!(out, "\n{style}{}{style:#}  {}", outcome.status, printable(&outcome.reason));
    for (name, value) in rows {
        _ = writeln!(out, "  {name:<10} {value}");
    }
    for (index, next) in next(outcome, state, program).iter().enumerate() {
        let lead = if index == 0 { "next" } else { "" };
        _ = writeln!(out, "  {lead:<10} {bold}{next}{bold:#}");
    }
    _ = out.flush();
}

/// What a person may want to type now.
fn next(outcome: &Outcome, state: &State, program: &str) -> Vec<String> {
    let session = &outcome.session;
    match outcome.status {
        Status::NeedsApproval => {
            let mut lines: Vec<String> =
                outcome.approvals.iter().map(|id| format!("{program} approvals approve {id} --by NAME")).collect();
            lines.push(format!("{program} resume {session}"));
            lines
        }
        Status::NeedsInput if !state.unknown_outcomes().is_empty() => {
            let words = Settlement::ALL.map(Settlement::as_str).join("|");
            let open = state.unknown_outcomes();
            open.iter().map(|call| format!("{program} resume {session} --unknown {}={words}", call.id)).collect()
        }
        Status::NeedsInput => vec![format!("{program} resume {session} --answer \"...\"")],
        Status::Cancelled => vec![format!("{program} resume {session}")],
        Status::BudgetExhausted => {
            let larger = outcome.limit.map(|limit| format!("{program} resume {session} --budget {limit}=N"));
            larger.into_iter().chain([format!("{program} show {session}")]).collect()
        }
        Status::Completed | Status::Blocked | Status::Failed => vec![format!("{program} show {session}")],
    }
}
