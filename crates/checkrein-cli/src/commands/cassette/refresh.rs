//! `cassette refresh`: a recording made anew beside the old one, and each turn of it accepted or rejected by a person.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use checkrein::cassette::{self, Cassette, Changes, TaskRef, Turn, beside};
use checkrein::contract::{OnAsk, Status};
use checkrein::{HarnessError, RunOptions, Task, replace_file};

use crate::arguments::{ALL, CassetteRefresh};
use crate::commands::run::{drive, front};
use crate::commands::usage;
use crate::context::Context;
use crate::typed;
use crate::view::printable;

/// Both recordings, and where they lie.
struct Both {
    file: PathBuf,
    beside: PathBuf,
    old: Cassette,
    new: Cassette,
}

pub(super) fn run(arguments: &CassetteRefresh, context: &Context) -> Result<u8, HarnessError> {
    let (file, beside) = (arguments.file.clone(), beside(&arguments.file));
    let old = cassette::load(&file)?;
    let mut out = context.out();
    if !beside.exists() {
        if arguments.accept.is_some() || arguments.reject.is_some() {
            let wrong = "is not there: record it first, without --accept and --reject";
            return Err(usage(format!("{} {wrong}", beside.display())));
        }
        if let Some(code) = record(arguments, &old, context)? {
            return Ok(code);
        }
    } else if arguments.model.is_some() {
        let wrong = "has a recording that nobody has accepted: accept or reject it first";
        return Err(usage(format!("{} {wrong}", beside.display())));
    }
    let new = cassette::load(&beside)?;
    let both = Both { file, beside, old, new };
    let changes = cassette::changes(&both.old, &both.new);
    let all = |turns: &[String]| turns.iter().any(|turn| turn == ALL);
    match (&arguments.accept, &arguments.reject) {
        (Some(turns), _) if all(turns) => both.accepted(&changes, &mut *out),
        (_, Some(turns)) if all(turns) => both.rejected(&mut *out),
        (Some(turns), _) => both.decide(turns.clone(), Vec::new(), &mut *out, context),
        (_, Some(turns)) => both.decide(Vec::new(), turns.clone(), &mut *out, context),
        _ if context.interactive && !changes.is_empty() => {
            let [accepted, rejected] = asked(&changes, &mut *out);
            both.decide(accepted, rejected, &mut *out, context)
        }
        _ => both.decide(Vec::new(), Vec::new(), &mut *out, context),
    }
}

fn names<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> Vec<String> {
    turns.into_iter().map(|turn| turn.name.clone()).collect()
}

/// What a person says of each turn: those that are accepted, and those that are not. Turns that hold each other are asked about
/// once.
fn asked(changes: &Changes, out: &mut dyn Write) -> [Vec<String>; 2] {
    let (tied, alone): (Vec<&Turn>, Vec<&Turn>) = changes.turns.iter().partition(|turn| turn.tied);
    let mut decided = [Vec::new(), Vec::new()];
    tell_model(changes, out);
    let groups = std::iter::once(tied).chain(alone.into_iter().map(|turn| vec![turn]));
    for group in groups.filter(|group| !group.is_empty()) {
        group.iter().for_each(|turn| tell(turn, out));
        if let [first, rest @ ..] = group.as_slice()
            && !rest.is_empty()
        {
            _ = writeln!(
                out,
                "{} and {} more hold what each other says: one word for all of them",
                first.name,
                rest.len()
            );
        }
        loop {
            typed::discard_earlier();
            _ = write!(out, "  [a] accept   [r] reject   [l] later: ");
            _ = out.flush();
            let Some(line) = typed::line() else { return decided };
            let which = match line.as_str() {
                "a" | "accept" => 0,
                "r" | "reject" => 1,
                "l" | "later" => break,
                _ => continue,
            };
            decided[which].extend(names(group.iter().copied()));
            break;
        }
    }
    decided
}

fn tell_model(changes: &Changes, out: &mut dyn Write) {
    if let Some((was, is)) = &changes.model {
        _ = writeln!(out, "the model was {} and is {}", printable(was), printable(is));
    }
}

fn tell(turn: &Turn, out: &mut dyn Write) {
    for what in &turn.what {
        _ = writeln!(out, "{}: {}", turn.name, printable(what));
    }
}

impl Both {
    /// Accepted turns go into the old recording, the old ones of those that were rejected into the new one. Where nothing is
    /// different any more, there is one recording.
    fn decide(
        self,
        accepted: Vec<String>,
        rejected: Vec<String>,
        out: &mut dyn Write,
        context: &Context,
    ) -> Result<u8, HarnessError> {
        let (old, taken) = self.old.with_turns_of(&self.new, &accepted).map_err(usage)?;
        let (new, kept) = self.new.with_turns_of(&self.old, &rejected).map_err(usage)?;
        for (word, named, all) in [("accepted", &accepted, &taken), ("rejected", &rejected, &kept)] {
            let with: Vec<&str> = all.iter().filter(|turn| !named.contains(turn)).map(String::as_str).collect();
            if !with.is_empty() {
                _ = writeln!(out, "{word} with them, since they hold what each other says: {}", with.join(", "));
            }
        }
        let left = cassette::changes(&old, &new);
        if left.is_empty() {
            return match (taken.as_slice(), kept.as_slice()) {
                ([], []) => {
                    _ = writeln!(out, "nothing a session could tell is different");
                    told_what_to_type(&self.file, &self.beside, out, context);
                    Ok(0)
                }
                (_, []) => self.accepted(&Changes::default(), out),
                ([], _) => self.rejected(out),
                (taken, kept) => {
                    replace_file(&self.file, &new.text())?;
                    fs::remove_file(&self.beside).map_err(|error| self.failed(&error))?;
                    let (file, taken, kept) = (self.file.display(), taken.join(", "), kept.join(", "));
                    _ = writeln!(out, "{file} has {taken} of the new recording, and {kept} as before");
                    Ok(0)
                }
            };
        }
        if !taken.is_empty() {
            replace_file(&self.file, &old.text())?;
        }
        if !kept.is_empty() {
            replace_file(&self.beside, &new.text())?;
        }
        tell_model(&left, out);
        left.turns.iter().for_each(|turn| tell(turn, out));
        told_what_to_type(&self.file, &self.beside, out, context);
        Ok(1)
    }

    fn accepted(&self, changes: &Changes, out: &mut dyn Write) -> Result<u8, HarnessError> {
        tell_model(changes, out);
        changes.turns.iter().for_each(|turn| tell(turn, out));
        fs::rename(&self.beside, &self.file).map_err(|error| self.failed(&error))?;
        _ = writeln!(out, "{} is the new recording", self.file.display());
        Ok(0)
    }

    fn rejected(&self, out: &mut dyn Write) -> Result<u8, HarnessError> {
        fs::remove_file(&self.beside).map_err(|error| self.failed(&error))?;
        _ = writeln!(out, "{} is gone, and {} is as it was", self.beside.display(), self.file.display());
        Ok(0)
    }

    fn failed(&self, error: &std::io::Error) -> HarnessError {
        HarnessError::Unreadable { path: self.beside.clone(), reason: error.to_string() }
    }
}

fn told_what_to_type(file: &Path, beside: &Path, out: &mut dyn Write, context: &Context) {
    let program = &context.program;
    _ = writeln!(
        out,
        "the new recording is {}\nto put it in its place, or throw it away (or turns of it, as --accept=TURN,TURN):\n  {program} \
         cassette refresh {file} --accept\n  {program} cassette refresh {file} --reject",
        beside.display(),
        file = file.display()
    );
}

/// Whether the person wants that: a file comes from anywhere, so what it names is neither run nor asked on its own word.
fn agreed(arguments: &CassetteRefresh, old: &Cassette, task: &Task, context: &Context) -> Result<bool, HarnessError> {
    let mut out = context.out();
    let file = arguments.file.display();
    match (&task.folder, &old.header().task) {
        (Some(folder), _) => {
            _ = writeln!(
                out,
                "{file} is of the task in {}\n  it runs here as `run` would run it, with its policy and tools",
                folder.display()
            );
        }
        (None, TaskRef::Words(words) | TaskRef::Folder(words)) => {
            _ = writeln!(out, "{file} is of the words: {}\n  they are done in this folder", printable(words));
        }
    }
    let (model, whose) = match &arguments.model {
        Some(model) => (model, "that you named"),
        None => (&old.header().model, "that the file names"),
    };
    _ = writeln!(out, "the model {whose} is asked, with your key where it takes one: {}", printable(model));
    Ok(arguments.yes || context.confirmed("Record it anew?")?)
}

/// Runs the task of a cassette with its model; an exit code where it did not come to an end.
fn record(arguments: &CassetteRefresh, old: &Cassette, context: &Context) -> Result<Option<u8>, HarnessError> {
    let task = cassette::task(old.header(), &arguments.file, context.folder())?;
    if !agreed(arguments, old, &task, context)? {
        return Ok(Some(1));
    }
    let harness = context.harness()?;
    let (task, model) = match &arguments.model {
        Some(model) => (task, Some(model.clone())),
        None => (cassette::with_model(task, &old.header().model), None),
    };
    let record = Some(beside(&arguments.file));
    let on_ask = Some(task.on_ask.unwrap_or(OnAsk::Pause));
    let options = RunOptions { model, on_ask, record, ..RunOptions::default() };
    let mut session = harness.begin(&task, &options, front(context, false, &[]))?;
    let outcome = drive(&mut session)?;
    let mut out = context.out();
    match outcome.status {
        Status::Completed | Status::BudgetExhausted | Status::Blocked => Ok(None),
        status if status.can_resume() => {
            let (id, program) = (&outcome.session, &context.program);
            _ = writeln!(
                out,
                "{id} waits ({status}): {}\ngo on with `{program} resume {id}`; it is recorded to its end, and this command shows \
                 the differences then",
                printable(&outcome.reason)
            );
            Ok(Some(status.exit_code()))
        }
        status => {
            _ = fs::remove_file(beside(&arguments.file));
            _ = writeln!(out, "{status}: {}; nothing is kept of it", printable(&outcome.reason));
            Ok(Some(status.exit_code()))
        }
    }
}
