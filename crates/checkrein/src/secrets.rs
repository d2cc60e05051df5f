//! Keeps secrets out of the journal, whatever way they came: the last place before an event is applied, shown and stored.
//!
//! What comes from outside was redacted where it came in. Here the secrets that are known by their values are looked for once
//! more, in whole events.

use std::borrow::Cow;

use checkrein_contract::{Body, SessionOpened};
use checkrein_gate::{RecordFailure, Redactor};
use checkrein_sandbox::Environment;

use crate::HarnessError;
use crate::keys::set_keys;

/// What takes secrets and keys of models out of what a person says, where no session runs that knows them: those that this
/// environment holds. A key that a program prints is not asked for.
///
/// # Errors
/// [`HarnessError::Task`] where there are too many to be looked for.
pub fn redactor(environment: &[(String, String)]) -> Result<Redactor, HarnessError> {
    redactor_of(&Environment::from(environment.to_vec()).hiding(set_keys(environment)))
}

/// What takes the secrets of a task out of texts.
pub(crate) fn redactor_of(environment: &Environment) -> Result<Redactor, HarnessError> {
    environment.redactor().map_err(|error| HarnessError::Task(error.to_string()))
}

/// What a session begins with is recorded as it is, for decisions rest on it: where a secret stands in it, there is no session.
pub(crate) fn without_secrets(opened: &SessionOpened, redactor: &Redactor) -> Result<(), HarnessError> {
    let value = serde_json::to_value(opened).map_err(|error| HarnessError::Task(error.to_string()))?;
    let cleaned = redactor.value(value.clone());
    let fields = value.as_object().into_iter().flatten();
    let wrong = fields.filter(|(name, value)| cleaned.get(name) != Some(value)).map(|(name, _)| format!("`{name}`"));
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(HarnessError::Task(format!(
        "a secret, or what is shaped like one, stands in what this session would begin with ({}): take it out, and name it as \
         `${{secret:NAME}}` where a program needs it",
        wrong.join(", ")
    )))
}

/// An event without the values of secrets. Those that hold none are left as they are, which is nearly all of them.
pub(crate) fn redacted(body: Body, redactor: &Redactor) -> Result<Body, RecordFailure> {
    let fail = |error: serde_json::Error| {
        let reason = format!("an event that holds a secret is none without it: {error}");
        RecordFailure { reason }
    };
    if !redactor.knows_any() {
        return Ok(body);
    }
    let text = serde_json::to_string(&body).map_err(fail)?;
    if matches!(redactor.text(&text), Cow::Borrowed(_)) {
        return Ok(body);
    }
    let value = serde_json::from_str(&text).map_err(fail)?;
    serde_json::from_value(redactor.value(value)).map_err(fail)
}
