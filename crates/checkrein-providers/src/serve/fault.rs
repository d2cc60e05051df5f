//! Faults on top of a script: what happens between a model and whoever asks it, while the script does not notice.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IntoDeserializer as _;

use crate::script::{Cut, CutBy, Delivery, Ids};

/// A fault, `N:KEY=VALUE,...`: the keys are those of a step, N is which request of a session it strikes, from 1, or `*` for
/// all. A request that fails or breaks off by it is no request to the script: the next one gets the same step.
#[derive(Clone, Debug)]
pub struct Fault {
    written: String,
    /// Which request; `None` for all.
    at: Option<u64>,
    /// An error in place of a reply: its status, and how long to wait, milliseconds.
    pub(super) error: Option<(u16, Option<u64>)>,
    cut: Option<Cut>,
    delay_ms: Option<u64>,
    piece_ms: Option<u64>,
    chunk_bytes: Option<std::num::NonZeroUsize>,
    ids: Option<Ids>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl Fault {
    /// Whether it strikes the n-th request, from 1.
    pub(super) fn strikes(&self, number: u64) -> bool {
        self.at.is_none_or(|at| at == number)
    }

    /// A reply breaks off by it.
    pub(super) fn cuts(&self) -> bool {
        self.cut.is_some()
    }

    /// What it makes of how a reply is handed over.
    pub(super) fn worsen(&self, delivery: &mut Delivery) {
        delivery.cut = self.cut.or(delivery.cut);
        delivery.delay_ms = self.delay_ms.unwrap_or(delivery.delay_ms);
        delivery.piece_ms = self.piece_ms.unwrap_or(delivery.piece_ms);
        delivery.chunk_bytes = self.chunk_bytes.or(delivery.chunk_bytes);
        delivery.ids = self.ids.unwrap_or(delivery.ids);
    }
}

/// The keys, for messages.
const KEYS: &str = "status, retry_after_s, cut_after, cut_by, delay_ms, piece_ms, chunk_bytes, ids";

impl FromStr for Fault {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let form = || format!("write N:KEY=VALUE,... with N from 1 or `*`, and of the keys {KEYS}");
        let (at, pairs) = written.split_once(':').ok_or_else(form)?;
        let at = match at.trim() {
            "*" => None,
            number => Some(number.parse().ok().filter(|number| *number > 0).ok_or_else(form)?),
        };
        let (mut status, mut retry_after_s, mut after, mut by) = (None, None, None, None);
        let mut fault = Self {
            written: written.to_owned(),
            at,
            error: None,
            cut: None,
            delay_ms: None,
            piece_ms: None,
            chunk_bytes: None,
            ids: None,
        };
        for pair in pairs.split(',') {
            let (key, value) = pair.trim().split_once('=').ok_or_else(form)?;
            match key.trim() {
                "status" => status = Some(number::<u16>(pair, value)?),
                "retry_after_s" => retry_after_s = Some(number::<u32>(pair, value)?),
                "cut_after" => after = Some(number::<usize>(pair, value)?),
                "cut_by" => by = Some(word::<CutBy>(pair, value)?),
                "delay_ms" => fault.delay_ms = Some(number::<u64>(pair, value)?),
                "piece_ms" => fault.piece_ms = Some(number::<u64>(pair, value)?),
                "chunk_bytes" => fault.chunk_bytes = Some(number(pair, value)?),
                "ids" => fault.ids = Some(word::<Ids>(pair, value)?),
                _ => return Err(form()),
            }
        }
        fault.cut = Cut::new(after, by)?;
        let reply = fault.cut.is_some()
            || fault.delay_ms.or(fault.piece_ms).is_some()
            || fault.chunk_bytes.is_some()
            || fault.ids.is_some();
        fault.error = match (status, retry_after_s) {
            (None, Some(_)) => return Err("`retry_after_s` goes with `status`".to_owned()),
            (Some(status), _) if !(400..600).contains(&status) => {
                return Err(format!("status {status} is no error; give one from 400 to 599"));
            }
            (Some(_), _) if reply => return Err("an error has no reply: `status` stands alone".to_owned()),
            (status, wait) => status.map(|status| (status, wait.map(|s| u64::from(s) * 1000))),
        };
        Ok(fault)
    }
}

fn number<T: FromStr>(pair: &str, value: &str) -> Result<T, String> {
    value.trim().parse().map_err(|_| format!("`{}`: that is no number for it", pair.trim()))
}

fn word<'v, T: Deserialize<'v>>(pair: &str, value: &'v str) -> Result<T, String> {
    let read = T::deserialize(value.trim().into_deserializer());
    read.map_err(|error: serde::de::value::Error| format!("`{}`: {error}", pair.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_which_request_and_what() {
        let fault: Fault = "2:cut_after=7, cut_by=stall,piece_ms=3,ids=same".parse().unwrap();
        assert!(fault.strikes(2) && !fault.strikes(1) && fault.cuts());
        let mut delivery = Delivery { delay_ms: 9, ..Delivery::default() };
        fault.worsen(&mut delivery);
        let cut = Some(Cut { after: 7, by: CutBy::Stall });
        assert_eq!(delivery, Delivery { cut, delay_ms: 9, piece_ms: 3, chunk_bytes: None, ids: Ids::Same });
        let all: Fault = "*:status=529,retry_after_s=2".parse().unwrap();
        assert!(all.strikes(1) && all.strikes(99));
        assert_eq!(all.error, Some((529, Some(2000))));
    }

    #[test]
    fn a_wrong_fault_says_why() {
        let why = |text: &str| text.parse::<Fault>().unwrap_err();
        for text in ["", "1", "0:ids=same", "x:ids=same", "1:", "1:what=1", "1:status"] {
            assert!(why(text).starts_with("write N:KEY=VALUE"), "{text}");
        }
        assert_eq!(why("1:status=200"), "status 200 is no error; give one from 400 to 599");
        assert_eq!(why("1:status=x"), "`status=x`: that is no number for it");
        assert_eq!(why("1:chunk_bytes=0"), "`chunk_bytes=0`: that is no number for it");
        assert_eq!(why("1:status=500,ids=same"), "an error has no reply: `status` stands alone");
        assert_eq!(why("1:retry_after_s=2"), "`retry_after_s` goes with `status`");
        assert_eq!(why("1:cut_by=end"), "`cut_by` says how a reply breaks off; say where, with `cut_after`");
        assert_eq!(why("1:ids=other"), "`ids=other`: unknown variant `other`, expected `same` or `empty`");
    }
}
