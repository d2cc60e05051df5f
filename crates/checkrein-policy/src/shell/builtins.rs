//! What the shell does itself: the built-ins that change it, run text, or set variables.
//!
//! Built-ins that only look or print (`echo`, `test`, `pwd`) have models like programs.

use checkrein_contract::{Deed, Effect, Question};

use super::flow::Flow;
use super::places::Spot;
use super::simple::is_name;
use super::state::{Folders, Otherwise, Variable};
use super::value::{Field, Text};
use super::walk::Walker;

pub(super) type Builtin = fn(&mut Walker<'_>, &str, &[Field]);

/// The built-in of this name.
pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "cd" => change_folder,
        "pushd" => push_folder,
        "popd" => |walker, name, arguments| {
            walker.built_in(name, arguments, &[]);
            walker.move_to(Folders { known: Vec::new(), unknown: true }, false);
        },
        "eval" => eval,
        "source" | "." => source,
        "exec" => exec,
        "command" => command,
        "builtin" => |walker, _, arguments| walker.run(behind_dashes(arguments)),
        "trap" => trap,
        "export" | "declare" | "typeset" | "local" | "readonly" => declare,
        "read" | "mapfile" | "readarray" => read,
        "printf" => printf,
        "getopts" => |walker, name, arguments| {
            walker.built_in(name, arguments, &[]);
            if let Some(field) = behind_dashes(arguments).get(1) {
                walker.assign_word(&field.text, Variable::unknown());
            }
            walker.assign("OPTARG", Variable::unknown());
        },
        "wait" => wait,
        "let" => arithmetic,
        "unset" => unset,
        "set" => set,
        "shift" => |walker, name, arguments| {
            walker.built_in(name, arguments, &[]);
            walker.state.arguments = None;
        },
        "alias" | "unalias" | "hash" | "enable" | "bind" | "complete" | "compopt" | "history" | "fc" | "shopt" => {
            changes
        }
        "return" | "break" | "continue" => |walker, name, arguments| walker.leave(name, arguments),
        "exit" | "jobs" | "umask" | "ulimit" | "times" | "caller" | "dirs" | "disown" | "fg" | "bg" | "logout"
        | "suspend" => |walker, name, arguments| walker.built_in(name, arguments, &[]),
        _ => return None,
    })
}

/// The arguments without the `--` that options end with.
fn behind_dashes(arguments: &[Field]) -> &[Field] {
    match arguments.split_first() {
        Some((first, rest)) if first.text.as_known() == Some("--") => rest,
        _ => arguments,
    }
}

/// `pushd FOLDER` is `cd FOLDER`; otherwise it turns the folders that were left, or goes nowhere at all.
fn push_folder(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    match behind_dashes(arguments) {
        [one] if one.text.is_known() && !one.text.prefix().starts_with(['-', '+']) => {
            change_folder(walker, name, arguments);
        }
        _ => {
            walker.built_in(name, arguments, &[]);
            walker.lost("the folder it changes to is not known before it runs");
        }
    }
}

/// `cd`: where later commands stand.
fn change_folder(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    let is_option = |field: &&Field| matches!(field.text.as_known(), Some("-L" | "-P" | "-e" | "-@" | "--"));
    let operands: Vec<&Field> = arguments.iter().skip_while(is_option).collect();
    let home = walker.scene.place.home.clone();
    let target = match operands.as_slice() {
        [] => match walker.variable("HOME").values.first() {
            Some(home) => home.clone(),
            None => Text::known(home),
        },
        [one] => one.text.clone(),
        _ => return walker.lost("the folder it changes to is not known before it runs"),
    };
    if target.as_known() == Some("-") {
        let previous = walker.state.previous.clone();
        let set = walker.state.variables.contains_key("OLDPWD");
        return match previous {
            Some(previous) if !set => walker.move_to(previous, true),
            _ => walker.lost("`cd -` leads back to a folder that is not known"),
        };
    }
    let relative = !target.prefix().starts_with(['/', '.']);
    if relative && walker.state.variables.contains_key("CDPATH") {
        return walker.lost("`CDPATH` is set, so `cd` may lead anywhere");
    }
    let physical = arguments.iter().take_while(is_option).any(|field| field.text.as_known() == Some("-P"));
    let spots = if physical { walker.spots(&target) } else { walker.spots_by_words(&target) };
    match spots.as_slice() {
        [] => {}
        spots => {
            let mut folders = Folders::default();
            let mut certain = spots.len() == 1;
            for spot in spots {
                let Spot::At(path) = spot else {
                    return walker.lost("the folder it changes to is not known before it runs");
                };
                walker.note(Effect::list(path));
                let kind = Question::Kind { path: path.clone() };
                certain &= walker.scene.facts.text(&kind) == Some("folder");
                walker.ask(kind);
                folders.merge(&Folders::one(path.clone()));
            }
            walker.move_to(folders, certain);
        }
    }
}

impl Walker<'_> {
    /// `certain`: it can not fail, as far as is known.
    fn move_to(&mut self, folders: Folders, certain: bool) {
        let before = std::mem::replace(&mut self.state.folders, folders);
        let mut failed = Some(Otherwise { folders: before.clone(), likely: !certain });
        if let Some(otherwise) = self.state.otherwise.take() {
            Otherwise::merge(&mut failed, otherwise);
        }
        self.state.otherwise = failed;
        self.state.previous = Some(before);
    }

    fn lost(&mut self, why: &str) {
        self.unknown(why);
        self.move_to(Folders { known: Vec::new(), unknown: true }, true);
    }
}

fn eval(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    let mut text = Text::default();
    for (index, field) in behind_dashes(arguments).iter().enumerate() {
        if index > 0 {
            text.push_str(" ");
        }
        text.append(field.text.clone());
    }
    let mut deeds = vec![Deed::Code];
    if text.is_downloaded() {
        deeds.push(Deed::Downloaded);
    }
    walker.built_in(name, arguments, &deeds);
    if !text.is_known() {
        walker.unknown(format!("`eval` runs `{}`, which is not known before", text.shown()));
    }
    walker.text(&text.as_script());
}

fn source(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    let Some(file) = behind_dashes(arguments).first() else { return walker.built_in(name, arguments, &[]) };
    let mut deeds = vec![Deed::Code];
    if walker.is_downloaded(&file.text) || file.text.as_known() == Some("/dev/stdin") && walker.stdin.is_downloaded() {
        deeds.push(Deed::Downloaded);
    }
    walker.built_in(name, arguments, &deeds);
    walker.read(&file.text);
    walker.unknown(format!("`{name}` runs what is in `{}`", file.text.shown()));
}

fn exec(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    let mut rest = arguments;
    while let [first, others @ ..] = rest
        && let Some(letters) = first.text.as_known().and_then(|word| word.strip_prefix('-'))
        && !matches!(letters, "" | "-")
    {
        // `-a NAME`, `-cla NAME`, `-aNAME`: the name under which it runs.
        let named = letters.trim_start_matches(['c', 'l']) == "a";
        if named && others.first().is_some_and(|name| name.many) {
            walker.unknown("which program `exec` runs is not known before it runs");
        }
        rest = if named { others.get(1..).unwrap_or_default() } else { others };
    }
    let rest = behind_dashes(rest);
    walker.built_in(name, arguments, if rest.is_empty() { &[] } else { &[Deed::Code] });
    walker.run(rest);
}

/// `command NAME` runs it; `command -v NAME` only looks.
fn command(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    match arguments.split_first() {
        Some((first, rest)) => match first.text.as_known() {
            Some("--") => walker.without_functions(rest),
            Some(options) if options.len() > 1 && options.starts_with('-') => {
                if !options.contains(['v', 'V']) {
                    return command(walker, name, rest);
                }
                walker.built_in(name, arguments, &[]);
                walker.output = Flow::any(false);
            }
            _ => walker.without_functions(arguments),
        },
        None => walker.built_in(name, arguments, &[]),
    }
}

impl Walker<'_> {
    /// Functions are passed over.
    fn without_functions(&mut self, fields: &[Field]) {
        let functions = std::mem::take(&mut self.state.functions);
        self.run(fields);
        self.state.functions = functions;
    }
}

/// Runs later, but runs.
fn trap(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    let rest = match arguments.first().and_then(|field| field.text.as_known()) {
        Some("-p" | "-l") => return walker.built_in(name, arguments, &[]),
        Some("--") => arguments.get(1..).unwrap_or_default(),
        _ => arguments,
    };
    walker.built_in(name, arguments, &[Deed::Code]);
    let Some(action) = rest.first() else { return };
    if rest.len() == 1 || action.text.as_known().is_some_and(|text| text.is_empty() || text == "-") {
        return;
    }
    if !action.text.is_known() {
        walker.unknown("what the trap runs is not known before");
    }
    let before = walker.state.clone();
    walker.text(&action.text.as_script());
    let changed = walker.state != before;
    walker.state = before;
    let signals = rest.get(1..).unwrap_or_default();
    let at_end = signals.iter().all(|signal| matches!(signal.text.as_known(), Some("EXIT" | "0")));
    let between = |signal: &Field| matches!(signal.text.as_known(), None | Some("DEBUG" | "ERR" | "RETURN"));
    if signals.iter().any(between) || changed && !at_end {
        walker.unknown("the trap runs between later commands");
    }
    walker.at_the_end(&action.text);
}

/// `export`, `declare`, `local`, `readonly`, `typeset`.
fn declare(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    let mut exports = name == "export";
    // `export` and `readonly` have other options.
    let own = matches!(name, "declare" | "typeset" | "local");
    let (mut fixes, mut global) = (name == "readonly", false);
    if name == "local" && !walker.is_in_function() {
        walker.unknown("`local` does nothing outside of functions");
    }
    for field in arguments {
        let text = &field.text;
        if let Some(option) = text.as_known().filter(|text| text.starts_with(['-', '+'])) {
            exports |= name != "readonly" && option.starts_with('-') && option.contains('x');
            if option.contains('n') && name != "export" {
                walker.unknown(format!("`{name} {option}` makes one variable stand for another"));
            }
            if option.contains('i') {
                walker.unknown(format!("`{name} {option}` evaluates what is assigned"));
            }
            if option.contains(['l', 'u', 'c']) && own {
                walker.unknown(format!("`{name} {option}` changes what is assigned"));
            }
            fixes |= option.contains('r') && own;
            global |= option.contains('g') && own;
            continue;
        }
        let prefix = text.prefix().to_owned();
        let (variable, value) = match prefix.find('=') {
            Some(at) => (prefix.get(..at).unwrap_or_default().to_owned(), Some(text.skip(at + 1))),
            None if text.is_known() => (prefix, None),
            None => {
                walker.unknown(format!("which variable `{}` is, is not known before it runs", text.shown()));
                continue;
            }
        };
        let appends = variable.ends_with('+');
        let variable = variable.strip_suffix('+').unwrap_or(&variable).to_owned();
        if !is_name(&variable) {
            walker.unknown(format!("`{variable}` is evaluated by `{name}`"));
            continue;
        }
        // `declare -a 'x=($(y))'`: the text of an array is read as code.
        if value.as_ref().is_some_and(|value| value.prefix().starts_with('(')) {
            walker.unknown(format!("what `{name}` gives to `{variable}` is read as an array"));
        }
        if own && !global {
            walker.own_variable(&variable);
        }
        if let Some(value) = &value {
            walker.assign(&variable, if appends { Variable::unknown() } else { Variable::one(value.clone()) });
        }
        if fixes {
            walker.fix_variable(&variable);
        }
        if exports {
            let held = walker.variable(&variable).values.first().cloned();
            walker.export(&variable, &value.or(held).unwrap_or_else(|| Text::any("...")));
        }
    }
}

/// `read`, `mapfile`: variables get what standard input holds.
fn read(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    let one = name == "read";
    let values = if one { "adinNptuOcsC" } else { "dnOsuCc" };
    // `-d`, `-n` and `-N` end it elsewhere than at the end of the line.
    let (mut names, mut array, mut whole, mut raw) = (Vec::new(), false, true, false);
    let mut rest = arguments.iter();
    while let Some(field) = rest.next() {
        if let Some(option) = field.text.as_known().filter(|text| text.starts_with('-') && text.len() > 1) {
            if option.contains('C') && !one {
                walker.unknown(format!("`{name} {option}` runs a command for each line"));
            }
            raw |= option.contains('r');
            let takes = option.char_indices().skip(1).find(|(_, letter)| values.contains(*letter));
            let Some((at, letter)) = takes else { continue };
            let attached = option.get(at + 1..).filter(|value| !value.is_empty()).map(Text::from);
            let value = attached.or_else(|| rest.next().map(|field| field.text.clone()));
            whole &= !matches!(letter, 'd' | 'n' | 'N');
            if letter == 'a'
                && let Some(value) = value
            {
                walker.assign_word(&value, Variable { values: Vec::new(), list: true });
                array = true;
            }
            continue;
        }
        names.push(field.text.clone());
    }
    let held = match &walker.stdin {
        Flow::Names(names) => Variable { values: names.clone(), list: !one },
        Flow::Known(text) if one && whole => match line(text, raw).filter(|line| names.len() < 2 || words(line) < 2) {
            Some(line) => Variable::one(Text::known(line.to_owned())),
            None => Variable::one(Text::any("what is read")),
        },
        Flow::Known(_) if one => Variable::one(Text::any("what is read")),
        Flow::Known(_) | Flow::Nothing if !one => Variable { values: Vec::new(), list: true },
        other => Variable { list: !one, ..Variable::one(other.as_text("what is read")) },
    };
    if names.is_empty() && !array {
        return walker.assign(if one { "REPLY" } else { "MAPFILE" }, held);
    }
    for (index, variable) in names.iter().enumerate() {
        // The first gets the first word, the last whatever is left.
        let known = held.values.iter().all(Text::is_known);
        let value = match index {
            0 => held.clone(),
            _ if known && !held.values.is_empty() => Variable::one(Text::known(String::new())),
            _ => Variable::one(Text::any("what is read")),
        };
        walker.assign_word(variable, value);
    }
}

/// The one line of a text, where `read` takes it as it is.
fn line(text: &str, raw: bool) -> Option<&str> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let as_it_is = line == line.trim() && !line.contains('\n') && (raw || !line.contains('\\'));
    as_it_is.then_some(line)
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// `printf -v NAME` sets a variable; otherwise it prints.
fn printf(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    let mut rest = arguments;
    if let [option, variable, others @ ..] = arguments
        && option.text.as_known() == Some("-v")
    {
        let value = match others {
            [format, value] if format.text.as_known() == Some("%s") => Variable::one(value.text.clone()),
            _ => Variable::unknown(),
        };
        walker.built_in(name, arguments, &[]);
        return walker.assign_word(&variable.text, value);
    }
    if rest.first().is_some_and(|field| field.text.as_known() == Some("--")) {
        rest = rest.get(1..).unwrap_or_default();
    } else if rest.first().is_some_and(|field| field.text.may_be_option()) {
        walker.unknown(format!(
            "`{}` could be an option of `printf`",
            rest.first().map_or(String::new(), |f| f.text.shown())
        ));
    }
    walker.built_in(name, arguments, &[]);
    walker.output = match rest {
        [only] => match only.text.as_known() {
            Some(format) if !format.contains('%') && !format.replace("\\n", "").contains('\\') => {
                Flow::Known(format.replace("\\n", "\n"))
            }
            _ => Flow::any(false),
        },
        [format, value] => match (format.text.as_known(), value.text.as_known()) {
            (Some("%s"), Some(value)) => Flow::Known(value.to_owned()),
            (Some("%s\\n"), Some(value)) => Flow::Known(format!("{value}\n")),
            _ => Flow::any(rest.iter().any(|field| field.text.is_downloaded())),
        },
        _ => Flow::any(rest.iter().any(|field| field.text.is_downloaded())),
    };
}

/// `wait -p NAME`: the variable gets a number, or none where nothing was waited for.
fn wait(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    for (at, field) in arguments.iter().enumerate() {
        let options = field.text.as_known().filter(|word| word.starts_with('-'));
        let Some((_, attached)) = options.and_then(|options| options.split_once('p')) else { continue };
        let attached = Some(Text::from(attached)).filter(|text| *text != Text::default());
        if let Some(variable) = attached.as_ref().or(arguments.get(at + 1).map(|next| &next.text)) {
            walker.assign_word(variable, Variable { list: true, ..Variable::one(Text::number()) });
        }
    }
}

fn arithmetic(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    for field in arguments {
        let script = format!("(({}))", field.text.as_script());
        walker.text(&script);
    }
}

fn unset(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    for field in arguments {
        match field.text.as_known() {
            Some("-v" | "-f" | "-n") => {}
            Some(variable) if is_name(variable) => {
                walker.assign(variable, Variable::unknown());
                walker.state.functions.remove(variable);
            }
            _ => walker.unknown(format!("`{}` is evaluated by `unset`", field.text.shown())),
        }
    }
}

/// `set -e` is a setting; `set -- a b` sets the arguments.
fn set(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    let mut rest = arguments.iter().enumerate();
    while let Some((index, field)) = rest.next() {
        match field.text.as_known() {
            Some(mark @ ("--" | "-" | "+")) => {
                let arguments = arguments.get(index + 1..).unwrap_or_default();
                // `set --` takes all arguments away, `set -` leaves them where there are no others.
                if mark == "--" || !arguments.is_empty() {
                    walker.state.arguments = Some(arguments.into());
                }
                return;
            }
            Some(option) if option.starts_with(['-', '+']) => {
                if option.contains(['a', 'k']) {
                    walker.unknown(format!("`set {option}` gives variables to later programs"));
                }
                // `-eo pipefail`: the name of each `o` stands behind the letters.
                for (_, field) in rest.by_ref().take(option.matches('o').count()) {
                    if !field.text.as_known().is_some_and(|name| !matches!(name, "allexport" | "keyword")) {
                        let name = field.text.shown();
                        walker.unknown(format!("`set {option} {name}` may give variables to later programs"));
                    }
                }
            }
            Some(_) => {
                let arguments = arguments.get(index..).unwrap_or_default();
                walker.state.arguments = Some(arguments.into());
                return;
            }
            None => {
                walker.state.arguments = None;
                walker.unknown(format!("`{}` could be an option of `set`", field.text.shown()));
                return;
            }
        }
    }
}

/// What changes what names mean.
fn changes(walker: &mut Walker<'_>, name: &str, arguments: &[Field]) {
    walker.built_in(name, arguments, &[]);
    if !arguments.is_empty() {
        walker.unknown(format!("`{name}` may change what later names mean"));
    }
}
