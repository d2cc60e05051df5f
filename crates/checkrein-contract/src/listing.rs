//! Lists that have to fit: names, each with as many words as there is room for. Deterministic.

use serde_json::Value;

use crate::estimate_text;

/// Fewer characters of a description than this say nothing.
const FEWEST: usize = 12;
/// How much of a name has to be like another, in percent, for the two to be taken for each other.
const ALIKE: usize = 40;

/// A list that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The list: lines, or one line of names where there was room for no more.
    pub text: String,
    /// Descriptions are cut, or left out, or even names are.
    pub cut: bool,
    /// How many entries are not even named, the last ones.
    pub left_out: usize,
}

/// Names with descriptions, in this order, each on a line that begins with `bullet`, in at most so many tokens as JSON would
/// have them. Where the whole does not fit, every description is cut at the same length; where that leaves nothing of them,
/// the names alone are listed; where not even these fit, as many as do.
pub fn list_within(entries: &[(&str, &str)], bullet: &str, tokens: u64) -> Listed {
    let entries: Vec<(&str, String)> = entries.iter().map(|(name, said)| (*name, one_line(said))).collect();
    let lines = |most: usize| {
        let line = |(name, said): &(&str, String)| format!("\n{bullet}{name}: {}", cut(said, most));
        entries.iter().map(line).collect::<String>()
    };
    let fits = |text: &str| estimate_text(&Value::from(text).to_string()) <= tokens;
    let longest = entries.iter().map(|(_, said)| said.chars().count()).max().unwrap_or(0);
    let whole = lines(longest);
    if fits(&whole) {
        return Listed { text: whole, ..Listed::default() };
    }
    let (mut most, mut too_many) = (FEWEST, longest);
    if fits(&lines(most)) {
        while too_many - most > 1 {
            let middle = most.midpoint(too_many);
            if fits(&lines(middle)) { most = middle } else { too_many = middle }
        }
        return Listed { text: lines(most), cut: true, left_out: 0 };
    }
    let mut text = String::from("\n");
    let mut named = 0;
    for (name, _) in &entries {
        let before = text.len();
        if named > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
        if !fits(&text) {
            text.truncate(before);
            break;
        }
        named += 1;
    }
    Listed { text, cut: true, left_out: entries.len() - named }
}

/// The names that are most like a mistyped one, the nearest first, so many at most; none where nothing is like it.
pub fn nearest_first<'n>(word: &str, names: impl IntoIterator<Item = &'n str>, most: usize) -> Vec<&'n str> {
    let word = pairs(word);
    let like = |name: &str| {
        let name = pairs(name);
        let both = name.iter().filter(|pair| word.contains(pair)).count();
        200 * both / (word.len() + name.len()).max(1)
    };
    let mut found: Vec<(usize, &str)> = names.into_iter().map(|name| (like(name), name)).collect();
    found.retain(|(alike, _)| *alike >= ALIKE);
    found.sort_by(|(a, one), (b, other)| b.cmp(a).then(one.cmp(other)));
    found.into_iter().take(most).map(|(_, name)| name).collect()
}

/// Neighbouring letters. What a model made up may be of any length, and a name is not longer than this.
fn pairs(word: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = word.to_lowercase().chars().take(64).collect();
    letters.iter().copied().zip(letters.iter().copied().skip(1)).collect()
}

/// A description is told by whoever brought it: no line of it may pass for another entry.
fn one_line(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most so many characters, whole words where there are any.
fn cut(said: &str, most: usize) -> String {
    if said.chars().count() <= most {
        return said.to_owned();
    }
    let kept: String = said.chars().take(most.saturating_sub(1)).collect();
    let whole = kept.rsplit_once(' ').map_or(kept.as_str(), |(words, _)| words);
    format!("{whole}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(names: &[String]) -> Vec<(&str, &str)> {
        names.iter().map(|name| (name.as_str(), "Counts what is\n- in stock: of one article, in one place.")).collect()
    }

    /// Shows R39: with less room there are fewer words, then names alone, then fewer names; never more than there is room for.
    #[test]
    fn what_does_not_fit_is_said_shorter() {
        let names: Vec<String> = (0..200).map(|n| format!("stock_count_{n}")).collect();
        let mut before = Listed { left_out: usize::MAX, ..Listed::default() };
        let mut kinds = std::collections::BTreeSet::new();
        for tokens in (10..4_000).step_by(30) {
            let listed = list_within(&entries(&names), "- ", tokens);
            assert!(estimate_text(&Value::from(listed.text.as_str()).to_string()) <= tokens, "{tokens}");
            assert!(listed.left_out <= before.left_out, "{tokens}: more room, fewer names");
            kinds.insert((listed.cut, listed.left_out > 0, listed.text.contains('…')));
            before = listed;
        }
        let all = [(false, false, false), (true, false, false), (true, false, true), (true, true, false)];
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
        assert_eq!(before.text.lines().count(), 201, "an entry is a line: {}", before.text);
    }

    #[test]
    fn a_cut_leaves_whole_words() {
        let listed = list_within(&[("a", "one two three four"), ("b", "x")], "", 6);
        assert_eq!(listed, Listed { text: "\na: one two…\nb: x".to_owned(), cut: true, left_out: 0 });
        assert_eq!(list_within(&[], "", 1).text, "");
    }

    #[test]
    fn a_slip_of_the_pen_is_near() {
        let names = ["issue_refund", "find_order", "refund_status", "ship"];
        assert_eq!(nearest_first("isue_refund", names, 2), ["issue_refund", "refund_status"]);
        assert_eq!(nearest_first("Find-Order", names, 5), ["find_order"]);
        assert!(nearest_first(&"xyzzy".repeat(10_000), names, 5).is_empty() && nearest_first("", names, 5).is_empty());
    }
}
