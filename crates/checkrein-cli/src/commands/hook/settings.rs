//! Puts the hook into another agent's settings, and takes it out again: a change that is shown first, and a copy of what
//! was there before.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use checkrein::hook::Caller;
use checkrein::{HarnessError, replace_file};

use super::super::change::agreed;
use super::super::usage;
use super::{claude, codex};
use crate::arguments::HookSettings;
use crate::context::Context;

/// What is put behind the name of a settings file for the copy of it.
const COPY: &str = ".before-checkrein";

/// How one agent's settings are edited: texts in, texts out.
struct Editor {
    /// Adds the hook that runs this command, unless it is there.
    add: fn(&str, &str) -> Result<String, String>,
    /// Takes every hook of ours out.
    remove: fn(&str) -> Result<String, String>,
    /// The settings in the person's home.
    file: &'static str,
    /// What a person has to know besides.
    note: &'static str,
}

fn editor(caller: Caller) -> Editor {
    match caller {
        Caller::Claude => Editor {
            add: claude::add,
            remove: claude::remove,
            file: ".claude/settings.json",
            note: "It holds in every new session of Claude Code; /hooks shows it there.",
        },
        Caller::Codex => Editor {
            add: codex::add,
            remove: codex::remove,
            file: ".codex/config.toml",
            note: "Codex runs a hook only when a person trusts it: open Codex and say yes in /hooks. Until then it is \
                   skipped without a word.",
        },
    }
}

pub(super) fn install(arguments: &HookSettings, context: &Context) -> Result<u8, HarnessError> {
    let (caller, path) = target(arguments, context);
    let editor = editor(caller);
    let command = command(caller, arguments.policy.as_deref())?;
    let old = text(&path)?;
    let new = (editor.add)(old.as_deref().unwrap_or_default(), &command).map_err(|error| mistake(&path, &error))?;
    if old.as_deref() == Some(new.as_str()) {
        _ = writeln!(context.out(), "{}: the hook is there already", path.display());
        return Ok(0);
    }
    if !agreed(context, &path, old.as_deref().unwrap_or_default(), &new, arguments.yes)? {
        return Ok(1);
    }
    unchanged(&path, old.as_deref())?;
    // The copy is of what was there before any hook of ours, with its mode.
    let pristine = old.as_deref().is_some_and(|old| (editor.remove)(old).is_ok_and(|bare| bare == old));
    if pristine {
        fs::copy(&path, copy_of(&path)).map_err(|error| unwritable(&path, &error))?;
    }
    replace_file(&path, &new)?;
    let mut out = context.out();
    _ = writeln!(out, "installed  {}", path.display());
    if copy_of(&path).exists() {
        _ = writeln!(out, "as it was  {}", copy_of(&path).display());
    }
    _ = writeln!(out, "{}", editor.note);
    Ok(0)
}

pub(super) fn uninstall(arguments: &HookSettings, context: &Context) -> Result<u8, HarnessError> {
    let (caller, path) = target(arguments, context);
    let editor = editor(caller);
    let Some(now) = text(&path)? else {
        _ = writeln!(context.out(), "{}: there is no such file, so no hook either", path.display());
        return Ok(0);
    };
    let bare = (editor.remove)(&now).map_err(|error| mistake(&path, &error))?;
    if bare == now {
        _ = writeln!(context.out(), "{}: there is no hook of ours", path.display());
        return Ok(0);
    }
    let ours = |text: &str| (editor.remove)(text).is_ok_and(|bare| bare != text);
    let before = text(&copy_of(&path))?.filter(|before| !ours(before));
    // Where nothing else was changed since, it becomes, to the byte, what it was. Adding and removing may leave other marks
    // than a person's own words (an empty list), so what was there goes through both before it is compared.
    let through = |before: &str| (editor.remove)(&(editor.add)(before, &command(caller, None).ok()?).ok()?).ok();
    let untouched = |before: &str| through(before).is_some_and(|text| same(&text, &bare));
    let restored = before.as_deref().is_some_and(untouched);
    let new = if restored { before.clone().unwrap_or(bare) } else { bare };
    if !agreed(context, &path, &now, &new, arguments.yes)? {
        return Ok(1);
    }
    unchanged(&path, Some(&now))?;
    if before.is_none() && new.trim().trim_matches(['{', '}']).trim().is_empty() {
        fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
    } else {
        replace_file(&path, &new)?;
    }
    if restored {
        fs::remove_file(copy_of(&path)).map_err(|error| unwritable(&path, &error))?;
    }
    _ = writeln!(context.out(), "uninstalled  {}", path.display());
    Ok(0)
}

/// That a file is still what was shown: agents write their settings themselves.
fn unchanged(path: &Path, shown: Option<&str>) -> Result<(), HarnessError> {
    if text(path)?.as_deref() == shown {
        return Ok(());
    }
    Err(usage(format!("{} was changed meanwhile; nothing was done, try again", path.display())))
}

/// The same but for blanks between the words of the format.
fn same(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    bare(one) == bare(other)
}

/// Whose settings, and which file.
fn target(arguments: &HookSettings, context: &Context) -> (Caller, PathBuf) {
    let caller = arguments.agent.into();
    let path = arguments.file.clone().unwrap_or_else(|| context.home().join(editor(caller).file));
    (caller, path.canonicalize().unwrap_or(path))
}

/// The command line of the hook.
fn command(caller: Caller, policy: Option<&Path>) -> Result<String, HarnessError> {
    let program =
        std::env::current_exe().map_err(|error| usage(format!("this program can not find itself: {error}")))?;
    let mut command = format!("{} hook --for {}", quoted(&program)?, caller.name());
    if let Some(policy) = policy {
        let policy = policy.canonicalize().map_err(|error| usage(format!("{}: {error}", policy.display())))?;
        command.push_str(&format!(" --policy {}", quoted(&policy)?));
    }
    Ok(command)
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> Result<String, HarnessError> {
    let text = path.to_str().ok_or_else(|| usage(format!("{}: the path is no UTF-8", path.display())))?;
    let plain = text.chars().all(|letter| letter.is_alphanumeric() || "/._-+@".contains(letter));
    Ok(if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) })
}

fn text(path: &Path) -> Result<Option<String>, HarnessError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unwritable(path, &error)),
    }
}

fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(COPY);
    PathBuf::from(name)
}

fn unwritable(path: &Path, error: &std::io::Error) -> HarnessError {
    HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

fn mistake(path: &Path, error: &str) -> HarnessError {
    HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_owned() }
}
