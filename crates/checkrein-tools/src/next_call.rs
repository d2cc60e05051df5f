//! The exact call that gets more, in one spelling for all tools: a name and its arguments as JSON.

use serde_json::{Value, json};

/// Such as `` `read` {"file_path":"a.rs","offset":2001} ``.
pub(crate) fn next_call(tool: &str, args: &Value) -> String {
    format!("`{tool}` {args}")
}

/// The call that shows one line whole. The command is plain words, so that a policy can understand it.
pub(crate) fn whole_line(file_path: &str, line: u64) -> String {
    next_call("bash", &json!({ "command": format!("sed -n {line}p {}", word(file_path)) }))
}

/// A text as one word of a shell.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    match text.chars().next() {
        Some(first) if first != '-' && text.chars().all(plain) => text.to_owned(),
        Some('-') => word(&format!("./{text}")),
        _ => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_one_word() {
        for (path, expected) in
            [("src/a.rs", "src/a.rs"), ("it's", "'it'\\''s'"), ("-n", "./-n"), ("a b", "'a b'"), ("-a b", "'./-a b'")]
        {
            assert_eq!(word(path), expected);
        }
        assert_eq!(whole_line("a.rs", 7), r#"`bash` {"command":"sed -n 7p a.rs"}"#);
    }
}
