//! Conditions on one argument: `equals`, `one_of`, `min`, `max`, `pattern`, `path`. All that are given must hold.

use checkrein_contract::{Place, canonical_string};
use regex::Regex;
use serde_json::Value;

use crate::file::ConditionFile;
use crate::paths;
use crate::variables::Variables;

#[derive(Debug)]
pub(crate) struct Condition {
    equals: Option<Value>,
    one_of: Option<Vec<Value>>,
    min: Option<f64>,
    max: Option<f64>,
    pattern: Option<Regex>,
    /// It is this path, however it is written; relative ones start in the project.
    path: Option<String>,
    root: String,
    /// A name without a value: the condition can not be evaluated.
    broken: Option<String>,
}

impl Condition {
    pub(crate) fn build(file: &ConditionFile, variables: &Variables) -> Result<Self, String> {
        if file.equals.is_none()
            && file.one_of.is_none()
            && file.min.is_none()
            && file.max.is_none()
            && file.pattern.is_none()
            && file.path.is_none()
        {
            return Err("an empty condition; give `equals`, `one_of`, `min`, `max`, `pattern` or `path`".to_owned());
        }
        if file.min.zip(file.max).is_some_and(|(min, max)| min > max) {
            return Err("`min` is above `max`, so this rule can never match".to_owned());
        }
        if file.one_of.as_ref().is_some_and(Vec::is_empty) {
            return Err("`one_of` is empty, so this rule can never match".to_owned());
        }
        let mut broken = None;
        let mut fill = |value: &Value| match value {
            Value::String(text) => match variables.fill(text, str::to_owned) {
                Ok(filled) => Value::String(filled),
                Err(name) => {
                    broken = Some(name);
                    value.clone()
                }
            },
            other => other.clone(),
        };
        let equals = file.equals.as_ref().map(&mut fill);
        let one_of = file.one_of.as_ref().map(|values| values.iter().map(&mut fill).collect());
        let pattern = match &file.pattern {
            None => None,
            Some(text) => match variables.fill(text, regex::escape) {
                // The whole value must match: a pattern that is met somewhere inside is a hole.
                Ok(filled) => Some(Regex::new(&format!("^(?:{filled})$")).map_err(|e| format!("`pattern`: {e}"))?),
                Err(name) => {
                    broken = Some(name);
                    None
                }
            },
        };
        let path = match &file.path {
            None => None,
            Some(text) => match variables.fill(text, str::to_owned) {
                Ok(filled) => Some(filled),
                Err(name) => {
                    broken = Some(name);
                    None
                }
            },
        };
        let root = variables.fill("{root}", str::to_owned).unwrap_or_default();
        Ok(Self { equals, one_of, min: file.min, max: file.max, pattern, path, root, broken })
    }

    pub(crate) fn holds(&self, value: Option<&Value>) -> Result<bool, String> {
        if let Some(name) = &self.broken {
            return Err(format!("`{{{name}}}` has no value here"));
        }
        let Some(value) = value else { return Ok(false) };
        let same = |other: &Value| canonical_string(other) == canonical_string(value);
        if self.equals.as_ref().is_some_and(|wanted| !same(wanted)) {
            return Ok(false);
        }
        if self.one_of.as_ref().is_some_and(|wanted| !wanted.iter().any(same)) {
            return Ok(false);
        }
        if let Some(wanted) = &self.path {
            let place = Place { root: self.root.clone(), cwd: self.root.clone(), ..Place::default() };
            let given = value.as_str().map(|text| paths::absolute(&crate::manifest::path_of(text), &place));
            if given.as_deref() != Some(wanted) {
                return Ok(false);
            }
        }
        if self.min.is_some() || self.max.is_some() {
            let Some(number) = value.as_f64() else { return Ok(false) };
            let within = self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max);
            if !within {
                return Ok(false);
            }
        }
        if let Some(pattern) = &self.pattern {
            return Ok(value.as_str().is_some_and(|text| pattern.is_match(text)));
        }
        Ok(true)
    }
}
