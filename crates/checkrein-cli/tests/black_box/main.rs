//! Black-box tests of the real binary: what a user types, and what the world looks like afterwards.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod bad_input;
mod canary;
mod cassette_modes;
mod cassette_turns;
mod cassettes;
mod codex;
mod context;
mod control;
mod deferred;
mod delegate;
mod doctor;
mod examples;
mod fork;
mod hook;
mod instructions;
mod journal;
mod judging;
mod killed_often;
mod kills;
mod ledger;
mod live;
mod looping;
mod lost;
mod models;
mod network;
mod notify;
mod past;
mod pauses;
mod places;
mod policy;
mod portable;
mod recomposed;
mod remember;
mod replay;
mod secrets;
mod serve;
mod show;
mod strangers;
mod terminal;
mod web;
mod words;
