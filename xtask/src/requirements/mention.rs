//! Numbers behind a letter in the words of a comment: `R4`, `R10-R14`, `R61, R63`. It knows no list.

use std::sync::LazyLock;

use regex::Regex;

static MENTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b([A-Z])(\d{1,3})\b(?:\s*[-–]\s*([A-Z])(\d{1,3})\b)?").expect("a valid pattern"));

/// Every number that stands behind this letter, ranges filled in.
pub(crate) fn mentions(text: &str, letter: char) -> Vec<u32> {
    let mut found = Vec::new();
    for mention in MENTION.captures_iter(text) {
        let part = |index: usize| mention.get(index).map_or("", |part| part.as_str());
        let number = |index: usize| part(index).parse::<u32>().ok();
        let is_letter = |index: usize| part(index).starts_with(letter);
        let first = number(2).filter(|_| is_letter(1));
        let last = number(4).filter(|_| is_letter(3));
        match (first, last) {
            (Some(first), Some(last)) => found.extend(first..=last),
            (one, other) => found.extend(one.or(other)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn single_numbers_lists_and_ranges_are_found() {
        assert_eq!(mentions("Shows R61, R63.", 'R'), [61, 63]);
        assert_eq!(mentions("Shows R10-R13, R1 – R2: words", 'R'), [10, 11, 12, 13, 1, 2]);
        assert_eq!(mentions("Shows I4 and R5.", 'I'), [4]);
    }

    #[test]
    fn other_words_are_not_numbers() {
        assert!(mentions("CR2, R2D2, r5, R, R1234, IR5x", 'R').is_empty());
        assert!(mentions("R9-R3", 'R').is_empty(), "a range that goes down names nothing");
    }
}
