//! A policy file that a person names.

use std::path::Path;

use checkrein::HarnessError;
use checkrein::contract::{Layer, PolicySource};

/// A policy file as the project's layer.
pub(super) fn source(path: &Path) -> Result<PolicySource, HarnessError> {
    let text = read(path)?;
    Ok(PolicySource { layer: Layer::Project, file: path.display().to_string(), text, only_tightens: false })
}

pub(super) fn read(path: &Path) -> Result<String, HarnessError> {
    std::fs::read_to_string(path)
        .map_err(|error| HarnessError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}
