//! Policies that a person trusts as they are: digests, kept in the person's own configuration, which no agent can write.

use std::path::Path;

use checkrein_contract::Digest;
use checkrein_policy::Source;
use serde::Deserialize;

use crate::task::read;
use crate::{HarnessError, replace_file};

const FILE: &str = "trusted.toml";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trusted {
    #[serde(default)]
    policy: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    digest: String,
    /// For people; what counts is the digest.
    path: String,
}

/// Notes that a policy is trusted, as it is now.
///
/// # Errors
/// [`HarnessError`] when the note can not be read or written; then nothing is trusted that was not before.
pub fn trust(config: &Path, path: &Path, digest: &Digest) -> Result<(), HarnessError> {
    let mut trusted = load(config)?;
    let path = path.display().to_string();
    trusted.policy.retain(|entry| entry.path != path);
    trusted.policy.push(Entry { digest: digest.as_str().to_owned(), path });
    let file = config.join(FILE);
    let mut text = String::new();
    for entry in &trusted.policy {
        text.push_str(&format!("[[policy]]\ndigest = {:?}\npath = {:?}\n\n", entry.digest, entry.path));
    }
    replace_file(&file, &text)
}

/// The digests that a person trusts.
pub(crate) fn digests(config: &Path) -> Result<Vec<String>, HarnessError> {
    Ok(load(config)?.policy.into_iter().map(|entry| entry.digest).collect())
}

fn load(config: &Path) -> Result<Trusted, HarnessError> {
    let file = config.join(FILE);
    if !file.exists() {
        return Ok(Trusted::default());
    }
    let text = read(&file)?;
    Ok(Source { file: &file.display().to_string(), text: &text }.toml()?)
}
