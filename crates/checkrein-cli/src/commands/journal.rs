//! `journal`: prove what is in it, print what proves it elsewhere, remove what is old.

mod prune;
mod verify;

use std::io::Write as _;

use checkrein::HarnessError;
use checkrein::contract::SessionId;
use checkrein::journal::{EventStore, PublicKey};
use checkrein::verify::heads;

use super::usage;
use crate::arguments::{Journal, JournalAccept, JournalHead};
use crate::context::Context;

pub(super) fn run(arguments: Journal, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Journal::Verify(arguments) => verify::run(&arguments, context),
        Journal::Head(arguments) => head(&arguments, context),
        Journal::Accept(arguments) => accept(&arguments, context),
        Journal::Prune(arguments) => prune::run(&arguments, context),
    }
}

fn head(arguments: &JournalHead, context: &Context) -> Result<u8, HarnessError> {
    let store = context.store()?;
    let mut out = context.out();
    for line in heads(&*store, &sessions(&*store, &arguments.sessions)?)? {
        _ = writeln!(out, "{line}");
    }
    Ok(0)
}

fn accept(arguments: &JournalAccept, context: &Context) -> Result<u8, HarnessError> {
    let wrong = || usage(format!("{}: a key is 64 hex digits, as `journal head` prints it", arguments.key));
    let key = PublicKey::parse(&arguments.key).ok_or_else(wrong)?;
    context.store()?.accept(&key)?;
    _ = writeln!(context.out(), "sessions that {} signed can be gone on with", key.short());
    Ok(0)
}

/// The sessions of these names, or all, the newest first.
fn sessions(store: &dyn EventStore, names: &[String]) -> Result<Vec<SessionId>, HarnessError> {
    if names.is_empty() {
        return Ok(store.sessions()?.into_iter().map(|row| row.id).collect());
    }
    names.iter().map(|name| Ok(store.find(name)?)).collect()
}
