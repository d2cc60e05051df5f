//! visible: registered, and on offer here. Unknown, hidden and not for models get the same answer.

use checkrein_contract::{Code, ProposedCall, nearest_first};

use super::Refused;
use crate::gate::Scene;
use crate::registry::{Entry, Registry};

/// More tools than these are not told again with every slip.
const TOLD: usize = 24;
/// So many are, the nearest.
const NEAREST: usize = 5;

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
            let message =
                format!("there is no tool `{}` here; {}", bounded(&proposed.tool), told(&proposed.tool, &offered));
            Err(Refused::new(&proposed.id, &proposed.tool, Code::UnknownTool, message))
        }
    }
}

/// What there is instead: all of it, or, of very many, what is called nearly so.
fn told(tool: &str, offered: &[String]) -> String {
    let names = || offered.iter().map(String::as_str);
    if offered.is_empty() {
        return "on offer: none".to_owned();
    }
    if offered.len() <= TOLD {
        return format!("on offer: {}", offered.join(", "));
    }
    let near = nearest_first(tool, names(), NEAREST);
    if near.is_empty() {
        return format!("{} others are on offer, and none of them is called nearly so", offered.len());
    }
    format!("on offer, nearest first: {}, and {} others", near.join(", "), offered.len() - near.len())
}

/// A name that a model made up may be of any length.
fn bounded(name: &str) -> String {
    name.chars().take(64).collect()
}
