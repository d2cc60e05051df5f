//! `cargo xtask requirements`: which test shows which requirement, as one page.
//!
//! It counts what tests say they show; whether they do is for whoever reads the test.

use crate::workspace::Workspace;

pub(crate) mod list;
pub(crate) mod mention;
pub(crate) mod page;
pub(crate) mod scan;

/// The page it writes.
pub(crate) const PAGE: &str = "docs/requirements.md";

/// Writes the page, or compares with it.
pub(crate) fn run(workspace: &Workspace, check: bool) -> Result<(), String> {
    let list = list::List::load(workspace)?;
    let shown = scan::scan(&workspace.sources()?);
    let text = page::write(&list, &shown);
    if check {
        if workspace.read_if_there(PAGE)?.as_deref() != Some(text.as_str()) {
            return Err(format!("{PAGE} is not fresh: run `cargo xtask requirements`"));
        }
        println!("{PAGE} is fresh");
        return Ok(());
    }
    workspace.write(PAGE, &text)?;
    let met = list.requirements.iter().filter(|requirement| shown.contains_key(&requirement.number)).count();
    println!("{PAGE}: {met} of {} shown by tests", list.requirements.len());
    Ok(())
}
