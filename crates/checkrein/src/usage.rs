//! Tokens: what a provider counted, beside what the harness had estimated.

use checkrein_contract::{Body, Event, Usage, estimate_reply};

/// The exchanges whose tokens a provider counted, and the estimate of the same exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many they are.
    pub exchanges: u32,
    /// As the provider counted them.
    pub reported: Usage,
    /// As the harness estimated them.
    pub estimated: Usage,
}

/// Compares, over a session's events. `None` where no provider counted anything.
pub fn counted(events: &[Event]) -> Option<Counted> {
    let (mut all, mut sent) = (Counted::default(), 0);
    for event in events {
        match &event.body {
            Body::Request { estimate, .. } => sent = *estimate,
            Body::Proposal { usage, text, calls, .. } if !usage.estimated && usage.total() > 0 => {
                let calls = calls.iter().map(|call| {
                    let args = if call.raw { call.args.as_str().map(str::to_owned) } else { None };
                    (call.tool.as_str(), args.unwrap_or_else(|| call.args.to_string()))
                });
                all.exchanges += 1;
                all.reported.add(*usage);
                let output = estimate_reply(text, calls);
                all.estimated.add(Usage { input: sent, output, estimated: true, ..Usage::default() });
            }
            _ => {}
        }
    }
    (all.exchanges > 0).then_some(all)
}
