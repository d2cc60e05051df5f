//! Cassettes: what a model answered, written down once and played for ever after, with no network and no key. It must not
//! judge what was answered, and it never guesses: what is not recorded is an error.
//!
//! - The key of a row is lane and *whole* canonical request. No field is left out and none is matched by a pattern, so that a
//!   changed prompt, tool, policy text or result is a miss. Rows with the same key answer in the order in which they stand.
//! - What came over the wire is kept byte for byte, and read again by the same code when it is played: as it came, and cut
//!   otherwise. Both must be the reply that was recorded.
//! - Failed attempts are rows like any other: a retry is played too.
//! - What is written went through [`Scrub`]. Doing it again changes nothing, so that a file can be checked for secrets.

mod answer;
mod changes;
mod check;
mod file;
mod merge;
mod miss;
mod player;
mod position;
mod recorder;
mod rekey;
mod reply;
mod request;
mod row;
mod unused;
mod verifier;
mod writer;

use serde_json::Value;

pub use self::changes::{Changes, Turn, changes};
pub use self::check::Flaw;
pub use self::file::Cassette;
pub use self::player::CassettePlayer;
pub use self::recorder::{Came, Live, Recorder};
pub use self::row::{AnsweredBy, Digests, Header, ReKeyed, TaskRef};
pub use self::verifier::Verifier;
pub use self::writer::{CassetteWriter, KindOf};

/// What keeps secrets, and the places of one machine, out of a cassette.
pub trait Scrub: Send + Sync {
    /// The value as it may be written. Doing it twice is the same as doing it once.
    fn hide(&self, value: Value) -> Value;

    /// What was hidden, with this session's places where the names of places stand. A secret does not come back.
    fn show(&self, value: Value) -> Value;
}
