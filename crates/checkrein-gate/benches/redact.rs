//! What redaction costs: 1 MiB of source text and of build output, one small result, and a stream in pieces.

use std::fmt::Write as _;
use std::path::Path;

use checkrein_gate::{Redactor, redact_text};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// Bytes of each text.
const SIZE: usize = 1024 * 1024;

/// The sources of this workspace, one after the other, in order of their names.
fn source() -> String {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let rust = files.iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let rust = rust.filter(|path| !path.ends_with("redaction.rs"));
    let text: String = rust.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    cut(text.repeat(SIZE / text.len() + 1))
}

/// What a build prints.
fn output() -> String {
    let mut text = String::new();
    for number in 0..SIZE / 70 {
        _ = match number % 4 {
            0 => writeln!(text, "   Compiling keyring v3.{number}.2 (https://example.org/index)"),
            1 => writeln!(text, "test api::tokens::a_token_of_kind_{number}_ends ... ok"),
            2 => writeln!(text, "warning: unused variable: `access_{number}` --> src/auth/key.rs:{number}:9"),
            _ => writeln!(text, "2026-11-30T20:26:24.{number}Z INFO http: GET /api/v2/items/{number} 200 in 12ms"),
        };
    }
    cut(text)
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SIZE));
    text
}

#[divan::bench]
fn source_of_one_mib(bencher: Bencher<'_, '_>) {
    let text = source();
    bencher.counter(BytesCount::new(text.len())).bench(|| redact_text(black_box(&text)).len());
}

#[divan::bench]
fn output_of_one_mib(bencher: Bencher<'_, '_>) {
    let text = output();
    bencher.counter(BytesCount::new(text.len())).bench(|| redact_text(black_box(&text)).len());
}

#[divan::bench]
fn a_small_result(bencher: Bencher<'_, '_>) {
    let text = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
    bencher.counter(BytesCount::new(text.len())).bench(|| redact_text(black_box(text)).len());
}

/// In pieces of a pipe's size, with a secret that is known by its value.
#[divan::bench]
fn output_as_a_stream(bencher: Bencher<'_, '_>) {
    let text = output();
    let redactor = Redactor::knowing(&[("SHOP".to_owned(), "plain-words-that-open".to_owned())].into());
    let Some(redactor) = redactor else { return };
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        let mut stream = redactor.stream();
        let pieces = text.as_bytes().chunks(64 * 1024);
        let shown: usize = pieces.map(|piece| stream.push_bytes(black_box(piece)).len()).sum();
        shown + stream.finish_bytes().len()
    });
}
