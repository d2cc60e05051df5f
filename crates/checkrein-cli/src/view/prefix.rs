//! How stable the beginning of a session's requests is, as a table.

use std::io::Write;

use checkrein::prefix::PrefixRow;
use serde_json::json;

use super::phrases::grouped;

/// Prints a line a request, and the share of all.
pub(crate) fn prefix(out: &mut dyn Write, rows: &[PrefixRow]) {
    _ = writeln!(out, "  event   turn      bytes       kept     tokens       kept");
    for row in rows {
        let attempt = if row.attempt > 1 { format!(".{}", row.attempt) } else { String::new() };
        let [bytes, kept, tokens, kept_tokens] = [row.bytes, row.kept_bytes, row.tokens, row.kept_tokens].map(grouped);
        let turn = format!("{}{attempt}", row.turn);
        let why = if row.summary { "  a summary, for the harness".to_owned() } else { why(row) };
        _ = writeln!(out, "{:>7} {turn:>6} {bytes:>10} {kept:>10} {tokens:>10} {kept_tokens:>10}{why}", row.seq);
    }
    let total = total(rows);
    _ = writeln!(
        out,
        "{} requests, {} of {} bytes as in the request before ({} %), {} of {} tokens ({} %, estimated)",
        rows.len(),
        grouped(total.kept_bytes),
        grouped(total.bytes),
        percent(total.kept_bytes, total.bytes),
        grouped(total.kept_tokens),
        grouped(total.tokens),
        percent(total.kept_tokens, total.tokens),
    );
}

/// A JSON line a request, and one with the sums.
pub(crate) fn prefix_lines(out: &mut dyn Write, rows: &[PrefixRow]) {
    for row in rows {
        _ = writeln!(out, "{}", serde_json::to_value(row).unwrap_or_default());
    }
    let Total { bytes, kept_bytes, tokens, kept_tokens } = total(rows);
    let requests = rows.len();
    let total = json!({ "requests": requests, "bytes": bytes, "kept_bytes": kept_bytes, "tokens": tokens, "kept_tokens": kept_tokens });
    _ = writeln!(out, "{total}");
}

fn why(row: &PrefixRow) -> String {
    let Some(at) = row.parts_at else { return String::new() };
    let because: Vec<String> = row.because.iter().map(|one| format!("{} (event {})", one.what, one.seq)).collect();
    let because = if because.is_empty() { "nothing says why".to_owned() } else { because.join(", ") };
    format!("  from message {at} on: {because}")
}

struct Total {
    bytes: u64,
    kept_bytes: u64,
    tokens: u64,
    kept_tokens: u64,
}

fn total(rows: &[PrefixRow]) -> Total {
    let sum = |of: fn(&PrefixRow) -> u64| rows.iter().map(of).sum();
    Total {
        bytes: sum(|row| row.bytes),
        kept_bytes: sum(|row| row.kept_bytes),
        tokens: sum(|row| row.tokens),
        kept_tokens: sum(|row| row.kept_tokens),
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}
