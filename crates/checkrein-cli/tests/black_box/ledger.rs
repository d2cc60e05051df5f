//! Budgets that people set, raise, and read the bill of.

use insta::assert_snapshot;

use crate::support::Desk;

const READ_ALL: &str = "version = 1\n[[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n";
const LOOKS: &str = r#"
version = 1
[[step]]
calls = [{ tool = "glob", args = { pattern = "*" } }]
[[step]]
text = "That is all I know."
[[step]]
calls = [{ tool = "glob", args = { pattern = "*.rs" } }]
[[step]]
text = "Now I know it all."
"#;

/// Shows R148: a task names the price of its model, the money is reserved before each request, the limit ends the session
/// by name, and the bill stands at the end.
#[test]
fn a_limit_of_money_holds() {
    let desk = Desk::new();
    let more = "tools = [\"glob\"]\n[budget]\nusd = 0.002\n[price]\ninput = 3.0\noutput = 15.0\n";
    let task = desk.task(LOOKS, READ_ALL, more);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!((lines.ended.code, lines.outcome()["limit"].as_str()), (5, Some("usd")), "{}", lines.outcome());
    let spent = lines.outcome()["cost"]["nano_usd"].as_u64().unwrap();
    let last = lines.outcome()["usage"]["input"].as_u64().unwrap() * 3_000;
    assert!(spent > 0 && spent < 2_000_000 + last, "no more than the one last request above it: {spent}");

    let raised = desk.run(["resume", &lines.session(), "--budget", "usd=1", "--by", "kim"]);
    assert_eq!(raised.code, 0, "{}{}", raised.out, raised.err);
    assert_snapshot!(desk.steady(&raised.out));
    let verified = desk.run(["journal", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
}

/// Shows R148: a limit of money over a model whose price nobody knows is a mistake, said before anything runs; the person's
/// table of prices mends it, and a broken table names its line.
#[test]
fn money_needs_a_price() {
    let desk = Desk::new();
    let task = desk.task(LOOKS, READ_ALL, "tools = [\"glob\"]\n[budget]\nusd = -1\n");
    let negative = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(negative.code, 2, "{}", negative.out);
    assert!(negative.err.contains("task.toml:6: `usd` of `[budget]` is an amount of dollars"), "{}", negative.err);
    let task = desk.task(LOOKS, READ_ALL, "tools = [\"glob\"]\n[price]\ninput = -3\noutput = 1\n");
    let negative = desk.run(["run".as_ref(), task.as_os_str()]);
    assert!(
        negative.err.contains("task.toml:6: a price is given in US dollars per million tokens"),
        "{}",
        negative.err
    );
    desk.write("home/.config/checkrein/models.toml", "version = 1\n[models.\"script:x\"]\nprice = { input = 1 }\n");
    let broken = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(broken.code, 2, "{}", broken.out);
    assert!(broken.err.contains("models.toml:3"), "{}", broken.err);
}

/// Shows R150: a person raises the limit that ended a session, the session goes on, and the journal says who did; too
/// small a limit is no raise, and changes nothing.
#[test]
fn a_spent_budget_is_raised_by_a_person() {
    let desk = Desk::new();
    let task = desk.task(LOOKS, READ_ALL, "tools = [\"glob\"]\n[budget]\nsteps = 1\n");
    let spent = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(spent.code, 5, "{}", spent.err);
    let session = desk.json(["sessions"]).lines[0]["session"].as_str().unwrap().to_owned();
    let without = desk.run(["resume", &session]);
    let small = desk.run(["resume", &session, "--budget", "steps=1"]);
    let wrong = desk.run(["resume", &session, "--budget", "steps=many"]);
    assert_eq!((without.code, small.code, wrong.code), (2, 2, 2));
    let lines = desk.json(["resume", &session, "--budget", "steps=9", "--by", "kim"]);
    assert_eq!((lines.ended.code, lines.status()), (0, "completed"), "{}", lines.outcome());
    assert_eq!(lines.outcome()["tool_runs"]["glob"], 2, "one before, and one after");
    let shown = desk.run(["show", &session]);
    assert!(shown.out.contains("kim        sets the budget to 9 steps"), "{}", shown.out);
    assert_snapshot!(desk.steady(&format!("{}{}{}", spent.out, without.err, small.err)));
    let verified = desk.run(["journal", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
}

const COUNTED: &str = r#"
version = 1
[[step]]
calls = [{ tool = "glob", args = { pattern = "*" } }]
usage = { input = 1000, output = 20 }
[[step]]
text = "That is all I know."
usage = { input = 1100, output = 8 }
"#;

/// Shows R203: what a task would cost is said before anything is sent, from what the first request holds and what the budget
/// allows; nothing is called, and no session comes of it. A price that nobody knows is unknown.
#[test]
fn a_dry_run_sends_nothing() {
    let desk = Desk::new();
    let more = "tools = [\"glob\"]\nmodel = \"anthropic:claude-haiku-4-5\"\n[budget]\nsteps = 12\nusd = 0.5\n";
    desk.write(
        "priced/task.toml",
        &format!("version = 1\nprompt = \"Look around.\"\npolicy = \"policy.toml\"\n{more}"),
    );
    desk.write("priced/policy.toml", READ_ALL);
    let priced = desk.run(["run", "--dry", "priced"]);
    assert_eq!(priced.code, 0, "no key is needed: {}{}", priced.out, priced.err);
    let unknown = desk.run(["run", "--dry", "--model", "openai:some-model", "priced"]);
    assert_eq!(unknown.code, 2, "money over what nobody knows the price of: {}", unknown.out);
    desk.write(
        "free/task.toml",
        "version = 1\nprompt = \"Look around.\"\npolicy = \"../priced/policy.toml\"\ntools = [\"glob\"]\n",
    );
    let unknown = desk.run(["run", "--dry", "--model", "openai:some-model", "free"]);
    let small = desk.run(["run", "--dry", "--model", "openai:some-model", "--budget", "tokens=100", "free"]);
    assert_eq!(unknown.code, 0, "{}", unknown.err);
    let task = desk.task(COUNTED, READ_ALL, "tools = [\"glob\"]\n");
    let run = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let again = desk.run(["run".as_ref(), "--dry".as_ref(), task.as_os_str()]);
    assert_snapshot!(desk.steady(&format!("{}\n{}\n{}\n{}", priced.out, unknown.out, small.out, again.out)));
    assert_eq!(desk.json(["sessions"]).lines.len(), 1, "the one that was run");
    let lines = desk.json(["run", "--dry", "priced"]);
    let line = lines.lines.last().unwrap();
    assert_eq!((line["type"].as_str(), line["no_room"].is_null()), (Some("projection"), true));
    let cost = |row: &str| line[row]["cost"]["nano_usd"].as_u64().unwrap();
    assert!(cost("low") <= cost("expected") && cost("expected") <= cost("ceiling"), "{line}");
    assert_eq!(cost("ceiling"), 500_000_000, "no more than the limit of money");
    let broken = desk.run(["run", "--dry", "--policy", "priced/task.toml", "priced"]);
    assert_eq!(broken.code, 2, "what would keep it from beginning is found: {}", broken.out);
}

const KEEPS: &str = r#"
version = 1
[[step]]
calls = [{ tool = "glob", args = { pattern = "*" } }]
usage = { input = 1000, output = 20, written = 800 }
[[step]]
calls = [{ tool = "glob", args = { pattern = "*.rs" } }]
usage = { input = 1100, output = 10, cached = 800, written = 200 }
[[step]]
text = "That is all I know."
usage = { input = 2001, output = 8, cached = 1000 }
"#;

/// Shows R148: what a provider keeps is billed at its own price, long requests at theirs, and without such a price in full: the
/// sums are worked out by hand. `verify` finds them reserved.
#[test]
fn cached_tokens_are_billed_as_such() {
    let desk = Desk::new();
    let limits = "tools = [\"glob\"]\n[budget]\nusd = 0.5\n[price]\ninput = 3\noutput = 15\n";
    let cost = |more: &str| {
        let task = desk.task(KEEPS, READ_ALL, &format!("{limits}{more}"));
        let lines = desk.json(["run".as_ref(), task.as_os_str()]);
        assert_eq!(lines.status(), "completed", "{}{}", lines.outcome(), lines.ended.err);
        (lines.outcome()["cost"]["nano_usd"].as_u64().unwrap(), lines)
    };
    let replies = 38 * 15_000;
    assert_eq!(cost("").0, 4_101 * 3_000 + replies, "nobody named a price for them");
    let kept = "cached_input = 0.3\ncache_write = 3.75\n";
    let (sum, lines) = cost(kept);
    assert_eq!(sum, (200 + 100 + 1_001) * 3_000 + 1_800 * 300 + 1_000 * 3_750 + replies);
    let usage = &lines.outcome()["usage"];
    assert_eq!((usage["cached"].as_u64(), usage["written"].as_u64()), (Some(1_800), Some(1_000)));
    let long = format!("{kept}tiers = [{{ above = 2000, input = 6, output = 30, cached_input = 0.6 }}]\n");
    let (sum, lines) = cost(&long);
    let last = 1_001 * 6_000 + 1_000 * 600 + 8 * 30_000;
    assert_eq!(sum, 300 * 3_000 + 800 * 300 + 1_000 * 3_750 + 30 * 15_000 + last);
    let shown = desk.run(["show", &lines.session()]);
    let counted = shown.out.lines().find(|line| line.contains("counted")).unwrap();
    assert!(counted.contains("4,101 in (1,800 cached, 1,000 written)"), "{counted}");
    desk.sound();

    let task = desk.task(
        KEEPS,
        READ_ALL,
        &format!("{limits}{kept}tiers = [{{ above = 2, input = 6, output = 3, usd = 1 }}]\n"),
    );
    let wrong = desk.run(["run".as_ref(), task.as_os_str()]);
    assert!(wrong.code == 2 && wrong.err.contains("task.toml:"), "{}", wrong.err);
}

/// What a provider counted is set beside the harness's own estimate, when a session ends and when it is shown.
#[test]
fn what_was_counted_is_set_beside_the_estimate() {
    let desk = Desk::new();
    let task = desk.task(COUNTED, READ_ALL, "tools = [\"glob\"]\n");
    let run = desk.run(["run".as_ref(), task.as_os_str()]);
    let line = |text: &str| text.lines().find(|line| line.contains("counted")).unwrap_or_default().to_owned();
    let session = desk.json(["sessions"]).lines[0]["session"].as_str().unwrap().to_owned();
    let shown = desk.run(["show", &session]);
    assert_snapshot!(format!("{}\n{}", line(&run.out), line(&shown.out)));
    let plain = desk.task(LOOKS, READ_ALL, "tools = [\"glob\"]\n[budget]\nsteps = 1\n");
    let run = desk.run(["run".as_ref(), plain.as_os_str()]);
    assert_eq!(line(&run.out), "", "nobody counted: {}", run.out);
}

/// A context policy that is told no number takes the model's window; where nobody knows that, it is a mistake.
#[test]
fn the_window_of_a_model_is_known_or_named() {
    let desk = Desk::new();
    let task = desk.task(COUNTED, READ_ALL, "tools = [\"glob\"]\n[context]\npolicy = \"compact\"\n");
    let unknown = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(unknown.code, 2, "{}", unknown.out);
    assert!(unknown.err.contains("the window of `script:script.toml` is not known"), "{}", unknown.err);
    let table = "version = 1\n[models.\"script:script.toml\"]\nwindow = 20000\nmax_output = 500\n";
    desk.write("home/.config/checkrein/models.toml", table);
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "completed", "{}", lines.outcome());
    let opened = &lines.of("session")[0];
    assert_eq!(opened["max_output"], 500);
    let room = opened["context"]["parameters"]["tokens"].as_u64().unwrap();
    assert!(room > 12_000 && room < 13_334, "two thirds of 20000 without the frame: {room}");
}
