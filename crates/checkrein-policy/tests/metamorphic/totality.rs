//! Foreseeing comes to an end, with the same answer each time, on whatever text it is given and whatever the world
//! answers. Shows R1, R4, R14.

use checkrein_contract::{Facts, Finding, Foreseen, Place, Question, Remotes, Tree};
use checkrein_policy::{Models, Scene, shell};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::for_all;
use crate::world::{command, commands, recorded};

/// What means something to a shell.
const LETTERS: [&str; 40] = [
    ";", "&", "|", "&&", "||", "(", ")", "{", "}", "$(", "`", "'", "\"", "$'", "<<E\n", "<<<", ">", ">>", ">|", "<(",
    "$((", "))", "${", "[[", "]]", "\\", "\n", "#", "*", "?", "[", "~", "!", "=", " -", " --", "\0", "\u{feff}", "é",
    "\t",
];

#[derive(Clone, Debug)]
enum Change {
    Flip(Index, u8),
    Cut(Index, Index),
    Repeat(Index, Index, usize),
    Insert(Index, &'static str),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Cut(from, to)),
        (any::<Index>(), any::<Index>(), 2..12_usize).prop_map(|(from, to, times)| Change::Repeat(from, to, times)),
        (any::<Index>(), select(LETTERS.as_slice())).prop_map(|(at, letters)| Change::Insert(at, letters)),
    ]
}

/// The text after a change. Bytes that are no text any more are replaced, as they would be on the way in.
fn changed(text: &str, change: &Change) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let place = |at: &Index| at.index(bytes.len() + 1);
    match change {
        Change::Flip(at, bit) => {
            let at = place(at);
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
        }
        Change::Cut(from, to) => {
            let (from, to) = (place(from).min(place(to)), place(from).max(place(to)));
            bytes.drain(from..to.min(from + 16));
        }
        Change::Repeat(from, to, times) => {
            let (from, to) = (place(from).min(place(to)), place(from).max(place(to)));
            let part = bytes[from..to].repeat(*times);
            bytes.splice(from..from, part);
        }
        Change::Insert(at, letters) => {
            let at = place(at);
            bytes.splice(at..at, letters.bytes());
        }
    }
    bytes.truncate(4_096);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer to any question, sensible or not.
fn answers() -> impl Strategy<Value = Vec<Option<Finding>>> {
    let word = select(
        [
            "file",
            "folder",
            "none",
            "changed",
            "unchanged",
            "folds",
            "exact",
            "/srv/project/.env",
            "/",
            "",
            "\0",
            "*",
            "~",
        ]
        .as_slice(),
    );
    let one = prop_oneof![
        1 => Just(None),
        3 => word.clone().prop_map(|word| Some(Finding::from(word))),
        1 => prop::collection::vec(word, 0..4)
            .prop_map(|words| Some(Finding::List(words.into_iter().map(str::to_owned).collect()))),
    ];
    prop::collection::vec(one, 8)
}

fn foresee(text: &str, facts: &Facts) -> Foreseen {
    let place =
        Place { root: "/srv/project".into(), cwd: "/srv/project".into(), home: "/home/dev".into(), ..Place::default() };
    shell::foresee(text, Scene { place: &place, facts, models: Models::built_in() })
}

/// Foresees, answers what is asked, and foresees again.
fn goes_on(text: &str, answers: &[Option<Finding>]) -> Result<(), TestCaseError> {
    let mut facts = Facts::default();
    for _ in 0..3 {
        let foreseen = foresee(text, &facts);
        prop_assert_eq!(&foreseen, &foresee(text, &facts), "{}", text);
        prop_assert!(foreseen.parts.is_empty() || foreseen.parts.len() == foreseen.effects.len());
        for (question, answer) in foreseen.questions.into_iter().zip(answers.iter().cycle()) {
            facts.add(question, answer.clone());
        }
    }
    Ok(())
}

#[test]
fn a_changed_command_is_foreseen_to_its_end() {
    let all = (recorded(), prop::collection::vec(change(), 1..6), answers());
    for_all(800, &all, |(fixture, changes, answers)| {
        let text = changes.iter().fold(command(&fixture).to_owned(), |text, change| changed(&text, change));
        goes_on(&text, &answers)
    });
}

#[test]
fn any_text_is_foreseen_to_its_end() {
    let letters = prop_oneof![
        3 => select(LETTERS.as_slice()).prop_map(str::to_owned),
        2 => select(["rm", "a", "if ", "then ", "fi", "do ", "done", "case x in ", "esac", "eval ", "x=1 "].as_slice())
            .prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    let text = prop::collection::vec(letters, 0..60).prop_map(|all| all.concat());
    for_all(800, &(text, answers()), |(text, answers)| goes_on(&text, &answers));
}

/// Long texts: as long as one may be, and longer.
#[test]
fn a_long_text_is_foreseen_to_its_end() {
    let parts = [
        "(",
        "((",
        "$(",
        "`",
        "{ ",
        "{a,b}",
        "$((",
        "${x:-",
        "\"$(",
        "[[ a && ",
        "if true; then ",
        "while true; do ",
        "case x in x) ",
        "for i in 1; do ",
        "f() { ",
        "rm x; ",
        "cat a | ",
        "eval ",
        "bash -c ",
        "<<E\n",
        "> x ",
        "*",
        "a && ",
        "\\\n",
        "#",
        "é",
        "\0",
        "a=1 ",
        "../",
        "/",
        "--x=y ",
        "<(",
        "!",
        ";;",
        "' '",
    ];
    for part in parts {
        for length in [65_536, 70_000] {
            let text = part.repeat(length / part.len() + 1);
            let foreseen = foresee(&text, &Facts::default());
            assert!(text.len() <= 65_536 || !foreseen.effects.is_empty(), "{part}: nothing is said of it");
        }
    }
}

/// Answers to questions that nobody asked change nothing but what they are about, and break nothing.
#[test]
fn facts_about_anything_break_nothing() {
    for_all(300, &(commands(), answers()), |(fixture, answers)| {
        let path = |path: &str| path.to_owned();
        let questions = [
            Question::RealPath { path: path("/srv/project") },
            Question::Kind { path: path("/srv/project/src") },
            Question::Matches { pattern: path("/srv/project/*") },
            Question::Holds { tree: Tree { root: path("/srv/project"), ..Tree::default() }, patterns: Vec::new() },
            Question::CaseFolding { path: path("/srv/project") },
            Question::GitHelpers { folder: path("/srv/project") },
            Question::GitFolder { folder: path("/srv/project") },
            Question::GitRemotes {
                folder: path("/srv/project"),
                home: path("/home/dev"),
                which: Remotes::Named(path("origin")),
                push: false,
            },
            Question::Changed { path: path("/srv/project/Makefile") },
        ];
        let mut facts = Facts::default();
        for (question, answer) in questions.into_iter().zip(answers) {
            facts.add(question, answer);
        }
        let text = command(&fixture);
        prop_assert_eq!(foresee(text, &facts), foresee(text, &facts), "{}", text);
        Ok(())
    });
}
