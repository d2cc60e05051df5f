//! The tools with the real file system and the real bash, each call through the registry and every stage of the gate.

mod support;

mod bash;
mod change;
mod command;
mod conformance;
mod hostile;
mod read;
mod search;
mod shown;
mod verify;
mod web;
