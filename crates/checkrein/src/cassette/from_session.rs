//! A cassette from a journal: the requests are built again, and what the journal says was answered answers them. There are no
//! bytes in it, and of failed attempts it knows only what the journal does.

use std::path::Path;

use checkrein_contract::{
    Body, Code, Event, ModelReply, ModelRequest, ProviderError, ProviderFault, SessionChange, SessionId, StopReason,
};
use checkrein_providers::{AnsweredBy, Came, CassetteWriter};
use checkrein_session::{State, raw_call};
use serde_json::Value;

use super::{Origin, scrub_of};
use crate::HarnessError;
use crate::setup::{Harness, context_of, kinds_of, task_of};

impl Harness {
    /// Writes the model's part of a session, and of its sub-sessions, as a cassette.
    ///
    /// # Errors
    /// [`HarnessError`] where the session has no model of ours, its task is gone, or there is such a file already.
    pub fn cassette_from(&self, session: &SessionId, file: &Path) -> Result<(), HarnessError> {
        let events = self.store.read(session, 1)?;
        let state = State::fold(&events)?;
        let opened = state.opened();
        if opened.is_watched() {
            let message =
                format!("{session} is a session of another agent: what its model was asked is not in its journal");
            return Err(HarnessError::Task(message));
        }
        let task = task_of(opened)?;
        let (redactor, _) = self.around(&task, true)?;
        let registry = self.registry(&task)?;
        let now_ms = self.machine().clock(false).now_ms();
        let header = Origin { task: &task, opened, server: AnsweredBy::Journal, now_ms }.header(file)?;
        let scrub = scrub_of(opened, &redactor);
        let fail = |why: String| HarnessError::Task(why);
        let mut writer = CassetteWriter::begin(file, header, scrub, kinds_of(&registry)).map_err(fail)?;
        self.written(&events, &mut writer)
    }

    fn written(&self, events: &[Event], writer: &mut CassetteWriter) -> Result<(), HarnessError> {
        let Some((first, rest)) = events.split_first() else { return Ok(()) };
        let mut state = State::open(first)?;
        let context = context_of(state.opened())?;
        let mut asked: Option<ModelRequest> = None;
        for event in rest {
            if let Body::Request { last, summarises, .. } = &event.body {
                let summary = summarises.and_then(|_| state.summary_again(&*context));
                let plan = summary.unwrap_or_else(|| state.plan_again(&*context, *last));
                asked = Some(plan.request);
            } else if let Some(came) = came(&event.body)
                && let Some(request) = asked.take()
            {
                let written = writer.from_journal(&request, &came);
                written.map_err(|error| HarnessError::Task(format!("the cassette can not be written: {error}")))?;
            } else if let Body::Finished(finished) = &event.body
                && let Some(SessionChange::Delegated { session, .. }) = &finished.change
            {
                self.written(&self.store.read(session, 1)?, writer)?;
            }
            state.apply(event)?;
        }
        Ok(())
    }
}

/// What came of a request, as far as the journal knows.
fn came(body: &Body) -> Option<Came> {
    match body {
        // Nobody waited for its end.
        Body::RequestFailed { code: Code::Interrupted, .. } => None,
        Body::RequestFailed { retry, reason, .. } => Some(Err(ProviderError {
            fault: if *retry { ProviderFault::Server } else { ProviderFault::Refused },
            message: reason.clone(),
            retry_after_ms: None,
            provider: Value::Null,
        })),
        Body::Proposal { text, calls, usage, provider, defect, .. } => Some(Ok(ModelReply {
            text: text.clone(),
            calls: calls.iter().map(raw_call).collect(),
            stop: match defect {
                Some(Code::ReplyTruncated) => StopReason::Length,
                _ if calls.is_empty() => StopReason::End,
                _ => StopReason::Calls,
            },
            usage: Some(*usage).filter(|usage| !usage.estimated),
            virtual_ms: 0,
            provider: CassetteWriter::without_position(provider),
        })),
        Body::Compacted(event) => Some(Ok(ModelReply {
            text: event.summary.clone().unwrap_or_default(),
            calls: Vec::new(),
            stop: StopReason::End,
            usage: event.usage.filter(|usage| !usage.estimated),
            virtual_ms: 0,
            provider: CassetteWriter::without_position(&event.provider),
        })),
        _ => None,
    }
}
