//! visible: registered, and on offer here. Unknown, hidden and not for models get the same answer.

use checkrein_contract::{Code, ProposedCall};

use super::Refused;
use crate::gate::Scene;
use crate::registry::{Entry, Registry};

/// A call of a tool that is on offer.
pub(crate) struct Visible<'a> {
    pub(crate) proposed: &'a ProposedCall,
    pub(crate) entry: Entry,
}

pub(crate) fn visible<'a>(
    proposed: &'a ProposedCall,
    registry: &Registry,
    scene: &Scene<'_>,
) -> Result<Visible<'a>, Refused> {
    let entry = registry.entry(&proposed.tool).filter(|entry| {
        if scene.by_harness { true } else { !entry.tool.definition().host_only && scene.on_offer(&proposed.tool) }
    });
    match entry {
        Some(entry) => Ok(Visible { proposed, entry: entry.clone() }),
        None => {
            let offered: Vec<_> = registry.specs().into_iter().map(|s| s.name).filter(|n| scene.on_offer(n)).collect();
            let list = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
            let message = format!("there is no tool `{}` here; on offer: {list}", bounded(&proposed.tool));
            Err(Refused::new(&proposed.id, &proposed.tool, Code::UnknownTool, message))
        }
    }
}

/// A name that a model made up may be of any length.
fn bounded(name: &str) -> String {
    name.chars().take(64).collect()
}
