//! Every Rust file opens with `//!`: what it is for, and what it must not do. Whether the words are true is a reader's
//! business, not this check's.

use super::{House, Report, Violation};

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let violations = house.sources.iter().filter_map(|source| judge(&source.path, &source.text)).collect();
    Ok(Report::new(violations, format!("{} files", house.sources.len())))
}

fn judge(path: &str, text: &str) -> Option<Violation> {
    let first = text.lines().next().unwrap_or_default();
    let fine = first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty());
    let mend = "begin with `//! what it is for, and what it must not do`";
    if fine { None } else { Some(Violation::new(path, 1, "the file does not say what it is for", mend)) }
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn a_header_is_wanted_on_the_first_line() {
        assert_eq!(judge("a.rs", "//! Reads x. It must not write.\n\nfn a() {}\n"), None);
        for bad in ["", "\n//! Late.\n", "//!\n", "// Plain.\n", "use a;\n//! Late.\n"] {
            assert!(judge("a.rs", bad).is_some(), "{bad:?}");
        }
    }
}
