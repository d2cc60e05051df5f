//! `cargo xtask catalog`: pages that the binary prints, so that they can not say other things than it does.

use crate::cargo;
use crate::workspace::Workspace;

/// What the binary is asked, and the page its answer is.
const PAGES: &[(&[&str], &str)] =
    &[(&["tools", "catalog"], "docs/tools.md"), (&["policy", "commands"], "docs/commands.md")];

/// The package of the binary.
const BINARY: &str = "checkrein-cli";

/// Writes the pages, or compares with them.
pub(crate) fn run(workspace: &Workspace, check: bool) -> Result<(), String> {
    if !workspace.crates()?.iter().any(|name| name == BINARY) {
        return Err(format!("there is no crate `{BINARY}` to print the pages: add it first"));
    }
    for (arguments, page) in PAGES {
        let mut all = vec!["run", "--quiet", "--locked", "-p", BINARY, "--"];
        all.extend_from_slice(arguments);
        let text = cargo::capture(workspace, &all)?;
        if check {
            compare(page, &workspace.read_if_there(page)?.unwrap_or_default(), &text)?;
        } else {
            workspace.write(page, &text)?;
        }
        println!("{page} {}", if check { "is fresh" } else { "is written" });
    }
    Ok(())
}

fn compare(page: &str, stands: &str, printed: &str) -> Result<(), String> {
    if stands == printed {
        return Ok(());
    }
    let differs = stands.lines().zip(printed.lines()).position(|(a, b)| a != b);
    let line = 1 + differs.unwrap_or_else(|| stands.lines().count().min(printed.lines().count()));
    Err(format!("{page}:{line} is not what the binary prints: run `cargo xtask catalog` and look at the difference"))
}

#[cfg(test)]
mod tests {
    use super::compare;

    /// Shows R32: a stale catalog is an error that names the line.
    #[test]
    fn a_stale_page_is_an_error_that_names_the_line() {
        assert_eq!(compare("docs/x.md", "a\nb\n", "a\nb\n"), Ok(()));
        assert!(compare("docs/x.md", "a\nb\n", "a\nc\n").unwrap_err().starts_with("docs/x.md:2 "));
        assert!(compare("docs/x.md", "a\n", "a\nb\n").unwrap_err().starts_with("docs/x.md:2 "));
    }
}
