//! `policy`: ask it about one call, or about recorded ones; find what it does not do.

mod check;
mod commands;
mod diff;
mod import;
mod lint;
mod suggest;
mod test;
mod trust;

use checkrein::HarnessError;

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
