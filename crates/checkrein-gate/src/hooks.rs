//! Hooks that ship.

mod quota;

pub use quota::Quota;
