//! What `run --dry` prints: the first request, and what the session would cost at least, as expected, and at most.

use std::io::Write;

use anstyle::Style;
use checkrein::{Basis, Projected, Projection};

use super::phrases::{grouped, printable};

/// Prints the projection.
pub(crate) fn projection(out: &mut dyn Write, projection: &Projection) {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let Projection { first_request, instructions, tools, reply_ceiling, budget, .. } = projection;
    let rest = first_request.saturating_sub(*instructions).saturating_sub(*tools);
    _ = writeln!(out, "{bold}{}{bold:#}  nothing was sent, nothing is recorded", printable(&projection.model));
    let parts = [("instructions", *instructions), ("tools", *tools), ("task", rest)];
    let parts: Vec<String> = parts.iter().map(|(name, tokens)| format!("{name} {}", grouped(*tokens))).collect();
    let first = format!("{} tokens: {}", grouped(*first_request), parts.join(", "));
    let price = match projection.price {
        Some(price) if price.input == 0.0 && price.output == 0.0 => "nothing".to_owned(),
        Some(price) => format!("${} in, ${} out, for a million tokens", price.input, price.output),
        None => "unknown: name it in models.toml, or in `[price]` of task.toml".to_owned(),
    };
    let mut rows =
        vec![("first", first), ("replies", format!("at most {} tokens each", grouped(u64::from(*reply_ceiling))))];
    if let Some(window) = projection.window {
        rows.push(("window", format!("{} tokens", grouped(window))));
    }
    rows.extend([("budget", budget.to_string()), ("price", price)]);
    for (name, value) in rows {
        _ = writeln!(out, "  {name:<10} {value}");
    }
    if let Some(limit) = projection.no_room {
        let none = format!("the budget for {limit} leaves no room for this request");
        _ = writeln!(out, "  {:<10} {bold}{none}{bold:#}", "cost");
        return;
    }
    let head = format!("  {:<10} {:>9} {:>12} {:>12}  {}", "", "requests", "tokens in", "tokens out", "cost");
    _ = writeln!(out, "{dim}{head}{dim:#}");
    let expected = match projection.basis {
        Basis::Sessions(1) => "as the one earlier session of this task".to_owned(),
        Basis::Sessions(count) => format!("the median of {count} earlier sessions of this task"),
        Basis::Assumed { requests, growth, reply } => format!(
            "assumed, not measured: {requests} requests, each {growth} tokens longer, replies of {reply}, as far as the \
             budget goes"
        ),
    };
    for (name, row, note) in [
        ("low", projection.low, "one short answer at once"),
        ("expected", projection.expected, expected.as_str()),
        ("ceiling", projection.ceiling, "all that the budget allows; a last request without tools may come on top"),
    ] {
        let Projected { requests, input, output, cost } = row;
        let (input, output) = (grouped(input), grouped(output));
        let line = format!("  {name:<10} {requests:>9} {input:>12} {output:>12}  {cost}");
        _ = writeln!(out, "{line}  {dim}{note}{dim:#}");
    }
    _ = out.flush();
}
