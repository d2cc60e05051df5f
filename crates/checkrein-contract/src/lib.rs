//! The shared words of Checkrein: plain data and two ports.
//!
//! Everything that two crates must mean the same by stands here: ids, calls, effects, facts, decisions, approvals,
//! messages, events, outcomes. The crate imports nothing of ours, does no I/O, and knows no tool, no provider and no
//! store by name. The words are those of the design: a *proposal* is what a model reply asks for, a *call* is one
//! proposed tool call, an *effect* is one thing a call would do, a *decision* is allow, ask or deny.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod approval;
mod approvers;
mod budget;
mod call;
mod canonical;
mod cassette_use;
mod code;
mod compacted;
mod decision;
mod difference;
mod effect;
mod estimate;
mod event;
mod fact;
mod ids;
mod lane;
mod listing;
mod message;
mod money;
mod opened;
mod outcome;
mod ports;
mod proposed;
mod recomposed;
mod remembered;
mod secret;
mod settlement;
mod steering;

pub use approval::{Answer, ApprovalRequest, ApprovalState, Dependency};
pub use approvers::{Approvers, RolesAsked};
pub use budget::{Budget, Limit, NewLimit, Spend, Usage};
pub use call::{Call, CallKind, Identity, PathStyle, Place};
pub use canonical::{canonical_bytes, canonical_string, digest_json};
pub use cassette_use::{CassetteMode, CassetteUse};
pub use code::Code;
pub use compacted::Compacted;
pub use decision::{Decision, Layer, RuleRef, Silent, TraceStep, Verdict, Winner};
pub use difference::{Difference, first_difference};
pub use effect::{Connect, Deed, Effect, EffectWord, Foreseen, Own, Run, Tree};
pub use estimate::{estimate_message, estimate_reply, estimate_spec, estimate_text};
pub use event::{
    Actor, Body, CheckRound, Citation, EVENT_VERSION, Event, Finished, FinishedAs, HookNote, Note, Presentation,
    ProposalKind, SeenFile, SessionChange, TrimmedResult,
};
pub use fact::{Answered, Facts, Finding, Question, Remotes};
pub use ids::{ApprovalId, CallId, Digest, RuleId, SessionId};
pub use lane::Lane;
pub use listing::{Listed, list_within, nearest_first};
pub use message::{Message, ResultPart, ToolCallPart, ToolSpec};
pub use money::{Cost, Price, Tier, is_amount, nano_usd, usd};
pub use opened::{Check, OnAsk, Parent, PolicySource, SessionOpened, Skill, StopOn};
pub use outcome::{Outcome, Status, Stop};
pub use ports::{
    BoxFuture, ContextPolicy, Delta, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, RawCall,
    StopReason, Summarise, ToolChoice, Trimmed,
};
pub use proposed::{ProposedCall, Through};
pub use recomposed::{Forked, Recomposed};
pub use remembered::{Remembered, without_remembered};
pub use secret::{SECRET_VARIABLE, is_secret_name, secrets_named, with_secrets};
pub use settlement::Settlement;
pub use steering::{steers, visible};
