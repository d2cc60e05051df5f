//! `read`: windows, caps, footers, and what it refuses.

use std::os::unix::fs::symlink;

use checkrein_contract::{Code, Digest, Verdict};
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::support::{World, next_call};

/// Shows R63, R64: from line 1, numbered, with the last line saying that it is the last.
#[tokio::test]
async fn a_short_file_is_shown_whole() {
    let mut world = World::new();
    world.file("src/a.rs", "fn a() {\r\n}\r\n");
    let finished = world.call("read", json!({"file_path": "src/a.rs"})).await;
    assert_eq!(finished.text, "1: fn a() {\n2: }\n[end of file: 2 lines]");
    assert!(!finished.cut);
    assert_eq!(finished.sources, ["src/a.rs"]);
    assert_eq!(world.seen("src/a.rs"), Some(&Some(Digest::of(b"fn a() {\r\n}\r\n"))));

    let absolute = world.path("src/a.rs");
    assert_eq!(world.text("read", json!({"file_path": absolute, "offset": 2})).await, "2: }\n[end of file: 2 lines]");
    world.file("empty", "");
    assert_eq!(world.text("read", json!({"file_path": "empty"})).await, "[end of file: it is empty]");
}

/// Shows R65, R66: three footers that can be told apart, each with the exact next offset where there is one.
#[tokio::test]
async fn each_way_to_end_has_its_own_footer() {
    let mut world = World::new();
    let lines: String = (1..=10_000).map(|n| format!("line {n}\n")).collect();
    world.file("long.txt", lines);
    let text = world.text("read", json!({"file_path": "long.txt"})).await;
    assert!(text.ends_with("[lines 1-2000 of 10000; 8000 more: `read` {\"file_path\":\"long.txt\",\"offset\":2001}]"));
    assert_eq!(text.lines().nth(1_999), Some("2000: line 2000"));

    let text = world.text("read", json!({"file_path": "long.txt", "offset": 9_000, "limit": 3})).await;
    let rest = "`read` {\"file_path\":\"long.txt\",\"limit\":3,\"offset\":9003}";
    assert!(text.ends_with(&format!("9002: line 9002\n[lines 9000-9002 of 10000; 998 more: {rest}]")), "{text}");

    world.file("wide.txt", format!("{}\n", "w".repeat(999)).repeat(100));
    let finished = world.call("read", json!({"file_path": "wide.txt"})).await;
    let footer = finished.text.lines().last().unwrap();
    let expected = "[cut by size: lines 1-51 of 100 fit into 51200 bytes; 49 more: \
                    `read` {\"file_path\":\"wide.txt\",\"offset\":52}]";
    assert_eq!((footer, finished.cut), (expected, true));
    assert!(finished.text.len() - footer.len() <= 51_200);
}

/// Shows R66, R69: a long line says how much of it is missing and how to see it whole.
#[tokio::test]
async fn a_long_line_is_cut_and_says_so() {
    let mut world = World::new();
    world.file("a b.json", format!("[\n{}\n]\n", "é".repeat(2_010)));
    let finished = world.call("read", json!({"file_path": "a b.json"})).await;
    let line = finished.text.lines().nth(1).unwrap();
    assert_eq!(line, format!("2: {} [cut at 2000 characters, 10 more]", "é".repeat(2_000)));
    let (tool, args) = next_call(&finished.text).unwrap();
    assert_eq!((tool.as_str(), &args), ("bash", &json!({"command": "sed -n 2p 'a b.json'"})));
    assert_eq!(world.text(&tool, args).await, format!("{}\n", "é".repeat(2_010)));
}

/// Shows R58: what is no text is refused or marked, and never breaks anything.
#[tokio::test]
async fn what_is_no_text_is_refused_or_marked() {
    let mut world = World::new();
    world.file("image", b"\x89PNG\0\0");
    let (code, message) = world.error("read", json!({"file_path": "image"})).await;
    assert_eq!((code, message.as_str()), (Code::FsNotText, "`image` is not text"));
    world.file("latin1", b"caf\xe9\n");
    let text = world.text("read", json!({"file_path": "latin1"})).await;
    assert_eq!(text, "1: caf\u{fffd}\n[bytes that are no UTF-8 are shown as \u{fffd}]\n[end of file: 1 line]");
    world.file("late", [vec![b'\n'; 8 * 1024], vec![0]].concat());
    assert!(world.text("read", json!({"file_path": "late", "offset": 8_193})).await.starts_with("8193: \0\n"));
}

/// Shows R47, R51, R56: what can not be read has a code, a message without host paths, and a remedy.
#[tokio::test]
async fn what_can_not_be_read_says_why() {
    let mut world = World::new();
    world.file("dir/a.txt", "one\ntwo\n");
    world.file("empty", "");
    mknodat(CWD, world.path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    for (args, code, message) in [
        (json!({"file_path": "no/such"}), Code::FsNotFound, "there is no `no/such`"),
        (json!({"file_path": "dir"}), Code::FsNotRegularFile, "`dir` is a folder or a device, not a regular file"),
        (json!({"file_path": "pipe"}), Code::FsNotRegularFile, "`pipe` is a folder or a device, not a regular file"),
        (json!({"file_path": "dir/a.txt/b"}), Code::FsNotDirectory, "a part of `dir/a.txt/b` is no folder"),
        (
            json!({"file_path": "dir/a.txt", "offset": 3}),
            Code::ReadPastEnd,
            "`dir/a.txt` has 2 lines; there is no line 3",
        ),
        (json!({"file_path": "empty", "offset": 2}), Code::ReadPastEnd, "`empty` has 0 lines; there is no line 2"),
        (json!({}), Code::InvalidArgs, "/file_path: is required"),
    ] {
        assert_eq!(world.error("read", args.clone()).await, (code, message.to_owned()), "{args}");
    }
    assert_eq!(world.seen("dir/a.txt"), None);
}

/// Root may read everything, so as root there is nothing to see; the message shows the skip.
#[tokio::test]
async fn a_file_without_the_right_to_read_it_is_refused() {
    let mut world = World::new();
    world.file("closed", "x\n");
    world.set_mode("closed", 0o000);
    let finished = world.call("read", json!({"file_path": "closed"})).await;
    match std::fs::read(world.path("closed")) {
        Err(_) => assert_eq!(finished.code, Some(Code::FsPermissionDenied)),
        Ok(_) => assert_eq!(finished.code, None, "skipped: this user may read every file"),
    }
}

/// A link is judged by what it leads to, and that is what is opened and remembered.
#[tokio::test]
async fn a_link_counts_as_what_it_leads_to() {
    let mut world = World::new();
    world.file("real.txt", "real\n");
    world.file(".env", "not for models\n");
    symlink("real.txt", world.path("link.txt")).unwrap();
    symlink("/etc/hostname", world.path("out.txt")).unwrap();
    symlink(world.path(".env"), world.path("secret.txt")).unwrap();
    assert_eq!(world.text("read", json!({"file_path": "link.txt"})).await, "1: real\n[end of file: 1 line]");
    assert!(world.seen("real.txt").is_some());
    assert_eq!(world.error("read", json!({"file_path": "secret.txt"})).await.0, Code::Denied);
    let outside = world.judge("read", &json!({"file_path": "out.txt"})).await.unwrap();
    assert_eq!(outside.decision().verdict, Verdict::Ask, "no rule speaks of what it leads to");
}

/// Shows R147: a cancelled call ends as cancelled.
#[tokio::test]
async fn a_cancelled_read_is_cancelled() {
    let mut world = World::new();
    world.file("a.txt", "a\n");
    world.cancel();
    assert_eq!(world.error("read", json!({"file_path": "a.txt"})).await.0, Code::Cancelled);
}

/// Some text: short and long lines, characters of every length, all three line ends.
fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-z é]{0,40}",
        1 => (0_usize..2_500).prop_map(|n| "\u{1f980}".repeat(n)),
        1 => (0_usize..3_000).prop_map(|n| "w".repeat(n)),
    ];
    let line = (word, prop_oneof![Just("\n"), Just("\r\n")]).prop_map(|(word, end)| format!("{word}{end}"));
    (prop::collection::vec(line, 0..120), "[a-z]{0,3}").prop_map(|(lines, last)| lines.concat() + &last)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Shows R67, R74: following the footers reads the whole file, once, in bounded steps.
    #[test]
    fn following_the_footers_reads_everything_once(text in texts(), limit in prop_oneof![Just(2_000_u64), 1_u64..40]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut world = World::new();
        world.file("a.txt", &text);
        let mut call = Some(("read".to_owned(), json!({"file_path": "a.txt", "limit": limit})));
        let mut got = Vec::new();
        while let Some((tool, args)) = call.take() {
            let result = runtime.block_on(world.text(&tool, args));
            prop_assert!(result.len() < 52_000, "{}", result.len());
            let (body, footer) = result.rsplit_once('\n').unwrap_or(("", &result));
            got.extend(body.lines().filter(|line| !line.starts_with('[')).map(str::to_owned));
            if !footer.starts_with("[end of file") {
                call = next_call(footer);
                prop_assert!(call.is_some(), "{footer}");
            }
        }
        let expected: Vec<_> = text
            .lines()
            .enumerate()
            .map(|(index, line)| match line.char_indices().nth(2_000) {
                None => format!("{}: {line}", index + 1),
                Some((end, _)) => {
                    let more = line.chars().count() - 2_000;
                    format!("{}: {} [cut at 2000 characters, {more} more]", index + 1, &line[..end])
                }
            })
            .collect();
        prop_assert_eq!(got, expected);
    }
}

/// A file that says it is UTF-16 is read as text, in any piece of it; what its mark promises and does not hold is not.
#[tokio::test]
async fn a_marked_encoding_is_read() {
    let mut world = World::new();
    let utf16 = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    world.file("le.txt", utf16("\u{feff}caf\u{e9}\r\nzwei \u{1f980}\n", u16::to_le_bytes));
    world.file("be.txt", utf16("\u{feff}one\ntwo\n", u16::to_be_bytes));
    let long: String = (1..=70_000).map(|n| format!("l {n}\n")).collect();
    world.file("long.txt", utf16(&format!("\u{feff}{long}"), u16::to_le_bytes));
    world.file("odd.txt", b"\xff\xfea\0b");
    world.file("no.bin", b"\xff\xfea\0\0\0");
    let text = world.text("read", json!({"file_path": "le.txt"})).await;
    assert_eq!(
        text,
        "1: caf\u{e9}\n2: zwei \u{1f980}\n[the file is UTF-16LE, which only a program can change]\n[end of file: 2 lines]"
    );
    assert!(
        world.text("read", json!({"file_path": "be.txt"})).await.starts_with("1: one\n2: two\n[the file is UTF-16BE")
    );
    let text = world.text("read", json!({"file_path": "long.txt", "offset": 69_999})).await;
    assert!(text.starts_with("69999: l 69999\n70000: l 70000\n["), "{text}");
    assert!(world.text("read", json!({"file_path": "odd.txt"})).await.contains("1: a\u{fffd}\n"));
    assert_eq!(world.error("read", json!({"file_path": "no.bin"})).await.0, Code::FsNotText);
    let change = json!({"file_path": "le.txt", "edits": [{"old": "caf", "new": "tea"}]});
    assert_eq!(world.error("edit", change).await.0, Code::FsNotText);
}
