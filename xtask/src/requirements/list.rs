//! The list of requirements, as `docs/requirements/list.toml` holds it. Requirements are not changed to fit the code.

use serde::Deserialize;

use crate::workspace::Workspace;

/// The file.
pub(crate) const LIST: &str = "docs/requirements/list.toml";

/// All requirements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// Issues that are still open; a requirement of a closed one needs its test.
    pub(crate) open: Vec<String>,
    /// In order of their numbers.
    #[serde(rename = "requirement")]
    pub(crate) requirements: Vec<Requirement>,
    #[serde(skip)]
    lines: Vec<(u32, usize)>,
}

/// One requirement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requirement {
    /// The number behind the R.
    pub(crate) number: u32,
    /// Documents that ask for it.
    pub(crate) source: String,
    /// Section it stands in.
    pub(crate) section: String,
    /// What is asked.
    pub(crate) text: String,
    /// The issue that will show it, a letter or words.
    pub(crate) issue: String,
}

impl List {
    /// Reads the file.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self, String> {
        Self::parse(&workspace.read(LIST)?)
    }

    /// Reads a text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut list: Self = toml::from_str(text).map_err(|e| format!("{LIST}: {}", e.to_string().trim()))?;
        let numbered = list.requirements.iter().zip(1..).all(|(requirement, number)| requirement.number == number);
        if !numbered {
            return Err(format!("{LIST}: numbers must go up by one from 1; a number that fell away keeps its place"));
        }
        if let Some(bare) = list.requirements.iter().find(|r| r.text.is_empty() || r.source.is_empty()) {
            return Err(format!("{LIST}: R{} says nothing, or not who asks for it", bare.number));
        }
        let numbers = text
            .lines()
            .enumerate()
            .filter_map(|(index, line)| Some((line.strip_prefix("number = ")?.trim().parse().ok()?, index + 1)));
        list.lines = numbers.collect();
        Ok(list)
    }

    /// The requirement with this number.
    pub(crate) fn get(&self, number: u32) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.number == number)
    }

    /// The line of a number in the file.
    pub(crate) fn line_of(&self, number: u32) -> usize {
        self.lines.iter().find(|(known, _)| *known == number).map_or(1, |(_, line)| *line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: u32) -> String {
        format!("[[requirement]]\nnumber = {number}\nsource = \"000\"\nsection = \"S\"\ntext = \"T.\"\nissue = \"A\"\n")
    }

    #[test]
    fn a_list_is_read_with_its_lines() {
        let list = List::parse(&format!("open = []\n{}{}", one(1), one(2))).unwrap();
        assert_eq!((list.requirements.len(), list.line_of(2)), (2, 9));
        assert_eq!(list.get(2).map(|requirement| requirement.issue.as_str()), Some("A"));
    }

    #[test]
    fn gaps_and_unknown_keys_are_errors() {
        assert!(List::parse(&format!("open = []\n{}{}", one(1), one(3))).unwrap_err().contains("go up by one"));
        assert!(List::parse(&format!("open = []\n{}extra = 1\n", one(1))).unwrap_err().contains("extra"));
    }

    #[test]
    fn the_list_of_this_repository_is_whole() {
        let list = List::load(&Workspace::find().unwrap()).unwrap();
        assert_eq!(list.requirements.len(), 206);
    }
}
