//! What a table can not say about a program: how it starts others, what flows through it, where it connects.

pub(super) mod git;
mod named;
mod network;
mod ports;
mod registry;
mod remotes;
mod xargs;

use checkrein_contract::{Deed, Tree};

use super::flow::Flow;
use super::perform::Doing;
use super::places::{Spot, Touch, last_name};
use super::value::{Field, Piece, Text};
use super::walk::Walker;
use crate::commands::Given;

pub(super) use named::{at_file, cert, form, name_at_file, named, newkey, pass, read_list};
pub(super) use network::{connect, connect_remote, placed};
pub(super) use ports::{database, find_ports, port, setting, usual_host};
pub(super) use registry::{package, registry};
pub(super) use xargs::replaced;

pub(crate) fn is_shell(name: &str) -> bool {
    matches!(name, "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" | "mksh")
}

/// Arguments in the form that tables describe, where a program takes an older one as well.
pub(super) fn prepared(name: &str, arguments: &[Field]) -> Option<Vec<Field>> {
    match name {
        "tar" | "bsdtar" | "gtar" => old_tar(arguments),
        "cargo" => cargo(arguments),
        "env" => split_string(arguments),
        "flock" => script_in_front(arguments),
        _ => None,
    }
}

/// What stands behind `--` belongs to the program that cargo starts: `cargo fmt -- --check` only looks, and lint levels
/// change nothing that clippy does.
fn cargo(arguments: &[Field]) -> Option<Vec<Field>> {
    let known: Vec<&str> = arguments.iter().map(|field| field.text.as_known().unwrap_or("\0")).collect();
    let at = known.iter().position(|word| *word == "--")?;
    let (before, behind) = (known.get(..at)?, known.get(at + 1..)?);
    let mut fields = arguments.get(..at)?.to_vec();
    if before.contains(&"fmt") && behind.iter().all(|word| matches!(*word, "--check" | "-l" | "--color=never" | "-q")) {
        fields.extend(behind.iter().filter(|word| **word == "--check").map(|word| Field::from(*word)));
        return Some(fields);
    }
    let mut rest = behind.iter();
    while before.contains(&"clippy") {
        match rest.next() {
            None => return Some(fields),
            Some(&("-D" | "-W" | "-A" | "-F" | "--deny" | "--warn" | "--allow" | "--forbid")) => _ = rest.next(),
            Some(word) if ["-D", "-W", "-A", "-F"].iter().any(|level| word.starts_with(level)) => {}
            Some(_) => return None,
        }
    }
    None
}

/// `env -S "NAME=x PROGRAM ..."`: the words of the string are arguments of `env` itself.
fn split_string(arguments: &[Field]) -> Option<Vec<Field>> {
    let (at, text, used) = arguments.iter().enumerate().find_map(|(at, field)| {
        let known = field.text.as_known()?;
        let attached = ["--split-string=", "-S", "-vS", "-iS"].iter().find_map(|name| known.strip_prefix(name));
        match attached {
            Some("") => Some((at, arguments.get(at + 1)?.text.as_known()?.to_owned(), 2)),
            Some(text) => Some((at, text.to_owned(), 1)),
            None if known == "--split-string" => Some((at, arguments.get(at + 1)?.text.as_known()?.to_owned(), 2)),
            None => None,
        }
    })?;
    // Quotes and variables in the string mean more than blanks do.
    if text.contains(['\'', '"', '\\', '$', '#']) {
        return None;
    }
    let mut fields = arguments.get(..at)?.to_vec();
    fields.extend(text.split_whitespace().map(Field::from));
    fields.extend_from_slice(arguments.get(at + used..)?);
    Some(fields)
}

/// `flock FILE -c SCRIPT`: the option stands behind the file.
fn script_in_front(arguments: &[Field]) -> Option<Vec<Field>> {
    let at = arguments.iter().position(|field| matches!(field.text.as_known(), Some("-c" | "--command")))?;
    let mut fields = arguments.get(at..at + 2)?.to_vec();
    fields.extend_from_slice(arguments.get(..at)?);
    Some(fields)
}

fn old_tar(arguments: &[Field]) -> Option<Vec<Field>> {
    // `tar cfz a.tar.gz x`: letters without a dash, whose values follow in their order.
    let (first, rest) = arguments.split_first()?;
    let letters = first.text.as_known()?;
    if letters.is_empty() || !letters.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let mut rest = rest.iter();
    let mut fields = Vec::new();
    for letter in letters.chars() {
        fields.push(Field::from(format!("-{letter}").as_str()));
        if "fCbgHIKLNTVX".contains(letter) {
            fields.extend(rest.next().cloned());
        }
    }
    fields.extend(rest.cloned());
    Some(fields)
}

/// A command that a program runs.
pub(super) fn command(walker: &mut Walker<'_>, fields: &[Field], doing: &mut Doing) {
    let dashes = fields.first().is_some_and(|field| field.text.as_known() == Some("--"));
    let fields = fields.get(usize::from(dashes)..).unwrap_or_default();
    if matches!(doing.name.as_str(), "xargs" | "gxargs") {
        return xargs::run(walker, fields, doing);
    }
    if doing.reading.table().neutral {
        doing.neutral = true;
    } else {
        doing.deed(Deed::Code);
    }
    walker.run(fields);
    doing.output = Some(std::mem::take(&mut walker.output));
    if doing.neutral {
        walker.output = doing.output.take().unwrap_or_default();
    }
}

/// Reading everything below a path, as far as options narrow it.
pub(super) fn tree(walker: &mut Walker<'_>, text: &Text, doing: &Doing) {
    let mut skips = Tree::default();
    let values = |name: &str| -> Vec<String> {
        doing.reading.values(name).filter_map(|text| text.as_known().map(str::to_owned)).collect()
    };
    match doing.name.as_str() {
        "rg" => {
            let unrestricted = doing.reading.given.iter().filter(|given| given.name == "--unrestricted").count();
            skips.skips_hidden = !doing.reading.has("--hidden") && unrestricted < 2;
            skips.skips_ignored = !doing.reading.has("--no-ignore") && unrestricted < 1;
            let globs: Vec<String> = values("--glob").into_iter().chain(values("--iglob")).collect();
            if globs.iter().any(|glob| !glob.starts_with('!')) || doing.reading.has("--follow") {
                // What is asked for by name is searched, hidden and ignored or not; the last that fits counts, so none
                // takes away for sure. Where case does not count, no name is left out.
                skips.skips_hidden = false;
                skips.skips_ignored = false;
                if !doing.reading.has("--iglob") {
                    skips.names = globs.iter().filter(|glob| !glob.starts_with('!')).cloned().collect();
                }
                return reads_trees(walker, text, &skips);
            }
            // A name leaves out files and folders alike; of a path that is left out, nothing is known.
            let left_out = globs.iter().filter_map(|glob| glob.strip_prefix('!'));
            for name in left_out.map(|name| name.trim_start_matches("**/")).filter(|name| !name.contains('/')) {
                skips.without.extend([name.to_owned(), format!("{name}/")]);
            }
        }
        _ => {
            skips.names = values("--include");
            if skips.names.is_empty() {
                skips.names = doing.names();
            }
            skips.without = values("--exclude");
            skips
                .without
                .extend(values("--exclude-dir").iter().map(|folder| format!("{}/", folder.trim_end_matches('/'))));
        }
    }
    reads_trees(walker, text, &skips);
}

fn reads_trees(walker: &mut Walker<'_>, text: &Text, skips: &Tree) {
    for spot in walker.spots(text) {
        match spot {
            Spot::At(path) => walker.tree(Tree { root: path, ..skips.clone() }),
            Spot::Below(root, names) => walker.tree(Tree { root, names, ..skips.clone() }),
            Spot::Pattern(_) | Spot::Anywhere(_) => walker.touch(Touch::Read, text),
        }
    }
}

/// Files that a program takes or makes without their names being written out.
fn unnamed(walker: &mut Walker<'_>, doing: &Doing) {
    let operands = &doing.reading.operands;
    if matches!(doing.name.as_str(), "zip" | "7z") {
        // A name without an ending gets the usual one.
        let archive = operands.first().filter(|field| !last_name(&field.text).is_some_and(|name| name.contains('.')));
        if let Some(mut text) = archive.map(|field| field.text.clone()) {
            text.push_str(if doing.name == "zip" { ".zip" } else { ".7z" });
            walker.written(&text);
        }
    }
    // `@FILE` holds further arguments.
    let lists = operands.iter().filter_map(|field| field.text.as_known()?.strip_prefix('@'));
    for list in lists.map(str::to_owned).collect::<Vec<_>>() {
        walker.read(&Text::from(list.as_str()));
        walker.unknown(format!("`{list}` holds further arguments of `{}`", doing.name));
    }
}

/// What is known of a program once all its words were looked at.
pub(super) fn after(walker: &mut Walker<'_>, doing: &mut Doing) {
    let operands = &doing.reading.operands;
    match doing.name.as_str() {
        "git" => git::after(walker, doing),
        "tar" | "bsdtar" | "gtar" => {
            // `HOST:FILE` is fetched through another program.
            let remote =
                |text: &str| text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'));
            // Several are the volumes of one archive.
            if let Some(file) = doing.reading.values("--file").find(|file| remote(file.prefix()))
                && !doing.reading.has("--force-local")
            {
                walker.unknown(format!("the archive `{}` is on another machine", file.shown()));
            }
        }
        "make" | "gmake" => {
            // `make check SHELL=./x` runs with other variables than the make file's.
            if let Some(field) =
                operands.iter().find(|field| field.text.prefix().contains('=') || !field.text.is_known())
            {
                walker.unknown(format!("`{}` changes what `make` runs", field.text.shown()));
            }
        }
        "curl" | "wget" => network::downloads(walker, doing),
        "zip" | "7z" | "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "ld" | "java" | "javac" | "jar"
        | "javadoc" => {
            unnamed(walker, doing);
        }
        "echo" => doing.output = Some(echo(operands)),
        "pwd" => {
            if let Some(one) = walker.state.folders.only() {
                doing.output = Some(Flow::Known(format!("{one}\n")));
            }
        }
        // What is read comes out again.
        "cat" | "tee" if operands.is_empty() || doing.name == "tee" => {
            doing.output = Some(walker.stdin.clone());
            if walker.stdin.is_downloaded() {
                operands.iter().for_each(|field| walker.remember_download(&field.text));
            }
        }
        // Of names, some or in another order.
        "grep" | "head" | "tail" | "sort" | "uniq" | "tac"
            if matches!(walker.stdin, Flow::Names(_)) && picks_names(doing) =>
        {
            doing.output = Some(walker.stdin.clone());
        }
        "fd" | "fdfind" if !["--format", "--path-separator"].iter().any(|name| doing.reading.has(name)) => {
            let paths: Vec<Text> = operands.iter().skip(1).map(|field| field.text.clone()).collect();
            doing.output = Some(names(if paths.is_empty() { vec![Text::from(".")] } else { paths }));
        }
        "rg" | "grep"
            if (doing.reading.has("--files-with-matches") || doing.reading.has("--files"))
                && !["--label", "--path-separator", "--hyperlink-format"]
                    .iter()
                    .any(|name| doing.reading.has(name)) =>
        {
            let skip = usize::from(!doing.reading.has("--files") && !doing.reading.has("--regexp"));
            let paths: Vec<Text> = operands.iter().skip(skip).map(|field| field.text.clone()).collect();
            doing.output = Some(names(if paths.is_empty() { vec![Text::from(".")] } else { paths }));
        }
        _ => {}
    }
    if operands_hold_download(walker, doing) {
        doing.output = Some(Flow::any(true));
    }
}

/// Whether whole names come out of names that come in. With other options what comes out is no name, or what is read is a
/// file.
fn picks_names(doing: &Doing) -> bool {
    let own = usize::from(doing.name == "grep");
    let plain = |given: &Given| {
        given.values.is_empty() && !matches!(given.name.as_str(), "--only-matching" | "--count" | "--zero-terminated")
            || matches!(given.name.as_str(), "--lines" | "--max-count")
    };
    doing.reading.operands.len() <= own && doing.reading.given.iter().all(plain)
}

/// A file that was downloaded is printed.
fn operands_hold_download(walker: &Walker<'_>, doing: &Doing) -> bool {
    (!walker.state.downloaded.is_empty() || walker.state.downloaded_anywhere)
        && doing.reading.operands.iter().any(|field| walker.is_downloaded(&field.text))
}

fn names(roots: Vec<Text>) -> Flow {
    let below = |mut root: Text| {
        if root.below().is_none() {
            root.push(Piece::Below(Vec::new()));
        }
        root
    };
    Flow::Names(roots.into_iter().map(below).collect())
}

fn echo(operands: &[Field]) -> Flow {
    let options =
        operands.iter().take_while(|field| matches!(field.text.as_known(), Some("-n" | "-e" | "-E" | "-ne" | "-en")));
    let count = options.count();
    let (options, words) = operands.split_at(count);
    let escapes = options.iter().any(|field| field.text.as_known().is_some_and(|text| text.contains('e')));
    let ends = options.iter().any(|field| field.text.as_known().is_some_and(|text| text.contains('n')));
    let known: Option<Vec<&str>> = words.iter().map(|field| field.text.as_known().filter(|_| !field.many)).collect();
    match known {
        Some(words) if !escapes => Flow::Known(format!("{}{}", words.join(" "), if ends { "" } else { "\n" })),
        _ => Flow::any(words.iter().any(|field| field.text.is_downloaded())),
    }
}
