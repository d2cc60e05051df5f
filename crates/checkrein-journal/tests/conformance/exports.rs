//! Exported lines: complete, verifiable without the store, and no change to them goes unnoticed.

use checkrein_contract::{CallId, Digest, Event, HookNote, SessionId};
use checkrein_journal::{ChainFault, ChainProblem, Head, MemoryStore, export_lines, read_export, verify_export};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::samples::{WORLD, filled, note, run};

fn exported(events: &[Event]) -> (Vec<String>, Head) {
    let store = MemoryStore::default();
    let session = SessionId::new(WORLD.session);
    let head = filled(&store, &session, events);
    (export_lines(&store, &session).unwrap(), head)
}

fn fault(lines: &[String]) -> ChainFault {
    verify_export(lines, None).unwrap_err()
}

/// Shows R161, R168: a line is the whole event with its hash and its session.
#[test]
fn a_line_is_the_whole_event_with_its_hash() {
    let events = run(&WORLD);
    let (lines, head) = exported(&events);
    for (line, event) in lines.iter().zip(&events) {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        assert_eq!(fields.remove("journal"), Some(json!(WORLD.session)));
        assert_eq!(fields.remove("hash").unwrap().as_str().unwrap().len(), 64);
        assert_eq!(&serde_json::from_value::<Event>(line).unwrap(), event);
    }
    let report = verify_export(&lines, Some(&head)).unwrap();
    assert_eq!((report.head, report.payloads, report.missing.len()), (head, 2, 0));
    assert_eq!(read_export(&lines).unwrap(), events);
}

/// Shows R168: what was written by this version must verify for ever, so neither the line nor the hash may change.
#[test]
fn the_format_of_a_line_is_fixed() {
    let (lines, _) = exported(&[note(1, "hello"), note(2, "again")]);
    insta::assert_snapshot!(lines[1], @r#"{"at":1700000000002,"by":"person:sam","hash":"9e42a10c58e0f4dd68e56465cdac12b9064dfd71f8ff72aa3adef6178918035b","journal":"s-1a2b3c4d","seq":2,"text":"again","type":"input","v":1}"#);
}

/// Shows R168: spelling is not content: a file that went through another JSON program still verifies.
#[test]
fn an_export_survives_another_spelling() {
    let (lines, head) = exported(&run(&WORLD));
    let spaced: Vec<_> = lines
        .iter()
        .flat_map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            [serde_json::to_string_pretty(&value).unwrap().replace('\n', " "), "  ".to_owned()]
        })
        .collect();
    assert_eq!(verify_export(&spaced, Some(&head)).unwrap().head, head);
}

/// Shows R168.
#[test]
fn changed_lines_are_found() {
    let (lines, head) = exported(&run(&WORLD));
    let changed = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        fault(&lines)
    };
    let dropped = changed(&|lines| drop(lines.remove(3)));
    assert_eq!((dropped.seq, dropped.problem), (4, ChainProblem::Sequence { expected: 4, found: 5 }));
    let swapped = changed(&|lines| lines.swap(4, 5));
    assert_eq!((swapped.seq, swapped.problem), (5, ChainProblem::Sequence { expected: 5, found: 6 }));
    let doubled = changed(&|lines| lines.insert(5, lines[4].clone()));
    assert_eq!((doubled.seq, doubled.problem), (6, ChainProblem::Sequence { expected: 6, found: 5 }));
    let raised = changed(&|lines| lines[6] = lines[6].replace("10.5", "99.5"));
    assert_eq!((raised.seq, raised.problem), (7, ChainProblem::Hash));
    let payload = changed(&|lines| lines[11] = lines[11].replace("line\\nline", "line\\nlime"));
    assert_eq!((payload.seq, payload.problem), (12, ChainProblem::Hash));
    let moved = changed(&|lines| lines[2] = lines[2].replace(WORLD.session, "s-other"));
    assert_eq!((moved.seq, moved.problem), (3, ChainProblem::Session { found: "s-other".to_owned() }));
    let all_moved = changed(&|lines| lines.iter_mut().for_each(|line| *line = line.replace(WORLD.session, "s-other")));
    assert_eq!((all_moved.seq, all_moved.problem), (1, ChainProblem::Hash));
    let no_json = changed(&|lines| lines[2].truncate(50));
    assert!(matches!((no_json.seq, no_json.problem), (3, ChainProblem::Unreadable { .. })));
    let added = changed(&|lines| lines[2] = lines[2].replacen('{', r#"{"approved":true,"#, 1));
    assert_eq!((added.seq, added.problem), (3, ChainProblem::Hash));

    let cut = &lines[..9];
    verify_export(cut, None).unwrap();
    let cut = verify_export(cut, Some(&head)).unwrap_err();
    assert_eq!(cut.problem, ChainProblem::Anchor { expected: head, reached: 9 });
    assert!(matches!(fault(&[]).problem, ChainProblem::Unreadable { .. }));
}

/// Shows R168: nobody can pass off a payload as removed that was another one, or a removed one as a literal.
#[test]
fn what_is_missing_is_named_and_held_to_the_chain() {
    let reference = json!({"$blob": Digest::of(b"x").as_str(), "bytes": 1});
    let body = |old| checkrein_contract::Body::Hook(HookNote { call: CallId::new("c1-1"), old, new: json!(1) });
    let (lines, _) = exported(&[Event { body: body(reference), ..note(1, "") }]);
    verify_export(&lines, None).unwrap();
    let claimed = lines[0].replacen('{', r#"{"missing":["old"],"#, 1);
    assert_eq!(fault(&[claimed]).problem, ChainProblem::Hash);
    for wrong in [r#"{"missing":["new"],"#, r#"{"missing":["nothing"],"#, r#"{"missing":[7],"#, r#"{"missing":"old","#]
    {
        let problem = fault(&[lines[0].replacen('{', wrong, 1)]).problem;
        assert!(matches!(problem, ChainProblem::Unreadable { .. }), "{wrong}: {problem}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Shows R168: no change of a single character is taken for the original, unless it says the same thing.
    #[test]
    fn any_changed_character_is_found(line in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), with in "[ -~]") {
        let (mut lines, head) = exported(&run(&WORLD));
        let line = line.index(lines.len());
        let place = at.index(lines[line].len());
        prop_assume!(lines[line].is_char_boundary(place) && lines[line].is_char_boundary(place + 1));
        let before: Value = serde_json::from_str(&lines[line]).unwrap();
        lines[line].replace_range(place..=place, &with);
        let same = serde_json::from_str::<Value>(&lines[line]).is_ok_and(|after| after == before);
        prop_assert_eq!(verify_export(&lines, Some(&head)).is_ok(), same);
    }
}
