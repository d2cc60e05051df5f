//! The first place where two JSON values differ, in the order of their keys.

use serde_json::Value;

/// How much of a value is shown, characters.
const SHOWN: usize = 160;
/// How much of what two texts have in common is shown before they part, characters.
const BEFORE: usize = 24;

/// Two values that are not the same, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// JSON Pointer (RFC 6901).
    pub pointer: String,
    /// What was expected there, bounded; `nothing` where nothing was.
    pub expected: String,
    /// What is there, bounded.
    pub found: String,
}

/// The first difference of two JSON values, in the order of their keys; `None` when they are the same.
pub fn first_difference(expected: &Value, found: &Value) -> Option<Difference> {
    let mut pointer = String::new();
    let (expected, found) = walk(&mut pointer, Some(expected), Some(found))?;
    let (expected, found) = shown(expected, found);
    Some(Difference { pointer, expected, found })
}

type Pair<'a> = (Option<&'a Value>, Option<&'a Value>);

fn walk<'a>(pointer: &mut String, expected: Option<&'a Value>, found: Option<&'a Value>) -> Option<Pair<'a>> {
    let above = pointer.len();
    let mut step = |name: &str, expected, found| {
        pointer.truncate(above);
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        walk(pointer, expected, found)
    };
    match (expected, found) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort_unstable();
            names.dedup();
            names.into_iter().find_map(|name| step(name, a.get(name), b.get(name)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            let most = a.len().max(b.len());
            (0..most).find_map(|index| step(&index.to_string(), a.get(index), b.get(index)))
        }
        (a, b) if a == b => None,
        different => Some(different),
    }
}

/// Both, bounded; of two texts the part where they begin to differ.
fn shown(expected: Option<&Value>, found: Option<&Value>) -> (String, String) {
    if let (Some(Value::String(a)), Some(Value::String(b))) = (expected, found) {
        let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
        let from = common.saturating_sub(BEFORE);
        return (part(a, from), part(b, from));
    }
    let whole = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), |value| cut(&value.to_string()));
    (whole(expected), whole(found))
}

fn part(text: &str, from: usize) -> String {
    let rest: String = text.chars().skip(from).collect();
    let lead = if from > 0 { "..." } else { "" };
    cut(&format!("{lead}{}", Value::String(rest)))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}... ({} more)", text.get(..end).unwrap_or_default(), text.chars().count() - SHOWN),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(expected: &Value, found: &Value) -> (String, String, String) {
        let Difference { pointer, expected, found } = first_difference(expected, found).expect("a difference");
        (pointer, expected, found)
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(first_difference(&json!({ "a": [1, { "b": "x" }] }), &json!({ "a": [1, { "b": "x" }] })), None);
        let named =
            |pointer: &str, expected: &str, found: &str| (pointer.to_owned(), expected.to_owned(), found.to_owned());
        assert_eq!(
            at(&json!({ "a": [1, { "b/c": "x" }], "z": 1 }), &json!({ "a": [1, { "b/c": "y" }], "z": 2 })),
            named("/a/1/b~1c", "\"x\"", "\"y\"")
        );
        assert_eq!(at(&json!([1, 2]), &json!([1])), named("/1", "2", "nothing"));
        assert_eq!(at(&json!({}), &json!({ "a": null })), named("/a", "nothing", "null"));
        assert_eq!(at(&json!(1), &json!("1")), named("", "1", "\"1\""));
    }

    #[test]
    fn long_texts_are_shown_where_they_part() {
        let head = "word ".repeat(50);
        let (_, expected, found) = at(&json!(format!("{head}ends so")), &json!(format!("{head}ends otherwise")));
        assert_eq!(expected, "...\"ord word word word ends so\"");
        assert_eq!(found, "...\"ord word word word ends otherwise\"");
        let (_, expected, _) = at(&json!("é".repeat(1_000)), &json!(1));
        assert!(expected.chars().count() < 180 && expected.ends_with("... (842 more)"), "{expected}");
    }
}
