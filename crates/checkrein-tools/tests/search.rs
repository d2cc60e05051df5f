//! `glob` and `grep`: what is found, in which order, what is left out and how that is said.

use std::os::unix::fs::symlink;

use checkrein_contract::Code;
use serde_json::json;

use crate::support::{World, next_call};

fn project() -> World {
    let world = World::new();
    for (name, content) in [
        ("src/main.rs", "fn main() {\n    todo();\n}\n"),
        ("src/a-b.rs", "fn b() {}\r\n"),
        ("src/a/deep.rs", "fn deep() {}\n"),
        ("README.md", "# Main\nfn in words\n"),
        ("target/out.rs", "fn generated() {}\n"),
        ("target/keep.txt", "fn kept\n"),
        (".gitignore", "target/*\n!target/keep.txt\n"),
        (".hidden/x.rs", "fn hidden() {}\n"),
        (".git/config", "fn git\n"),
        ("withheld.rs", "fn withheld() {}\n"),
        ("src/withheld/x.rs", "fn withheld() {}\n"),
    ] {
        world.file(name, content);
    }
    world
}

/// Shows R188: ignore files are honoured, hidden files are not shown, and the order is fixed.
#[tokio::test]
async fn glob_lists_files_by_name() {
    let mut world = project();
    world.file("image.rs/not-a-file", "");
    symlink("README.md", world.path("link.md")).unwrap();
    for (args, expected) in [
        (
            json!({"pattern": "*.rs"}),
            "src/a/deep.rs\nsrc/a-b.rs\nsrc/main.rs\nsrc/withheld/x.rs\n[end: 4 files]\n\
             [1 file withheld by the policy]",
        ),
        (json!({"pattern": "src/*.rs"}), "src/a-b.rs\nsrc/main.rs\n[end: 2 files]"),
        (json!({"pattern": "*.rs", "path": "src/a"}), "src/a/deep.rs\n[end: 1 file]"),
        (json!({"pattern": "**/*.{md,txt}"}), "README.md\ntarget/keep.txt\n[end: 2 files]"),
        (json!({"pattern": "*.rs", "path": "target"}), "[no file matches; hidden and ignored files are not searched]"),
        (json!({"pattern": "*", "path": ".hidden"}), ".hidden/x.rs\n[end: 1 file]"),
        (json!({"pattern": "*.c"}), "[no file matches; hidden and ignored files are not searched]"),
    ] {
        assert_eq!(world.text("glob", args.clone()).await, expected, "{args}");
    }
}

/// Ignore files around the project belong to somebody else; those inside count from wherever a search begins.
#[tokio::test]
async fn only_ignore_files_of_the_project_count() {
    let mut world = World::new();
    std::fs::write(world.path("../.gitignore"), "*\n").unwrap();
    world.file(".gitignore", "*.log\n/src/made/\n");
    world.file("src/.ignore", "!wanted.log\n");
    for name in ["src/sub/a.log", "src/sub/wanted.log", "src/sub/b.txt", "src/made/c.txt"] {
        world.file(name, "x\n");
    }
    world.file(".git/info/exclude", "*.txt\n!b.txt\n");
    for path in [".", "src", "src/sub"] {
        let text = world.text("glob", json!({"pattern": "*", "path": path})).await;
        assert_eq!(text, "src/sub/b.txt\nsrc/sub/wanted.log\n[end: 2 files]", "{path}");
    }
}

/// Shows R69, R137: a long list is cut, counted, and says how to go on; the way on works.
#[tokio::test]
async fn a_long_list_says_how_to_narrow() {
    let mut world = World::new();
    for n in 0..60 {
        world.file(&format!("a/{n:03}.txt"), "");
        world.file(&format!("b/{n:03}.txt"), "");
        world.file(&format!("b/c/{n:03}.txt"), "");
    }
    let finished = world.call("glob", json!({"pattern": "*.txt"})).await;
    let lines: Vec<_> = finished.text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[99], finished.cut), (101, "a/000.txt", "b/039.txt", true));
    let expected = "[cut: 100 of 180 files shown, 80 more; search folder by folder (80 in `b`): \
                    `glob` {\"path\":\"b\",\"pattern\":\"*.txt\"}]";
    assert_eq!(lines[100], expected);
    let (tool, args) = next_call(lines[100]).unwrap();
    let text = world.text(&tool, args).await;
    assert!(
        text.ends_with("search folder by folder (20 in `b/c`): `glob` {\"path\":\"b/c\",\"pattern\":\"*.txt\"}]"),
        "{text}"
    );

    let text = world.text("glob", json!({"pattern": "b/**/*.txt"})).await;
    assert!(text.ends_with("20 more; narrow `pattern`, such as by the first letters of the name]"), "{text}");
}

/// Shows R90: a name or a line of a file can not look like something the harness said.
#[tokio::test]
async fn names_and_lines_stay_lines() {
    let mut world = World::new();
    world.file("a\n[end: 9 files]", "x\x1b[2J\n");
    assert_eq!(world.text("glob", json!({"pattern": "*"})).await, "a\\n[end: 9 files]\n[end: 1 file]");
    let text = world.text("grep", json!({"pattern": "x"})).await;
    assert_eq!(text, "a\\n[end: 9 files]:1: x\\x1b[2J\n[end: 1 matching line]");
}

/// Shows R56: what can not be searched says why.
#[tokio::test]
async fn what_can_not_be_searched_says_why() {
    let mut world = project();
    for (tool, args, code, message) in [
        (
            "glob",
            json!({"pattern": "!x"}),
            Code::SearchInvalidPattern,
            "`!x`: say what to find; a pattern can not exclude",
        ),
        ("glob", json!({"pattern": "*", "path": "README.md"}), Code::FsNotDirectory, "`README.md` is no folder"),
        ("glob", json!({"pattern": "*", "path": "none"}), Code::FsNotFound, "there is no `none`"),
        ("grep", json!({"pattern": "x", "path": "none"}), Code::FsNotFound, "there is no `none`"),
        (
            "grep",
            json!({"pattern": "x", "include": "/etc/*"}),
            Code::SearchInvalidPattern,
            "`/etc/*`: a pattern is relative to `path`; give the folder there",
        ),
    ] {
        assert_eq!(world.error(tool, args.clone()).await, (code, message.to_owned()), "{tool} {args}");
    }
    let (code, message) = world.error("grep", json!({"pattern": "fn ("})).await;
    assert_eq!(code, Code::SearchInvalidPattern);
    assert!(
        message.starts_with("`fn (` is no pattern for a line: ") && message.ends_with("unclosed group"),
        "{message}"
    );
    assert_eq!(world.error("grep", json!({"pattern": "a\nb"})).await.0, Code::SearchInvalidPattern);
    assert_eq!(world.error("glob", json!({"pattern": "*", "path": "/etc/no-such-folder"})).await.0, Code::FsNotFound);
}

/// Shows R72: matches with path and line number, in a fixed order, without what is withheld or binary.
#[tokio::test]
async fn grep_finds_lines() {
    let mut world = project();
    world.file("src/image.rs", b"fn a\n\0\0 fn b\n");
    let finished = world.call("grep", json!({"pattern": "fn [a-z]+", "include": "*.rs"})).await;
    let expected = "src/a/deep.rs:1: fn deep() {}\nsrc/a-b.rs:1: fn b() {}\nsrc/main.rs:1: fn main() {\n\
                    src/withheld/x.rs:1: fn withheld() {}\n[end: 4 matching lines]\n[1 binary file skipped]\n\
                    [1 file withheld by the policy]";
    assert_eq!(finished.text, expected);
    assert_eq!(finished.sources, ["src/a/deep.rs", "src/a-b.rs", "src/main.rs", "src/withheld/x.rs"]);
    for (args, expected) in [
        (json!({"pattern": "^}$", "path": "src/main.rs"}), "src/main.rs:3: }\n[end: 1 matching line]"),
        (json!({"pattern": r"\{\}$", "path": "src/a-b.rs"}), "src/a-b.rs:1: fn b() {}\n[end: 1 matching line]"),
        (
            json!({"pattern": "nowhere"}),
            "[no line matches; hidden, ignored and binary files are not searched]\n[1 binary file skipped]\n\
             [1 file withheld by the policy]",
        ),
    ] {
        assert_eq!(world.text("grep", args.clone()).await, expected, "{args}");
    }
}

/// Shows R69, R72: too many matches and too long lines are cut, counted, and say how to go on; the way on works.
#[tokio::test]
async fn grep_says_what_it_left_out() {
    let mut world = World::new();
    world.file("a.txt", "needle\n".repeat(200));
    world.file("b.txt", "needle\n".repeat(200));
    let finished = world.call("grep", json!({"pattern": "needle"})).await;
    let footer = finished.text.lines().last().unwrap();
    let expected = "[cut: 250 of 400 matching lines shown, 150 more; narrow `pattern`, `path` or `include`, or go on \
                    at the next one: `read` {\"file_path\":\"b.txt\",\"offset\":51}]";
    assert_eq!((footer, finished.cut, finished.text.lines().count()), (expected, true, 251));
    let (tool, args) = next_call(footer).unwrap();
    assert!(world.text(&tool, args).await.starts_with("51: needle\n"));

    let mut world = World::new();
    let wide = format!("needle {}\n", "é".repeat(3_000));
    world.file("wide.txt", wide.repeat(40));
    let finished = world.call("grep", json!({"pattern": "needle"})).await;
    assert!(finished.text.len() < 52_000 && !finished.text.contains('\u{fffd}'), "{}", finished.text.len());
    assert!(finished.text.lines().next().unwrap().ends_with("é [cut at 2000 bytes, 4008 more]"));
    assert!(finished.text.contains("[cut: 24 of 40 matching lines shown, 16 more; "), "{}", finished.text);
    let (tool, args) = next_call(&finished.text).unwrap();
    assert_eq!(args, json!({"command": "sed -n 1p wide.txt"}));
    assert_eq!(world.text(&tool, args).await, wide);
}
