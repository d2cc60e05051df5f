//! Scripts written by hand, and those on which the parser and bash once disagreed.

mod names;

use checkrein_shell::parse;
use serde_json::Value;

/// What is wrong with one case, if anything.
fn check(case: &Value) -> Result<(), String> {
    let script = case["script"].as_str().ok_or("no script")?;
    if case["invalid"] == true {
        return match parse(script) {
            Ok(tree) => Err(format!("should be refused: {tree:?}")),
            Err(_) => Ok(()),
        };
    }
    let tree = parse(script).map_err(|broken| format!("refused: {} at {}", broken.reason, broken.at))?;
    // `bash -c '...'` and the like hide commands in strings: that they can be read is all that is asked of the tree.
    let text = format!("{} ", script.replace('\n', " "));
    if ["bash -c ", "sh -c "].iter().any(|hides| text.contains(hides)) {
        return Ok(());
    }
    let found = names::Found::of(&tree);
    for wanted in case["commands"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let known = match wanted {
            "<any>" => true,
            "<dyn>" => found.dynamic,
            name => found.names().any(|found| found == name),
        };
        if !known {
            return Err(format!("`{wanted}` is missing from {:?}", found.commands));
        }
    }
    Ok(())
}

fn check_all(cases: &str) {
    let wrong: Vec<String> = cases
        .lines()
        .filter_map(|line| {
            let case: Value = serde_json::from_str(line).expect("a case is a line of JSON");
            check(&case).err().map(|why| format!("{line}\n    {why}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hand_written() {
    check_all(include_str!("data/hand-cases.jsonl"));
}

#[test]
fn found_by_the_oracle() {
    check_all(include_str!("data/found.jsonl"));
}
