//! `xargs`: a command on words that arrive on standard input.

use super::super::flow::Flow;
use super::super::perform::Doing;
use super::super::value::{Field, Piece, Text};
use super::super::walk::Walker;

pub(super) fn run(walker: &mut Walker<'_>, fields: &[Field], doing: &mut Doing) {
    doing.neutral = true;
    let words: Vec<Field> = match &walker.stdin {
        Flow::Nothing => Vec::new(),
        Flow::Known(text) => text.split_whitespace().map(Field::from).collect(),
        Flow::Names(names) => names.iter().map(|name| Field { text: name.clone(), many: true }).collect(),
        Flow::Any { downloaded } => {
            let text = if *downloaded { Text::downloaded("its input") } else { Text::any("its input") };
            vec![Field { text, many: true }]
        }
    };
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
            let mut command = fields.to_vec();
            command.extend(words);
            walker.run(&command);
        }
    }
    walker.stdin = stdin;
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
