//! The driver through the facade, with tools, hooks and models of the tests' own: what a script can not show from outside.

mod support;

mod answers;
mod compaction;
mod concurrency;
mod deferred;
mod economy;
mod edges;
mod face;
mod facts;
mod import;
mod invariants;
mod messages;
mod old;
mod recorded;
mod recovery;
mod replay;
mod side_by_side;
