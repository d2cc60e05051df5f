//! The names in braces that a policy may use: `{root}`, `{home}`, `{identity.customer}`.

use std::collections::BTreeMap;

use checkrein_contract::{Identity, Place};

use crate::own;

/// Values for the names in braces.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: BTreeMap<String, String>,
    /// Stand-ins: a name without a value stands for itself.
    made_up: bool,
}

impl Variables {
    /// `{root}`, `{home}` and the names of the identity. Other names (`{spill}`, `{state}`) are set by the host.
    pub fn new(place: &Place, identity: &Identity) -> Self {
        let mut values: BTreeMap<String, String> =
            identity.0.iter().map(|(name, value)| (format!("identity.{name}"), value.clone())).collect();
        values.insert("root".to_owned(), place.root.clone());
        // The floor names these two, and a rule that can not be evaluated denies. A path below a file is no path.
        let home = if place.home.is_empty() { "/dev/null/no-home" } else { &place.home };
        values.insert("home".to_owned(), home.to_owned());
        values.insert("state".to_owned(), "/dev/null/no-state".to_owned());
        values.extend(own::NAMES.map(|name| (name.to_owned(), own::NOWHERE.to_owned())));
        Self { values, made_up: false }
    }

    /// Stand-ins for checking a rule's own examples, which must mean the same wherever a session works.
    pub(crate) fn for_examples() -> Self {
        let place = Place {
            root: "/srv/project".into(),
            cwd: "/srv/project".into(),
            home: "/home/dev".into(),
            ..Place::default()
        };
        Self { made_up: true, ..Self::new(&place, &Identity::default()) }
    }

    /// Sets one more name.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.values.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Replaces every `{name}` by its value, passed through `escape`.
    ///
    /// # Errors
    /// The first name that has no value.
    pub fn fill(&self, text: &str, escape: impl Fn(&str) -> String) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            match after.split_once('}') {
                Some((name, tail)) if is_name(name) => {
                    let known = self.values.get(name).map(String::as_str).or(self.made_up.then_some(name));
                    out.push_str(&escape(known.ok_or_else(|| name.to_owned())?));
                    rest = tail;
                }
                // A brace that names nothing, such as the alternatives of a glob.
                _ => {
                    out.push('{');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_'))
}
