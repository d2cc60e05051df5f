//! Brace expansion: `{a,b}` and `{1..3}`. It is about the text of a word alone, so it can be done without running
//! anything.

use crate::{Operation, Part, Word};

/// Words in which more open than this are given up on: each opening may have to be looked for up to the end.
const MOST_OPEN: usize = 200;

/// Braces that nest deeper are given up on.
const DEEPEST: usize = 60;

/// The words that bash makes of one, before anything else in it is expanded. A word without braces comes out as it is.
///
/// `None` where more than `most` words would come out, where there are absurdly many braces, and where a variable stands
/// next to a brace and would get a longer name: to bash, `$x{1,2}` is `$x1 $x2`.
#[must_use]
pub fn expand_braces(word: &Word, most: usize) -> Option<Vec<Word>> {
    let open: usize = word.parts.iter().map(|part| if let Part::Bare(text) = part { openings(text) } else { 0 }).sum();
    if open == 0 {
        return (most > 0).then(|| vec![word.clone()]);
    }
    if open > MOST_OPEN {
        return None;
    }
    let mut text = Vec::new();
    for part in &word.parts {
        match part {
            Part::Bare(bare) => text.extend(bare.chars().map(Item::Letter)),
            part => text.push(Item::Part(part)),
        }
    }
    if text.windows(2).any(|two| matches!(two, [Item::Part(part), Item::Letter('{' | '}' | ',')] if is_variable(part)))
    {
        return None;
    }
    let words = expand(&text, most, 0)?;
    Some(words.into_iter().map(|items| Word { parts: parts(items), span: word.span }).collect())
}

fn openings(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'{').count()
}

/// `$NAME`; or `${NAME}`, which looks the same in the tree.
fn is_variable(part: &Part) -> bool {
    matches!(part, Part::Parameter(parameter) if matches!(parameter.operation, Operation::Plain))
}

/// A word as brace expansion sees it: characters, and parts in which braces mean nothing.
#[derive(Clone, Copy)]
enum Item<'w> {
    Letter(char),
    Part(&'w Part),
}

fn is(text: &[Item<'_>], at: usize, wanted: char) -> bool {
    matches!(text.get(at), Some(Item::Letter(letter)) if *letter == wanted)
}

/// All words of a text, or `None` where there are more than `most`.
fn expand<'w>(text: &[Item<'w>], most: usize, depth: usize) -> Option<Vec<Vec<Item<'w>>>> {
    if depth > DEEPEST {
        return None;
    }
    let mut words = vec![Vec::new()];
    let mut rest = text;
    while let Some((open, close)) = first_pair(rest) {
        let (before, behind) = (rest.get(..open)?, rest.get(close + 1..)?);
        let inside = rest.get(open + 1..close)?;
        let ends = if inside.iter().any(|item| matches!(item, Item::Letter(','))) {
            let mut ends = Vec::new();
            for element in elements(inside) {
                ends.extend(expand(element, most, depth + 1)?);
            }
            ends
        } else {
            match Range::of(inside) {
                Some(range) if range.count() > most => return None,
                Some(range) => range.texts().map(|text| text.chars().map(Item::Letter).collect()).collect(),
                // Plain text, braces and all.
                None => vec![rest.get(open..=close)?.to_vec()],
            }
        };
        if words.len().saturating_mul(ends.len()) > most {
            return None;
        }
        words = words
            .iter()
            .flat_map(|word| ends.iter().map(move |end| word.iter().chain(before).chain(end).copied().collect()))
            .collect();
        rest = behind;
    }
    for word in &mut words {
        word.extend_from_slice(rest);
    }
    (words.len() <= most).then_some(words)
}

/// The first brace that is closed, and where. At the front of a text, `{}` is none.
fn first_pair(text: &[Item<'_>]) -> Option<(usize, usize)> {
    (0..text.len())
        .filter(|&at| is(text, at, '{') && !(at == 0 && is(text, 1, '}')))
        .find_map(|open| Some((open, closing(text, open)?)))
}

/// Where the brace at `open` is closed. A `}` with no comma and no `..` in front of it does not close it.
fn closing(text: &[Item<'_>], open: usize) -> Option<usize> {
    let mut level = 0_usize;
    let mut divided = false;
    for at in open + 1..text.len() {
        let Some(Item::Letter(letter)) = text.get(at) else { continue };
        match letter {
            '}' if level == 0 && divided => return Some(at),
            '{' => level += 1,
            '}' => level = level.saturating_sub(1),
            ',' if level == 0 => divided = true,
            '.' if level == 0 && is(text, at + 1, '.') && !is(text, at + 2, '}') => divided = true,
            _ => {}
        }
    }
    None
}

/// What stands between the commas.
fn elements<'t, 'w>(inside: &'t [Item<'w>]) -> Vec<&'t [Item<'w>]> {
    let mut level = 0_usize;
    inside
        .split(|item| {
            match item {
                Item::Letter('{') => level += 1,
                Item::Letter('}') => level = level.saturating_sub(1),
                Item::Letter(',') => return level == 0,
                _ => {}
            }
            false
        })
        .collect()
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

impl Range {
    fn of(inside: &[Item<'_>]) -> Option<Range> {
        // Longer than two numbers and a step it can not be.
        if inside.len() > 80 {
            return None;
        }
        let letters = inside.iter().map(|item| match item {
            Item::Letter(letter) => Some(*letter),
            Item::Part(_) => None,
        });
        let text = letters.collect::<Option<String>>()?;
        let mut fields = text.splitn(3, "..");
        let (first, last) = (fields.next()?, fields.next()?);
        let step = match fields.next() {
            Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
            None => 1,
        };
        if let (Ok(from), Ok(to)) = (first.parse(), last.parse()) {
            let padded = |text: &str| {
                let digits = text.strip_prefix('-').unwrap_or(text);
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

    fn count(self) -> usize {
        let steps = self.first.abs_diff(self.last) / self.step;
        usize::try_from(steps).map_or(usize::MAX, |steps| steps.saturating_add(1))
    }

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
