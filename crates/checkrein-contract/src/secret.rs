//! How a secret is named where it is needed: `${secret:NAME}`. Only the name is ever written down; the value is filled in
//! at the last moment, by the sandbox, in the environment of one program.

/// What the variables that hold secrets are called, the host's and those of a command line: this, and the secret's name.
pub const SECRET_VARIABLE: &str = "CHECKREIN_SECRET_";

/// What opens the name of a secret.
const OPENS: &str = "${secret:";

/// Whether this can be the name of a secret: a letter or `_`, then letters, digits and `_`.
pub fn is_secret_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(legal)
}

/// The text with every `${secret:NAME}` replaced by what `value` says of the name.
///
/// # Errors
/// The first error of `value`.
pub fn with_secrets<E>(text: &str, mut value: impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(OPENS) {
        out.push_str(before);
        match behind.split_once('}').filter(|(name, _)| is_secret_name(name)) {
            Some((name, after)) => {
                out.push_str(&value(name)?);
                rest = after;
            }
            None => {
                out.push_str(OPENS);
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The names of the secrets that a text needs, in order, each once.
pub fn secrets_named(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let noted: Result<String, std::convert::Infallible> = with_secrets(text, |name| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        Ok(String::new())
    });
    match noted {
        Ok(_) => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_in_one_way() {
        let text = "a ${secret:A} ${secret:B_2} ${secret:A} ${secret:} ${secret:no name} ${secret:open";
        assert_eq!(secrets_named(text), ["A", "B_2"]);
        let filled = with_secrets(text, |name| Ok::<_, ()>(format!("<{name}>"))).unwrap();
        assert_eq!(filled, "a <A> <B_2> <A> ${secret:} ${secret:no name} ${secret:open");
        assert_eq!(with_secrets(text, |name| Err::<String, _>(name.to_owned())), Err("A".to_owned()));
    }
}
