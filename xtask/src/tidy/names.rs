//! Names that say nothing, and calls that only one crate may make.
//!
//! The bans are about our own code, as text; what a dependency does is judged by `trees`, and types by clippy.

use std::sync::LazyLock;

use regex::Regex;

use super::{House, Report, Violation};
use crate::rust::{CommentKind, Source};

/// Names for whatever has no home; then everything moves in.
const BANNED: &[&str] = &["core", "common", "util", "utils", "helper", "helpers", "manager", "managers", "misc"];

/// Where a ban holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Everywhere but in tests and build scripts.
    Shipped,
    /// In tests only.
    Tests,
    /// Everywhere.
    All,
}

/// A piece of code that must not be written.
struct Ban {
    pattern: &'static str,
    place: Where,
    /// Crates that may.
    except: &'static [&'static str],
    what: &'static str,
    mend: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        pattern: r"\benv\s*::\s*(?:vars?|args|set_var|remove_var)(?:_os)?\b|\bstd::env::\{[^}]*\b(?:vars?|args)(?:_os)?\b",
        place: Where::Shipped,
        except: &["checkrein-cli", "xtask"],
        what: "only checkrein-cli reads arguments and environment",
        mend: "take the value as an argument",
    },
    Ban {
        pattern: r"\bprocess\s*::\s*Command\b|\btokio::process\b|\bprocess::\{[^}]*\bCommand\b",
        place: Where::Shipped,
        except: &["checkrein-sandbox", "xtask"],
        what: "only checkrein-sandbox starts programs",
        mend: "go through the sandbox's port",
    },
    Ban {
        pattern: r"\bunsafe\b",
        place: Where::All,
        except: &["checkrein-sandbox"],
        what: "only checkrein-sandbox may use `unsafe`",
        mend: "find a safe way, or move it there",
    },
    Ban {
        pattern: r"#!?\s*\[\s*(?:cfg_attr\s*\([^\]]*?\b)?allow\s*\(",
        place: Where::All,
        except: &[],
        what: "`allow` hides what comes later",
        mend: "use `expect(.., reason = \"..\")`",
    },
    Ban {
        pattern: r"\b(?:todo|unimplemented)\s*!",
        place: Where::All,
        except: &[],
        what: "unfinished code",
        mend: "finish it, or return an error that says so",
    },
    Ban {
        pattern: r"\bsleep(?:_until)?\s*\(",
        place: Where::Tests,
        except: &[],
        what: "a test that sleeps is slow, and wrong on a slow machine",
        mend: "wait for the event, or end the line with `// no wait: why` where the clock is paused",
    },
];

/// What excuses a sleep in a test.
const NO_WAIT: &str = " no wait:";

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| BANS.iter().map(|ban| Regex::new(ban.pattern).expect("a valid pattern")).collect());
static MODULE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bmod\s+(\w+)").expect("a valid pattern"));

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let mut violations: Vec<Violation> = house.sources.iter().flat_map(judge).collect();
    for name in house.workspace.crates()? {
        let file = format!("crates/{name}/Cargo.toml");
        violations.extend(name.split('-').filter_map(|part| banned(&file, 1, part)));
    }
    Ok(Report::new(violations, format!("{} files", house.sources.len())))
}

fn judge(source: &Source) -> Vec<Violation> {
    let mut found: Vec<Violation> = Vec::new();
    let stems = source.path.split('/').skip(2).map(|part| part.trim_end_matches(".rs"));
    found.extend(stems.filter_map(|stem| banned(&source.path, 1, stem)));
    for module in MODULE.captures_iter(&source.code) {
        if let Some(name) = module.get(1) {
            found.extend(banned(&source.path, source.line_of(name.start()), name.as_str()));
        }
    }
    for (ban, pattern) in BANS.iter().zip(PATTERNS.iter()) {
        if ban.except.contains(&source.package()) {
            continue;
        }
        for hit in pattern.find_iter(&source.code) {
            let line = source.line_of(hit.start());
            if holds(ban.place, source.is_test_line(line)) && !excused(ban, source, line) {
                found.push(Violation::new(&source.path, line, ban.what, ban.mend));
            }
        }
    }
    found
}

fn banned(file: &str, line: usize, name: &str) -> Option<Violation> {
    let what = format!("`{name}` as a name says nothing");
    BANNED.contains(&name).then(|| Violation::new(file, line, what, "name it after what it is for"))
}

fn holds(place: Where, in_test: bool) -> bool {
    match place {
        Where::All => true,
        Where::Tests => in_test,
        Where::Shipped => !in_test,
    }
}

fn excused(ban: &Ban, source: &Source, line: usize) -> bool {
    let mut beside =
        source.comments.iter().filter(|comment| comment.line == line && comment.kind == CommentKind::Plain);
    ban.place == Where::Tests && beside.any(|comment| comment.text.starts_with(NO_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        judge(&Source::new(path, text)).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn banned_names_are_found_in_paths_and_modules() {
        assert_eq!(lines("crates/a/src/util.rs", ""), [1]);
        assert_eq!(lines("crates/a/tests/common/mod.rs", ""), [1]);
        assert_eq!(lines("crates/a/src/lib.rs", "\nmod helpers;\n"), [2]);
        assert!(lines("crates/a/src/lib.rs", "mod stages;\nuse core::fmt;\n// mod util;\n").is_empty());
    }

    #[test]
    fn environment_is_for_the_command_line_only() {
        let text = "fn a() { std::env::var(\"A\"); }\nuse std::env::{self, args};\n";
        assert_eq!(lines("crates/checkrein-tools/src/x.rs", text), [1, 2]);
        assert!(lines("crates/checkrein-cli/src/x.rs", text).is_empty());
        assert!(lines("crates/checkrein-tools/tests/x.rs", text).is_empty());
        assert!(lines("crates/checkrein-tools/src/x.rs", "std::env::consts::OS; std::env::temp_dir();\n").is_empty());
    }

    #[test]
    fn starting_programs_and_unsafe_are_for_the_sandbox_only() {
        for text in ["use std::process::Command;\n", "tokio::process::Child\n", "use std::process::{self, Command};\n"]
        {
            assert_eq!(lines("crates/checkrein-tools/src/x.rs", text), [1], "{text}");
            assert!(lines("crates/checkrein-sandbox/src/x.rs", text).is_empty());
        }
        assert_eq!(lines("crates/checkrein-tools/tests/x.rs", "unsafe { a() }\n"), [1]);
        assert!(
            lines("crates/checkrein-tools/src/x.rs", "#![forbid(unsafe_code)] // unsafe\n\"unsafe\";\n").is_empty()
        );
        assert!(lines("crates/checkrein-tools/src/x.rs", "std::process::id()\n").is_empty());
    }

    #[test]
    fn suppressions_and_unfinished_code_are_found() {
        let text = format!("#[{0}(dead_code)]\n#![cfg_attr(test, {0}(x))]\n{1}!()\n", "allow", "todo");
        assert_eq!(lines("crates/a/src/x.rs", &text), [1, 2, 3]);
        assert!(lines("crates/a/src/x.rs", "#[expect(dead_code, reason = \"r\")]\nfn allow(x: u8) {}\n").is_empty());
    }

    #[test]
    fn tests_do_not_sleep() {
        let text =
            "thread::sleep(x);\ntokio::time::sleep(x).await; // no wait: paused clock\ncommand(\"sleep (5)\");\n";
        assert_eq!(lines("crates/a/tests/x.rs", text), [1]);
        assert!(lines("crates/a/src/x.rs", text).is_empty());
        assert_eq!(lines("crates/a/src/x.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n")), [3]);
    }
}
