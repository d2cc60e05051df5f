//! How things look: live sessions, questions, closing tables, JSON lines.

mod ask;
mod closing;
mod json;
mod live;
mod phrases;

pub(crate) use ask::TerminalAsker;
pub(crate) use closing::closing;
pub(crate) use json::JsonLines;
pub(crate) use live::Live;
pub(crate) use phrases::{arguments_in_lines, call_in_a_line, printable, time_of};
