//! Who is told when a session waits: a program that the person names in `notify.toml`, beside their policy. It has the form of a
//! command tool, and is run like one: judged, confined, bounded in time.

use std::path::{Path, PathBuf};

use checkrein_policy::Manifest;
use checkrein_toml::Source;

use crate::HarnessError;
use crate::task::read;

/// The file in the configuration folder.
const FILE: &str = "notify.toml";
/// The name that it has to have.
pub(crate) const NAME: &str = "notify";

/// The program, and the folder that it is looked for in.
#[derive(Clone, Debug)]
pub struct Notify {
    pub(crate) manifest: Manifest,
    pub(crate) folder: PathBuf,
}

impl Notify {
    /// Reads the person's file, where there is one.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`], or [`HarnessError::File`] with the line.
    pub fn read_from(config: Option<&Path>) -> Result<Option<Self>, HarnessError> {
        let Some(folder) = config.filter(|folder| folder.join(FILE).exists()) else { return Ok(None) };
        let path = folder.join(FILE);
        let (file, text) = (path.display().to_string(), read(&path)?);
        let source = Source { file: &file, text: &text };
        let mut manifest = Manifest::load(source)?;
        let fits = manifest.name == NAME && manifest.argv.is_some() && manifest.params.is_empty();
        if !fits {
            let message = "write `name = \"notify\"` and `argv`, and no `params`: nobody is there to give them";
            return Err(source.error(0, message).into());
        }
        if manifest.description.is_empty() {
            manifest.description.push_str("Tells somebody that a session waits.");
        }
        Ok(Some(Self { manifest, folder: folder.to_path_buf() }))
    }
}
