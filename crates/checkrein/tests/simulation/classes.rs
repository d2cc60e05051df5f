//! Every class of fault that a harness has to live with, what must hold, and where it is reached: here, by marks that a
//! run has to leave, or in a test that needs what a simulation has not.

use std::collections::BTreeMap;

use crate::plan::OPS;

/// Where a class is reached.
pub(crate) enum Reached {
    /// In simulated sessions: each of these marks.
    Here(&'static [&'static str]),
    /// In this test: file below the workspace, and the function.
    In(&'static str, &'static str),
}

/// A class of faults.
pub(crate) struct Class {
    pub(crate) layer: &'static str,
    pub(crate) fault: &'static str,
    /// What must hold; `checks.rs`, `model.rs` and `world.rs` look.
    pub(crate) holds: &'static str,
    pub(crate) reached: Reached,
}

use Reached::{Here, In};

/// The table. A new class is one entry.
pub(crate) const CLASSES: &[Class] = &[
    Class {
        layer: "model",
        fault: "arguments that are no JSON, of the wrong type, or empty",
        holds: "no tool runs; the call has one result",
        reached: Here(&["call/not-json", "call/wrong-type", "call/empty-arguments"]),
    },
    Class {
        layer: "model",
        fault: "a stream that ends without a reason",
        holds: "it counts as broken; no part of it is seen again",
        reached: Here(&["request/broken-midway"]),
    },
    Class {
        layer: "model",
        fault: "the length limit, with calls in the reply",
        holds: "none of its calls runs",
        reached: Here(&["model/cut-with-calls"]),
    },
    Class {
        layer: "model",
        fault: "reset before the first byte, midway, a stall, a slow first token",
        holds: "bounded retries; what is asked again is the same request",
        reached: Here(&["request/broken-early", "request/broken-midway", "request/stalled", "request/slow"]),
    },
    Class {
        layer: "model",
        fault: "429 with and without a time, 5xx, 400",
        holds: "it waits at least as long as it was told, up to its bound; each attempt is charged",
        reached: Here(&["request/429", "request/429-for", "request/5xx", "request/400"]),
    },
    Class {
        layer: "model",
        fault: "a request that is too long for it; a summary that is empty, cut, huge, or a call",
        holds: "it is asked with less, a bounded number of times; no call is parted from its result; the task stays",
        reached: Here(&[
            "request/too-long",
            "model/summary",
            "model/empty-summary",
            "model/cut-summary",
            "model/huge-summary",
            "model/calls-in-a-summary",
            "summary/crash-after",
            "summary/too-long",
            "summary/400",
        ]),
    },
    Class {
        layer: "model",
        fault: "the same call twice in a reply; ids are the harness's own",
        holds: "every call has an id of its own and one end",
        reached: Here(&["model/the-same-call-twice"]),
    },
    Class {
        layer: "model",
        fault: "a tool that is unknown, spelled in another case, hidden, or denied",
        holds: "nothing runs",
        reached: Here(&["call/unknown-tool", "call/wrong-case", "call/ship", "call/wipe"]),
    },
    Class {
        layer: "model",
        fault: "a tool that requests only name, called through another one",
        holds: "it is a call of that tool, under its own name, and happens as often as any",
        reached: Here(&["call/through-another", "call/looks-up"]),
    },
    Class {
        layer: "model",
        fault: "parallel calls, of which some are denied or fail",
        holds: "results come in the order of the calls; nobody else's call is cancelled",
        reached: Here(&["model/several-calls", "call/wipe", "tool/fails"]),
    },
    Class {
        layer: "model",
        fault: "an empty reply, a huge one, calls where none are welcome",
        holds: "a bounded number of them; nothing is carried out that was not asked for",
        reached: Here(&["model/empty-reply", "model/huge-reply", "model/calls-without-being-asked"]),
    },
    Class {
        layer: "model",
        fault: "the same call for ever, failing or not",
        holds: "the session ends",
        reached: Here(&["model/endless-failing-loop", "model/endless-loop"]),
    },
    Class {
        layer: "model",
        fault: "a secret in the arguments",
        holds: "neither the journal nor a later request shows it",
        reached: Here(&["call/names-a-secret"]),
    },
    Class {
        layer: "tool",
        fault: "a panic, an error, a hang past its limit, too much, a value of another shape",
        holds: "one end for each call",
        reached: Here(&["tool/breaks", "tool/fails", "tool/hangs", "tool/huge", "tool/odd", "tool/slow"]),
    },
    Class {
        layer: "tool",
        fault: "a program with an exit code, a signal, a timeout, too much output, bytes that are no text, escapes",
        holds: "one end for each call; the model sees no escape",
        reached: Here(&[
            "program/fails",
            "program/breaks",
            "program/hangs",
            "program/huge",
            "program/odd",
            "program/not-started",
        ]),
    },
    Class {
        layer: "tool",
        fault: "it reports a failure, and the effect took place; the effect comes after the end was reported",
        holds: "nothing is repeated by itself",
        reached: Here(&["tool/fails_after", "program/fails_after", "tool/effect-after-end"]),
    },
    Class {
        layer: "tool",
        fault: "a path becomes a link between check and use",
        holds: "it is not followed",
        reached: In("crates/checkrein-tools/tests/change.rs", "a_link_that_comes_after_the_decision_is_not_followed"),
    },
    Class {
        layer: "tool",
        fault: "a file changed between reading and editing",
        holds: "nothing is written over what was not seen",
        reached: In("crates/checkrein-tools/tests/change.rs", "nothing_is_written_over_what_was_not_seen"),
    },
    Class {
        layer: "host",
        fault: "a crash before, inside and after each append",
        holds: "what is there is a beginning of what was written; nothing acknowledged is lost; nothing happens twice",
        reached: Here(&[
            "create/crash-before",
            "create/crash-inside",
            "create/crash-after",
            "append/crash-before",
            "append/crash-inside",
            "append/crash-after",
        ]),
    },
    Class {
        layer: "host",
        fault: "a crash while the model, a tool, a program, the world or a clock is waited for, and after the effect",
        holds: "a finished effect is not repeated; one on its way is a person's to settle",
        reached: Here(&[
            "request/crash-before",
            "request/crash-after",
            "tool/crash-before",
            "tool/crash-after",
            "program/crash-before",
            "program/crash-after",
            "fact/crash-before",
            "wait/crash-before",
            "read/crash-before",
            "people/settles-as-done",
            "people/settles-as-repeat",
            "people/settles-as-failed",
            "people/settles-as-unknown",
        ]),
    },
    Class {
        layer: "host",
        fault: "a full or read-only disk, an error of it, a flush that fails with the data kept, a locked file",
        holds: "an error that says so; nothing is lost; it goes on when the disk does",
        reached: Here(&[
            "append/full",
            "append/read-only",
            "append/io",
            "append/kept-anyway",
            "append/locked",
            "read/io",
        ]),
    },
    Class {
        layer: "host",
        fault: "a real disk that is full, and a real one that is read-only",
        holds: "the same",
        reached: In("crates/checkrein-journal/tests/conformance/disk.rs", "a_full_disk_loses_nothing_and_is_got_over"),
    },
    Class {
        layer: "host",
        fault: "a torn tail, noise and zeros in the file, a broken header",
        holds: "found; never begun anew at the same path",
        reached: In("crates/checkrein-journal/tests/conformance/damage.rs", "a_cut_file_is_found"),
    },
    Class {
        layer: "host",
        fault: "a real kill at any flush and at any write",
        holds: "the same as in a simulated crash",
        reached: In("crates/checkrein-cli/tests/black_box/kills.rs", "killed_at_any_flush"),
    },
    Class {
        layer: "host",
        fault: "a clock that is set back or forward, a machine that sleeps",
        holds: "order is by number; the session ends",
        reached: Here(&["start/clock-back", "start/clock-forward", "wait/suspended"]),
    },
    Class {
        layer: "host",
        fault: "an interruption at each point where it waits",
        holds: "every call that ended has one end; the session can be taken up again",
        reached: Here(&[
            "append/cancel",
            "request/cancel",
            "tool/cancel",
            "program/cancel",
            "fact/cancel",
            "wait/cancel",
        ]),
    },
    Class {
        layer: "host",
        fault: "several sub-sessions at once, each of which may be lost, wait, fail or be interrupted",
        holds: "each goes on where it stands, the others to their end; together they have what was left",
        reached: Here(&["call/delegates-several", "parts/others-went-on", "parts/several-wait"]),
    },
    Class {
        layer: "people",
        fault: "yes, no, later, a yes taken back, also while it runs; a file changed after the yes; a raised budget",
        holds: "nothing runs without a yes that counts",
        reached: Here(&[
            "people/approves",
            "people/denies",
            "people/put-off",
            "people/revokes",
            "people/revokes-meanwhile",
            "people/change-a-file",
            "people/answer-at-the-terminal",
            "people/answer-a-part",
            "people/raise-a-budget",
        ]),
    },
];

/// What was never reached: marks of the table, and ways to fail that a plan can name.
pub(crate) fn never_reached(marks: &BTreeMap<String, u64>) -> Vec<String> {
    let of_table = CLASSES.iter().flat_map(|class| match class.reached {
        Here(marks) => marks,
        In(..) => &[],
    });
    let of_plans = OPS.iter().flat_map(|(_, op, kinds)| kinds.iter().map(move |kind| format!("{op}/{}", kind.name())));
    let mut missing: Vec<String> = of_table.map(|mark| (*mark).to_owned()).chain(of_plans).collect();
    missing.retain(|mark| !marks.contains_key(mark));
    missing.sort();
    missing.dedup();
    missing
}

/// Classes that are reached elsewhere name a test that is there.
#[test]
fn what_is_reached_elsewhere_is_a_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for class in CLASSES {
        assert!(!class.layer.is_empty() && !class.holds.is_empty(), "{}", class.fault);
        let In(file, test) = class.reached else { continue };
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(text.contains(&format!("fn {test}(")), "{}: there is no `{test}` in {file}", class.fault);
    }
}
