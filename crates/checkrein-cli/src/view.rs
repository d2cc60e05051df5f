//! How things look: live sessions, questions, closing tables, JSON lines.

mod ask;
mod closing;
mod differences;
mod json;
mod live;
mod page;
mod phrases;
mod prefix;
mod projection;
mod story;
mod why;
mod width;

pub(crate) use ask::TerminalAsker;
pub(crate) use closing::closing;
pub(crate) use differences::{of_rule, print_differences, print_offer, recorded_call};
pub(crate) use json::JsonLines;
pub(crate) use live::Live;
pub(crate) use phrases::{arguments_in_lines, call_in_a_line, hosts_in_plain_letters, printable, time_of};
pub(crate) use prefix::{prefix, prefix_lines};
pub(crate) use projection::projection;
pub(crate) use story::story;
pub(crate) use why::{by, of_call, trace, what, why};
