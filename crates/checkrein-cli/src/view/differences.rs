//! What rules would change of the recorded past, for people: groups of calls that change alike, and the yes that is offered as a
//! rule.

use std::io::Write;

use checkrein::approvals::Offer;
use checkrein::contract::RuleRef;
use checkrein::past::{Difference, PastCall};

use super::phrases::{call_in_a_line, printable};

/// Calls that are shown of each group.
const SHOWN: usize = 3;

/// A recorded call in a line.
pub(crate) fn recorded_call(call: &PastCall) -> String {
    format!("{} {}  {} {}", call.session, call.call, call.tool, call_in_a_line(&call.args))
}

/// Which recorded decisions change, the worst first, and how many.
pub(crate) fn print_differences(out: &mut dyn Write, found: &[Difference], names: &[String]) {
    for one in found {
        let calls = if one.calls.len() == 1 { "1 call".to_owned() } else { format!("{} calls", one.calls.len()) };
        let sign = if one.loosens() { "LOOSER" } else { "stricter" };
        _ = writeln!(out, "{sign}  {} -> {}  {calls}", one.from, one.to);
        _ = writeln!(out, "  before  {}", of_rule(one.old.as_ref()));
        _ = writeln!(out, "  after   {}", of_rule(one.new.as_ref()));
        for name in one.calls.iter().take(SHOWN).filter_map(|call| names.get(*call)) {
            _ = writeln!(out, "    {}", printable(name));
        }
        if one.calls.len() > SHOWN {
            _ = writeln!(out, "    and {} more", one.calls.len() - SHOWN);
        }
        _ = writeln!(out);
    }
    let count = |loosens: bool| -> usize {
        found.iter().filter(|one| one.loosens() == loosens).map(|one| one.calls.len()).sum()
    };
    let (looser, stricter) = (count(true), count(false));
    let (changed, total) = (looser + stricter, names.len());
    _ = writeln!(out, "{changed} of {total} recorded decisions change: {looser} looser, {stricter} stricter");
}

/// A rule and where it stands, or that there is none.
pub(crate) fn of_rule(rule: Option<&RuleRef>) -> String {
    rule.map_or_else(|| "no rule".to_owned(), |rule| format!("{} ({}:{})", rule.rule, rule.file, rule.line))
}

/// What a yes would be, were it remembered: the rules, and what they would have changed of the session so far.
pub(crate) fn print_offer(out: &mut dyn Write, offer: &Offer) {
    let session = &offer.session;
    _ = writeln!(
        out,
        "what would be remembered in session {session}, as {}, until somebody takes it back:\n",
        offer.remembered.rule
    );
    for line in offer.remembered.text.lines().skip_while(|line| !line.starts_with("[[")) {
        _ = writeln!(out, "{}", printable(&format!("+ {line}")).trim_end());
    }
    _ = writeln!(out);
    let names: Vec<String> = offer.past.calls().iter().map(recorded_call).collect();
    print_differences(out, &offer.differences, &names);
}
