//! Instruction files: looked for in the folders whose turn it is, and read as calls of the harness's own.

use std::sync::Arc;

use checkrein_contract::{Actor, Body, Finding, Question};
use checkrein_gate::{FactSource, Recorder};

use super::Session;
use crate::HarnessError;

impl Session {
    /// Looks whether there are instruction files to be read before the next request; `true` when a round of them began.
    pub(super) async fn finds_instructions(&mut self) -> Result<bool, HarnessError> {
        let mut found = Vec::new();
        let facts = Arc::clone(&self.gate.facts);
        for places in self.log.state.instruction_places() {
            if let Some(path) = first_file(&*facts, &places).await.filter(|path| self.log.state.is_unsaid(path)) {
                found.push(path);
            }
        }
        if found.is_empty() {
            return Ok(false);
        }
        let round = self.log.state.instruction_round(&found, &self.reader);
        self.log.record(Actor::Code, Body::Instructions(round))?;
        Ok(true)
    }
}

/// The first of these that is a file. Whether it may be read is not asked here.
async fn first_file(facts: &dyn FactSource, places: &[String]) -> Option<String> {
    for path in places {
        let kind = facts.answer(&Question::Kind { path: path.clone() }).await;
        if matches!(kind, Some(Finding::Text(kind)) if kind == "file") {
            return Some(path.clone());
        }
    }
    None
}
