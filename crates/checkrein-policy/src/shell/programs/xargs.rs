//! `xargs`: a command on words that arrive on standard input.

use super::super::flow::Flow;
use super::super::perform::Doing;
use super::super::value::{Field, Piece, Text};
use super::super::walk::Walker;
use crate::commands::Reading;

/// Commands that are looked at one by one where the words are split into several; of more, the words are not known.
const MOST_COMMANDS: usize = 64;

pub(super) fn run(walker: &mut Walker<'_>, fields: &[Field], doing: &mut Doing) {
    doing.neutral = true;
    let splits = !doing.reading.has("--null");
    if let Flow::Names(names) = walker.stdin.clone()
        && splits
        && !names.iter().all(|name| walker.has_plain_names(name))
    {
        walker.stdin = Flow::any(false);
    }
    let words = items(&walker.stdin, &doing.reading);
    let stdin = std::mem::take(&mut walker.stdin);
    let given = &doing.reading.given;
    let replace = given.iter().find(|given| matches!(given.name.as_str(), "-I" | "--replace" | "-i"));
    match replace {
        Some(option) => {
            let mark = option.values.first().and_then(|(_, text)| text.as_known().map(str::to_owned));
            let mark = mark.filter(|mark| !mark.is_empty()).unwrap_or_else(|| "{}".to_owned());
            for word in &words {
                let command: Vec<Field> = fields.iter().map(|field| replaced(field, &mark, &word.text)).collect();
                walker.run(&command);
            }
            if words.is_empty() {
                walker.run(fields);
            }
        }
        None => {
            for group in groups(walker, &doing.reading, words) {
                let mut command = fields.to_vec();
                command.extend(group);
                walker.run(&command);
            }
        }
    }
    walker.stdin = stdin;
}

/// The words that the input is read into.
fn items(stdin: &Flow, reading: &Reading) -> Vec<Field> {
    let unknown = |text: Text| vec![Field { text, many: true }];
    match stdin {
        Flow::Nothing => Vec::new(),
        Flow::Known(text) => match known(text, reading) {
            Some(words) => words.into_iter().map(Field::from).collect(),
            None => unknown(Text::any("its input")),
        },
        Flow::Names(names) => names.iter().map(|name| Field { text: name.clone(), many: true }).collect(),
        Flow::Any { downloaded: true } => unknown(Text::downloaded("its input")),
        Flow::Any { downloaded: false } => unknown(Text::any("its input")),
    }
}

/// How `xargs` reads a text; `None` where quotes, another separator or an end mark make that another matter.
fn known<'t>(text: &'t str, reading: &Reading) -> Option<Vec<&'t str>> {
    if reading.has("--null") {
        return Some(text.split('\0').filter(|word| !word.is_empty()).collect());
    }
    if let Some(mark) = reading.values("--delimiter").next_back() {
        let mark = match mark.as_known()? {
            "\\n" => '\n',
            "\\t" => '\t',
            "\\0" => '\0',
            one => one.chars().next().filter(|mark| one.len() == mark.len_utf8() && *mark != '\\')?,
        };
        let text = text.strip_suffix(mark).unwrap_or(text);
        return Some(text.split(mark).collect());
    }
    if text.contains(['\'', '"', '\\']) || reading.has("--eof") {
        return None;
    }
    let lines = reading.has("--replace") || reading.has("-i");
    let words = |line: &'t str| line.split([' ', '\t']).filter(|word| !word.is_empty());
    Some(match lines {
        true => text.lines().map(|line| line.trim_start_matches([' ', '\t'])).filter(|line| !line.is_empty()).collect(),
        false => text.lines().flat_map(words).collect(),
    })
}

/// The words of each command that is started.
fn groups(walker: &mut Walker<'_>, reading: &Reading, words: Vec<Field>) -> Vec<Vec<Field>> {
    let number = |name: &str| reading.values(name).next_back().and_then(|text| text.as_known()?.parse::<usize>().ok());
    let splits = ["--max-args", "--max-lines", "-l", "--max-chars"].iter().any(|name| reading.has(name));
    if !splits || words.iter().any(|word| word.many) {
        // Of names that nobody knows, some may stand for all.
        return vec![words];
    }
    let each =
        number("--max-args").filter(|each| *each > 0 && !reading.has("--max-lines") && !reading.has("--max-chars"));
    match each {
        Some(each) if words.len() / each < MOST_COMMANDS => {
            let groups: Vec<Vec<Field>> = words.chunks(each).map(<[Field]>::to_vec).collect();
            if groups.is_empty() { vec![Vec::new()] } else { groups }
        }
        _ => {
            walker.unknown("which of its words each command gets is not known before it runs");
            vec![words]
        }
    }
}

/// Puts a text where a mark stands.
pub(in super::super) fn replaced(field: &Field, mark: &str, with: &Text) -> Field {
    let mut text = Text::default();
    for piece in field.text.pieces() {
        match piece {
            Piece::Known(known) => {
                for (index, between) in known.split(mark).enumerate() {
                    if index > 0 {
                        text.append(with.clone());
                    }
                    text.push_str(between);
                }
            }
            other => text.push(other.clone()),
        }
    }
    Field { text, many: field.many }
}
