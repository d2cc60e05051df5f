//! `write` and `edit`: only over a version that was read, whole or not at all, and the world re-read afterwards.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use checkrein_contract::{Code, Digest, Presentation};
use serde_json::{Value, json};

use crate::support::World;

fn one(old: &str, new: &str) -> Value {
    json!({"file_path": "a.txt", "edits": [{"old": old, "new": new}]})
}

/// Shows R188, R189: a new file stands there as it was given, with its folders, and nothing else does.
#[tokio::test]
async fn a_new_file_is_created_with_its_folders() {
    let mut world = World::new();
    let finished = world.call("write", json!({"file_path": "new/deep/a.txt", "content": "one\ntwo"})).await;
    assert_eq!(finished.text, "created new/deep/a.txt: 2 lines, 7 bytes");
    assert_eq!(world.content("new/deep/a.txt"), "one\ntwo");
    assert_eq!(world.names("new/deep"), ["a.txt"]);
    assert_eq!(world.seen("new/deep/a.txt"), Some(&Some(Digest::of(b"one\ntwo"))));
    let Some(Presentation::Diff { path, text }) = finished.shown else { panic!("no diff") };
    assert_eq!(path, "new/deep/a.txt");
    assert!(text.ends_with("@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"), "{text}");

    // What this session wrote it may write again.
    assert_eq!(
        world.text("write", json!({"file_path": "new/deep/a.txt", "content": ""})).await,
        "wrote new/deep/a.txt: 0 lines, 0 bytes"
    );
}

/// A new file has the mode that everything else here would give it; an old one keeps its own.
#[tokio::test]
async fn modes_are_kept() {
    let mut world = World::new();
    world.file("made-by-the-test", "");
    world.text("write", json!({"file_path": "new", "content": "x"})).await;
    assert_eq!(world.mode("new"), world.mode("made-by-the-test"));
    world.file("run.sh", "#!/bin/sh\n");
    for mode in [0o755, 0o600, 0o4711] {
        world.set_mode("run.sh", mode);
        world.text("read", json!({"file_path": "run.sh"})).await;
        world.text("write", json!({"file_path": "run.sh", "content": format!("#!/bin/sh\n# {mode}\n")})).await;
        assert_eq!(world.mode("run.sh"), mode);
    }
}

/// Shows R55: over an unseen file, a changed one and one that is gone nothing is written, and the code says which it
/// was.
#[tokio::test]
async fn nothing_is_written_over_what_was_not_seen() {
    let mut world = World::new();
    world.file("a.txt", "mine\n");
    let over = json!({"file_path": "a.txt", "content": "theirs\n"});
    let unseen = (Code::FsNotObserved, "`a.txt` exists and was not read in this session".to_owned());
    assert_eq!(world.error("write", over.clone()).await, unseen);
    assert_eq!(world.error("edit", one("mine", "theirs")).await, unseen);
    assert_eq!(world.error("edit", one("not there", "x")).await, unseen, "versions come before text");

    world.text("read", json!({"file_path": "a.txt"})).await;
    world.file("a.txt", "mine, changed\n");
    let stale = (Code::FsStaleVersion, "`a.txt` changed since it was read".to_owned());
    assert_eq!(world.error("write", over.clone()).await, stale);
    assert_eq!(world.error("edit", one("not there", "x")).await, stale, "versions come before text");
    assert_eq!(world.content("a.txt"), "mine, changed\n");

    fs::remove_file(world.path("a.txt")).unwrap();
    let gone = (Code::FsStaleVersion, "`a.txt` is gone since it was read".to_owned());
    assert_eq!(world.error("write", over).await, gone);
    assert_eq!(world.error("edit", one("mine", "x")).await.0, Code::FsNotFound);
    assert!(world.names(".").is_empty());

    world.file("dir/b.txt", "b\n");
    world.text("read", json!({"file_path": "dir/b.txt"})).await;
    fs::remove_dir_all(world.path("dir")).unwrap();
    let (code, _) = world.error("write", json!({"file_path": "dir/b.txt", "content": "x"})).await;
    assert_eq!((code, world.path("dir").exists()), (Code::FsStaleVersion, false), "and its folder is not made again");

    let finished = world.call("write", json!({"file_path": "dir/b.txt", "content": "x"})).await;
    let remedy = serde_json::from_str::<Value>(&finished.text).unwrap()["remedy"].clone();
    assert_eq!(remedy, "Read the file again, adapt the change, then retry.");
}

/// What can not be replaced is refused, and nothing is left behind.
#[tokio::test]
async fn what_is_no_file_is_not_replaced() {
    let mut world = World::new();
    world.file("dir/a.txt", "a\n");
    for (path, code) in
        [("dir", Code::FsNotRegularFile), ("dir/a.txt/b", Code::FsNotDirectory), ("n".repeat(300).as_str(), Code::FsIo)]
    {
        let (got, _) = world.error("write", json!({"file_path": path, "content": "x"})).await;
        assert_eq!(got, code, "{path}");
    }
    assert_eq!(world.names("dir"), ["a.txt"]);
    assert_eq!(world.names("."), ["dir"]);
}

/// Shows R82: a link is written through to what was judged; outside the project that is denied.
#[tokio::test]
async fn a_link_is_written_through_to_what_was_judged() {
    let mut world = World::new();
    world.file("real.txt", "real\n");
    symlink("real.txt", world.path("link.txt")).unwrap();
    symlink(world.task().join("outside.txt"), world.path("out.txt")).unwrap();
    symlink("gone/new.txt", world.path("dangling.txt")).unwrap();
    world.text("read", json!({"file_path": "link.txt"})).await;
    assert_eq!(
        world.text("write", json!({"file_path": "link.txt", "content": "new\n"})).await,
        "wrote link.txt: 1 line, 4 bytes"
    );
    assert_eq!(world.content("real.txt"), "new\n");
    assert!(world.path("link.txt").is_symlink());
    world.text("write", json!({"file_path": "dangling.txt", "content": "x"})).await;
    assert_eq!(world.content("gone/new.txt"), "x");
    let (code, _) = world.error("write", json!({"file_path": "out.txt", "content": "x"})).await;
    assert_eq!((code, world.task().join("outside.txt").exists()), (Code::Denied, false));
}

/// A link that is put into the path after the decision is not followed, at any place in it.
#[tokio::test]
async fn a_link_that_comes_after_the_decision_is_not_followed() {
    let mut world = World::new();
    let outside = world.task();
    fs::write(outside.join("a.txt"), "outside\n").unwrap();
    let (dir, link) = (world.path("dir"), world.path("b.txt"));
    let replace_folder = || {
        fs::remove_dir_all(&dir).unwrap();
        symlink(&outside, &dir).unwrap();
    };
    let add_link = || symlink(outside.join("a.txt"), &link).unwrap();
    let links: [(&str, &dyn Fn()); 2] = [("dir/a.txt", &replace_folder), ("b.txt", &add_link)];
    for (path, meanwhile) in links {
        for (tool, args) in
            [("write", json!({"file_path": path, "content": "mine\n"})), ("read", json!({ "file_path": path }))]
        {
            if path.contains('/') {
                fs::create_dir(world.path("dir")).unwrap();
            }
            let finished = world.call_while(tool, args, meanwhile).await;
            assert_eq!(finished.code, Some(Code::FsIo), "{tool} {path}: {}", finished.text);
            assert!(finished.text.contains("became a link while the call was being decided"), "{}", finished.text);
            fs::remove_file(world.path(path.trim_end_matches("/a.txt"))).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(outside.join("a.txt")).unwrap(), "outside\n");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
}

/// A file is replaced in one step: it is another file afterwards, and the old one was never half written.
#[tokio::test]
async fn a_file_is_replaced_not_overwritten() {
    let mut world = World::new();
    world.file("a.txt", "old\n");
    let reader = fs::File::open(world.path("a.txt")).unwrap();
    let before = reader.metadata().unwrap().ino();
    world.text("read", json!({"file_path": "a.txt"})).await;
    world.text("edit", one("old", "new")).await;
    assert_ne!(fs::metadata(world.path("a.txt")).unwrap().ino(), before);
    assert_eq!(std::io::read_to_string(reader).unwrap(), "old\n");
    assert_eq!((world.content("a.txt").as_str(), world.names(".")), ("new\n", vec!["a.txt".to_owned()]));
}

/// Several edits in one call, each on the result of the one before.
#[tokio::test]
async fn edits_are_made_in_order() {
    let mut world = World::new();
    world.file("a.txt", "\u{feff}one\r\ntwo\r\none\r\n");
    world.text("read", json!({"file_path": "a.txt"})).await;
    let edits = json!([
        {"old": "two\none", "new": "two\nthree"},
        {"old": "three", "new": "drei"},
        {"old": "o", "new": "0", "replace_all": true},
    ]);
    let finished = world.call("edit", json!({"file_path": "a.txt", "edits": edits})).await;
    assert_eq!(finished.text, "edited a.txt: 3 edits, 4 replacements");
    assert_eq!(world.content("a.txt"), "\u{feff}0ne\r\ntw0\r\ndrei\r\n");
    assert!(matches!(finished.shown, Some(Presentation::Diff { .. })));
    // Its own change is known to the session.
    world.text("edit", one("drei", "vier")).await;
}

/// All or nothing: an edit that fails leaves the file as it was, and says which of them it is.
#[tokio::test]
async fn one_bad_edit_stops_all_of_them() {
    let mut world = World::new();
    let content = "x = 1\ny = 1\n  z = 2\n";
    world.file("a.txt", content);
    world.text("read", json!({"file_path": "a.txt"})).await;
    for (bad, code, message) in [
        (json!({"old": "q", "new": "r"}), Code::EditNotFound, "`/edits/1/old` is not in `a.txt`"),
        (json!({"old": "z = 2\nw", "new": "r"}), Code::EditNotFound, "`/edits/1/old` is not in `a.txt`"),
        (
            json!({"old": "    z = 2", "new": "r"}),
            Code::EditNotFound,
            "`/edits/1/old` is not in `a.txt`; the same text with other blanks is at line 3",
        ),
        (
            json!({"old": " = 1", "new": " = 3"}),
            Code::EditAmbiguous,
            "`/edits/1/old` occurs 2 times in `a.txt`, at line 1, 2",
        ),
        (json!({"old": "", "new": "r"}), Code::EditEmpty, "`/edits/1/old` is empty"),
        (json!({"old": "y", "new": "y"}), Code::EditEmpty, "`/edits/1/new` is the same as `/edits/1/old`"),
        (json!({"old": "x9", "new": "x"}), Code::EditEmpty, "all edits together leave `a.txt` as it was"),
    ] {
        let edits = json!([{"old": "x", "new": "x9"}, bad]);
        let edits = if code == Code::EditAmbiguous { json!([{"old": "z", "new": "zz"}, bad]) } else { edits };
        let got = world.error("edit", json!({"file_path": "a.txt", "edits": edits})).await;
        assert_eq!(got, (code, message.to_owned()), "{bad}");
        assert_eq!(world.content("a.txt"), content);
    }
}

/// What an edit could only damage it does not touch.
#[tokio::test]
async fn what_is_no_text_or_too_large_is_not_edited() {
    let mut world = World::new();
    for (content, code) in [
        ([vec![b'a'; 10_000], vec![0, b'x']].concat(), Code::FsNotText),
        (b"caf\xe9 x\n".to_vec(), Code::FsNotText),
        ([vec![b'\n'; 10 * 1024 * 1024], vec![b'x']].concat(), Code::FsTooLarge),
    ] {
        world.file("a.txt", &content);
        world.text("read", json!({"file_path": "a.txt"})).await;
        assert_eq!(world.error("edit", one("x", "y")).await.0, code);
        assert_eq!(fs::read(world.path("a.txt")).unwrap(), content);
    }
}

/// Shows R69: a long diff is for people, bounded, and says that it was cut.
#[tokio::test]
async fn a_long_diff_says_that_it_was_cut() {
    let mut world = World::new();
    let finished = world.call("write", json!({"file_path": "a.txt", "content": "é\n".repeat(10_000)})).await;
    let Some(Presentation::Diff { text, .. }) = finished.shown else { panic!("no diff") };
    assert!(text.len() < 8_100 && text.ends_with(" more bytes left out]\n"), "{}", text.len());
}

/// Shows R147: a call that is cancelled before it is done changes nothing and leaves nothing behind.
#[tokio::test]
async fn a_cancelled_change_is_none() {
    let mut world = World::new();
    world.file("a.txt", "old\n");
    world.text("read", json!({"file_path": "a.txt"})).await;
    world.cancel();
    assert_eq!(world.error("write", json!({"file_path": "b.txt", "content": "x"})).await.0, Code::Cancelled);
    assert_eq!(world.error("edit", one("old", "new")).await.0, Code::Cancelled);
    assert_eq!((world.names("."), world.content("a.txt")), (vec!["a.txt".to_owned()], "old\n".to_owned()));
}
