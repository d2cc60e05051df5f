//! Quotes: `{{result.TOOL.path}}` in texts and arguments. They read what the request shows and must not reach anything
//! that a context policy left out.

use std::sync::Arc;

use checkrein_contract::Message;
use serde_json::{Map, Value};

use super::condition::newest_results;

/// A text with quotes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Plain(String),
    Quote(Quote),
}

/// One quote.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Quote {
    /// As it was written, for messages.
    written: String,
    tool: String,
    /// Keys and indexes; empty for the whole text.
    path: Vec<String>,
}

/// A quote that nothing visible can serve, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotVisible(pub(super) String);

impl Template {
    /// Finds the quotes in a text.
    ///
    /// # Errors
    /// A message about a quote that is not closed or has an empty part.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            plain.push_str(before);
            let Some(inner) = after.trim_start().strip_prefix("result.") else {
                // One brace only: of three, the second may open a quote.
                plain.push('{');
                rest = rest.get(before.len() + 1..).unwrap_or_default();
                continue;
            };
            let Some((inner, behind)) = inner.split_once("}}") else {
                return Err("a quote `{{result.` is not closed by `}}`".to_owned());
            };
            if !plain.is_empty() {
                pieces.push(Piece::Plain(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Quote(Quote::parse(inner.trim())?));
            rest = behind;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        Ok(Self(pieces))
    }

    /// The text with every quote filled in.
    ///
    /// # Errors
    /// The first quote that nothing visible can serve.
    pub(super) fn text(&self, messages: &[Arc<Message>]) -> Result<String, NotVisible> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Quote(quote) => match quote.find(messages)? {
                    Value::String(found) => text.push_str(&found),
                    found => text.push_str(&found.to_string()),
                },
            }
        }
        Ok(text)
    }

    /// The same as a JSON value: a text that is one quote and nothing else keeps the type of what it quotes.
    fn value(&self, messages: &[Arc<Message>]) -> Result<Value, NotVisible> {
        match self.0.as_slice() {
            [Piece::Quote(quote)] => quote.find(messages),
            _ => self.text(messages).map(Value::String),
        }
    }

    fn has_quotes(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Quote(_)))
    }
}

impl Quote {
    /// Reads what stands between `result.` and the closing braces.
    fn parse(inner: &str) -> Result<Self, String> {
        let written = format!("{{{{result.{inner}}}}}");
        let mut parts = inner.split('.').map(str::to_owned);
        let tool = parts.next().unwrap_or_default();
        let path: Vec<String> = parts.collect();
        if tool.is_empty() || path.iter().any(String::is_empty) {
            return Err(format!("the quote `{written}` has an empty part"));
        }
        Ok(Self { written, tool, path })
    }

    fn find(&self, messages: &[Arc<Message>]) -> Result<Value, NotVisible> {
        let mut texts = newest_results(messages)
            .filter(|result| result.tool == self.tool && !result.is_error)
            .map(|result| &result.text);
        let found = if self.path.is_empty() {
            texts.next().map(|text| Value::String(text.clone()))
        } else {
            texts.find_map(|text| self.walk(&serde_json::from_str(text).ok()?))
        };
        found.ok_or_else(|| NotVisible(self.written.clone()))
    }

    fn walk(&self, value: &Value) -> Option<Value> {
        self.path
            .iter()
            .try_fold(value, |value, part| match value {
                Value::Object(map) => map.get(part),
                Value::Array(items) => items.get(part.parse::<usize>().ok()?),
                _ => None,
            })
            .cloned()
    }
}

/// Arguments with quotes in their strings.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Nothing to fill in.
    Plain(Value),
    Text(Template),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Shape {
    /// Finds the quotes in every string of a value; keys are left alone.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub(super) fn parse(value: &Value) -> Result<Self, String> {
        let shape = match value {
            Value::String(text) => Self::Text(Template::parse(text)?),
            Value::Array(items) => Self::List(items.iter().map(Self::parse).collect::<Result<_, _>>()?),
            Value::Object(map) => Self::Object(
                map.iter().map(|(key, value)| Ok((key.clone(), Self::parse(value)?))).collect::<Result<_, String>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => return Ok(Self::Plain(value.clone())),
        };
        Ok(if shape.has_quotes() { shape } else { Self::Plain(value.clone()) })
    }

    /// The value with every quote filled in.
    ///
    /// # Errors
    /// As [`Template::text`].
    pub(super) fn fill(&self, messages: &[Arc<Message>]) -> Result<Value, NotVisible> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Text(template) => template.value(messages),
            Self::List(items) => items.iter().map(|item| item.fill(messages)).collect(),
            Self::Object(entries) => {
                let mut map = Map::new();
                for (key, shape) in entries {
                    map.insert(key.clone(), shape.fill(messages)?);
                }
                Ok(Value::Object(map))
            }
        }
    }

    fn has_quotes(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Text(template) => template.has_quotes(),
            Self::List(items) => items.iter().any(Self::has_quotes),
            Self::Object(entries) => entries.iter().any(|(_, shape)| shape.has_quotes()),
        }
    }
}
