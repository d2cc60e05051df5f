//! The shape of a policy file, as `serde` reads it. What it means is the business of `load`.

use std::collections::BTreeMap;

use checkrein_toml::Spanned;
use serde::Deserialize;
use serde_json::Value;

use crate::approvers::ApprovalsFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    pub(crate) version: Spanned<u32>,
    #[serde(default)]
    pub(crate) default: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) on_ask: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) approvals: ApprovalsFile,
    #[serde(default)]
    pub(crate) rule: Vec<Spanned<RuleFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    pub(crate) id: Spanned<String>,
    pub(crate) decision: Spanned<String>,
    pub(crate) reason: String,
    pub(crate) effect: Spanned<String>,
    pub(crate) paths: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub(crate) except: Option<Spanned<Vec<String>>>,
    pub(crate) words: Option<Spanned<Vec<String>>>,
    pub(crate) exact: Option<Spanned<bool>>,
    pub(crate) program: Option<Spanned<OneOrMore>>,
    pub(crate) content: Option<Spanned<bool>>,
    pub(crate) modelled: Option<Spanned<bool>>,
    pub(crate) read_only: Option<Spanned<bool>>,
    pub(crate) does: Option<Spanned<Vec<String>>>,
    pub(crate) informational: Option<Spanned<bool>>,
    pub(crate) env: Option<Spanned<Vec<String>>>,
    pub(crate) hosts: Option<Spanned<Vec<String>>>,
    pub(crate) schemes: Option<Spanned<Vec<String>>>,
    pub(crate) not_schemes: Option<Spanned<Vec<String>>>,
    pub(crate) ports: Option<Spanned<Vec<u16>>>,
    pub(crate) methods: Option<Spanned<Vec<String>>>,
    pub(crate) url_paths: Option<Spanned<Vec<String>>>,
    pub(crate) addresses: Option<Spanned<Vec<String>>>,
    pub(crate) tool: Option<Spanned<String>>,
    pub(crate) server: Option<Spanned<String>>,
    #[serde(default, rename = "where")]
    pub(crate) conditions: BTreeMap<String, Spanned<ConditionFile>>,
    #[serde(default)]
    pub(crate) identity: BTreeMap<String, Spanned<OneOrMore>>,
    pub(crate) stage: Option<Spanned<OneOrMore>>,
    pub(crate) approvers: Option<Spanned<Vec<String>>>,
    #[serde(rename = "while")]
    pub(crate) held: Option<Spanned<HeldFile>>,
    #[serde(default)]
    pub(crate) matches: Vec<Spanned<Value>>,
    #[serde(default)]
    pub(crate) does_not_match: Vec<Spanned<Value>>,
}

/// `while`: what a remembered yes holds for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldFile {
    pub(crate) folder: Option<String>,
    #[serde(default)]
    pub(crate) env: Vec<String>,
    pub(crate) commands: Option<Vec<Vec<String>>>,
    #[serde(default)]
    pub(crate) reads: Vec<String>,
    pub(crate) input: Option<String>,
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) arguments: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConditionFile {
    pub(crate) equals: Option<Value>,
    pub(crate) one_of: Option<Vec<Value>>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) pattern: Option<String>,
    pub(crate) path: Option<String>,
}
