//! The journal as evidence: heads kept elsewhere, lines that verify on another machine, old sessions pruned, a key that
//! nothing reaches.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use checkrein::contract::Digest;
use checkrein::journal::SignedHead;
use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Desk, Ended, repository, skipped};

const ASK: &str = "version = 1\n[[rule]]\nid = \"write\"\ndecision = \"ask\"\nreason = \"a person decides\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";
const WRITE: &str = "version = 1\n[[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"a.txt\", content = \"hello\" } }]\n[[step]]\ntext = \"done\"\n";

/// A session that waits for a yes.
fn waiting() -> (Desk, String, String) {
    let desk = Desk::new();
    let task = desk.task(WRITE, ASK, "");
    let lines = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(lines.status(), "needs_approval", "{}", lines.outcome());
    let id = lines.outcome()["approvals"][0].as_str().unwrap().to_owned();
    (desk, lines.session(), id)
}

fn go_on(desk: &Desk, session: &str, id: &str) {
    assert_eq!(desk.run(["approvals", "approve", id, "--by", "dana"]).code, 0);
    assert_eq!(desk.json(["resume", session]).status(), "completed");
}

/// What `journal head` prints, in a file on the desk.
fn keep_heads(desk: &Desk, name: &str) -> String {
    let printed = desk.run(["journal", "head"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    desk.write(name, &printed.out).display().to_string()
}

fn found(ended: &Ended, what: &str) {
    assert!(ended.code == 1 && ended.out.contains(what), "{what}: {} {}{}", ended.code, ended.out, ended.err);
}

/// Shows R168: a head that was kept elsewhere shows that the journal was put back to an earlier day, that a session is gone,
/// and that another key signs. Without it the first two are not to be seen.
#[test]
fn heads_are_kept_elsewhere() {
    let (desk, session, id) = waiting();
    let journal = desk.path("state/journal.db");
    let earlier = fs::read(&journal).unwrap();
    go_on(&desk, &session, &id);
    let kept = keep_heads(&desk, "kept.jsonl");
    let line: Value = serde_json::from_str(fs::read_to_string(&kept).unwrap().trim()).unwrap();
    let names: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["at", "hash", "key", "seq", "session", "signature"]);
    let verified = desk.run(["journal", "verify", "--against", &kept, "--json"]);
    let report: Value = serde_json::from_str(&verified.out).unwrap();
    assert_eq!((verified.code, &report["ok"], &report["signed_by"]), (0, &Value::Bool(true), &line["key"]));
    assert_eq!(report["head"], format!("{}:{}", line["seq"], line["hash"].as_str().unwrap()));

    let key = fs::read(desk.path("state/journal.key")).unwrap();
    fs::remove_file(desk.path("state/journal.key")).unwrap();
    let task = desk.task("version = 1\n[[step]]\ntext = \"done\"\n", ASK, "");
    assert_eq!(desk.json(["run".as_ref(), task.as_os_str()]).status(), "completed");
    found(&desk.run(["journal", "verify"]), "which does not count here");
    let vouched = desk.run(["journal", "verify", "--against", &kept]);
    assert_eq!(vouched.code, 0, "the kept head names that key: {}", vouched.out);
    fs::write(desk.path("state/journal.key"), key).unwrap();

    fs::write(&journal, earlier).unwrap();
    assert_eq!(desk.run(["journal", "verify"]).code, 0, "it was so, once");
    found(&desk.run(["journal", "verify", "--against", &kept]), "it was known to reach event");
    fs::remove_file(&journal).unwrap();
    found(&desk.run(["journal", "verify", "--against", &kept]), "the session is gone");
    let changed = fs::read_to_string(&kept).unwrap().replace("\"seq\":", "\"seq\":1");
    let changed = desk.write("changed.jsonl", &changed).display().to_string();
    let refused = desk.run(["journal", "verify", "--against", &changed]);
    assert!(refused.code == 2 && refused.err.contains("line 1 of the kept heads"), "{}", refused.err);
}

/// Shows R168: a session is not gone on with under another key until a person accepts the one that signed it; and that it was
/// is seen by the head that was kept.
#[test]
fn another_key_is_found() {
    let (desk, session, id) = waiting();
    let kept = keep_heads(&desk, "kept.jsonl");
    fs::remove_file(desk.path("state/journal.key")).unwrap();
    let answered = desk.run(["approvals", "approve", &id]);
    assert!(answered.code == 1 && answered.err.contains("journal accept KEY"), "{}", answered.err);
    let resumed = desk.run(["resume", &session]);
    assert!(resumed.code == 1 && resumed.err.contains("does not count here"), "{}", resumed.err);
    let line: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(desk.run(["journal", "accept", "1234"]).code, 2);
    assert_eq!(desk.run(["journal", "accept", line["key"].as_str().unwrap()]).code, 0);
    go_on(&desk, &session, &id);
    assert_eq!(desk.run(["journal", "verify"]).code, 0);
    found(&desk.run(["journal", "verify", "--against", &kept]), "and was signed with");
}

/// Shows R168: exported lines and kept heads are all that another machine needs.
#[test]
fn exported_lines_verify_elsewhere() {
    let (desk, session, id) = waiting();
    go_on(&desk, &session, &id);
    let elsewhere = Desk::new();
    let lines = desk.run(["export", &session]).out;
    let file = elsewhere.write("lines.jsonl", &lines).display().to_string();
    let heads = elsewhere.write("heads.jsonl", &desk.run(["journal", "head", &session]).out).display().to_string();
    let verify = |more: &[&str]| {
        let arguments = ["journal", "verify", "--file", file.as_str()];
        elsewhere.run(arguments.iter().chain(more))
    };
    let fine = verify(&["--against", &heads]);
    assert_eq!(fine.code, 0, "{}{}", fine.out, fine.err);
    assert!(fine.out.contains("chain head I1 I2 I3 I4 I5 I6 I7 I8 I9 I10 I11"), "{}", fine.out);
    assert_eq!(verify(&[]).code, 0);
    assert!(!elsewhere.path("state").exists(), "no state folder was made");

    elsewhere.write("lines.jsonl", &lines.replace("hello", "hullo"));
    found(&verify(&[]), "NOT ok, chain broken at event");
    let all: Vec<&str> = lines.lines().collect();
    elsewhere.write("lines.jsonl", &all[..all.len() - 1].join("\n"));
    assert_eq!(verify(&[]).code, 0, "the last line is gone, and nobody can tell");
    found(&verify(&["--against", &heads]), "it was known to reach event");
    elsewhere.write("lines.jsonl", "");
    assert_eq!(verify(&[]).code, 2);
}

/// An earlier version's journal as the journal of a desk.
fn old_desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path("state")).unwrap();
    let old = repository().join("crates/checkrein-journal/tests/data/format-1.db");
    fs::copy(old, desk.path("state/journal.db")).unwrap();
    desk
}

/// Shows R166: what would go is shown first and goes after a yes; the chain still verifies, and says what it lost.
#[test]
fn old_sessions_are_pruned() {
    let desk = old_desk();
    let prune = |more: &[&str]| desk.run(["journal", "prune", "--older-than", "1m"].iter().chain(more));
    let shown = prune(&[]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    let done = prune(&["--yes", "--by", "dana"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let verified = desk.run(["journal", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.out);
    let again = prune(&["--yes"]);
    let unreadable = desk.run(["show", "s-d840b68a"]);
    assert_eq!(unreadable.code, 1);
    let parts = [shown.out, done.out, verified.out, again.out, desk.run(["sessions"]).out, unreadable.err]
        .map(|part| desk.steady(&part));
    assert_snapshot!(parts.join("\n---\n"));
    assert_eq!(desk.run(["approvals", "list", "--all"]).code, 0);
    let lines = desk.run(["export", "s-d840b68a"]).out;
    let file = desk.write("lines.jsonl", &lines).display().to_string();
    assert_eq!(desk.run(["journal", "verify", "--file", &file]).code, 0);
    let said: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&said["type"], &said["name"], &said["by"]), (&"note".into(), &"pruned".into(), &"person:dana".into()));
}

/// A session that can still be taken up again is kept, and pruned by its name alone.
#[test]
fn a_session_that_waits_is_kept() {
    let (desk, session, _) = waiting();
    let young = desk.run(["journal", "prune", "--older-than", "30d", "--yes"]);
    assert!(young.out.contains("nothing is old enough"), "{}", young.out);
    assert_eq!(desk.run(["journal", "prune", "--older-than", "soon"]).code, 2);
    assert_eq!(desk.json(["resume", &session]).status(), "needs_approval");
}

/// Shows R165, R176: nothing that a model proposes reaches the key: no tool by its name, and no program that was let run, by
/// whatever name.
#[test]
fn the_key_is_out_of_reach() {
    let desk = Desk::new();
    let first = desk.task("version = 1\n[[step]]\ntext = \"done\"\n", ASK, "");
    assert_eq!(desk.json(["run".as_ref(), first.as_os_str()]).status(), "completed");
    let key = desk.path("state/journal.key");
    let secret = fs::read_to_string(&key).unwrap();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let policy = "version = 1\n\
        [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"all\"\neffect = \"read\"\npaths = [\"/**\"]\n\
        [[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"all\"\neffect = \"write\"\npaths = [\"/**\"]\n\
        [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"all\"\neffect = \"run\"\nprogram = [\"*\", \"./steal\"]\n";
    let named = key.display().to_string();
    let folder = desk.path("state").display().to_string();
    let (begin, end) = named.split_at(named.len() - 6);
    let calls = [
        format!("{{ tool = \"read\", args = {{ file_path = \"{named}\" }} }}"),
        format!("{{ tool = \"write\", args = {{ file_path = \"{named}\", content = \"x\" }} }}"),
        format!("{{ tool = \"grep\", args = {{ pattern = \"checkrein-key\", path = \"{folder}\" }} }}"),
        format!("{{ tool = \"bash\", args = {{ command = \"cat {named}\" }} }}"),
        format!("{{ tool = \"bash\", args = {{ command = \"cd {folder} && cat *.key\" }} }}"),
        format!("{{ tool = \"bash\", args = {{ command = \"cat {folder}/journal.*\" }} }}"),
        format!("{{ tool = \"bash\", args = {{ command = \"a={begin}; b={end}; cat $a$b\" }} }}"),
        "{ tool = \"bash\", args = { command = \"./steal\" } }".to_owned(),
    ];
    let script = format!("version = 1\n[[step]]\ncalls = [\n{}\n]\n[[step]]\ntext = \"done\"\n", calls.join(",\n"));
    let task = desk.task(&script, policy, "workspace = \"copy\"\n");
    let steal = format!("#!/bin/sh\ncat '{begin}'\"{end}\" 2>&1; grep -ra checkrein-key '{folder}' 2>&1\n");
    let steal = desk.write("task/steal", &steal);
    fs::set_permissions(steal, fs::Permissions::from_mode(0o755)).unwrap();
    let run = desk.json(["run".as_ref(), task.as_os_str(), "--unattended".as_ref()]);
    assert_eq!(run.of("finished").len(), calls.len(), "{}{}", run.ended.out, run.ended.err);
    let digits = secret.trim_end().rsplit(' ').next().unwrap();
    let session = run.session();
    for text in [&run.ended.out, &run.ended.err, &desk.run(["export", &session]).out] {
        assert!(!text.contains(digits), "{text}");
    }
    assert_eq!(fs::read_to_string(&key).unwrap(), secret);
    let ran: Vec<&str> = run.of("finished").iter().filter_map(|line| line["as"].as_str()).collect();
    // A search goes past what may not be read, and a program that was let run finds nothing there.
    assert_eq!(ran[..7], ["refused", "refused", "ok", "refused", "refused", "refused", "refused"]);
    assert!(run.result(2).contains("[1 file withheld by the policy]"), "{}", run.result(2));
    assert_ne!(ran[7], "refused", "{}", run.result(7));
}

/// The blocks of the page in one language, in order.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/journal.md")).unwrap();
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Shows R168: the example of the page is a journal, with its head.
#[test]
fn the_page_tells_the_truth() {
    let desk = Desk::new();
    let [lines, heads] = <[String; 2]>::try_from(blocks("jsonl")).unwrap();
    let session = "s-0000abcd";
    let file = desk.write("lines.jsonl", &lines).display().to_string();
    let kept = desk.write("heads.jsonl", &heads).display().to_string();
    // It is no whole session, so the chain holds and the invariants do not: they begin with a session.
    found(&desk.run(["journal", "verify", "--file", &file]), "I5 broken at event 1: the journal does not begin");
    found(&desk.run(["journal", "verify", "--file", &file, "--against", &kept]), "I5 broken at event 1");
    let other = desk.write("other.jsonl", &lines.replace("10.5", "99.5")).display().to_string();
    found(&desk.run(["journal", "verify", "--file", &other]), "chain broken at event 1");
    let texts = blocks("text").concat();
    let chained = texts.lines().find(|line| line.contains("\"text\":\"Refund")).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["hash"], Digest::of(chained.as_bytes()).as_str());
    assert_eq!(chained[..64], *Digest::of(format!("checkrein-journal 1 {session}").as_bytes()).as_str());
    let signed = texts.lines().find(|line| line.starts_with("checkrein-head 1 {")).unwrap();
    let head: SignedHead = serde_json::from_str(&heads).unwrap();
    assert_eq!(signed, SignedHead::text(&head.session, &head.head(), head.at));
    let note = texts.lines().find(|line| line.contains("\"pruned\"")).unwrap();
    let note: Value = serde_json::from_str(note).unwrap();
    let names: Vec<&String> = note.as_object().unwrap().keys().collect();
    assert_eq!(names, ["at", "by", "bytes", "name", "payloads", "seq", "type", "upto", "v"]);
}

/// Shows R168: the program of the page, which knows the page and nothing else, finds what ours finds.
#[test]
fn a_verifier_in_another_language_agrees() {
    let desk = Desk::new();
    let [program] = <[String; 1]>::try_from(blocks("python")).unwrap();
    let program = desk.write("verify.py", &program).display().to_string();
    let python = |files: &[&str]| desk.program("python3", [program.as_str()].iter().chain(files));
    if desk.program("python3", ["-c", "import json"]).code != 0 {
        return skipped("there is no python3");
    }
    let page = blocks("jsonl");
    let (lines, heads) = (desk.write("page.jsonl", &page[0]), desk.write("page.heads", &page[1]));
    let example = python(&[lines.to_str().unwrap(), heads.to_str().unwrap()]);
    assert!(
        example.code == 0 && example.out.contains("2 events are what was written"),
        "{}{}",
        example.out,
        example.err
    );

    let script = "version = 1\n[[step]]\ncalls = [{ tool = \"bash\", args = { command = \"seq 1 900; printf '\\\\t\\\\033é'\" } }]\n[[step]]\ntext = \"done\"\n";
    let policy = "version = 1\n[[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"seq\", \"printf\"]\n";
    let task = desk.task(script, policy, "");
    let run = desk.json(["run".as_ref(), task.as_os_str()]);
    assert_eq!(run.status(), "completed", "{}{}", run.ended.out, run.ended.err);
    let lines = desk.run(["export", &run.session()]).out;
    let file = desk.write("lines.jsonl", &lines).display().to_string();
    let kept = keep_heads(&desk, "heads.jsonl");
    let fine = python(&[&file, &kept]);
    assert!(fine.code == 0 && fine.out.contains("events are what was written; "), "{}{}", fine.out, fine.err);

    let all: Vec<&str> = lines.lines().collect();
    for (index, line) in all.iter().enumerate() {
        let mut changed: Vec<String> = all.iter().map(|line| (*line).to_owned()).collect();
        changed[index] = line.replacen("\"at\":1", "\"at\":2", 1);
        let file = desk.write("changed.jsonl", &changed.join("\n")).display().to_string();
        let theirs = python(&[&file]);
        assert!(theirs.code == 1 && theirs.err.contains(&format!("event {} is not", index + 1)), "{}", theirs.err);
        found(&desk.run(["journal", "verify", "--file", &file]), &format!("broken at event {}:", index + 1));
    }
    let file = desk.write("cut.jsonl", &all[..all.len() - 1].join("\n")).display().to_string();
    assert_eq!((python(&[&file]).code, python(&[&file, &kept]).code), (0, 1));

    let old = repository().join("crates/checkrein-journal/tests/data/format-1-s-64ee3654.jsonl");
    assert_eq!(python(&[old.to_str().unwrap()]).code, 0);
    let pruned = old_desk();
    pruned.run(["journal", "prune", "--older-than", "1m", "--yes"]);
    let lines = pruned.run(["export", "s-64ee3654"]).out;
    let file = desk.write("pruned.jsonl", &lines).display().to_string();
    assert_eq!(python(&[&file]).code, 0);
    let without: String =
        lines.lines().filter(|line| !line.contains("pruned")).map(|line| format!("{line}\n")).collect();
    let file = desk.write("pruned.jsonl", &without).display().to_string();
    assert!(python(&[&file]).err.contains("a payload is gone"));
}
