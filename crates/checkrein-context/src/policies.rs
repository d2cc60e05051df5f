//! The context policies. A new one is one file here and one line in [`POLICIES`]; the conformance suite tests it at
//! once. Which of them a session uses is not decided here.

mod compact;
mod keep_everything;
mod trim_to_budget;

use checkrein_contract::ContextPolicy;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// One policy of the list.
#[derive(Clone, Copy, Debug)]
pub struct PolicyEntry {
    /// Its name in `[context]` and in trim events.
    pub name: &'static str,
    build: Build,
    /// Parameters that work, as JSON, for suites that loop over the list.
    pub example: &'static str,
}

/// Builds a policy from its parameters; the error says what is wrong with them.
type Build = fn(&Value) -> Result<Box<dyn ContextPolicy>, String>;

/// Every policy there is.
pub const POLICIES: &[PolicyEntry] = &[keep_everything::ENTRY, trim_to_budget::ENTRY, compact::ENTRY];

/// Why there is no such policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextError {
    /// No policy has this name.
    #[error("there is no context policy `{name}`{}", suggestion(near.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The policy that was probably meant.
        near: Option<String>,
    },
    /// The policy does not take these parameters.
    #[error("context policy `{name}`: {message}")]
    Parameters {
        /// The policy.
        name: String,
        /// What is wrong.
        message: String,
    },
}

fn suggestion(near: Option<&str>) -> String {
    match near {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => {
            let names: Vec<_> = POLICIES.iter().map(|entry| format!("`{}`", entry.name)).collect();
            format!("; there are {}", names.join(", "))
        }
    }
}

/// The policy of this name with these parameters, which are what [`ContextPolicy::parameters`] gives back; null stands
/// for none.
///
/// # Errors
/// [`ContextError`] for a name that is not in the list, and for parameters that are missing, unknown or of the wrong
/// type.
pub fn policy(name: &str, parameters: &Value) -> Result<Box<dyn ContextPolicy>, ContextError> {
    let Some(entry) = POLICIES.iter().find(|entry| entry.name == name) else {
        let near = checkrein_toml::nearest(name, POLICIES.iter().map(|entry| entry.name));
        return Err(ContextError::Unknown { name: name.to_owned(), near });
    };
    (entry.build)(parameters).map_err(|message| ContextError::Parameters { name: name.to_owned(), message })
}

/// Reads parameters; null is read as no parameters.
fn read<T: DeserializeOwned>(parameters: &Value) -> Result<T, String> {
    let parameters = match parameters {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => parameters.clone(),
        other => return Err(format!("its parameters are a table, not {other}")),
    };
    serde_json::from_value(parameters).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_policy_is_found_by_its_name_and_gives_its_parameters_back() {
        for entry in POLICIES {
            let parameters: Value = serde_json::from_str(entry.example).unwrap();
            let built = policy(entry.name, &parameters).unwrap();
            assert_eq!((built.name(), built.parameters()), (entry.name, parameters));
        }
        assert_eq!(policy("keep_everything", &Value::Null).unwrap().parameters(), json!({}));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |name: &str, parameters: Value| policy(name, &parameters).err().unwrap().to_string();
        assert_snapshot!(error("trim_to_budge", json!({})), @"there is no context policy `trim_to_budge` (did you mean `trim_to_budget`?)");
        assert_snapshot!(error("forget", json!({})), @"there is no context policy `forget`; there are `keep_everything`, `trim_to_budget`, `compact`");
        assert_snapshot!(error("trim_to_budget", Value::Null), @"context policy `trim_to_budget`: missing field `tokens`");
        assert_snapshot!(error("trim_to_budget", json!({ "token": 5 })), @"context policy `trim_to_budget`: unknown field `token`, expected `tokens`");
        assert_snapshot!(error("trim_to_budget", json!({ "tokens": -5 })), @"context policy `trim_to_budget`: invalid value: integer `-5`, expected u64");
        assert_snapshot!(error("compact", json!({ "token": 5 })), @"context policy `compact`: unknown field `token`, expected `tokens` or `keep`");
        assert_snapshot!(error("keep_everything", json!({ "tokens": 5 })), @"context policy `keep_everything`: unknown field `tokens`, there are no fields");
        assert_snapshot!(error("keep_everything", json!([])), @"context policy `keep_everything`: its parameters are a table, not []");
    }
}
