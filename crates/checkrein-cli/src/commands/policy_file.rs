//! A policy file that a person names.

use std::path::Path;

use checkrein::contract::{Layer, PolicySource};
use checkrein::policy::Models;
use checkrein::{HarnessError, models, task};

use crate::context::Context;

/// A policy file as the project's layer.
pub(super) fn source(path: &Path) -> Result<PolicySource, HarnessError> {
    let text = read(path)?;
    Ok(PolicySource { layer: Layer::Project, file: path.display().to_string(), text, only_tightens: false })
}

/// The project's layer: the file that a person names, else what a session in this folder finds.
pub(super) fn own(named: Option<&Path>, folder: &Path) -> Result<Vec<PolicySource>, HarnessError> {
    match named {
        Some(path) => Ok(vec![source(path)?]),
        None => Ok(task::from_words("", folder)?.policy),
    }
}

/// The command models beside a policy that a person names, else the person's own.
pub(super) fn models_for(named: Option<&Path>, context: &Context) -> Result<Models, HarnessError> {
    let beside = named.and_then(Path::parent).map(|folder| folder.join("commands"));
    beside.or_else(|| context.commands()).map_or_else(|| Ok(Models::built_in().clone()), |folder| models(&folder))
}

pub(super) fn read(path: &Path) -> Result<String, HarnessError> {
    std::fs::read_to_string(path)
        .map_err(|error| HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}
