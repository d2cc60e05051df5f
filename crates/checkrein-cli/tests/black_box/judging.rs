//! What judging by hand says is what a session does: `policy check`, `policy test` and `record` beside `run`.

use std::fs;

use serde_json::Value;

use crate::support::{Desk, ended};

const FOUND: &str = "version = 1\n[[rule]]\nid = \"no-curl\"\ndecision = \"deny\"\nreason = \"nothing is fetched\"\neffect = \"run\"\nwords = [\"curl\"]\n[[rule]]\nid = \"w\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";

/// A session of `examples/refunds` that waits for a person.
fn refunds(desk: &Desk) -> (String, String) {
    let task = desk.example("refunds");
    let paused = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(paused.status(), "needs_approval", "{}", paused.outcome());
    (paused.session(), paused.outcome()["approvals"][0].as_str().expect("an id").to_owned())
}

/// Shows R17, R21, R173: what is recorded says on whose behalf it was done, so that rules about that are judged as they were:
/// nothing is wrong or stale under the policy of its time, and what a change of such a rule does is not passed over.
#[test]
fn recorded_calls_keep_on_whose_behalf_they_were_made() {
    let desk = Desk::new();
    let (session, _) = refunds(&desk);
    let recorded = desk.run(["record", &session]);
    assert_eq!((recorded.code, recorded.err.as_str()), (0, ""));
    let header: Value = serde_json::from_str(recorded.out.lines().next().expect("a header")).expect("JSON");
    assert_eq!(header["world"]["identity"]["customer"], "c-17", "{header}");
    desk.write("calls.jsonl", &recorded.out);
    let judged = desk.run(["policy", "test", "calls.jsonl", "--policy", "refunds/policy.toml", "--json"]);
    let summary: Value = serde_json::from_str(judged.out.lines().last().expect("a summary")).expect("JSON");
    assert_eq!((judged.code, &summary["right"], &summary["stale"]), (0, &3.into(), &0.into()), "{}", judged.out);

    let policy = fs::read_to_string(desk.path("refunds/policy.toml")).expect("it is there");
    desk.write("tighter.toml", &policy.replace("max = 50", "max = 20"));
    for against in [session.as_str(), "calls.jsonl"] {
        let diff = |old, new| desk.run(["policy", "diff", old, new, "--against", against]);
        let stricter = diff("refunds/policy.toml", "tighter.toml");
        assert_eq!(stricter.code, 10, "{against}: {}", stricter.out);
        assert_eq!(diff("tighter.toml", "refunds/policy.toml").code, 11, "{against}");
    }
}

/// `policy check` judges on somebody's behalf as `run` does.
#[test]
fn one_call_is_judged_on_somebodys_behalf() {
    let desk = Desk::new();
    desk.example("refunds");
    let args = "{\"order\": \"o-1001\", \"amount\": 30, \"customer\": \"c-17\"}";
    let check = |more: &[&str]| {
        let call = ["policy", "check", "--tool", "issue_refund", "--args", args, "--policy", "refunds/policy.toml"];
        desk.run(call.iter().chain(more)).code
    };
    assert_eq!(check(&["--as", "customer=c-17"]), 10);
    assert_eq!(check(&["--as", "customer=c-99"]), 11);
    assert_eq!(check(&[]), 11, "on nobody's behalf");
    assert_eq!(check(&["--as", "customer"]), 2);
}

/// A file of recorded calls has one world: a call that was judged in another one is named, and not passed over.
#[test]
fn calls_of_another_place_are_told() {
    let desk = Desk::new();
    let (session, id) = refunds(&desk);
    fs::rename(desk.path("state"), desk.path("there")).expect("moved");
    let there = |arguments: &[&str]| {
        ended(desk.command(arguments).env("CHECKREIN_HOME", desk.path("there")).output().expect("it starts"))
    };
    assert_eq!(there(&["approvals", "approve", &id, "--by", "dana"]).code, 0);
    assert_eq!(there(&["resume", &session]).code, 0);
    let recorded = there(&["record", &session]);
    assert_eq!((recorded.code, recorded.out.lines().count()), (0, 1 + 2), "{}", recorded.out);
    assert!(recorded.err.contains(&format!("not recorded: {session}")), "{}", recorded.err);
    assert!(recorded.err.contains("issue_refund"), "{}", recorded.err);
}

/// Shows R12: without a policy that is named, a call by hand and recorded calls are judged by what a session in the folder has, the
/// policy that the project brings included; that one only tightens until it is trusted, and the trace says so.
#[test]
fn what_holds_in_a_folder_is_what_is_asked() {
    let desk = Desk::new();
    desk.write(".checkrein/policy.toml", FOUND);
    let check = |command: &str| desk.run(["policy", "check", command]);
    let denied = check("curl https://example.com");
    assert_eq!(denied.code, 11, "{}", denied.out);
    assert!(denied.out.contains("no-curl (.checkrein/policy.toml:"), "{}", denied.out);
    let told = ".checkrein/policy.toml (project: not trusted, so it only tightens)";
    for word in ["check", "explain"] {
        let out = desk.run(["policy", word, "ls"]).out;
        assert!(out.contains(told), "{out}");
    }
    let write =
        || desk.run(["policy", "check", "--tool", "write", "--args", "{\"file_path\": \"a.txt\", \"content\": \"x\"}"]);
    assert_eq!(write().code, 10, "an allow that was found is no allow");
    let json: Value = serde_json::from_str(&desk.run(["policy", "check", "ls", "--json"]).out).expect("JSON");
    let found =
        |file: &str| json["policies"].as_array().expect("a list").iter().find(|one| one["file"] == file).cloned();
    assert_eq!(found(".checkrein/policy.toml").expect("it counts")["only_tightens"], true, "{json}");
    assert_eq!(found("default.toml").expect("it counts")["only_tightens"], false, "{json}");

    let case = |command: &str, expected: &str| {
        format!(
            "{{\"note\": \"{command}\", \"call\": {{\"tool\": \"bash\", \"command\": \"{command}\"}}, \"expected\": \"{expected}\"}}\n"
        )
    };
    desk.write("calls.jsonl", &(case("ls", "allow") + &case("curl https://example.com", "deny")));
    let judged = desk.run(["policy", "test", "calls.jsonl"]);
    assert_eq!(judged.code, 0, "{}", judged.out);

    assert_eq!(desk.run(["policy", "trust", "--yes"]).code, 0);
    assert_eq!(write().code, 0);
    assert!(!check("ls").out.contains("not trusted"));
    fs::create_dir_all(desk.path("elsewhere")).expect("a folder");
    assert_eq!(desk.run(["policy", "check", "curl https://example.com", "--cwd", "elsewhere"]).code, 10);
}
