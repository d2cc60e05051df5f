//! What the walk knows of values, and what it says it can not know.
//!
//! Shows R1, R115: a command is judged with its arguments, also those that the shell computes.

use checkrein_contract::{Effect, Facts, Finding, Foreseen, Place, Question, Tree};
use checkrein_policy::{Models, Scene, shell};

fn foresee(text: &str) -> Foreseen {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let facts = Facts::default();
    shell::foresee(text, Scene { place: &place, facts: &facts, models: Models::built_in() })
}

fn unknown(text: &str) -> bool {
    foresee(text).effects.iter().any(|effect| matches!(effect, Effect::Unknown { .. }))
}

/// What is read, written and deleted, as words; looking at folders is left out.
fn paths(text: &str) -> Vec<String> {
    let touched = foresee(text).effects.into_iter().filter(|effect| !matches!(effect, Effect::List { .. }));
    let words = touched.filter_map(|effect| {
        let path = effect.path()?.to_owned();
        Some(format!("{} {path}", effect.word().as_str()))
    });
    words.collect()
}

/// Values that are numbers, literals or lists of literals are known.
#[test]
fn values_that_are_known() {
    for text in [
        "echo $((1+2))",
        "i=1; echo $((i+1))",
        "i=1; i=$((i+1)); echo $((i*2)) ${#i}",
        "for ((i=0; i<3; i++)); do echo $i; done",
        "set -- a b; [[ $# -eq 2 ]] && echo $1",
        "x=(a b); echo \"${x[@]}\" ${#x[@]}",
        "x=3; [[ $x -eq 3 ]] && echo yes",
        "echo $RANDOM $$ $? $#",
        "echo $(($# + $?))",
        "echo \"${NAME:-default}\" \"${NAME#x}\" \"${NAME/a/b}\" \"${NAME:0:2}\" \"${NAME^^}\"",
        "x=1; x+=2; echo $x",
        "read -r line; echo \"$line\"",
        "export LANG=C; ls",
        "declare -i n; echo x",
    ] {
        if text.starts_with("declare -i") {
            assert!(unknown(text), "{text}: what is assigned is evaluated");
        } else {
            assert!(!unknown(text), "{text}: {:?}", foresee(text).effects);
        }
    }
}

/// A login shell runs the start files of the person first: what runs then rests on nobody having changed them.
#[test]
fn a_login_shell_runs_start_files() {
    let rests = |text: &str| -> Vec<Vec<String>> {
        let runs = foresee(text).effects.into_iter().filter_map(|effect| match effect {
            Effect::Run(run) => Some(run),
            _ => None,
        });
        let changed = |question: &Question| match question {
            Question::Changed { path } => path.strip_prefix("/home/dev/").map(str::to_owned),
            _ => None,
        };
        runs.map(|run| run.rests_on.iter().filter_map(changed).collect()).collect()
    };
    let bash = [".bash_profile", ".bash_login", ".profile", ".bash_logout"].map(str::to_owned).to_vec();
    assert_eq!(rests("bash -lc 'cat a; head b'"), [bash.clone(), bash.clone()]);
    assert_eq!(rests("bash --login -c 'env cat a'; cat c"), [bash.clone(), Vec::new()], "not what comes after");
    assert_eq!(rests("bash -l x.sh"), [bash]);
    assert_eq!(rests("sh -lc ls"), [[".profile"]]);
    assert_eq!(rests("zsh -c ls"), [[".zshenv"]]);
    assert_eq!(rests("zsh -lc ls"), [[".zshenv", ".zprofile", ".zlogin", ".zlogout"]]);
    for plain in ["bash -c ls", "bash --noprofile -lc ls", "sh -c ls", "zsh -f -c ls"] {
        assert_eq!(rests(plain), [Vec::<String>::new()], "{plain}");
    }
    assert!(unknown("echo x >> ~/.profile; bash -lc ls"), "what runs is what the call writes first");
}

/// Text that is evaluated as code or as a name is not.
#[test]
fn values_that_are_evaluated() {
    for text in [
        "echo $((x))",
        "echo $((x+1))",
        "echo $(($1+1))",
        "x=$(cat f); echo $((x))",
        "(( x > 1 ))",
        "let x",
        "let 'x=a[$(y)]'",
        "[[ $x -eq 1 ]]",
        "[[ 1 -lt $x ]]",
        "echo \"${a[$x]}\"",
        "a[$x]=1",
        "echo ${!v}",
        "echo \"${!v:-x}\"",
        "echo ${v@P}",
        "test -v \"$x\"",
        "[[ -v $x ]]",
        "unset \"$x\"",
        "printf -v \"$x\" y",
        "printf -v 'a[$(y)]' y",
        "read 'a[$(y)]'",
        "declare -n r=x",
        "declare -a 'x=($(y))'",
        "mapfile -C ls x",
        "eval \"$x\"",
        "$x",
        "\"$x\" y",
        "source \"$x\"",
        "trap \"$x\" EXIT",
        "bash -c \"$x\"",
        "cat \"$x\"",
        "rm \"$x\"",
        "echo y > \"$x\"",
        "cd \"$x\" && ls",
        "x=$(<f); cat \"$x\"",
        "cat \"$(ls)\"",
        "alias ls=rm",
        "shopt -s extglob",
        "set -k",
        "set -o allexport",
        "export PAGER=x",
        "PATH=/tmp",
        "for PATH in /tmp; do ls; done",
        "wait -p PATH",
    ] {
        assert!(unknown(text), "{text}: {:?}", foresee(text).effects);
    }
}

/// Where values lead.
#[test]
fn values_that_become_paths() {
    for (text, expected) in [
        ("x=a; cat $x", vec!["read /p/a"]),
        ("x=a; y=$x/b; cat \"$y\"", vec!["read /p/a/b"]),
        ("for f in a b; do cat $f; done", vec!["read /p/a", "read /p/b"]),
        ("if true; then x=a; else x=b; fi; cat $x", vec!["read /p/b", "read /p/a"]),
        ("case x in x) x=a;; esac; cat \"$x\"", vec!["read /p/a"]),
        ("f() { cat \"$1\"; }; f a", vec!["read /p/a"]),
        ("set -- a b; cat \"$@\"", vec!["read /p/a", "read /p/b"]),
        ("cat {a,b}.txt", vec!["read /p/a.txt", "read /p/b.txt"]),
        ("cat ~/a ~dev/b", vec!["read /home/dev/a", "read /home/dev/b"]),
        ("cat $HOME/a", vec!["read /home/dev/a"]),
        ("cat \"$(<a)\" < b", vec!["read /p/b", "read /p/a"]),
        ("cat <<< x > a", vec!["write /p/a"]),
        ("x=$(echo a); cat $x", vec!["read /p/a"]),
        ("cat $(echo a b)", vec!["read /p/a", "read /p/b"]),
        ("eval 'cat a'", vec!["read /p/a"]),
        ("bash -c 'cat $1' _ a", vec!["read /p/a"]),
        ("cd a; cd b; cat c", vec!["read /p/c", "read /p/a/b/c", "read /p/a/c", "read /p/b/c"]),
        ("(cd a && cat b); cat c", vec!["read /p/a/b", "read /p/c"]),
        ("cd a && cat b", vec!["read /p/a/b"]),
        ("pushd a && cat b", vec!["read /p/a/b"]),
        ("echo a | xargs cat", vec!["read /p/a"]),
        ("printf 'a\\nb\\n' | xargs -n1 cat", vec!["read /p/a", "read /p/b"]),
        ("exec 3> a", vec!["write /p/a"]),
        ("echo x >& a", vec!["write /p/a"]),
        ("echo x &>> a 2>&1", vec!["write /p/a"]),
        ("while read -r f; do :; done < a", vec!["read /p/a"]),
        ("trap 'rm a' EXIT", vec!["delete /p/a"]),
        ("f() { rm a; }", vec!["delete /p/a"]),
        ("coproc cat a", vec!["read /p/a"]),
        ("time cat a", vec!["read /p/a"]),
        ("! cat a", vec!["read /p/a"]),
        ("diff <(cat a) b", vec!["read /p/a", "read /p/b"]),
    ] {
        let (mut got, mut expected) = (paths(text), expected);
        got.sort();
        got.dedup();
        expected.sort_unstable();
        assert_eq!(got, expected, "{text}: {:?}", paths(text));
    }
}

/// A link that the call makes leads where it says: what is done to it is done to what lies behind.
#[test]
fn links_that_the_call_makes() {
    for (text, expected) in [
        ("ln -s /home/dev/.ssh keys && cat keys/id_rsa", "read /home/dev/.ssh/id_rsa"),
        ("ln -s /etc d && echo x > d/motd", "write /etc/motd"),
        ("ln -sf / r; cat r/home/dev/.ssh/id_rsa", "read /home/dev/.ssh/id_rsa"),
        ("ln -s ~/.ssh/id_rsa k && cat k", "read /home/dev/.ssh/id_rsa"),
        ("ln /home/dev/.netrc n; cat n", "read /home/dev/.netrc"),
        ("cd sub && ln -s ../../etc e && cat e/passwd", "read /etc/passwd"),
        ("ln -s /etc/passwd && cat passwd", "read /etc/passwd"),
        ("ln -s /etc /srv t; cat t/etc/passwd", "read /etc/passwd"),
        ("ln -s b a; ln -s /etc b; cat a/motd", "read /etc/motd"),
        ("ln -s /etc e; (cd e && cat passwd)", "read /etc/passwd"),
        ("ln -s /etc e; cat e/*", "read /etc/*"),
        ("ln -s /etc e; rm -r e/x", "delete /etc/x"),
        ("ln -s /etc e; grep -R root .", "read /etc"),
        ("cp -s /etc/passwd p; cat p", "read /etc/passwd"),
        ("cp -l /etc/passwd p; cat p", "read /etc/passwd"),
        ("(ln -s /etc e); cat e/passwd", "read /etc/passwd"),
        ("if true; then ln -s /etc e; fi; tee e/motd < a", "write /etc/motd"),
    ] {
        let found = paths(text);
        assert!(found.iter().any(|one| one == expected), "{text}: {found:?}");
    }
    assert!(unknown("ln -s \"$x\" l; cat l"), "where it leads is not known");
    assert!(unknown("ln -s a b; ln -s b a; cat a/x") || paths("ln -s a b; ln -s b a; cat a/x").len() < 10);
    assert!(
        !paths("ln -s /etc/x l; rm l").iter().any(|one| one == "delete /etc/x"),
        "the link goes, not what it is on"
    );
}

/// More commands than are looked at are told; as many as are, are not.
#[test]
fn commands_without_end() {
    let last = ":;".repeat(4_095) + "rm a";
    assert!(!unknown(&last) && paths(&last) == ["delete /p/a"]);
    assert!(unknown(&":;".repeat(4_097)));
}

/// Holes that a review found, each closed: what is done is named, or it is not understood.
#[test]
fn ways_around() {
    for (text, expected) in [
        ("dd if=~/.ssh/x", "read /home/dev/.ssh/x"),
        ("dd of=~/x if=a", "write /home/dev/x"),
        ("awk -v f=~/x '{ print }' a", "read /p/a"),
        ("ln -s /etc l; echo e > l/../x", "write /x"),
        ("ln -s /etc/ssh l; cat l/../shadow", "read /etc/shadow"),
        ("cd sub/..; cat x", "read /p/x"),
        ("sed ':a;r .env' a.txt", "read /p/.env"),
        ("sed ':a;w out' a.txt", "write /p/out"),
        ("sed 'y/[/(/;w out\n#]/x/' a.txt", "write /p/out"),
        ("sed 'a x\\\\\nw out' a.txt", "write /p/out"),
        ("sed 'a x\\ \nw out' a.txt", "write /p/out"),
        ("mv d d2; cat d2/e", "read /p/d/e"),
        ("cp -a d x; cat x/e", "read /p/d/e"),
        ("git apply x.patch", "write /p/**"),
    ] {
        let found = paths(text);
        assert!(found.iter().any(|one| one == expected), "{text}: {found:?}");
    }
    for text in [
        "zip -T -TT 'sh -c id #' o.zip a.txt",
        "git ls-files ':!src' | xargs cat",
        "git ls-files --format=.env src | xargs cat",
        "find src | grep -o '.env' | xargs cat",
        "find src | head -c 9 | xargs cat",
        "fd rs src --format .env | xargs cat",
        "7z a o.7z @list",
        "printf '[core]' >> .git/config; git status",
        "cp a.txt .git/hooks/post-index-change; git commit -m x",
        "echo '*.txt diff=x' >> .gitattributes; git diff",
        "echo x > sub/HEAD; cp a.txt sub/config; cd sub; git status",
        "echo x > rust-toolchain.toml; rustc --version",
        "echo x > run.sh; bash run.sh",
    ] {
        assert!(unknown(text), "{text}: {:?}", foresee(text).effects);
    }
    assert!(!paths("sed 'a x\\\nw out' a.txt").contains(&"write /p/out".to_owned()), "that line is text");
    for text in
        ["find src -name '*.rs' | xargs cat", "git ls-files src | xargs wc -l", "echo x > config/a.toml; git diff"]
    {
        assert!(!unknown(text), "{text}: {:?}", foresee(text).effects);
    }
}

/// What is only found in the world: more names than are judged one by one, names with blanks, and links without end.
#[test]
fn what_the_world_adds() {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let foresee = |text: &str, question: Question, found: Vec<String>, place: &Place| {
        let mut facts = Facts::default();
        facts.add(question, Some(Finding::List(found)));
        let scene = Scene { place, facts: &facts, models: Models::built_in() };
        shell::foresee(text, scene).effects
    };
    let told = |effects: &[Effect], words: &str| {
        effects.iter().any(|effect| matches!(effect, Effect::Unknown { what } if what.contains(words)))
    };
    let pattern = || Question::Matches { pattern: "/p/*.txt".to_owned() };
    let names = |many: usize| (0..many).map(|number| format!("/p/{number}.txt")).collect::<Vec<_>>();
    assert!(told(&foresee("cat *.txt", pattern(), names(300), &place), "matches more names"));
    assert!(!told(&foresee("cat *.txt", pattern(), names(3), &place), "matches more names"));
    // `xargs` splits names at blanks and quotes.
    let odd = "/p/src/**/*[ \t\n\"'\\\\]*".to_owned();
    let tree = Tree { root: "/p/src".to_owned(), ..Tree::default() };
    let holds = || Question::Holds { tree: tree.clone(), patterns: vec![odd.clone(), format!("{odd}/**")] };
    assert!(told(&foresee("find src | xargs cat", holds(), vec!["/p/src/a b".to_owned()], &place), "its input"));
    assert!(!told(&foresee("find src | xargs cat", holds(), Vec::new(), &place), "its input"));
    let links: String = (0..60).map(|number| format!("ln -s /x{number} l; ")).collect();
    assert!(unknown(&(links + "cat l/a")), "more links than are followed");
    assert!(unknown(&format!("cat {}", "a".repeat(9_000))), "no kernel takes a path so long");
    // Beside a home that is nowhere, nobody's home is known; a long text is cut between characters.
    let nowhere = Place { home: String::new(), ..place };
    assert!(told(&foresee("cat ~dev/a ~/b", pattern(), Vec::new(), &nowhere), "~dev"));
    assert!(unknown(&format!("x{}", "é".repeat(70_000))));
}
