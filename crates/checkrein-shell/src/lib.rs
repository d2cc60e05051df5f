//! Reads bash. [`parse`] gives the tree of a script, exactly as bash would cut it, or says where it could not.
//!
//! This crate knows the grammar and nothing else: no expansion, no program, no path. It is total: it never panics, never
//! overflows the stack, and takes time linear in its input.

mod braces;
mod parse;
mod read;
mod salvage;
mod tree;

pub use braces::expand_braces;
pub use parse::{Broken, LONGEST, parse};
pub use tree::*;
