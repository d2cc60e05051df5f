//! The calls of one proposal (or one round of checks), on their way to results.

use checkrein_contract::{
    CallId, CallKind, Code, Digest, FinishedAs, Message, ProposedCall, ResultPart, Settlement, Verdict,
};

use crate::tools;

/// How many parallel calls may overlap.
const GROUP: usize = 10;

/// The calls, grouped: consecutive parallel calls together, every exclusive call alone. Sub-sessions are a group among
/// themselves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Batch {
    pub(crate) slots: Vec<Slot>,
    /// The harness's own checks; their results are no message.
    pub(crate) by_harness: bool,
    /// They read instruction files instead.
    pub(crate) instructions: bool,
    /// The whole proposal is refused with this code: it was cut.
    pub(crate) refused: Option<Code>,
}

/// One call on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) call: ProposedCall,
    pub(crate) group: usize,
    pub(crate) decided: Option<Verdict>,
    pub(crate) binds: Option<Digest>,
    pub(crate) started: Option<CallKind>,
    /// What a person said became of it, with their words, where nobody else knows.
    pub(crate) settled: Option<(Settlement, String)>,
    pub(crate) ended: Option<Ended>,
}

impl Slot {
    /// It was started, may not be repeated and has no end: whoever asks between two steps of a session learns that a
    /// process was lost while it ran.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.started == Some(CallKind::Once) && self.ended.is_none()
    }
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) how: FinishedAs,
    pub(crate) code: Option<Code>,
    pub(crate) text: String,
}

impl Batch {
    pub(crate) fn new(calls: Vec<ProposedCall>, by_harness: bool, refused: Option<Code>) -> Self {
        let mut slots: Vec<Slot> = Vec::with_capacity(calls.len());
        let (mut group, mut size, mut open, mut delegates) = (0, 0, false, false);
        for call in calls {
            let before = std::mem::replace(&mut delegates, tools::delegates(&call.tool));
            let joins = open && call.parallel && size < GROUP && before == delegates;
            if !joins && !slots.is_empty() {
                group += 1;
                size = 0;
            }
            open = call.parallel;
            size += 1;
            slots.push(Slot { call, group, decided: None, binds: None, started: None, settled: None, ended: None });
        }
        Self { slots, by_harness, instructions: false, refused }
    }

    pub(crate) fn slot_mut(&mut self, call: &CallId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.call.id == *call)
    }

    /// The slots of the first group that is not over; empty when all are.
    pub(crate) fn current(&self) -> impl Iterator<Item = &Slot> {
        let group = self.slots.iter().find(|slot| slot.ended.is_none()).map(|slot| slot.group);
        self.slots.iter().filter(move |slot| Some(slot.group) == group && slot.ended.is_none())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.slots.iter().all(|slot| slot.ended.is_some())
    }

    /// The message with all results, in the order of the calls.
    pub(crate) fn results(&self) -> Message {
        let results = self.slots.iter().map(|slot| {
            let ended = slot.ended.as_ref();
            ResultPart {
                call: slot.call.id.clone(),
                tool: tools::said(&slot.call).0.to_owned(),
                text: ended.map(|ended| ended.text.clone()).unwrap_or_default(),
                is_error: ended.is_none_or(|ended| {
                    !matches!(ended.how, FinishedAs::Ok | FinishedAs::Answered) || ended.code.is_some()
                }),
            }
        });
        Message::Tool { results: results.collect() }
    }
}
