//! What is noted of a program besides the paths that it touches: under which name, where and with which variables it runs,
//! what it works on by being what it is, which of a folder's files it reads, and which part of the command line it is.
//!
//! Shows R1, R2, R115: a command is judged with all that belongs to it.

use checkrein_contract::{Deed, Effect, Facts, Finding, Foreseen, Own, Place, Question, Run, Tree};
use checkrein_policy::{Models, Scene, shell};

fn with(text: &str, home: &str, facts: &Facts) -> Foreseen {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: home.to_owned(), ..Place::default() };
    shell::foresee(text, Scene { place: &place, facts, models: Models::built_in() })
}

fn foresee(text: &str) -> Vec<Effect> {
    with(text, "/home/dev", &Facts::default()).effects
}

fn runs(text: &str) -> Vec<Run> {
    let run = |effect| if let Effect::Run(run) = effect { Some(run) } else { None };
    foresee(text).into_iter().filter_map(run).collect()
}

fn last(text: &str) -> Run {
    runs(text).pop().unwrap_or_else(|| panic!("{text} runs something"))
}

fn told(effects: &[Effect], words: &str) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Unknown { what } if what.contains(words)))
}

#[test]
fn variables_and_folder_of_a_program() {
    for (text, env, folder) in [
        ("ls", vec![], "/p"),
        ("FOO=1 ls", vec!["FOO=1"], "/p"),
        ("FOO=1 read -r x", vec!["FOO=1"], "/p"),
        ("IFS= read -r x", vec![], "/p"),
        ("IFS= ls", vec!["IFS="], "/p"),
        ("GIT_PAGER=cat git status", vec![], "/p"),
        ("env GIT_PAGER=cat git status", vec![], "/p"),
        ("env GIT_PAGER=less git status", vec!["GIT_PAGER=less"], "/p"),
        ("export FOO=1; frob", vec!["FOO=1"], "/p"),
        ("pushd a && frob", vec![], "/p/a"),
        ("cd a && umask", vec![], "/p/a"),
        ("cd \"$x\"; umask", vec![], ""),
    ] {
        let run = last(text);
        assert_eq!((run.env, run.folder.as_str()), (env.into_iter().map(str::to_owned).collect(), folder), "{text}");
    }
}

#[test]
fn names_and_words_of_a_program() {
    let run = runs("coproc ls").remove(0);
    assert_eq!((run.program.as_str(), run.argv, run.modelled), ("coproc", vec!["coproc".to_owned()], true));
    let run = last("f() { f | f; }; f");
    assert_eq!((run.program.as_str(), run.argv, run.deeds), ("f", vec!["f".to_owned()], vec![Deed::Multiplies]));
    for (text, words) in [
        ("git push origin +main", ["git", "push", "--force", "--", "origin", "+main"]),
        ("git push origin :main", ["git", "push", "--delete", "--", "origin", ":main"]),
    ] {
        assert_eq!(last(text).words, words, "{text}");
    }
}

#[test]
fn what_a_program_works_on_by_being_what_it_is() {
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    let (reads, writes) = (["/p/a", "/p", "/home/dev/.gitconfig", "/home/dev/.config/git"], ["/p/a/.git", "/p/.git"]);
    for text in ["cd a && git status", "cd a && git --version"] {
        assert_eq!(last(text).own, Own { reads: paths(&reads), writes: paths(&writes) }, "{text}");
    }
    assert!(told(&foresee("touch mise.toml; git --version"), "`git` goes by `/p/mise.toml`"));
    assert!(!told(&foresee("touch other.toml; git --version"), "goes by"));
    assert!(told(&foresee("rm ./Make*; make"), "`make` goes by `/p/Make*`"));
    assert!(told(&foresee("rm -r ./*; make"), "`make` goes by `/p/*`"));
}

#[test]
fn which_files_of_a_folder_are_read() {
    let tree = || Tree { root: "/p/src".to_owned(), ..Tree::default() };
    let python = || vec!["*.py".to_owned(), "*.pyi".to_owned(), "*.ipynb".to_owned()];
    let mut facts = Facts::default();
    facts.add(Question::Kind { path: "/p/src".to_owned() }, Some(Finding::Text("folder".to_owned())));
    for (text, tree) in [
        ("rg x src", Tree { skips_hidden: true, skips_ignored: true, ..tree() }),
        ("rg -u x src", Tree { skips_hidden: true, ..tree() }),
        ("rg -uu x src", tree()),
        ("rg -. x src", Tree { skips_ignored: true, ..tree() }),
        ("rg --no-ignore x src", Tree { skips_hidden: true, ..tree() }),
        ("find src -name '*.rs' | xargs grep -r x", Tree { names: vec!["*.rs".to_owned()], ..tree() }),
        ("ruff format src", Tree { names: python(), ..tree() }),
    ] {
        let effects = with(text, "/home/dev", &facts).effects;
        let found: Vec<&Tree> = effects
            .iter()
            .filter_map(|effect| if let Effect::ReadTree(tree) = effect { Some(tree) } else { None })
            .collect();
        assert_eq!(found, [&tree], "{text}");
    }
    let deep = Effect::List { path: "/p/src".to_owned(), deep: true, glob: false };
    assert!(foresee("find src").contains(&deep));
}

/// What a folder holds lands below the new name: name by name where that is known.
#[test]
fn what_lands_below_a_copy() {
    let written = |facts: &Facts| -> Vec<String> {
        let effects = with("cp -r d e", "/home/dev", facts).effects.into_iter();
        let written = effects.filter_map(|effect| match effect {
            Effect::Write { path, incidental: false, .. } => Some(path),
            _ => None,
        });
        written.collect()
    };
    let kind = |facts: &mut Facts, kind: &str| {
        facts.add(Question::Kind { path: "/p/d".to_owned() }, Some(Finding::Text(kind.to_owned())));
    };
    let inside = || {
        let tree = Tree { root: "/p/d".to_owned(), ..Tree::default() };
        Question::Holds { tree, patterns: vec!["/p/d/**".to_owned()] }
    };
    let mut facts = Facts::default();
    kind(&mut facts, "file");
    facts.add(inside(), Some(Finding::List(vec!["/p/d/a".to_owned()])));
    assert_eq!(written(&facts), ["/p/e"], "a file has nothing below it");
    let mut facts = Facts::default();
    kind(&mut facts, "folder");
    assert_eq!(written(&facts), ["/p/e"], "what is inside is asked first");
    assert!(with("cp -r d e", "/home/dev", &facts).questions.contains(&inside()));
    let mut known = facts.clone();
    known.add(inside(), Some(Finding::List(vec!["/p/d/a".to_owned(), "/p/d/b/c".to_owned()])));
    assert_eq!(written(&known), ["/p/e", "/p/e/a", "/p/e/b/c"]);
    facts.add(inside(), None);
    assert_eq!(written(&facts), ["/p/e", "/p/e/**"], "it could not be found out");
}

/// What a command does after the command in it ended is still its own part.
#[test]
fn parts_of_a_command_line() {
    for text in ["ls; find . -exec frob {} \\; -fprint q", "ls; tar -cf a.tar --rsh-command=frob --index-file=q b"] {
        let Foreseen { effects, parts, .. } = with(text, "/home/dev", &Facts::default());
        let part = |wanted: &dyn Fn(&Effect) -> bool| {
            effects.iter().zip(&parts).find(|(effect, _)| wanted(effect)).map(|(_, part)| *part)
        };
        let own = part(&|effect| matches!(effect, Effect::Run(run) if matches!(run.program.as_str(), "find" | "tar")));
        let file = part(&|effect| matches!(effect, Effect::Write { path, .. } if path == "/p/q"));
        assert!(own.is_some() && own == file, "{text}: {own:?} {file:?}: {effects:?} {parts:?}");
    }
    // What stands at the beginning of a script inside is not what stands at the beginning.
    let Foreseen { effects, parts, .. } = with("eval 'rm a'", "/home/dev", &Facts::default());
    let deleted = effects.iter().position(|effect| matches!(effect, Effect::Delete { .. }));
    assert_eq!((parts.first(), deleted.and_then(|at| parts.get(at))), (Some(&0), Some(&1)));
}

#[test]
fn what_is_asked_for_at_another_machine() {
    for (text, scheme, path) in [
        ("curl https://docs.example.org/a/b", Some("https"), Some("/a/b")),
        ("curl https://docs.example.org/a/$x", Some("https"), None),
        ("rsync rsync://docs.example.org/a .", Some("rsync"), None),
        ("scp docs.example.org:a .", None, None),
    ] {
        let effects = foresee(text);
        let to = effects.iter().find_map(|effect| if let Effect::Connect(to) = effect { Some(to) } else { None });
        let to = to.unwrap_or_else(|| panic!("{text} connects"));
        assert_eq!((to.scheme.as_deref(), to.path.as_deref()), (scheme, path), "{text}");
    }
}

/// Homes: of somebody who has none, nothing is known; a name of one's own may have any letters.
#[test]
fn homes() {
    let facts = Facts::default();
    for text in ["cat ~/a", "cat \"$HOME/a\"", "cat \"/home/$USER/a\"", "cat \"/home/$LOGNAME/a\""] {
        let effects = with(text, "", &facts).effects;
        assert!(told(&effects, "is not known"), "{text}: {effects:?}");
    }
    assert!(with("cat ~jürg/a", "/srv/jürg", &facts).effects.contains(&Effect::read("/srv/jürg/a")));
    assert!(foresee("printf '%s\\n' a | xargs cat").contains(&Effect::read("/p/a")));
}

/// A word that may be a file is asked about; an option and a text of several lines are none.
#[test]
fn which_words_may_be_files() {
    for (text, asked) in
        [("frob a", true), ("frob --x=a", true), ("frob @a", true), ("frob -a", false), ("frob $'a\\nb'", false)]
    {
        let kinds = with(text, "/home/dev", &Facts::default()).questions;
        assert_eq!(kinds.iter().any(|question| matches!(question, Question::Kind { .. })), asked, "{text}: {kinds:?}");
    }
}
