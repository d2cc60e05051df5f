//! start: the record before the run. No journal, no run.

use checkrein_contract::{Actor, Body, CallKind};

use crate::approved::Approved;
use crate::ports::{RecordFailure, Recorder};

/// An approved call whose start is in the journal.
#[derive(Debug)]
pub struct Started(pub(crate) Approved);

/// Records the start of a whole group; durable before this returns, unless every call of it is pure.
///
/// # Errors
/// [`RecordFailure`]; then nothing of the group may run.
pub fn start(group: Vec<Approved>, recorder: &mut dyn Recorder) -> Result<Vec<Started>, RecordFailure> {
    for approved in &group {
        recorder.record(
            Actor::Code,
            Body::Started {
                call: approved.call.id.clone(),
                tool: approved.call.tool.clone(),
                kind: approved.kind,
                approval: approved.approval.clone(),
                key: approved.key.clone(),
            },
        )?;
    }
    if group.iter().any(|approved| approved.kind != CallKind::Pure) {
        recorder.flush()?;
    }
    Ok(group.into_iter().map(Started).collect())
}
