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
    desk.write("home/.config/checkrein/prices.toml", "version = 1\n[prices]\n\"script:x\" = { input = 1 }\n");
    let broken = desk.run(["run".as_ref(), task.as_os_str()]);
    assert_eq!(broken.code, 2, "{}", broken.out);
    assert!(broken.err.contains("prices.toml:3"), "{}", broken.err);
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
