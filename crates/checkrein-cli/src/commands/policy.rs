//! `policy`: ask it about one call, or about recorded ones; find what it does not do.

mod check;
mod commands;
mod diff;
mod import;
mod lint;
mod suggest;
mod test;
mod trust;

use std::path::Path;

use checkrein::HarnessError;
use checkrein::contract::{Layer, PolicySource};

use crate::arguments::Policy;
use crate::context::Context;

pub(super) fn run(arguments: Policy, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Policy::Check(arguments) => check::check(&arguments, context),
        Policy::Explain(arguments) => check::explain(&arguments, context),
        Policy::Test(arguments) => test::run(&arguments, context),
        Policy::Lint(arguments) => lint::run(&arguments, context),
        Policy::Trust(arguments) => trust::run(&arguments, context),
        Policy::Diff(arguments) => diff::run(&arguments, context),
        Policy::Suggest(arguments) => suggest::run(&arguments, context),
        Policy::Import(arguments) => import::run(&arguments, context),
        Policy::Commands => commands::run(context),
    }
}

/// A policy file as the project's layer.
pub(super) fn source(path: &Path) -> Result<PolicySource, HarnessError> {
    let text = read(path)?;
    Ok(PolicySource { layer: Layer::Project, file: path.display().to_string(), text, only_tightens: false })
}

pub(super) fn read(path: &Path) -> Result<String, HarnessError> {
    std::fs::read_to_string(path)
        .map_err(|error| HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}
