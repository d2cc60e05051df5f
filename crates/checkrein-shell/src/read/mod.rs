//! The parser. It reads the text byte by byte, without a separate list of tokens: what a byte means in bash depends on
//! where it stands.

mod arithmetic;
mod assignments;
mod commands;
mod compound;
mod conditional;
mod cursor;
mod dollar;
mod heredoc;
mod loops;
mod parameter;
mod quotes;
mod redirects;
mod reserved;
mod words;

pub(crate) use cursor::{Parser, Shared, Stop};
