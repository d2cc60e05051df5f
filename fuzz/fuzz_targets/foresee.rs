//! Any text as a command line: it ends, it does not panic, and it says the same twice.

#![no_main]

use checkrein_contract::{Facts, Place};
use checkrein_policy::{Models, Scene, shell};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let facts = Facts::default();
    let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
    let first = shell::foresee(text, scene);
    assert_eq!(first, shell::foresee(text, scene));
});
