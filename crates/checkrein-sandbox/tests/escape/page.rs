//! The table in `docs/sandbox.md`: which layer holds what. It is made from what came out, and compared or written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use checkrein_sandbox::Layer;

use crate::attempt::Attempt;
use crate::run::Outcomes;
use crate::user::User;

const BEGIN: &str = "<!-- escape suite: begin -->";
const END: &str = "<!-- escape suite: end -->";

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md")
}

/// Every attempt has its row, whether layers were left out this time or not.
pub(crate) fn names_all(attempts: &[Attempt]) -> Result<(), String> {
    let text = std::fs::read_to_string(file()).map_err(|error| error.to_string())?;
    let missing: Vec<String> =
        attempts.iter().map(Attempt::title).filter(|title| !text.contains(&format!("| `{title}` |"))).collect();
    if missing.is_empty() || updating() {
        return Ok(());
    }
    Err(format!("not in docs/sandbox.md: {}; {}", missing.join(", "), HOW))
}

const HOW: &str = "CHECKREIN_ESCAPE_LAYERS=1 CHECKREIN_UPDATE=1 writes it";

/// Compares the table with what came out, or writes it. What was not tried now stays as it was.
pub(crate) fn compare(results: &BTreeMap<(String, User), Outcomes>, attempts: &[Attempt]) -> Result<(), String> {
    let text = std::fs::read_to_string(file()).map_err(|error| error.to_string())?;
    let (Some(begin), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        return Err(format!("docs/sandbox.md has no place for the table: {BEGIN}, {END}"));
    };
    let new = format!("{}{BEGIN}\n{}{}", &text[..begin], table(results, attempts, &text), &text[end..]);
    if new == text {
        return Ok(());
    }
    if !updating() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
        let fresh: Vec<String> = lines(&new).difference(&lines(&text)).cloned().collect();
        return Err(format!("docs/sandbox.md says otherwise; {HOW}. Now:\n{}", fresh.join("\n")));
    }
    std::fs::write(file(), new).map_err(|error| error.to_string())
}

/// Whether the table is to be written.
pub(crate) fn updating() -> bool {
    std::env::var_os("CHECKREIN_UPDATE").is_some()
}

fn table(results: &BTreeMap<(String, User), Outcomes>, attempts: &[Attempt], before: &str) -> String {
    let gaps = attempts.iter().filter(|attempt| !attempt.gap.is_empty()).count();
    let known = match gaps {
        0 => ", all of them contained.".to_owned(),
        gaps => format!("; {gaps} of them are not contained, and why is said below the table."),
    };
    let mut text = format!(
        "\n{} attempts{known}\n\n\
         | Attempt | What is tried | Held as root by | Held as a user by |\n| --- | --- | --- | --- |\n",
        attempts.len(),
    );
    for attempt in attempts {
        let title = attempt.title();
        let row = before.lines().find(|line| line.starts_with(&format!("| `{title}` |"))).unwrap_or_default();
        let cell = |user: User, column: usize| match results.get(&(title.clone(), user)) {
            _ if attempt.root_only && user == User::Ordinary => "-".to_owned(),
            _ if !attempt.gap.is_empty() => "**nothing**".to_owned(),
            Some(outcomes) if outcomes.bare.is_some() => held_by(outcomes, attempt.races),
            _ => row.split(" | ").nth(column).map_or("?", |cell| cell.trim_end_matches(" |")).to_owned(),
        };
        let tries = attempt.tries.replace('\n', " ").replace('|', "\\|");
        text.push_str(&format!("| `{title}` | {tries} | {} | {} |\n", cell(User::Root, 2), cell(User::Ordinary, 3)));
    }
    if gaps > 0 {
        text.push_str("\nNot contained:\n\n");
    }
    for attempt in attempts.iter().filter(|attempt| !attempt.gap.is_empty()) {
        text.push_str(&format!("- `{}`: {}\n", attempt.title(), attempt.gap.replace('\n', " ")));
    }
    text.push('\n');
    text
}

/// The layers that hold it, each alone; and those without which it is not held.
fn held_by(outcomes: &Outcomes, races: bool) -> String {
    if outcomes.bare.as_ref().is_some_and(|bare| bare.held()) {
        return "every run".to_owned();
    }
    let names = |held: bool, of: &BTreeMap<String, crate::run::Outcome>| -> Vec<&str> {
        let layers = Layer::ALL.iter().map(|layer| layer.as_str());
        layers.filter(|name| of.get(*name).is_some_and(|outcome| outcome.held() == held)).collect()
    };
    let mut alone = names(true, &outcomes.only);
    // The network's namespace needs the others around it: what they hold without it, it does not.
    if alone.contains(&"namespaces") {
        alone.retain(|name| *name != "network");
    }
    if races {
        alone.retain(|name| *name != "notices");
    }
    let needed = names(false, &outcomes.off);
    let mut words = if alone.is_empty() { "several together".to_owned() } else { alone.join(" or ") };
    if !needed.is_empty() && needed != alone {
        words.push_str(&format!("; not without {}", needed.join(", ")));
    }
    words
}

/// Says something after all tests.
#[expect(clippy::print_stderr, reason = "the test harness has ended")]
pub(crate) fn say(reason: &str) {
    eprintln!("{reason}");
}
