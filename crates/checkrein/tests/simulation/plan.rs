//! Fault plans: which operation fails, how, and whether it goes on failing. A plan is a value; nothing here is global.

use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

/// An operation that can fail, counted over the whole life of a session, all its processes and sub-sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Op {
    /// The first events of a session are written.
    Create,
    /// More events are written.
    Append,
    /// The journal is read.
    Read,
    /// The model is asked.
    Request,
    /// A tool runs.
    Tool,
    /// A program runs.
    Program,
    /// The world is looked at for the policy.
    Fact,
    /// The harness waits.
    Wait,
    /// Cut text is saved.
    Spill,
    /// A session is taken for a process.
    Lock,
    /// A process starts and reads the clock.
    Start,
}

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The process dies before anything happened.
    CrashBefore,
    /// The process dies while the events are on their way to the disk: a part of them stays.
    CrashInside,
    /// The process dies when it happened, before it was told so.
    CrashAfter,
    /// A person interrupts the run.
    Cancel,
    /// The disk is full.
    Full,
    /// The disk is read-only.
    ReadOnly,
    /// The disk fails.
    Io,
    /// Another process keeps the file locked.
    Locked,
    /// The flush fails, and the events are there all the same.
    KeptAnyway,
    /// A person takes a yes back in another process at this moment.
    Rival,
    /// 429, without a word on how long to wait.
    RateLimited,
    /// 429, with a time to wait.
    RateLimitedFor,
    /// 5xx.
    Server,
    /// The connection is reset before the first byte.
    BrokenEarly,
    /// The stream ends in the middle, without a reason.
    BrokenMidway,
    /// Nothing comes for a long time, then the connection breaks.
    Stalled,
    /// The first token comes late; then all is well.
    Slow,
    /// 400 or 401: asking again does not help.
    Refused,
    /// The request is longer than the model takes.
    TooLong,
    /// The program could not be started.
    NotStarted,
    /// It could not be found out.
    NoAnswer,
    /// A wait took far longer: the machine was suspended.
    Suspended,
    /// It could not be saved.
    NotSaved,
    /// Another process drives the session.
    Taken,
    /// The clock was set back between two processes.
    ClockBack,
    /// The clock was set forward between two processes.
    ClockForward,
}

use Kind::*;

const WRITES: &[Kind] = &[CrashBefore, CrashInside, CrashAfter, Cancel, Full, ReadOnly, Io, Locked, KeptAnyway];
const WRITES_LATER: &[Kind] =
    &[CrashBefore, CrashInside, CrashAfter, Cancel, Full, ReadOnly, Io, Locked, KeptAnyway, Rival];

/// Every operation with its name in plans and all the ways it can fail. A plan is drawn from this list, the loops go
/// through it, and each entry has to be reached.
pub(crate) const OPS: &[(Op, &str, &[Kind])] = &[
    (Op::Create, "create", WRITES),
    (Op::Append, "append", WRITES_LATER),
    (Op::Read, "read", &[CrashBefore, Io]),
    (
        Op::Request,
        "request",
        &[
            CrashBefore,
            CrashAfter,
            Cancel,
            RateLimited,
            RateLimitedFor,
            Server,
            BrokenEarly,
            BrokenMidway,
            Stalled,
            Slow,
            Refused,
            TooLong,
        ],
    ),
    (Op::Tool, "tool", &[CrashBefore, CrashAfter, Cancel]),
    (Op::Program, "program", &[CrashBefore, CrashAfter, Cancel, NotStarted]),
    (Op::Fact, "fact", &[CrashBefore, Cancel, NoAnswer]),
    (Op::Wait, "wait", &[CrashBefore, Cancel, Suspended]),
    (Op::Spill, "spill", &[NotSaved]),
    (Op::Lock, "lock", &[Taken]),
    (Op::Start, "start", &[ClockBack, ClockForward]),
];

const KINDS: &[(Kind, &str)] = &[
    (CrashBefore, "crash-before"),
    (CrashInside, "crash-inside"),
    (CrashAfter, "crash-after"),
    (Cancel, "cancel"),
    (Full, "full"),
    (ReadOnly, "read-only"),
    (Io, "io"),
    (Locked, "locked"),
    (KeptAnyway, "kept-anyway"),
    (Rival, "rival"),
    (RateLimited, "429"),
    (RateLimitedFor, "429-for"),
    (Server, "5xx"),
    (BrokenEarly, "broken-early"),
    (BrokenMidway, "broken-midway"),
    (Stalled, "stalled"),
    (Slow, "slow"),
    (Refused, "400"),
    (TooLong, "too-long"),
    (NotStarted, "not-started"),
    (NoAnswer, "no-answer"),
    (Suspended, "suspended"),
    (NotSaved, "not-saved"),
    (Taken, "taken"),
    (ClockBack, "clock-back"),
    (ClockForward, "clock-forward"),
];

impl Op {
    pub(crate) fn name(self) -> &'static str {
        OPS.iter().find(|(op, _, _)| *op == self).map_or("?", |(_, name, _)| name)
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("?", |(_, name)| name)
    }

    /// A fault that can last: the disk stays full, the other side stays down.
    pub(crate) fn lasts(self) -> bool {
        matches!(
            self,
            Full | ReadOnly | Io | Locked | RateLimited | Server | BrokenEarly | NotStarted | NoAnswer | NotSaved
        )
    }
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) op: Op,
    /// Which of these operations, from 1.
    pub(crate) nth: u64,
    pub(crate) kind: Kind,
    /// Every later one too, until the process after the next starts.
    pub(crate) stays: bool,
}

impl fmt::Display for Fault {
    /// `append:3:crash-inside`, `append:3+:full`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stays = if self.stays { "+" } else { "" };
        write!(f, "{}:{}{stays}:{}", self.op.name(), self.nth, self.kind.name())
    }
}

/// The faults of one life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan(pub(crate) Vec<Fault>);

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let faults: Vec<String> = self.0.iter().map(Fault::to_string).collect();
        f.write_str(&faults.join(","))
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "none" {
            return Ok(Self::default());
        }
        text.split(',').map(fault).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

fn fault(text: &str) -> Result<Fault, String> {
    let wrong = || format!("`{text}` is no fault: write OP:N:KIND or OP:N+:KIND");
    let mut parts = text.split(':');
    let (Some(op), Some(nth), Some(kind), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
    };
    let (op, _, kinds) = OPS.iter().find(|(_, name, _)| *name == op).ok_or_else(wrong)?;
    let (kind, _) = KINDS.iter().find(|(_, name)| *name == kind).ok_or_else(wrong)?;
    let stays = nth.ends_with('+');
    let nth = nth.trim_end_matches('+').parse().map_err(|_| wrong())?;
    if nth == 0 || !kinds.contains(kind) || stays && !kind.lasts() {
        return Err(wrong());
    }
    Ok(Fault { op: *op, nth, kind: *kind, stays })
}

impl Plan {
    /// A plan drawn from the dice: none to five faults and what they need, more of them early in a life, where every session comes past.
    pub(crate) fn drawn(rng: &mut Rng) -> Self {
        let faults = (0..rng.usize(0..=5)).flat_map(|_| {
            let (op, _, kinds) = OPS[rng.usize(0..OPS.len())];
            let kind = kinds[rng.usize(0..kinds.len())];
            let most = match op {
                Op::Create | Op::Spill | Op::Start | Op::Wait => 3,
                Op::Lock => 6,
                _ => 30,
            };
            let most = rng.u64(1..=most);
            Self::of(Fault { op, nth: rng.u64(1..=most), kind, stays: kind.lasts() && rng.u8(0..3) == 0 }).0
        });
        Self(faults.collect())
    }

    /// One fault, with what makes a session come past it: only a model that fails makes it wait.
    pub(crate) fn of(fault: Fault) -> Self {
        let failing = |nth| Fault { op: Op::Request, nth, kind: Server, stays: false };
        let mut plan = if fault.op == Op::Wait { vec![failing(1), failing(3)] } else { Vec::new() };
        plan.push(fault);
        Self(plan)
    }

    /// The smallest plan that still fails, by taking faults out while it does.
    pub(crate) fn smallest(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut plan = self.clone();
        let mut at = 0;
        while at < plan.0.len() {
            let mut without = plan.clone();
            without.0.remove(at);
            if fails(&without) {
                plan = without;
            } else {
                at += 1;
            }
        }
        plan
    }
}
