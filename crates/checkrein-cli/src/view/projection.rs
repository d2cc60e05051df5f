//! What `run --dry` prints: the first request, and what the session would cost at least, as expected, and at most.

use std::io::Write;

use anstyle::Style;
use checkrein::contract::Price;
use checkrein::{Basis, Projected, Projection};

use super::phrases::{grouped, printable};
use super::width::{columns, wrapped};

/// Prints the projection.
pub(crate) fn projection(out: &mut dyn Write, projection: &Projection) {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let Projection { first_request, instructions, tools, reply_ceiling, budget, .. } = projection;
    let rest = first_request.saturating_sub(*instructions).saturating_sub(*tools);
    _ = writeln!(out, "{bold}{}{bold:#}  nothing was sent, nothing is recorded", printable(&projection.model));
    let parts = [("instructions", *instructions), ("tools", *tools), ("task", rest)];
    let parts: Vec<String> = parts.iter().map(|(name, tokens)| format!("{name} {}", grouped(*tokens))).collect();
    let first = format!("{} tokens: {}", grouped(*first_request), parts.join(", "));
    let price = match &projection.price {
        Some(price) if *price == Price::NOTHING => "nothing".to_owned(),
        Some(price) => priced(price),
        None => "unknown: name it in models.toml, or in `[price]` of task.toml".to_owned(),
    };
    let mut rows =
        vec![("first", first), ("replies", format!("at most {} tokens each", grouped(u64::from(*reply_ceiling))))];
    if projection.deferred > 0 {
        rows.push((
            "deferred",
            format!("{} tools, which are only named until they are looked up", projection.deferred),
        ));
    }
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
        for line in wrapped(&format!("{line}  {note}"), columns(), "             ") {
            _ = writeln!(out, "{line}");
        }
    }
    _ = out.flush();
}

/// A price in a line: what kept tokens cost where that is known, and what long requests cost.
fn priced(price: &Price) -> String {
    let kept = |cached: Option<f64>, write: Option<f64>| {
        let cached = cached.map(|cached| format!("${cached} cached"));
        let write = write.map(|write| format!("${write} to be kept"));
        let named: Vec<String> = cached.into_iter().chain(write).collect();
        if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
    };
    let Price { input, output, cached_input, cache_write, tiers } = price;
    let mut text = format!("${input} in{}, ${output} out, for a million tokens", kept(*cached_input, *cache_write));
    for tier in tiers {
        let kept = kept(tier.cached_input, tier.cache_write);
        let above = grouped(tier.above);
        text.push_str(&format!("; above {above} in a request ${} in{kept}, ${} out", tier.input, tier.output));
    }
    text
}
