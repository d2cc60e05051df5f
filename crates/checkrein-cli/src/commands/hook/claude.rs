//! Claude Code's settings: JSON, edited in place, so that everything else stays as its person wrote it.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstRootNode};

use super::ours::{TIMEOUT_S, is_ours};

/// Adds the hook to all tools.
pub(super) fn add(text: &str, command: &str) -> Result<String, String> {
    let root = root(text)?;
    let object = root.object_value_or_create().ok_or("the settings are no object")?;
    let hooks = object.object_value_or_create("hooks").ok_or("`hooks` is no object")?;
    let groups = hooks.array_value_or_create("PreToolUse").ok_or("`hooks.PreToolUse` is no list")?;
    if groups.elements().iter().flat_map(commands).any(|(_, there)| there == command) {
        return Ok(text.to_owned());
    }
    // An older one of ours is replaced, not joined by another.
    drop_ours(&groups);
    let word = |text: &str| CstInputValue::String(text.to_owned());
    let hook = CstInputValue::Object(vec![
        ("type".to_owned(), word("command")),
        ("command".to_owned(), word(command)),
        ("timeout".to_owned(), CstInputValue::Number(TIMEOUT_S.to_string())),
    ]);
    groups.append(CstInputValue::Object(vec![
        ("matcher".to_owned(), word("*")),
        ("hooks".to_owned(), CstInputValue::Array(vec![hook])),
    ]));
    let mut new = root.to_string();
    if !new.ends_with('\n') {
        new.push('\n');
    }
    Ok(new)
}

/// Takes out every hook of ours, and what is empty without it.
pub(super) fn remove(text: &str) -> Result<String, String> {
    let root = root(text)?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    let Some(hooks) = hooks else { return Ok(text.to_owned()) };
    let Some(groups) = hooks.array_value("PreToolUse") else { return Ok(text.to_owned()) };
    if !drop_ours(&groups) {
        return Ok(text.to_owned());
    }
    if groups.elements().is_empty()
        && let Some(list) = hooks.get("PreToolUse")
    {
        list.remove();
    }
    if hooks.properties().is_empty()
        && let Some(property) = root.object_value().and_then(|object| object.get("hooks"))
    {
        property.remove();
    }
    Ok(root.to_string())
}

fn root(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// The commands of one group, each with its place.
fn commands(group: &CstNode) -> Vec<(CstNode, String)> {
    let hooks = group.as_object().and_then(|group| group.array_value("hooks"));
    let hooks = hooks.map(|hooks| hooks.elements()).unwrap_or_default();
    let command = |hook: CstNode| {
        let value = hook.as_object()?.get("command")?.value()?.as_string_lit()?.decoded_value().ok()?;
        Some((hook, value))
    };
    hooks.into_iter().filter_map(command).collect()
}

fn drop_ours(groups: &CstArray) -> bool {
    let mut dropped = false;
    for group in groups.elements() {
        let ours: Vec<CstNode> =
            commands(&group).into_iter().filter(|(_, command)| is_ours(command)).map(|(hook, _)| hook).collect();
        dropped |= !ours.is_empty();
        let all = group.as_object().and_then(|group| group.array_value("hooks")).map_or(0, |all| all.elements().len());
        if !ours.is_empty() && ours.len() == all {
            group.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = r#"{
  // mine
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "./own.sh" }] }
    ]
  }
}
"#;

    #[test]
    fn what_is_there_stays_and_comes_back() {
        let added = add(THEIRS, "/usr/bin/checkrein hook --for claude").unwrap();
        insta::assert_snapshot!(added);
        assert_eq!(add(&added, "/usr/bin/checkrein hook --for claude").unwrap(), added, "once is enough");
        let moved = add(&added, "/opt/checkrein hook --for claude").unwrap();
        assert_eq!(moved.matches("hook --for claude").count(), 1, "another place replaces the first");
        let removed = remove(&added).unwrap();
        assert!(
            removed.contains("./own.sh") && removed.contains("// mine") && !removed.contains("checkrein"),
            "{removed}"
        );
        assert_eq!(remove(THEIRS).unwrap(), THEIRS);
    }

    #[test]
    fn a_file_that_is_not_there_is_made_and_emptied() {
        let added = add("", "checkrein hook --for claude").unwrap();
        insta::assert_snapshot!(added);
        assert_eq!(remove(&added).unwrap(), "{}\n", "nothing is left");
    }

    #[test]
    fn settings_that_are_something_else_are_left_alone() {
        assert!(add("{ \"hooks\": 3 }", "checkrein hook --for claude").is_err());
        assert!(add("[", "checkrein hook --for claude").is_err());
        assert!(remove("{ nonsense").is_err());
    }
}
