//! The page, as text. The same list and the same tests give the same bytes.

use std::fmt::Write;

use super::list::{List, Requirement};
use super::scan::{Place, Shown};

/// How many tests one row names.
const NAMED: usize = 3;

const HEAD: &str = "# Requirements

<!-- Written by `cargo xtask requirements` from docs/requirements/list.toml and from what tests say they show. -->

";

/// The whole page.
pub(crate) fn write(list: &List, shown: &Shown) -> String {
    let met = list.requirements.iter().filter(|requirement| shown.contains_key(&requirement.number)).count();
    let mut page = HEAD.to_owned();
    let _ = writeln!(
        page,
        "{met} of {} are shown by a test. A test shows a requirement when its doc comment, or the header of its file, \
         names the number.",
        list.requirements.len()
    );
    let mut section = "";
    for requirement in &list.requirements {
        if requirement.section != section {
            section = &requirement.section;
            let _ = write!(page, "\n## {section}\n\n| R | requirement | shown by |\n|---|---|---|\n");
        }
        let text = requirement.text.replace('|', "\\|");
        let _ = writeln!(page, "| R{} | {text} | {} |", requirement.number, shown_by(requirement, shown));
    }
    page
}

fn shown_by(requirement: &Requirement, shown: &Shown) -> String {
    let Some(places) = shown.get(&requirement.number) else {
        let letter = requirement.issue.len() == 1;
        let issue =
            if letter { format!("issue {}", requirement.issue) } else { format!("{} issue", requirement.issue) };
        return format!("not yet ({issue})");
    };
    let mut names: Vec<String> = places.iter().take(NAMED).map(|place| format!("`{}`", name(place))).collect();
    if places.len() > NAMED {
        names.push(format!("and {} more", places.len() - NAMED));
    }
    names.join(", ")
}

fn name(place: &Place) -> String {
    let file = place.file.trim_start_matches("crates/");
    match &place.test {
        Some(test) => format!("{file}::{test}"),
        None => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::scan;
    use super::*;
    use crate::rust::Source;

    const TEXT: &str = "open = [\"C\", \"web\"]\n[[requirement]]\nnumber = 1\nsource = \"000\"\nsection = \"One\"\ntext = \"A | b.\"\nissue = \"C\"\n[[requirement]]\nnumber = 2\nsource = \"000\"\nsection = \"Two\"\ntext = \"C.\"\nissue = \"web\"\n[[requirement]]\nnumber = 3\nsource = \"000\"\nsection = \"Two\"\ntext = \"D.\"\nissue = \"C\"\n";

    /// Every requirement is a row, with its tests or its issue.
    #[test]
    fn rows_name_tests_or_the_issue() {
        let tests = "//! T.\n\n/// R1.\n#[test]\nfn a() {}\n/// R1.\n#[test]\nfn b() {}\n/// R1.\n#[test]\nfn c() {}\n/// R1.\n#[test]\nfn d() {}\n";
        let page = write(&List::parse(TEXT).unwrap(), &scan(&[Source::new("crates/x/tests/y.rs", tests)]));
        assert!(page.contains("1 of 3 are shown"), "{page}");
        assert!(
            page.contains("| R1 | A \\| b. | `x/tests/y.rs::a`, `x/tests/y.rs::b`, `x/tests/y.rs::c`, and 1 more |\n")
        );
        assert!(page.contains(
            "\n## Two\n\n| R | requirement | shown by |\n|---|---|---|\n| R2 | C. | not yet (web issue) |\n"
        ));
        assert!(page.contains("| R3 | D. | not yet (issue C) |\n"));
    }
}
