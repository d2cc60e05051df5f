//! The shape of `task.toml`, as `serde` reads it.

use std::collections::BTreeMap;

use checkrein_contract::{Budget, Check, Price, StopOn};
use checkrein_toml::{FileError, Source, Spanned};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskFile {
    pub(super) version: Spanned<u32>,
    pub(super) prompt: Option<Spanned<String>>,
    pub(super) prompt_file: Option<Spanned<String>>,
    pub(super) script: Option<Spanned<String>>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) policy: Option<Spanned<String>>,
    pub(super) tools: Option<Vec<Spanned<String>>>,
    /// `true`, `false`, or names.
    pub(super) deferred: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) skills: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) workspace: Option<Spanned<String>>,
    pub(super) on_ask: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) stop_on: Vec<StopOn>,
    /// `required`: what can not be confined is refused, not asked about.
    pub(super) sandbox: Option<Spanned<String>>,
    /// Variables for every program.
    #[serde(default)]
    pub(super) env: BTreeMap<Spanned<String>, Spanned<String>>,
    /// Secrets that command lines may name.
    #[serde(default)]
    pub(super) secrets: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) identity: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) budget: Option<Spanned<Budget>>,
    pub(super) price: Option<Spanned<Price>>,
    #[serde(default)]
    pub(super) verify: Vec<Spanned<CheckFile>>,
    /// Names of instruction files, in the order in which the first that is there counts.
    pub(super) instructions: Option<Vec<Spanned<String>>>,
    pub(super) context: Option<Spanned<BTreeMap<String, Value>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckFile {
    run: Option<Vec<String>>,
    file: Option<String>,
    contains: Option<String>,
    json: Option<String>,
    pointer: Option<String>,
    equals: Option<Value>,
}

impl CheckFile {
    pub(super) fn check(self, source: Source<'_>, at: usize) -> Result<Check, FileError> {
        match self {
            Self { run: Some(run), file: None, contains: None, json: None, pointer: None, equals: None } => {
                if run.is_empty() {
                    return Err(source.error(at, "`run` of a check is empty"));
                }
                Ok(Check::Run { run })
            }
            Self { run: None, file: Some(file), contains: Some(contains), json: None, pointer: None, equals: None } => {
                Ok(Check::File { file, contains })
            }
            Self {
                run: None,
                file: None,
                contains: None,
                json: Some(json),
                pointer: Some(pointer),
                equals: Some(equals),
            } => Ok(Check::Json { json, pointer, equals }),
            _ => Err(source.error(
                at,
                "a check is `run = [...]`, or `file` with `contains`, or `json` with `pointer` and `equals`",
            )),
        }
    }
}
