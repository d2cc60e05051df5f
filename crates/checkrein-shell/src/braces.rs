//! Brace expansion: `{a,b}` and `{1..3}`. It is about the text of a word alone, so it can be done without running
//! anything.

use crate::{Part, Word};

/// Deeper braces are not expanded but given up on.
const DEEPEST: usize = 60;

/// The words that bash makes of one, before anything else in it is expanded. A word without braces comes out as it is.
///
/// `None` where more than `most` words would come out, or where braces nest absurdly deep.
#[must_use]
pub fn expand_braces(word: &Word, most: usize) -> Option<Vec<Word>> {
    if !word.parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{'))) {
        return (most > 0).then(|| vec![word.clone()]);
    }
    let pattern = pattern(&word.parts)?;
    if count(&pattern) > most {
        return None;
    }
    let words = all(&pattern).into_iter().map(|items| Word { parts: parts(items), span: word.span });
    Some(words.collect())
}

/// A word as brace expansion sees it: things one after the other.
type Sequence<'w> = Vec<Node<'w>>;

/// One of them.
#[derive(Clone)]
enum Node<'w> {
    /// A character, or a part in which braces mean nothing.
    Item(Item<'w>),
    /// `{A,B}`.
    Choice(Vec<Sequence<'w>>),
    /// `{1..3}`.
    Range(Range),
}

/// What comes out unchanged.
#[derive(Clone, Copy)]
enum Item<'w> {
    Letter(char),
    Part(&'w Part),
}

/// `{FIRST..LAST..STEP}`.
#[derive(Clone, Copy)]
struct Range {
    first: i64,
    last: i64,
    step: u64,
    /// Letters rather than numbers.
    letters: bool,
    /// Numbers are filled up with zeros to this width.
    width: usize,
}

/// A `{` whose `}` has not come yet.
#[derive(Default)]
struct Open<'w> {
    /// The elements up to the last comma.
    elements: Vec<Sequence<'w>>,
    /// The one behind it.
    last: Sequence<'w>,
}

fn pattern(parts: &[Part]) -> Option<Sequence<'_>> {
    let mut stack: Vec<Open<'_>> = vec![Open::default()];
    for part in parts {
        let Part::Bare(text) = part else {
            stack.last_mut()?.last.push(Node::Item(Item::Part(part)));
            continue;
        };
        for letter in text.chars() {
            let nested = stack.len() > 1;
            match letter {
                '{' if stack.len() > DEEPEST => return None,
                '{' => stack.push(Open::default()),
                ',' if nested => {
                    let open = stack.last_mut()?;
                    let element = std::mem::take(&mut open.last);
                    open.elements.push(element);
                }
                '}' if nested => {
                    let closed = close(stack.pop()?);
                    stack.last_mut()?.last.extend(closed);
                }
                letter => stack.last_mut()?.last.push(Node::Item(Item::Letter(letter))),
            }
        }
    }
    // What is still open is plain text.
    while stack.len() > 1 {
        let Open { elements, last } = stack.pop()?;
        let outer = &mut stack.last_mut()?.last;
        outer.push(Node::Item(Item::Letter('{')));
        for element in elements {
            outer.extend(element);
            outer.push(Node::Item(Item::Letter(',')));
        }
        outer.extend(last);
    }
    stack.pop().map(|whole| whole.last)
}

/// What `{...}` is, now that its `}` has come.
fn close(open: Open<'_>) -> Sequence<'_> {
    let Open { mut elements, last } = open;
    if !elements.is_empty() {
        elements.push(last);
        return vec![Node::Choice(elements)];
    }
    if let Some(range) = range(&last) {
        return vec![Node::Range(range)];
    }
    let mut plain = Vec::with_capacity(last.len() + 2);
    plain.push(Node::Item(Item::Letter('{')));
    plain.extend(last);
    plain.push(Node::Item(Item::Letter('}')));
    plain
}

fn range(inside: &[Node<'_>]) -> Option<Range> {
    // Longer than two numbers and a step it can not be.
    if inside.len() > 80 {
        return None;
    }
    let letters = inside.iter().map(|node| match node {
        Node::Item(Item::Letter(letter)) => Some(*letter),
        _ => None,
    });
    let text = letters.collect::<Option<String>>()?;
    let mut fields = text.splitn(3, "..");
    let (first, last) = (fields.next()?, fields.next()?);
    let step = match fields.next() {
        Some(step) => number(step)?.unsigned_abs(),
        None => 1,
    };
    let step = step.max(1);
    if let (Some(from), Some(to)) = (number(first), number(last)) {
        let padded = |text: &str| {
            let digits = text.trim_start_matches(['-', '+']);
            digits.len() > 1 && digits.starts_with('0')
        };
        let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
        return Some(Range { first: from, last: to, step, letters: false, width });
    }
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(i64::from(*letter)),
        _ => None,
    };
    Some(Range { first: letter(first)?, last: letter(last)?, step, letters: true, width: 0 })
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// How many words come out.
fn count(sequence: &[Node<'_>]) -> usize {
    sequence.iter().fold(1_usize, |words, node| {
        let here = match node {
            Node::Item(_) => return words,
            Node::Choice(elements) => elements.iter().fold(0_usize, |sum, element| sum.saturating_add(count(element))),
            Node::Range(range) => usize::try_from(range.first.abs_diff(range.last) / range.step)
                .map_or(usize::MAX, |steps| steps.saturating_add(1)),
        };
        words.saturating_mul(here)
    })
}

/// All words, in bash's order.
fn all<'w>(sequence: &[Node<'w>]) -> Vec<Vec<Item<'w>>> {
    let mut words: Vec<Vec<Item<'w>>> = vec![Vec::new()];
    for node in sequence {
        let ends: Vec<Vec<Item<'w>>> = match node {
            Node::Item(item) => {
                words.iter_mut().for_each(|word| word.push(*item));
                continue;
            }
            Node::Choice(elements) => elements.iter().flat_map(|element| all(element)).collect(),
            Node::Range(range) => range.texts().map(|text| text.chars().map(Item::Letter).collect()).collect(),
        };
        words = words
            .iter()
            .flat_map(|word| ends.iter().map(move |end| word.iter().chain(end).copied().collect()))
            .collect();
    }
    words
}

impl Range {
    fn texts(self) -> impl Iterator<Item = String> {
        let steps = self.first.abs_diff(self.last) / self.step;
        (0..=steps).map(move |index| {
            let offset = i64::try_from(index.saturating_mul(self.step)).unwrap_or(i64::MAX);
            let value = if self.first <= self.last {
                self.first.saturating_add(offset)
            } else {
                self.first.saturating_sub(offset)
            };
            if self.letters {
                u8::try_from(value).map(char::from).map(String::from).unwrap_or_default()
            } else {
                format!("{value:0width$}", width = self.width)
            }
        })
    }
}

fn parts(items: Vec<Item<'_>>) -> Vec<Part> {
    let mut parts = Vec::new();
    for item in items {
        match (item, parts.last_mut()) {
            (Item::Letter(letter), Some(Part::Bare(text))) => text.push(letter),
            (Item::Letter(letter), _) => parts.push(Part::Bare(letter.to_string())),
            (Item::Part(part), _) => parts.push(part.clone()),
        }
    }
    parts
}
