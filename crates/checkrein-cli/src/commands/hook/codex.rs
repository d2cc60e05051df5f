//! Codex's settings: TOML, edited in place, so that everything else stays as its person wrote it.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::ours::{TIMEOUT_S, is_ours};

/// Adds the hook to all tools.
pub(super) fn add(text: &str, command: &str) -> Result<String, String> {
    let mut document = read(text)?;
    let hooks = document.entry("hooks").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let hooks = hooks.as_table_mut().ok_or("`hooks` is no table")?;
    let groups = hooks.entry("PreToolUse").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let groups = groups.as_array_of_tables_mut().ok_or("`hooks.PreToolUse` is no list of tables")?;
    if groups.iter().any(|group| commands(group).any(|there| there == command)) {
        return Ok(text.to_owned());
    }
    drop_ours(groups);
    let mut hook = Table::new();
    hook.insert("type", value("command"));
    hook.insert("command", value(command));
    hook.insert("timeout", value(i64::from(TIMEOUT_S)));
    let mut all = ArrayOfTables::new();
    all.push(hook);
    let mut group = Table::new();
    group.insert("hooks", Item::ArrayOfTables(all));
    groups.push(group);
    Ok(document.to_string())
}

/// Takes out every hook of ours, and what is empty without it.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let mut document = read(text)?;
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(text.to_owned()) };
    let groups = hooks.get_mut("PreToolUse").and_then(Item::as_array_of_tables_mut);
    let Some(groups) = groups else { return Ok(text.to_owned()) };
    if !drop_ours(groups) {
        return Ok(text.to_owned());
    }
    if groups.is_empty() {
        hooks.remove("PreToolUse");
    }
    if hooks.is_empty() {
        document.remove("hooks");
    }
    Ok(document.to_string())
}

fn read(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

fn commands(group: &Table) -> impl Iterator<Item = &str> {
    let hooks = group.get("hooks").and_then(Item::as_array_of_tables);
    hooks.into_iter().flat_map(|hooks| hooks.iter()).filter_map(|hook| hook.get("command")?.as_str())
}

fn drop_ours(groups: &mut ArrayOfTables) -> bool {
    let before = groups.iter().flat_map(commands).filter(|command| is_ours(command)).count();
    for group in groups.iter_mut() {
        if let Some(hooks) = group.get_mut("hooks").and_then(Item::as_array_of_tables_mut) {
            hooks.retain(|hook| !hook.get("command").and_then(Item::as_str).is_some_and(is_ours));
        }
    }
    if before > 0 {
        groups.retain(|group| {
            group.get("hooks").and_then(Item::as_array_of_tables).is_none_or(|hooks| !hooks.is_empty())
        });
    }
    before > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = "# mine\nmodel = \"gpt\"\n\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n\n\
                          [[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"./own.sh\"\n\n[tui]\ntheme = \"x\"\n";

    #[test]
    fn what_is_there_stays_and_comes_back() {
        let added = add(THEIRS, "/usr/bin/checkrein hook --for codex").unwrap();
        insta::assert_snapshot!(added);
        assert_eq!(add(&added, "/usr/bin/checkrein hook --for codex").unwrap(), added, "once is enough");
        let moved = add(&added, "/opt/checkrein hook --for codex").unwrap();
        assert_eq!(moved.matches("hook --for codex").count(), 1, "another place replaces the first");
        assert_eq!(remove(&added).unwrap(), THEIRS);
        assert_eq!(remove(THEIRS).unwrap(), THEIRS);
    }

    #[test]
    fn a_file_that_is_not_there_is_made_and_emptied() {
        let added = add("", "checkrein hook --for codex").unwrap();
        insta::assert_snapshot!(added);
        assert_eq!(remove(&added).unwrap(), "");
    }

    #[test]
    fn settings_that_are_something_else_are_left_alone() {
        assert!(add("hooks = 3", "checkrein hook --for codex").is_err());
        assert!(add("= x", "checkrein hook --for codex").is_err());
    }
}
