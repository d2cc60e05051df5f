//! Real bash against the walk: the file that a script of variables really reads is among those foreseen, or the script is
//! not understood.
//!
//! Shows R1, R115: a command is judged with its arguments, also those that the shell computes. Scripts are put together
//! from the fragments below, each of which sets, keeps or hides the value of `p`; the dice are the same every time.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use checkrein_contract::{Effect, Facts, Place};
use checkrein_policy::{Models, Scene, shell};

/// Ways to give `p` a value, or not to. `@` stands for the value.
const FRAGMENTS: &[&str] = &[
    "p=@",
    "false && p=@",
    "true && p=@",
    "true || p=@",
    "false || p=@",
    "[ -e none ] && p=@",
    "[ -e none ] || p=@",
    "true && false && p=@",
    "false && true || p=@",
    "true || false && p=@",
    "! true && p=@",
    "if false; then p=@; fi",
    "if true; then p=@; fi",
    "if false; then p=x; else p=@; fi",
    "if false; then p=x; elif true; then p=@; else p=y; fi",
    "case a in b) p=@;; esac",
    "case a in b) p=x;; *) p=@;; esac",
    "case a in a) ;& b) p=@;; esac",
    "while false; do p=@; done",
    "until true; do p=@; done",
    "until false; do p=@; break; done",
    "while true; do p=@; break; p=x; done",
    "for i in 1; do p=@; continue; p=x; done",
    "for i in @ x; do p=$i; break; done",
    "for i in x @; do p=$i; done",
    "for i in 1 2; do for j in 1; do p=@; break 2; done; p=x; done",
    "for p in x @; do :; done",
    "for i in; do p=@; done",
    "( p=@ )",
    "{ p=@; }",
    "p=@ true",
    "p=@ | cat",
    "echo x | p=@",
    "p=@ &",
    "f() { p=@; }",
    "f() { p=@; }; f",
    "f() { p=@; return; p=x; }; f",
    "f() { local p=@; }; f",
    "f() { local p; p=@; }; f",
    "f() { false && local p; p=@; }; f",
    "f() { declare -g p=@; }; f",
    "f() { declare p=@; }; f",
    "f() { while true; do p=@; return; done; p=x; }; f",
    "f() { p=$1; }; f @",
    "f() { shift; p=$1; }; f x @",
    "g() { f; }; f() { p=@; }; g",
    "unset p",
    "unset -v p",
    "readonly p",
    "readonly p=@",
    "declare -r p=@",
    "declare -l p; p=A",
    "declare -u p; p=a",
    "declare -c p; p=a",
    "declare p+=@",
    "export p+=@",
    "p+=@",
    "declare p=@",
    "typeset p=@",
    "export p=@",
    "declare -a p=(@ x)",
    "p=(@ x)",
    "p[0]=@",
    "p=([1]=x [0]=@)",
    "declare -n p=q; q=@",
    "q=@; p=$q",
    "q=@; p=${q}",
    "q=@; p=${q:-x}",
    "p=${q:-@}",
    "p=${none:-@}",
    "p=${none-@}",
    "p=${p:+@}",
    "p=${p:-@}",
    ": ${p:=@}",
    ": ${none:=@}; p=$none",
    "p=${p#?}",
    "p=${p%?}",
    "p=${p:0:1}",
    "p=${p/a/b}",
    "p=${p^^}",
    "p=$(echo @)",
    "p=`echo @`",
    "p=$(echo x | tail -c 2)",
    "p=$(p=@; echo $p)",
    "read p <<< @",
    "read -r p q <<< '@ x'",
    "read q p <<< '@ x'",
    "echo @ | read p",
    "echo @ | { read p; }",
    "read -a p <<< '@ x'",
    "read -n 1 p <<< @x",
    "read -d x p <<< @x",
    "read -r p <<< 'a\\@'",
    "mapfile -t p <<< @",
    "printf -v p @",
    "printf -v p %s @",
    "printf -v p %s x; printf -v p %s @",
    "getopts @: p -a -b",
    "let p=1",
    "(( p = 1 ))",
    "(( p++ ))",
    "p=$(( 1 ))",
    "set -- @; p=$1",
    "set -- x @; shift; p=$1",
    "false && set -- @; p=$1",
    "set -- x @; p=${@: -1}",
    "set -- x @; p=${2}",
    "set -- x @; for p; do :; done",
    "eval p=@",
    "eval 'p=@'",
    "q=p; eval $q=@",
    "q='p=@'; eval \"$q\"",
    "trap 'p=@' EXIT",
    "trap 'p=@' DEBUG",
    "trap 'p=@' ERR; false; p=$p",
    "command eval p=@",
    "builtin eval p=@",
    "exec {q}> /dev/null; p=@",
    "select p in @; do break; done <<< 1",
    "[[ a == b ]] && p=@",
    "[[ a == a ]] && p=@",
    "[[ abc =~ b ]] && p=@",
    "test -z \"$p\" && p=@",
    "test -n \"$p\" && p=@",
    "p=@; :",
    ": ; p=@ ; :",
    "source /dev/null; p=@",
    "set -e; p=@",
    "set -u; p=@",
    "alias p=x; p=@",
    "time p=@",
    "! p=@",
    "coproc { p=@; }",
    "p=x q=$p; p=@",
    "q=$p; p=x; p=$q",
    "p=@ q=x",
    "p='@'\"\"",
    "p=\"@\"",
    "p=$'@'",
    "p=@; export p",
    "p=@; local p=x",
    "HOME=@; p=~",
    "cd /; p=@",
    "shopt -s lastpipe; echo @ | read p",
    "false; p=@",
    "(exit 1) && p=@",
    "(exit 0) && p=@",
    "return; p=@",
    "exit; p=@",
];

/// Ways to go to a folder, or not to.
const MOVES: &[&str] = &[
    "cd @",
    "cd ./@",
    "cd @/..",
    "cd ..",
    "cd",
    "cd -",
    "cd ~",
    "cd none",
    "cd none || cd @",
    "cd none && cd @",
    "cd @ && true",
    "cd @ || true",
    "cd @ || exit",
    "false && cd @",
    "true && cd @",
    "true || cd @",
    "false || cd @",
    "[ -e none ] && cd @",
    "[ -e none ] || cd @",
    "true && false && cd @",
    "! cd @",
    "(cd @)",
    "{ cd @; }",
    "cd @ | true",
    "true | cd @",
    "cd @ &",
    "$(cd @)",
    ": $(cd @)",
    "if cd none; then cd a; else cd @; fi",
    "if cd @; then :; fi",
    "if false; then cd @; fi",
    "case x in y) cd @;; *) :;; esac",
    "while cd @; do break; done",
    "while false; do cd @; done",
    "for i in @ none; do cd $i; done",
    "for i in 1 2; do cd @; break; cd ..; done",
    "f() { cd @; }",
    "f() { cd @; }; f",
    "f() { cd @; return; cd ..; }; f",
    "f() { cd $1 && cd ..; }; f @",
    "pushd @",
    "pushd @ && popd",
    "popd",
    "eval cd @",
    "eval 'cd @ && cd ..'",
    "x=@; cd $x",
    "false && x=a; cd ${x:-@}",
    "trap 'cd @' EXIT",
    "command cd @",
    "builtin cd @",
    "cd -P @",
    "cd -- @",
    "CDPATH=@ cd a",
    "cd '' && cd @",
    "mkdir -p @ && cd @",
    "cd @; cd -",
    "set -e; cd @",
    "cd \"$PWD\"",
    "cd $OLDPWD",
    "cd / && cd -",
    "HOME=@; cd",
    "env true; cd @",
];

/// How the value is used, and what of it is read.
const USES: &[&str] =
    &["cat \"$p\"", "cat $p", "cat < \"$p\"", "bash -c \"cat $p\"", "bash -c 'cat \"$1\"' _ \"$p\"", "eval \"cat $p\""];

const VALUES: &[&str] = &["a", "b", "c"];
const JOINS: &[&str] = &["; ", "\n", "\n", " && ", " || "];

/// The same dice every time.
struct Dice(u64);

impl Dice {
    fn roll<'t>(&mut self, all: &[&'t str]) -> &'t str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all[(self.0 >> 33) as usize % all.len()]
    }
}

/// What is foreseen to be read, as far behind `/p/` as `folder` is in `really`, or nothing where it is not understood.
fn foreseen(script: &str) -> Option<BTreeSet<String>> {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let facts = Facts::default();
    let foreseen = shell::foresee(script, Scene { place: &place, facts: &facts, models: Models::built_in() });
    if foreseen.effects.iter().any(|effect| matches!(effect, Effect::Unknown { .. })) {
        return None;
    }
    let read = foreseen.effects.iter().filter_map(|effect| match effect {
        Effect::Read { path, .. } => Some(path.strip_prefix("/p/").unwrap_or(path).to_owned()),
        _ => None,
    });
    Some(read.collect())
}

/// What bash gave to `cat`, for each script, in a folder with files that hold their own names.
fn really(scripts: &[String], folder: &std::path::Path) -> Vec<BTreeSet<String>> {
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-s"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash starts");
    let mut stdin = bash.stdin.take().expect("piped");
    let text: String = scripts
        .iter()
        .map(|script| format!("timeout 10 bash -c {} < /dev/null\necho\necho end\n", quoted(script)))
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).expect("bash reads"));
    let output = bash.wait_with_output().expect("bash ends");
    writer.join().expect("it was written");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = |part: &str| part.lines().filter_map(|line| line.strip_prefix("file ")).map(str::to_owned).collect();
    let all: Vec<_> = text.split("\nend\n").map(words).collect();
    assert_eq!(all.len(), scripts.len() + 1, "one answer for each script");
    all.into_iter().take(scripts.len()).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Scripts of the dice: three fragments and a use of what they leave, and before those each fragment by itself.
fn scripts(fragments: &[&str], uses: &[&str], first: &str, many: usize) -> Vec<String> {
    let mut dice = Dice(7);
    let mut scripts = BTreeSet::new();
    for (fragment, usage) in fragments.iter().flat_map(|fragment| uses.iter().map(move |usage| (fragment, usage))) {
        scripts.insert(format!("{first}\n{}\n{usage}", fragment.replace('@', "b")));
    }
    let many = std::env::var("CHECKREIN_VALUES").ok().and_then(|text| text.parse().ok()).unwrap_or(many);
    while scripts.len() < many {
        let mut script = String::new();
        for _ in 0..3 {
            script += &dice.roll(fragments).replace('@', dice.roll(VALUES));
            script += dice.roll(JOINS);
        }
        scripts.insert(script + dice.roll(uses));
    }
    scripts.into_iter().collect()
}

/// Each script in bash and in the walk.
fn compare(scripts: &[String], folder: &std::path::Path) {
    let (mut wrong, mut understood) = (Vec::new(), 0);
    for (script, read) in scripts.iter().zip(really(scripts, folder)) {
        let Some(expected) = foreseen(script) else { continue };
        understood += 1;
        // A number that was computed is known to be one, and no more.
        let number = |file: &String| file.bytes().all(|b| b.is_ascii_digit()) && expected.contains("[0-9]*");
        if !read.iter().all(|file| expected.contains(file) || number(file)) {
            wrong.push(format!("{script}\n    really: {read:?}\n    foreseen: {expected:?}"));
        }
    }
    std::fs::remove_dir_all(folder).expect("it goes");
    assert!(wrong.is_empty(), "{} of {understood}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(understood > scripts.len() / 4, "{understood} of {} are understood", scripts.len());
}

#[test]
fn what_bash_reads_is_foreseen() {
    let folder = folder("values");
    for name in ["a", "b", "c", "x", "y", "1", "2", "A", "ab", "ba", "aa", "ca", "ac", "bc", "cb"] {
        std::fs::write(folder.join(name), format!("file {name}\n")).expect("it is written");
    }
    compare(&scripts(FRAGMENTS, USES, "p=a", 1_400), &folder);
}

#[test]
fn where_bash_goes_is_foreseen() {
    let folder = folder("moves");
    for deep in [
        "", "a/", "b/", "c/", "a/b/", "b/a/", "a/a/", "b/b/", "c/a/", "a/c/", "b/c/", "c/b/", "c/c/", "a/b/c/",
        "b/c/b/",
    ] {
        std::fs::create_dir_all(folder.join(deep)).expect("it is made");
        std::fs::write(folder.join(deep).join("n"), format!("file {deep}n\n")).expect("it is written");
    }
    compare(&scripts(MOVES, &["cat n", "cat \"$PWD/n\"", "cat ./n"], "true", 700), &folder);
}

/// A folder for a test.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("checkrein-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("it is made");
    folder
}
