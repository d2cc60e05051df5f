//! The examples beside each family of command models: a command, and its effects as they come out.
//!
//! Shows R1, R2: what a command would do is known from its words, option by option. A line is changed by hand, or with
//! `CHECKREIN_UPDATE=1`, which writes what comes out; read the difference before it is committed.

use std::collections::BTreeSet;
use std::path::Path;

use checkrein_contract::{Effect, Facts, Foreseen, Place};
use checkrein_policy::fixtures::{FixtureContext, World};
use checkrein_policy::{FAMILIES, Models, Scene, shell};

fn world() -> World {
    let files =
        ["README.md", "notes.txt", "data.txt", "data.json", "src/", "docs/", "tests/", "package.json", "Makefile"];
    World { files: files.map(str::to_owned).to_vec(), ..World::default() }
}

fn foresee(command: &str) -> Foreseen {
    foresee_in(&FixtureContext::default(), command)
}

fn foresee_in(context: &FixtureContext, command: &str) -> Foreseen {
    let world = world();
    let place: Place = context.place(&world);
    let mut facts = Facts::default();
    for _ in 0..4 {
        let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
        let foreseen = shell::foresee(command, scene);
        let open: Vec<_> = foreseen.questions.iter().filter(|question| !facts.has(question)).cloned().collect();
        if open.is_empty() {
            return foreseen;
        }
        for question in open {
            let answer = context.answer(&question, &place, &world);
            facts.add(question, answer);
        }
    }
    let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
    shell::foresee(command, scene)
}

fn shown(path: &str) -> String {
    if path == "/srv/project" {
        return ".".to_owned();
    }
    match (path.strip_prefix("/srv/project/"), path.strip_prefix("/home/dev/")) {
        (Some(inside), _) => inside.to_owned(),
        (_, Some(inside)) => format!("~/{inside}"),
        _ => path.to_owned(),
    }
}

/// What comes out, in the words of `models/README.md`; the first program itself is left out.
fn words(foreseen: &Foreseen) -> Vec<String> {
    let mut words = Vec::new();
    for (index, effect) in foreseen.effects.iter().enumerate() {
        let path = effect.path().map(shown).unwrap_or_default();
        words.push(match effect {
            Effect::Run(run) => {
                let first = !foreseen.effects.iter().take(index).any(|before| matches!(before, Effect::Run(_)));
                if !first {
                    words.push(format!("run {}", run.program));
                }
                for deed in &run.deeds {
                    words.push(format!("[{}]", deed.as_str()));
                }
                continue;
            }
            Effect::Read { .. } => format!("read {path}"),
            Effect::List { .. } => format!("list {path}"),
            Effect::ReadTree(_) => format!("tree {path}"),
            // What a program keeps by itself is left out.
            Effect::Write { incidental: true, .. } => continue,
            Effect::Write { .. } => format!("write {path}"),
            Effect::Delete { recursive: true, .. } => format!("delete-tree {path}"),
            Effect::Delete { .. } => format!("delete {path}"),
            Effect::Metadata { .. } => format!("metadata {path}"),
            Effect::Connect(to) if to.port == 0 => format!("connect {}", to.host),
            Effect::Connect(to) => format!("connect {}:{}", to.host, to.port),
            Effect::Tool { tool, .. } => format!("tool {tool}"),
            Effect::Unknown { .. } => "unknown".to_owned(),
        });
    }
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words
}

#[test]
fn every_example_comes_out_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands");
    let update = std::env::var_os("CHECKREIN_UPDATE").is_some();
    let (mut wrong, mut examples) = (Vec::new(), 0);
    for family in FAMILIES.iter().map(|(family, _)| *family).chain(["shell", "walk"]) {
        let path = folder.join(format!("{family}.txt"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut new = String::new();
        for (number, line) in text.lines().enumerate() {
            let Some((command, expected)) = line.rsplit_once(" =>").filter(|_| !line.starts_with('#')) else {
                new.push_str(line);
                new.push('\n');
                continue;
            };
            examples += 1;
            let got = words(&foresee(&command.replace("\\n", "\n")));
            let set = |words: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
                words.map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
            };
            let same = set(&mut expected.split(';')) == set(&mut got.iter().map(String::as_str));
            let out = if got.is_empty() { String::new() } else { format!(" {}", got.join("; ")) };
            new.push_str(&if same { format!("{line}\n") } else { format!("{command} =>{out}\n") });
            if !same {
                wrong.push(format!(
                    "{family}.txt:{}: {command}\n    written: {}\n    came out:{out}",
                    number + 1,
                    expected.trim()
                ));
            }
        }
        if update {
            std::fs::write(&path, new).expect("the examples can be written");
        }
    }
    assert!(examples > 400, "examples are only ever added: {examples}");
    assert!(wrong.is_empty(), "{} of {examples} examples:\n{}", wrong.len(), wrong.join("\n"));
}

/// The last method is the one that is used; one that only fetches goes without saying.
#[test]
fn the_last_method_counts() {
    for (options, expected) in [
        ("", None),
        ("-X GET", None),
        ("-X GET -X DELETE", Some("DELETE")),
        ("-X delete -X GET", None),
        ("-X PUT -d x", Some("PUT")),
        ("-d x", Some("POST")),
        ("-G -d x", None),
        ("-T a.txt", Some("PUT")),
    ] {
        let foreseen = foresee(&format!("curl {options} https://docs.example.org/"));
        let methods: Vec<Option<&str>> = foreseen
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Connect(to) => Some(to.method.as_deref()),
                _ => None,
            })
            .collect();
        assert_eq!(methods, [expected], "{options}");
    }
}

/// A package manager turns to its usual registry, which goes with the program; a settings file of its own may name another.
#[test]
fn a_settings_file_may_name_another_registry() {
    let usual = FixtureContext::default();
    let set = FixtureContext {
        files: [".npmrc", "/home/dev/.config/pip/pip.conf", ".cargo/config.toml"].map(str::to_owned).to_vec(),
        ..FixtureContext::default()
    };
    for command in ["npm install", "pnpm add x", "pip install x", "cargo install x"] {
        let unknown = |context| {
            let foreseen = foresee_in(context, command);
            foreseen.effects.iter().any(|effect| matches!(effect, Effect::Unknown { .. }))
        };
        assert!(!unknown(&usual) && unknown(&set), "{command}");
        let own = |effect: &Effect| matches!(effect, Effect::Connect(to) if to.own);
        assert!(foresee(command).effects.iter().any(own), "{command}");
    }
    for named in ["npm install --registry=https://npm.example/", "pip install -i https://py.example/ x"] {
        let own = |effect: &Effect| matches!(effect, Effect::Connect(to) if to.own);
        assert!(!foresee_in(&set, named).effects.iter().any(own), "{named}");
    }
}

/// Every table of every family can be read, and says what it is for.
#[test]
fn every_table_is_whole() {
    let mut programs = 0;
    for (name, family, table) in Models::built_in().all() {
        let (about, _) = table.unwrap_or_else(|message| panic!("{family}: [{name}]: {message}"));
        // Parts that others include are named with a dash.
        assert!(!about.is_empty() || name.contains(".-"), "{family}: [{name}] says nothing of itself");
        programs += usize::from(!name.contains('.'));
    }
    assert!(programs >= 150, "{programs} programs");
}
