//! Secrets that are known by their values: those of the task, in every form of theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::Look;
use super::forms::{Form, forms};
use super::tail::Tail;

/// Values to look for.
pub(crate) struct Known {
    finds: AhoCorasick,
    forms: Vec<(Arc<str>, Form)>,
    longest: usize,
}

impl Known {
    /// Secrets by name; `None` without any.
    pub(crate) fn new(secrets: &BTreeMap<String, String>) -> Result<Option<Self>, aho_corasick::BuildError> {
        let mut all: Vec<(Arc<str>, Form)> = Vec::new();
        for (name, value) in secrets.iter().filter(|(_, value)| !value.is_empty()) {
            let name: Arc<str> = format!("secret {name}").into();
            all.extend(forms(value).into_iter().map(|form| (Arc::clone(&name), form)));
        }
        if all.is_empty() {
            return Ok(None);
        }
        let finds = AhoCorasick::new(all.iter().map(|(_, form)| &form.bytes))?;
        let longest = all.iter().map(|(_, form)| form.bytes.len()).max().unwrap_or(0);
        Ok(Some(Self { finds, forms: all, longest }))
    }

    /// Every place from `from` on where one stands.
    pub(crate) fn looks<'a>(&'a self, text: &'a [u8], from: usize) -> impl Iterator<Item = (usize, Look)> + 'a {
        let rest = text.get(from..).unwrap_or_default();
        self.finds.find_overlapping_iter(rest).filter_map(move |hit| {
            let (name, form) = self.forms.get(hit.pattern().as_usize())?;
            let (at, end) = (from + hit.start(), from + hit.end());
            let before = at.checked_sub(1).and_then(|index| text.get(index));
            let letter = form.letter_before && before.is_some_and(|byte| is_base64(*byte));
            let tail = form.letters_behind.then_some(Tail::Token);
            Some((at, Look::Secret { range: at - usize::from(letter)..end, name: Arc::clone(name), tail }))
        })
    }

    /// Where at the end of a text one may begin of which the rest is still to come.
    pub(crate) fn begins(&self, text: &[u8]) -> usize {
        begun(text, self.longest, |rest| self.forms.iter().any(|(_, form)| form.bytes.starts_with(rest)))
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// The first place at which the rest of a text is the beginning of something of at most `longest` bytes.
pub(crate) fn begun(text: &[u8], longest: usize, is_beginning: impl Fn(&[u8]) -> bool) -> usize {
    let from = text.len().saturating_sub(longest.saturating_sub(1));
    (from..text.len()).find(|at| text.get(*at..).is_some_and(&is_beginning)).unwrap_or(text.len())
}
