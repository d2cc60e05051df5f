//! Requirements: the page is what `cargo xtask requirements` would write, every number has a test or an open issue, and
//! no test names a number that nobody asked for.

use super::{House, Report, Violation};
use crate::requirements::list::{LIST, List};
use crate::requirements::scan::{Shown, scan};
use crate::requirements::{PAGE, page};

pub(super) fn check(house: &House<'_>) -> Result<Report, String> {
    let list = List::load(house.workspace)?;
    let shown = scan(&house.sources);
    let mut violations = judge(&list, &shown);
    let text = house.workspace.read_if_there(PAGE)?.unwrap_or_default();
    violations.extend(fresh(&text, &page::write(&list, &shown)));
    let met = list.requirements.iter().filter(|requirement| shown.contains_key(&requirement.number)).count();
    Ok(Report::new(violations, format!("{met} of {} shown by tests", list.requirements.len())))
}

fn judge(list: &List, shown: &Shown) -> Vec<Violation> {
    let mut found = Vec::new();
    for requirement in list.requirements.iter().filter(|requirement| !shown.contains_key(&requirement.number)) {
        if !list.open.contains(&requirement.issue) {
            let what = format!("R{} has no test, and issue {} is not open", requirement.number, requirement.issue);
            let mend = "write the test and name the number in its doc comment, or move it to an open issue";
            found.push(Violation::new(LIST, list.line_of(requirement.number), what, mend));
        }
    }
    for (number, places) in shown.iter().filter(|(number, _)| list.get(**number).is_none()) {
        for place in places {
            let what = format!("R{number} is not in {LIST}");
            found.push(Violation::new(&place.file, place.line, what, "mend the number"));
        }
    }
    found
}

fn fresh(stands: &str, should: &str) -> Option<Violation> {
    if stands == should {
        return None;
    }
    let differs = stands.lines().zip(should.lines()).position(|(a, b)| a != b);
    let line = 1 + differs.unwrap_or_else(|| stands.lines().count().min(should.lines().count()));
    Some(Violation::new(PAGE, line, "the page is not fresh", "run `cargo xtask requirements`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::Source;

    const TEXT: &str = "open = [\"B\"]\n\n[[requirement]]\nnumber = 1\nsource = \"000\"\nsection = \"S\"\ntext = \"One.\"\nissue = \"A\"\n\n[[requirement]]\nnumber = 2\nsource = \"000\"\nsection = \"S\"\ntext = \"Two.\"\nissue = \"B\"\n";

    fn shown(comment: &str) -> Shown {
        scan(&[Source::new("crates/a/tests/x.rs", format!("//! Tests.\n\n/// {comment}\n#[test]\nfn a() {{}}\n"))])
    }

    #[test]
    fn a_test_or_an_open_issue_is_enough() {
        let list = List::parse(TEXT).unwrap();
        assert!(judge(&list, &shown("Shows R1.")).is_empty());
    }

    #[test]
    fn a_closed_issue_without_a_test_and_an_unknown_number_are_violations() {
        let list = List::parse(TEXT).unwrap();
        let found = judge(&list, &shown("Shows R9."));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].file.as_str(), found[0].line), (LIST, 4));
        assert_eq!((found[1].file.as_str(), found[1].line), ("crates/a/tests/x.rs", 5));
    }

    #[test]
    fn a_stale_page_is_a_violation() {
        assert_eq!(fresh("a\nb\n", "a\nb\n"), None);
        assert_eq!(fresh("a\nb\n", "a\nc\n").unwrap().line, 2);
        assert_eq!(fresh("", "a\n").unwrap().line, 1);
    }
}
