//! A copy of the crates that the gate needs, as a workspace of its own below `target/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cargo_metadata::Metadata;

use crate::cargo;
use crate::workspace::Workspace;

/// Where it stands; its own target folder is beside it.
const FOLDER: &str = "target/stage-removal/workspace";

const GATE: &str = "checkrein-gate";

/// Files of the root that cargo looks at.
const ROOT_FILES: &[&str] = &["Cargo.lock", "clippy.toml", "rust-toolchain.toml"];

/// Makes the copy anew.
pub(super) fn make(workspace: &Workspace) -> Result<Workspace, String> {
    let copy = Workspace { root: workspace.root.join(FOLDER) };
    if copy.root.exists() {
        fs::remove_dir_all(&copy.root).map_err(|e| format!("{FOLDER} can not be cleared: {e}"))?;
    }
    let members = needed(GATE, &imports(&cargo::metadata(workspace)?));
    for member in &members {
        let from = workspace.root.join("crates").join(member);
        copy_folder(&from, &copy.root.join("crates").join(member))?;
    }
    copy.write("Cargo.toml", &manifest(&workspace.read("Cargo.toml")?, &members)?)?;
    for file in ROOT_FILES {
        if let Some(text) = workspace.read_if_there(file)? {
            copy.write(file, &text)?;
        }
    }
    Ok(copy)
}

/// Which crates of ours each imports, for tests too: cargo wants those to be there.
fn imports(metadata: &Metadata) -> BTreeMap<String, Vec<String>> {
    let packages = metadata.packages.iter();
    packages
        .map(|package| {
            let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
            (package.name.to_string(), ours.map(|dependency| dependency.name.clone()).collect())
        })
        .collect()
}

fn needed(name: &str, imports: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        if found.insert(next.clone()) {
            open.extend(imports.get(&next).into_iter().flatten().cloned());
        }
    }
    found
}

/// The root manifest with other members.
fn manifest(text: &str, members: &BTreeSet<String>) -> Result<String, String> {
    let mut table: toml::Table = text.parse().map_err(|e| format!("Cargo.toml can not be read: {e}"))?;
    let workspace = table.get_mut("workspace").and_then(toml::Value::as_table_mut);
    let workspace = workspace.ok_or("Cargo.toml has no [workspace]: run this at the root")?;
    workspace.remove("default-members");
    let paths = members.iter().map(|member| toml::Value::String(format!("crates/{member}")));
    workspace.insert("members".to_owned(), toml::Value::Array(paths.collect()));
    toml::to_string(&table).map_err(|e| format!("Cargo.toml can not be written: {e}"))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{} can not be copied: {e}", from.display());
    fs::create_dir_all(to).map_err(wrong)?;
    for entry in fs::read_dir(from).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(wrong)?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(wrong)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_below_a_crate_is_needed_circles_included() {
        let edge = |from: &str, to: &[&str]| (from.to_owned(), to.iter().map(|name| (*name).to_owned()).collect());
        let imports = BTreeMap::from([
            edge("gate", &["policy", "testkit"]),
            edge("policy", &["contract"]),
            edge("testkit", &["gate"]),
            edge("cli", &["gate"]),
        ]);
        let found: Vec<_> = needed("gate", &imports).into_iter().collect();
        assert_eq!(found, ["contract", "gate", "policy", "testkit"]);
    }

    #[test]
    fn the_manifest_keeps_all_but_its_members() {
        let text = "[workspace]\nmembers = [\"crates/*\", \"xtask\"]\ndefault-members = [\"crates/cli\"]\n[workspace.dependencies]\nserde = \"1\"\n[profile.dev]\ndebug = false\n";
        let written = manifest(text, &BTreeSet::from(["gate".to_owned()])).unwrap();
        let table: toml::Table = written.parse().unwrap();
        assert_eq!(table["workspace"]["members"].to_string(), "[\"crates/gate\"]");
        assert!(!written.contains("default-members"));
        assert_eq!(table["workspace"]["dependencies"]["serde"].as_str(), Some("1"));
        assert!(table.contains_key("profile"));
    }
}
