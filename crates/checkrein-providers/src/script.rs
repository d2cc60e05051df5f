//! The scripted model, `script:FILE`: a strict list of steps, each of which answers one request. It must not look at
//! anything but the request: what a context policy left out, a script can not see either.
//!
//! # Order
//!
//! Steps answer in the order of the file; a cursor stands at the step that is next.
//!
//! - A **plain step** (neither `when` nor `else`) answers the next request, whatever it shows.
//! - A **choice** is a maximal run of `when` steps followed by an `else` step. The first step whose condition holds
//!   answers, `else` if none does. Then the choice is left, but for its later steps whose conditions did *not* hold at
//!   that moment: at the next request the first of them that holds by now answers. So a choice may be written as "if,
//!   else if, else", and as one condition after the other. When none of them holds, the step behind the choice answers,
//!   or `else` where the script ends.
//! - An **open run** is a maximal run of `when` steps that no `else` follows. At each request the first of its
//!   remaining steps whose condition holds answers, and the cursor stands right behind that step. When none holds, the
//!   run is left and the step behind it answers the same request. When there is none, the request fails as
//!   `SCRIPT_EXHAUSTED`.
//! - `repeat = N` (1 when absent): the step answers N requests before the cursor moves on. `repeat = "forever"`: the
//!   cursor never moves on by itself. The condition of a `when` step is asked again each time; a repeating step whose
//!   condition no longer holds is left, in a choice together with the whole choice.
//! - A step answers also by failing (`error`, `cut_after`): it counts as used, and the next attempt is one more
//!   request.
//! - The last request of a session (`tool_choice` is none) is a request like any other; the step's calls are dropped.
//!
//! - A step with `sub = N` answers the N-th sub-session (of the tool `task`, from 1) and nothing else. The steps of one
//!   sub-session are a script of their own, in the order of the file.
//!
//! # Replies
//!
//! - The text is streamed in pieces, each ending behind a white-space character.
//! - The stop is `length` where the step says so, else `calls` when there are calls, else `end`.
//! - `error = { status, retry_after_s }` stands alone in its step: 429 is rate limited, 408 and 5xx are the server's
//!   fault, every other 4xx is a refusal that is not tried again.
//! - `cut_after = N`: at most N bytes of the text are streamed, never half a character, and then the stream breaks off,
//!   also when the text is shorter. Calls come behind the text and so never get through.
//!   `cut_by` says how: `drop` (the connection breaks; also without it), `end` (it ends as if that were all), `garbage` (a
//!   piece that is no JSON comes) or `stall` (nothing more comes). In process all four are a stream that broke off.
//! - `delay_ms` moves the virtual clock before the reply, `piece_ms` before each piece of its text. `usage` is given back as
//!   stated; without it the harness estimates.
//! - `chunk_bytes` and `ids` are for a wire (`script serve`): the bytes come in chunks of at most so many, and every call has
//!   the `same` id, or an `empty` one. In process there are neither bytes nor ids.
//!
//! # Conditions
//!
//! All keys of one `when` must hold. `tool_result = NAME`: a result of that tool is visible. `contains = TEXT`: a
//! visible result contains it; both together: one and the same result. `user_contains = TEXT`: a user message contains
//! it, also one that the harness wrote. Results are recognised by role; refused and failed ones count, and so does the
//! placeholder that a context policy leaves, with the text it has.
//!
//! # Quotes
//!
//! `{{result.TOOL}}` is the text of the newest visible result of TOOL. `{{result.TOOL.a.0.b}}` is the value at that
//! path in the newest visible result of TOOL whose text is JSON and has the path. Results that are errors are never
//! quoted. Quotes stand in `text` and in every string inside `args`; a string of `args` that is one quote and nothing
//! else keeps the JSON type. `raw` arguments are sent as they stand. When nothing visible can be quoted, the request
//! fails as `SCRIPT_EXHAUSTED`. The name of the tool ends at the first dot. Anything else in double braces is plain
//! text.
//!
//! # What counts as unused
//!
//! When the session completed, [`Provider::close`](checkrein_contract::Provider::close) complains (`SCRIPT_UNUSED`)
//! about
//!
//! - every step from the cursor on, unless the step there repeats forever and has answered: such a step ends the
//!   script;
//! - every `repeat = N` step that was left before it answered N times;
//! - every step of an open run that was passed over, unless another step of the same run was used.
//!
//! Branches of a choice that were not taken are fine.
//!
//! # Position
//!
//! The provider is stateless. `ModelRequest::provider` brings the position (null at the beginning), and the reply or
//! the error takes the next one back: `{"at": cursor, "times": how often the step there has answered, "passed": [steps
//! of open runs that were passed over], "short": [repeating steps that were left early], "later": [steps of a choice
//! that may still answer]}`, the last two only when not empty; steps counted from 0. It never holds more than one number for each step. A request that no step could answer
//! brings back the position it came with.

mod condition;
mod delivery;
mod file;
mod load;
mod position;
mod provider;
mod quote;

use std::collections::BTreeMap;
use std::fmt;

use checkrein_contract::Usage;

use self::condition::Condition;
use self::quote::{Shape, Template};

pub(crate) use self::delivery::{Cut, CutBy, Delivery, Ids};
pub(crate) use self::provider::Spoken;

pub use self::provider::ScriptProvider;

/// A script, read and checked: `version = 1` and its steps. One script may serve any number of sessions at the same
/// time, because it holds no position.
#[derive(Clone, Debug)]
pub struct Script {
    steps: Vec<Step>,
    /// The steps that answer a sub-session, by its number.
    delegated: BTreeMap<u32, Vec<Step>>,
}

/// One step.
#[derive(Clone, Debug)]
struct Step {
    /// Its number, from 1.
    number: usize,
    /// Its line in the file, from 1.
    line: usize,
    guard: Guard,
    /// The run it belongs to.
    run: Option<Run>,
    repeat: Repeat,
    answer: Answer,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} (line {})", self.number, self.line)
    }
}

/// When a step answers.
#[derive(Clone, Debug)]
enum Guard {
    Plain,
    When(Condition),
    Else,
}

/// A run of `when` steps, with its `else` if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: usize,
    /// Behind its last step.
    end: usize,
    /// It ends in `else`.
    choice: bool,
}

/// How often a step answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Times(u32),
    Forever,
}

/// What a step answers.
#[derive(Clone, Debug)]
enum Answer {
    Error { status: u16, retry_after_ms: Option<u64> },
    Reply(Reply),
}

#[derive(Clone, Debug)]
struct Reply {
    text: Template,
    calls: Vec<StepCall>,
    delivery: Delivery,
    /// The length limit was reached.
    length: bool,
    usage: Option<Usage>,
}

#[derive(Clone, Debug)]
struct StepCall {
    tool: String,
    arguments: Arguments,
}

#[derive(Clone, Debug)]
enum Arguments {
    /// Sent as it stands.
    Raw(String),
    Json(Shape),
}
