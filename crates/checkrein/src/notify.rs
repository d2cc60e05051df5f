//! Who is told when a session waits: a program that the person names in `notify.toml`, beside their policy. It has the form of a
//! command tool, and is run like one: judged, confined, bounded in time; but in the folder of the file, and never one of the
//! project's programs.

use std::path::{Path, PathBuf};

use checkrein_policy::Manifest;
use checkrein_sandbox::{find_program, odd_name, search_path};
use checkrein_toml::Source;

use crate::HarnessError;
use crate::task::read;

/// The file in the configuration folder.
const FILE: &str = "notify.toml";
/// How a program of that folder is named.
const OWN: &str = "./";
/// The search path.
const PATH: &str = "PATH";
/// The name that it has to have.
pub(crate) const NAME: &str = "notify";

/// The program, the folder that it lies and runs in, and the search path of its host.
#[derive(Clone, Debug)]
pub struct Notify {
    pub(crate) manifest: Manifest,
    pub(crate) folder: PathBuf,
    pub(crate) path: Option<String>,
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
        let program = manifest.argv.as_deref().and_then(<[String]>::first).map_or("", String::as_str);
        if !program.starts_with(OWN) && odd_name(program).is_some() {
            let at = text.lines().position(|line| line.trim_start().starts_with("argv")).unwrap_or_default();
            let at = text.lines().take(at).map(|line| line.len() + 1).sum();
            let message = "`argv`: name a program of this folder as `./NAME`, any other by its absolute path, or by a bare name that PATH finds";
            return Err(source.error(at, message).into());
        }
        if manifest.description.is_empty() {
            manifest.description.push_str("Tells somebody that a session waits.");
        }
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        Ok(Some(Self { manifest, folder, path: None }))
    }

    /// What is run: a bare name is looked for outside the project, and nothing that the program starts is found there either.
    pub(crate) fn outside(&self, project: &[PathBuf]) -> Result<Manifest, String> {
        let mut manifest = self.manifest.clone();
        let path = manifest.env.get(PATH).or(self.path.as_ref()).cloned();
        if let Some(program) = manifest.argv.as_mut().and_then(|argv| argv.first_mut())
            && !program.starts_with(OWN)
        {
            *program = find_program(program, path.as_deref(), project)?.to_string_lossy().into_owned();
        }
        manifest.env.extend(path.map(|path| (PATH.to_owned(), search_path(&path, project))));
        Ok(manifest)
    }
}
