//! The name of a person, as the journal keeps it with what they said.

/// Longest name, characters: an address with a display name fits.
const MAX_CHARS: usize = 200;

/// The name without blanks around it.
///
/// # Errors
/// Why it names nobody: it is empty, longer than 200 characters, or holds a character that steers a terminal.
pub fn person(name: &str) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("it names nobody: give the name of a person".to_owned());
    }
    if name.chars().count() > MAX_CHARS {
        return Err(format!("a name has at most {MAX_CHARS} characters"));
    }
    if name.chars().any(char::is_control) {
        return Err("a name is one line of plain characters".to_owned());
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows R102: whoever says yes has a name.
    #[test]
    fn nobody_and_what_steers_a_terminal_are_no_person() {
        assert_eq!(person(" Dana of ops \n").unwrap(), "Dana of ops");
        for nobody in ["", "  ", "dana\nperson:eve", "\u{1b}[2Jdana", &"x".repeat(201)] {
            assert!(person(nobody).is_err(), "{nobody:?}");
        }
    }
}
