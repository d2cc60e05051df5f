//! The expression of `find`: where it walks, what it starts, writes and deletes.

use super::super::flow::Flow;
use super::super::perform::Doing;
use super::super::places::{Touch, last_name};
use super::super::programs;
use super::super::value::{Field, Piece, Text};
use super::super::walk::Walker;

/// Tests and options without a value.
const BARE: &[&str] = &[
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-true",
    "-false",
    "-daystart",
    "-depth",
    "-d",
    "-empty",
    "-executable",
    "-follow",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-ls",
    "-mount",
    "-noleaf",
    "-nogroup",
    "-nouser",
    "-nowarn",
    "-warn",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-writable",
    "-xdev",
    "-H",
    "-L",
    "-P",
];
/// Tests with one value that is no path.
const DATA: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-context",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newermt",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
    "-D",
    "-newerat",
    "-newerct",
];

/// What `find` does.
pub(in super::super) fn look(walker: &mut Walker<'_>, fields: &[Field], doing: &mut Doing) {
    let mut fields = fields.iter().peekable();
    let mut roots: Vec<Text> = Vec::new();
    let options = |field: &&Field| {
        matches!(field.text.as_known(), Some("-H" | "-L" | "-P"))
            || field.text.prefix().starts_with("-O") && field.text.is_known()
    };
    while fields.next_if(options).is_some() {}
    while let Some(field) = fields.next_if(|field| !is_expression(&field.text)) {
        if field.text.may_be_option() {
            walker.unknown(format!("`{}` could be an action of `find`", field.text.shown()));
        }
        roots.push(field.text.clone());
    }
    if roots.is_empty() {
        roots.push(Text::from("."));
    }
    for root in &roots {
        walker.listed_below(root);
    }
    let rest: Vec<Field> = fields.cloned().collect();
    let names = names(&rest);
    let mut found: Vec<Text> = roots.iter().map(|root| found(root, &names)).collect();
    // The walk begins with the folder itself.
    found.extend(roots.into_iter().filter(|root| counts_itself(root, &rest, &names)));
    let prints = expression(walker, &rest, &found);
    doing.output = Some(if prints { Flow::Names(found) } else { Flow::any(false) });
}

/// Everything behind the folders. Whether the names that are found are printed.
fn expression(walker: &mut Walker<'_>, expression: &[Field], found: &[Text]) -> bool {
    let mut prints = true;
    let mut rest = expression.iter();
    while let Some(field) = rest.next() {
        let Some(word) = field.text.as_known() else {
            walker.unknown(format!("`{}` in an expression of `find` is not known before it runs", field.text.shown()));
            continue;
        };
        match word {
            "(" | ")" | "!" | "," => {}
            "-delete" => {
                prints = false;
                found.iter().for_each(|text| walker.touch(Touch::Delete, text));
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                prints = false;
                let command: Vec<Field> = rest
                    .by_ref()
                    .take_while(|field| !matches!(field.text.as_known(), Some(";" | "+")))
                    .cloned()
                    .collect();
                if word.ends_with("dir") {
                    execute_inside(walker, &command, found);
                } else {
                    execute(walker, &command, found);
                }
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => match rest.next() {
                Some(file) => {
                    walker.written(&file.text);
                    if word == "-fprintf" {
                        rest.next();
                    }
                }
                None => walker.unknown(format!("`{word}` has no file")),
            },
            // It opens the file to hold on to it.
            "-samefile" => match rest.next() {
                Some(file) => walker.touch(Touch::Read, &file.text),
                None => walker.unknown("`-samefile` has no file"),
            },
            "-newer" | "-anewer" | "-cnewer" => match rest.next() {
                Some(file) => walker.touch(Touch::List, &file.text),
                None => walker.unknown(format!("`{word}` has no file")),
            },
            "-files0-from" => walker.unknown("a file lists where `find` starts"),
            "-printf" | "-ls" => {
                prints = false;
                if word == "-printf" {
                    rest.next();
                }
            }
            word if BARE.contains(&word) => {}
            word if DATA.contains(&word) => {
                rest.next();
            }
            word => walker.unknown(format!("`{word}` in an expression of `find` is not known")),
        }
    }
    prints
}

fn is_expression(text: &Text) -> bool {
    let prefix = text.prefix();
    prefix.starts_with('-') && prefix.len() > 1 || matches!(text.as_known(), Some("(" | ")" | "!" | ","))
}

/// The names that all found files have, where the expression says so for all of them.
fn names(expression: &[Field]) -> Vec<String> {
    let either =
        expression.iter().any(|field| matches!(field.text.as_known(), Some("-o" | "-or" | "," | "!" | "-not")));
    if either {
        return Vec::new();
    }
    let values = expression.array_windows().filter(|[test, _]| test.text.as_known() == Some("-name"));
    values.filter_map(|[_, value]| value.text.as_known().map(str::to_owned)).take(1).collect()
}

/// Whether the folder where it begins may be among what it finds. `.` is never deleted, and nobody means it.
fn counts_itself(root: &Text, expression: &[Field], names: &[String]) -> bool {
    let Some(name) = last_name(root).filter(|name| !matches!(name.as_str(), "." | "..")) else { return false };
    let value = |test: &str| {
        let mut pairs = expression.array_windows().filter(|[word, _]| word.text.as_known() == Some(test));
        pairs.next().map(|[_, value]| value.text.as_known().unwrap_or_default().to_owned())
    };
    let deeper = value("-mindepth").is_some_and(|depth| depth != "0");
    let other_kind = value("-type").is_some_and(|kinds| !kinds.contains('d'));
    let named =
        |pattern: &String| globset::Glob::new(pattern).map_or(true, |glob| glob.compile_matcher().is_match(&name));
    !deeper && !other_kind && (names.is_empty() || names.iter().any(named))
}

fn found(root: &Text, names: &[String]) -> Text {
    let mut text = root.clone();
    if text.below().is_none() {
        text.push(Piece::Below(names.to_vec()));
    }
    text
}

/// `-execdir`: in the folder of each file that is found, which gets the name `./NAME`.
fn execute_inside(walker: &mut Walker<'_>, command: &[Field], found: &[Text]) {
    let folders = walker.state.folders.clone();
    let absolute = |text: &Text| match (folders.only(), text.below(), text.as_known()) {
        (Some(folder), Some((root, names)), _) if !root.starts_with('/') => {
            let mut text = Text::known(format!("{folder}/{root}"));
            text.push(Piece::Below(names.to_vec()));
            text
        }
        (Some(folder), None, Some(path)) if !path.starts_with('/') => Text::known(format!("{folder}/{path}")),
        _ => text.clone(),
    };
    let found: Vec<Text> = found.iter().map(absolute).collect();
    // Some folder at or below where it looks: a name without one may be any file there.
    walker.state.folders.unknown = true;
    execute(walker, command, &found);
    walker.state.folders = folders;
}

fn execute(walker: &mut Walker<'_>, command: &[Field], found: &[Text]) {
    let part = walker.current_part();
    for text in found {
        let command: Vec<Field> = command.iter().map(|field| programs::replaced(field, "{}", text)).collect();
        walker.run(&command);
    }
    walker.set_part(part);
}
