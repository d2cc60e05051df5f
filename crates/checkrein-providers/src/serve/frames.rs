//! The events of a stream as bytes, and where a stream breaks off.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::Value;

use crate::script::{CutBy, Delivery};

/// What an event is to a stream that breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It comes before the text.
    Head,
    /// It holds a piece of the text.
    Text,
    /// It comes behind the text.
    Tail,
}

/// Events, in order.
#[derive(Debug, Default)]
pub(super) struct Frames {
    all: Vec<(Part, String)>,
}

impl Frames {
    /// An event that comes before the text.
    pub(super) fn head(&mut self, data: &Value) {
        self.all.push((Part::Head, event(data)));
    }

    /// An event with a piece of the text.
    pub(super) fn text(&mut self, data: &Value) {
        self.all.push((Part::Text, event(data)));
    }

    /// An event that comes behind the text.
    pub(super) fn tail(&mut self, data: &Value) {
        self.all.push((Part::Tail, event(data)));
    }

    /// A last word that is no JSON.
    pub(super) fn word(&mut self, word: &str) {
        self.all.push((Part::Tail, format!("data: {word}\n\n")));
    }
}

/// One event; its name is its type, where it has one.
fn event(data: &Value) -> String {
    match data.get("type").and_then(Value::as_str) {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

/// An event of which the end is missing, so that what is there is no JSON.
fn garbled(event: &str) -> String {
    let data = event.find("data: ").unwrap_or(0);
    let kept = event.floor_char_boundary(data + (event.len() - data) / 2);
    format!("{}\n\n", event.get(..kept).unwrap_or_default())
}

/// What is sent, piece by piece.
#[derive(Debug)]
pub(super) struct Plan {
    /// What to wait for, and what to send then.
    pub(super) pieces: VecDeque<(Duration, Bytes)>,
    pub(super) end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As HTTP ends it.
    Whole,
    /// The connection breaks.
    Drop,
    /// Nothing more comes.
    Stall,
}

impl Plan {
    /// An answer that is sent at once.
    pub(super) fn of(body: String) -> Self {
        Self { pieces: [(Duration::ZERO, Bytes::from(body))].into(), end: End::Whole }
    }

    /// A whole reply. One that is to break off does so in the middle.
    pub(super) fn whole(body: String, delivery: &Delivery) -> Self {
        let half = body.floor_char_boundary(body.len() / 2);
        let kept = if delivery.cut.is_some() { body.get(..half).unwrap_or_default().to_owned() } else { body };
        Self::delivered(vec![(Part::Head, kept)], delivery)
    }

    /// A stream.
    pub(super) fn stream(frames: Frames, delivery: &Delivery) -> Self {
        let mut all = frames.all;
        if let Some(cut) = delivery.cut {
            all.retain(|(part, _)| *part != Part::Tail);
            if cut.by == CutBy::Garbage {
                let garbage = garbled(all.last().map_or("data: {}", |(_, event)| event.as_str()));
                all.push((Part::Tail, garbage));
            }
        }
        Self::delivered(all, delivery)
    }

    fn delivered(all: Vec<(Part, String)>, delivery: &Delivery) -> Self {
        let most = delivery.chunk_bytes.map_or(usize::MAX, NonZeroUsize::get);
        let mut pieces = VecDeque::new();
        let mut wait = Duration::from_millis(delivery.delay_ms);
        for (part, text) in all {
            if part == Part::Text {
                wait += Duration::from_millis(delivery.piece_ms);
            }
            for chunk in text.as_bytes().chunks(most) {
                pieces.push_back((std::mem::take(&mut wait), Bytes::copy_from_slice(chunk)));
            }
        }
        let end = match delivery.cut.map(|cut| cut.by) {
            None | Some(CutBy::End | CutBy::Garbage) => End::Whole,
            Some(CutBy::Drop) => End::Drop,
            Some(CutBy::Stall) => End::Stall,
        };
        Self { pieces, end }
    }
}
