//! Cassettes as a person has them: recorded from a real server on this machine or from a script, played without either, and
//! every way in which a replay says no.

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::served::{Served, surrounded};
use crate::support::{Desk, Lines, repository};

/// The cassettes of the repository, each with its example.
const CORPUS: [(&str, &str); 3] =
    [("ask-the-docs", "ask-the-docs"), ("ask-the-docs-retried", "ask-the-docs"), ("refunds", "refunds")];

/// A cassette of the repository and its example, lying to each other as they do there.
fn laid_out(name: &str, example: &str) -> (Desk, String) {
    let desk = Desk::new();
    desk.example(example);
    let file = format!("cassettes/{name}.jsonl");
    desk.write(&file, &std::fs::read_to_string(repository().join("examples").join(&file)).unwrap());
    (desk, format!("replay:{file}"))
}

/// Runs to the end, with a yes where one is waited for: the last lines, and what two runs have in common.
fn driven(desk: &Desk, run: impl Fn(&[&str]) -> Lines, arguments: &[&str]) -> (Lines, String) {
    let mut lines = run(arguments);
    if lines.status() == "needs_approval" {
        let id = lines.outcome()["approvals"][0].as_str().unwrap().to_owned();
        assert_eq!(desk.run(["approvals", "approve", &id, "--by", "dana"]).code, 0);
        lines = run(&["resume", &lines.session()]);
    }
    let transcript = desk.run(["export", &lines.session(), "--transcript"]).out;
    (lines, transcript)
}

/// The same with nobody at the other end.
fn to_the_end(desk: &Desk, arguments: &[&str]) -> (Lines, String) {
    driven(desk, |arguments| desk.json(arguments), arguments)
}

/// Records the cassettes of the repository anew, after a change that is meant; whoever runs it reads the diff.
#[test]
#[ignore = "writes into examples/cassettes"]
fn record_the_corpus() {
    let faults: [&[&str]; 3] = [
        &["*:chunk_bytes=97"],
        &["1:status=429,retry_after_s=0", "2:cut_after=12,cut_by=end", "*:chunk_bytes=61"],
        &[],
    ];
    for (((name, example), model), faults) in CORPUS.into_iter().zip(["anthropic", "gemini", "openai"]).zip(faults) {
        let desk = Desk::new();
        desk.example(example);
        std::fs::create_dir(desk.path("cassettes")).unwrap();
        let options: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", *fault]).chain(["--json"]).collect();
        let served = Served::new(&desk, &desk.path(example).join("script.toml"), &options);
        let (model, file) = (format!("{model}:scripted"), format!("cassettes/{name}.jsonl"));
        let run = |arguments: &[&str]| {
            let mut command = desk.command(arguments);
            surrounded(&mut command, &served.address());
            Lines::of_command(&mut command)
        };
        let (lines, _) = driven(&desk, run, &["run", example, "--model", &model, "--record", &file]);
        assert_eq!(lines.status(), "completed", "{}{}", lines.outcome(), lines.ended.err);
        std::fs::copy(desk.path(&file), repository().join("examples").join(&file)).unwrap();
    }
}

/// Every cassette of the repository is played, strictly, and gives the same bytes twice; the journal of it verifies. This is
/// what CI runs: nothing is recorded, no network is there. Shows R187, R192.
#[test]
fn the_corpus_is_played() {
    for (name, example) in CORPUS {
        let (desk, model) = laid_out(name, example);
        let once = to_the_end(&desk, &["run", example, "--model", &model]);
        assert_eq!(once.0.status(), "completed", "{name}: {}{}", once.0.outcome(), once.0.ended.err);
        let twice = to_the_end(&desk, &["run", example, "--model", &model]);
        assert_eq!(once.1, twice.1, "{name}");
        assert!(once.1.lines().count() > 10);
        desk.sound();
        let checked = desk.run(["cassette", "check", "cassettes", "--older-than", "36500d"]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    }
    let folder = repository().join("examples/cassettes");
    let there = std::fs::read_dir(folder).unwrap().filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl"))
    });
    assert_eq!(there.count(), CORPUS.len(), "each one is played here");
}

/// One leaf of every request is another one: no cassette plays any more. Each place is one that a person changes.
#[test]
fn whatever_changes_is_a_miss() {
    let change = |desk: &Desk, file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(desk.path(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        desk.write(file, &text.replacen(from, to, 1));
    };
    let missed = |desk: &Desk, example: &str, model: &str| {
        let (lines, _) = to_the_end(desk, &["run", example, "--model", model]);
        assert_eq!(
            (lines.ended.code, lines.outcome()["code"].as_str()),
            (1, Some("CASSETTE_MISS")),
            "{}",
            lines.ended.out
        );
        desk.steady(lines.outcome()["reason"].as_str().unwrap())
    };
    let mut said = Vec::new();
    for (name, example) in CORPUS {
        let (desk, model) = laid_out(name, example);
        change(&desk, &format!("{example}/task.toml"), "prompt = \"", "prompt = \"Please: ");
        said.push(format!("{name}, prompt\n{}", missed(&desk, example, &model)));
        let stale = desk.run(["cassette", "check", "cassettes"]);
        assert!(stale.code == 1 && stale.out.contains("stale: task.toml changed since"), "{}", stale.out);
    }
    let (desk, model) = laid_out("refunds", "refunds");
    change(&desk, "refunds/skills/refunds/SKILL.md", "description: ", "description: Read this. ");
    said.push(format!("refunds, instructions\n{}", missed(&desk, "refunds", &model)));
    let (desk, model) = laid_out("refunds", "refunds");
    change(&desk, "refunds/tools/find_order.toml", "description = \"", "description = \"Now: ");
    said.push(format!("refunds, a tool\n{}", missed(&desk, "refunds", &model)));
    let (desk, model) = laid_out("refunds", "refunds");
    change(&desk, "refunds/orders.csv", "o-1001,acme,c-17,delivered,", "o-1001,acme,c-17,delivered,1");
    said.push(format!("refunds, what a tool finds\n{}", missed(&desk, "refunds", &model)));
    assert_snapshot!("misses", said.join("\n\n"));
}

const POLICY: &str = "version = 1\n\
    [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"write\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n\
    [[rule]]\nid = \"run\"\ndecision = \"allow\"\nreason = \"free\"\neffect = \"run\"\nprogram = [\"pwd\", \"seq\"]\n";

/// A session with two sub-sessions, a path of its own in a result, one that is cut, and a failed attempt.
const SCRIPT: &str = "version = 1\n\
    [[step]]\nerror = { status = 529 }\n\
    [[step]]\ntext = \"I look where I am.\"\ncalls = [{ tool = \"bash\", args = { command = \"pwd\" } }, \
        { tool = \"bash\", args = { command = \"seq 30000\" } }]\n\
    [[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"First.\" } }]\n\
    [[step]]\nsub = 1\ncalls = [{ tool = \"read\", args = { file_path = \"notes.txt\" } }]\n\
    [[step]]\nsub = 1\ntext = \"One.\"\n\
    [[step]]\ncalls = [{ tool = \"task\", args = { prompt = \"Second.\" } }]\n\
    [[step]]\nsub = 2\ntext = \"Two.\"\n\
    [[step]]\ntext = \"Done.\"\n";

/// A transcript without which session a part was given to, how long that took, and digests over the path that `pwd` said.
fn same_of(transcript: &str) -> Vec<serde_json::Value> {
    let lines = transcript.lines().map(|line| serde_json::from_str(line).unwrap());
    let same = |mut line: serde_json::Value| {
        for digest in ["digest", "prefix"] {
            line.as_object_mut().unwrap().remove(digest);
        }
        if let Some(change) = line.get_mut("change").and_then(serde_json::Value::as_object_mut) {
            change.remove("session");
            change["spend"].as_object_mut().unwrap().remove("driven_ms");
        }
        line
    };
    lines.map(same).collect()
}

fn scripted(script: &str, more: &str) -> (Desk, PathBuf) {
    let desk = Desk::new();
    desk.write("task/notes.txt", "the key is under the mat\n");
    let task = desk.task(script, POLICY, more);
    (desk, task)
}

/// What is recorded and what is played leave the same log, in a workspace of their own each; no path and no id is in the file.
#[test]
fn a_recording_and_its_replay_are_the_same() {
    let (desk, _) = scripted(SCRIPT, "workspace = \"copy\"\n");
    let nowhere = desk.run(["run", "task", "--record", "tapes/c.jsonl"]);
    assert!(nowhere.code == 2 && nowhere.err.contains("tapes: No such file"), "{}", nowhere.err);
    std::fs::create_dir(desk.path("tapes")).unwrap();
    let (recorded, transcript) = to_the_end(&desk, &["run", "task", "--record", "tapes/c.jsonl"]);
    assert_eq!(recorded.status(), "completed", "{}{}", recorded.outcome(), recorded.ended.err);
    let (played, again) = to_the_end(&desk, &["run", "task", "--model", "replay:tapes/c.jsonl"]);
    assert_eq!(played.status(), "completed", "{}{}", played.outcome(), played.ended.err);
    assert_eq!(same_of(&transcript), same_of(&again));
    desk.sound();
    let text = std::fs::read_to_string(desk.path("tapes/c.jsonl")).unwrap();
    for gone in [desk.path("").display().to_string(), recorded.session()] {
        assert!(!text.contains(gone.trim_end_matches('/')), "{gone} is in {text}");
    }
    for there in ["[place:root]", "[place:spill]", "\"lane\":\"main/2\"", "\"kind\":\"pure\""] {
        assert!(text.contains(there), "{there}: {text}");
    }
    let shown = desk.run(["show", &played.session()]);
    assert!(shown.out.contains("script:script.toml, played from"), "{}", shown.out);
    // What was recorded is never overwritten, and a recording is not recorded.
    let there = desk.run(["run", "task", "--record", "tapes/c.jsonl"]);
    assert!(there.code == 2 && there.err.contains("is there already"), "{}", there.err);
    let both = desk.run(["run", "task", "--model", "replay:tapes/c.jsonl", "--record", "d.jsonl"]);
    assert!(both.code == 2 && both.err.contains("what is played is not recorded"), "{}", both.err);
    // A second recording is the same file.
    let (second, _) = to_the_end(&desk, &["run", "task", "--record", "tapes/d.jsonl"]);
    assert_eq!(second.status(), "completed");
    let steady = |name: &str| {
        let text = std::fs::read_to_string(desk.path(name)).unwrap();
        let (head, rest) = text.split_once('\n').unwrap();
        let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
        head.as_object_mut().unwrap().remove("recorded_at");
        format!("{head}\n{rest}")
    };
    assert_eq!(steady("tapes/c.jsonl"), steady("tapes/d.jsonl"));
    // And so is one that is made of the journal, but for what the journal does not know.
    let made = desk.run(["cassette", "from-session", &recorded.session(), "tapes/e.jsonl"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let (played, _) = to_the_end(&desk, &["run", "task", "--model", "replay:tapes/e.jsonl"]);
    assert_eq!(played.status(), "completed", "{}", played.outcome());
}

/// Sub-sessions that run at the same time are recorded each on its lane: the file is the same whoever came first, and it is
/// played side by side again.
#[test]
fn sub_sessions_side_by_side_are_played_by_their_lanes() {
    let part = |n: usize| {
        format!(
            "[[step]]\nsub = {n}\ncalls = [{{ tool = \"read\", args = {{ file_path = \"notes.txt\" }} }}]\n\
             [[step]]\nsub = {n}\ntext = \"Part {n}.\"\n"
        )
    };
    let calls: Vec<String> =
        (1..=4).map(|n| format!("{{ tool = \"task\", args = {{ prompt = \"Part {n}.\", share = 20 }} }}")).collect();
    let parts: String = (1..=4).map(part).collect();
    let script = format!("version = 1\n[[step]]\ncalls = [{}]\n{parts}[[step]]\ntext = \"Done.\"\n", calls.join(", "));
    let (desk, _) = scripted(&script, "workspace = \"copy\"\n");
    for name in ["a.jsonl", "b.jsonl"] {
        let recorded = desk.json(["run", "task", "--record", name]);
        assert_eq!(recorded.status(), "completed", "{}{}", recorded.outcome(), recorded.ended.err);
        let played = desk.json(["run", "task", "--model", &format!("replay:{name}")]);
        assert_eq!(played.status(), "completed", "{}{}", played.outcome(), played.ended.err);
    }
    let rows = |name: &str| {
        let text = std::fs::read_to_string(desk.path(name)).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    };
    assert_eq!(rows("a.jsonl"), rows("b.jsonl"));
    for lane in ["main", "main/1", "main/2", "main/3", "main/4"] {
        assert_eq!(rows("a.jsonl").matches(&format!("\"lane\":\"{lane}\",\"n\":2,")).count(), 1, "{lane}");
    }
    desk.sound();
}

/// A cassette that a task names lies in its folder, and the session does not see it.
#[test]
fn a_task_may_name_its_cassette() {
    let (desk, task) = scripted(
        "version = 1\n[[step]]\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n[[step]]\ntext = \"Done.\"\n",
        "workspace = \"copy\"\n",
    );
    let recorded = desk.json(["run", "task", "--record", "c.jsonl"]);
    assert_eq!(recorded.result(0), "notes.txt\n[end: 1 file]");
    desk.write("task/tape.jsonl", &std::fs::read_to_string(desk.path("c.jsonl")).unwrap());
    let settings = std::fs::read_to_string(task.join("task.toml")).unwrap();
    let named = settings.replace("script = \"script.toml\"", "model = \"replay:./tape.jsonl\"");
    desk.write("task/task.toml", &named);
    std::fs::remove_file(task.join("script.toml")).unwrap();
    let played = desk.json(["run", "task"]);
    assert_eq!((played.status(), played.result(0)), ("completed", recorded.result(0)), "{}", played.outcome());
    let transcript = |session: &str| desk.run(["export", session, "--transcript"]).out;
    assert_eq!(transcript(&played.session()), transcript(&recorded.session()), "to the byte");
    let forked = desk.run(["fork", &played.session(), "More.", "--model", "replay:c.jsonl"]);
    assert!(forked.code == 2 && forked.err.contains("a cassette is played from its beginning"), "{}", forked.err);
}

/// What is recorded and never asked for is an error: here the work was done already, and nothing had to be asked again.
#[test]
fn rows_that_are_not_asked_for_are_an_error() {
    let script = "version = 1\n[[step]]\ntext = \"Done.\"\n\
        [[step]]\ncalls = [{ tool = \"write\", args = { file_path = \"out.txt\", content = \"yes\" } }]\n\
        [[step]]\ntext = \"Done now.\"\n";
    let more = "workspace = \"copy\"\n[[verify]]\nfile = \"out.txt\"\ncontains = \"yes\"\n";
    let (desk, _) = scripted(script, more);
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    desk.write("task/out.txt", "yes");
    let played = desk.json(["run", "task", "--model", "replay:c.jsonl"]);
    assert_eq!(played.outcome()["code"], "CASSETTE_UNUSED");
    assert_snapshot!(played.outcome()["reason"].as_str().unwrap(), @"replay:c.jsonl: the session ended before all of lane main was asked for: row 2 (line 3), row 3 (line 5)");
}

/// A recording that is made anew lies beside the old one until somebody has read what is different; another provider is such a
/// difference, and the session it gives is held to the same. Shows R191, R199.
#[test]
fn a_refresh_is_read_before_it_counts() {
    let script = |words: &str, more: &str| {
        format!(
            "version = 1\n[[step]]\ntext = \"{words}\"\ncalls = [{{ tool = \"read\", args = {{ file_path = \"notes.txt\" }} }}]\n\
             {more}[[step]]\ntext = \"Under the mat.\"\n"
        )
    };
    let (desk, _) = scripted(&script("I look.", ""), "workspace = \"copy\"\n");
    let record = |served: &Served, arguments: &[&str]| {
        let mut command = desk.command(arguments);
        surrounded(&mut command, &served.address());
        crate::support::ended(command.output().unwrap())
    };
    let served = Served::new(&desk, &desk.path("task/script.toml"), &["--json"]);
    let first = record(&served, &["run", "task", "--model", "anthropic:scripted", "--record", "c.jsonl"]);
    assert_eq!(first.code, 0, "{}{}", first.out, first.err);
    served.end("-TERM");
    let served = Served::new(&desk, &desk.path("task/script.toml"), &["--json", "--fault", "*:chunk_bytes=7"]);
    let same = record(&served, &["cassette", "refresh", "c.jsonl", "--yes"]);
    assert!(
        same.code == 0 && same.out.contains("nothing a session could tell is different"),
        "{}{}",
        same.out,
        same.err
    );
    assert_eq!(desk.run(["cassette", "refresh", "c.jsonl", "--reject"]).code, 0);
    served.end("-TERM");
    let more = "[[step]]\ncalls = [{ tool = \"glob\", args = { pattern = \"*\" } }]\n";
    desk.write("task/script.toml", &script("I search.", more));
    let served = Served::new(&desk, &desk.path("task/script.toml"), &["--json"]);
    let old = std::fs::read_to_string(desk.path("c.jsonl")).unwrap();
    let other = record(&served, &["cassette", "refresh", "c.jsonl", "--yes"]);
    assert_eq!(other.code, 1, "{}{}", other.out, other.err);
    served.end("-TERM");
    let differences = other.out.lines().skip_while(|line| !line.starts_with("main:")).collect::<Vec<_>>().join("\n");
    assert_snapshot!("refreshed", desk.steady(&differences));
    assert_eq!(std::fs::read_to_string(desk.path("c.jsonl")).unwrap(), old, "nothing counts yet");
    let accepted = desk.run(["cassette", "refresh", "c.jsonl", "--accept"]);
    assert!(accepted.code == 0 && accepted.out.contains("c.jsonl is the new recording"), "{}", accepted.out);
    let played = desk.json(["run", "task", "--model", "replay:c.jsonl"]);
    assert_eq!(played.status(), "completed", "{}", played.outcome());
    let served = Served::new(&desk, &desk.path("task/script.toml"), &["--json"]);
    let moved = record(&served, &["cassette", "refresh", "c.jsonl", "--yes", "--model", "gemini:scripted"]);
    assert_eq!(moved.code, 1, "{}{}", moved.out, moved.err);
    assert!(moved.out.contains("the model was anthropic:scripted and is gemini:scripted\n"), "{}", moved.out);
    served.end("-TERM");
    assert_eq!(desk.run(["cassette", "refresh", "c.jsonl", "--accept"]).code, 0);
    let replayed = desk.json(["run", "task", "--model", "replay:c.jsonl"]);
    assert_eq!(replayed.outcome()["answer"], played.outcome()["answer"], "{}", replayed.outcome());
    let none = desk.run(["cassette", "refresh", "c.jsonl", "--accept"]);
    assert!(none.code == 2 && none.err.contains("record it first"), "{}", none.err);
}

/// What a check finds, as a person and as a program reads it.
#[test]
fn a_check_says_what_is_stale_and_what_is_wrong() {
    let (desk, _) = scripted("version = 1\n[[step]]\ntext = \"Done.\"\n", "workspace = \"copy\"\n");
    assert_eq!(desk.json(["run", "task", "--record", "c.jsonl"]).status(), "completed");
    let good = std::fs::read_to_string(desk.path("c.jsonl")).unwrap();
    desk.write("other.jsonl", "{\"row\":\"something\"}\n");
    let fine = desk.run(["cassette", "check"]);
    assert_eq!(fine.code, 0, "{}{}", fine.out, fine.err);
    let at = good.find("\"recorded_at\":\"").unwrap() + "\"recorded_at\":\"".len();
    let old = format!("{}2020{}", &good[..at], &good[at + 4..]).replacen("\"detectors\":\"", "\"detectors\":\"1", 1);
    desk.write("old.jsonl", &old);
    let home = good.replacen("Done.", "Done in /home/dev/x.", 1);
    desk.write("wrong/home.jsonl", &home.replacen("\"folder\":\"task\"", "\"folder\":\"../task\"", 1));
    desk.write("wrong/edited.jsonl", &good.replacen("Do it.", "Do that.", 1));
    desk.write("task/policy.toml", &format!("{POLICY}# changed\n"));
    let told = desk.run(["cassette", "check"]);
    assert_eq!(told.code, 1);
    assert_snapshot!("checked", desk.steady(&tomorrow(&told.out)));
    let put_up_with = desk.run(["cassette", "check", "c.jsonl", "old.jsonl", "--stale", "2"]);
    assert_eq!(put_up_with.code, 0, "{}", put_up_with.out);
    let lines = desk.run(["cassette", "check", "--json"]);
    let last: serde_json::Value = serde_json::from_str(lines.out.lines().last().unwrap()).unwrap();
    assert_eq!(last, serde_json::json!({ "cassettes": 4, "stale": 3, "wrong": 2, "ok": false }));
}

/// Days and bytes, which are others tomorrow.
fn tomorrow(text: &str) -> String {
    let words: Vec<String> = text
        .split(' ')
        .collect::<Vec<_>>()
        .windows(2)
        .map(|pair| {
            if matches!(pair[1].trim_end_matches([',', '\n']), "days" | "bytes,") || pair[1].starts_with("bytes") {
                "N".to_owned()
            } else {
                pair[0].to_owned()
            }
        })
        .chain(text.split(' ').next_back().map(str::to_owned))
        .collect();
    words.join(" ")
}
