//! A folder of policies: `NAME.toml` each, `tools/*.toml` for tools that others own, `commands/*.toml` for programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use checkrein_contract::{Layer, PolicySource};
use checkrein_policy::{Manifest, Models, Source, foreign_tools};

use crate::HarnessError;
use crate::task::{read, unreadable};

/// What a folder of policies holds.
#[derive(Clone, Debug)]
pub struct PolicyFolder {
    /// Each policy as a layer of its own, by name.
    pub policies: BTreeMap<String, Vec<PolicySource>>,
    /// Its tools, then those that are built in.
    pub tools: Vec<Manifest>,
    /// Its programs, and those that are built in.
    pub models: Models,
}

impl PolicyFolder {
    /// Reads a folder.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`] for a file that can not be read, [`HarnessError::File`] for a mistake in one.
    pub fn read(folder: &Path) -> Result<Self, HarnessError> {
        let mut policies = BTreeMap::new();
        for path in toml_files(folder)? {
            let file = path.display().to_string();
            let source = PolicySource { layer: Layer::Project, file, text: read(&path)?, only_tightens: false };
            policies.insert(stem(&path), vec![source]);
        }
        Ok(Self { policies, tools: tools(&folder.join("tools"))?, models: models(&folder.join("commands"))? })
    }
}

/// The tools of a folder, if it is there, then those that are built in.
///
/// # Errors
/// The first mistake in one of its files.
pub fn tools(folder: &Path) -> Result<Vec<Manifest>, HarnessError> {
    let mut tools = Vec::new();
    for (file, text) in &texts(folder)? {
        tools.push(Manifest::load(Source { file, text })?);
    }
    // What speaks for one tool comes before what speaks for all of them.
    tools.sort_by_key(|tool| (tool.name == "*", tool.server.as_deref() == Some("*")));
    tools.extend(foreign_tools()?);
    Ok(tools)
}

/// The command models that ship, with a person's own from a folder, if it is there.
///
/// # Errors
/// The first mistake in one of its files.
pub fn models(folder: &Path) -> Result<Models, HarnessError> {
    models_of(&texts(folder)?)
}

/// The command models that ship, with further ones, each a file's name and text.
pub(crate) fn models_of<'a>(files: impl IntoIterator<Item = &'a (String, String)>) -> Result<Models, HarnessError> {
    let sources: Vec<Source<'_>> = files.into_iter().map(|(file, text)| Source { file, text }).collect();
    if sources.is_empty() {
        return Ok(Models::built_in().clone());
    }
    Ok(Models::built_in().with(&sources)?)
}

/// The TOML files of a folder with their texts, by name; none where there is no such folder.
pub(crate) fn texts(folder: &Path) -> Result<Vec<(String, String)>, HarnessError> {
    toml_files(folder)?.iter().map(|path| Ok((path.display().to_string(), read(path)?))).collect()
}

/// The TOML files of a folder, by name; none where there is no such folder.
pub(crate) fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, HarnessError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
