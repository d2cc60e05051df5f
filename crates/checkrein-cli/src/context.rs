//! What the front knows of its surroundings: the environment, the streams, the folders. Read once, here.

use std::env;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstream::AutoStream;
use checkrein::contract::{Digest, Place};
use checkrein::gate::Redactor;
use checkrein::journal::EventStore;
use checkrein::{Catalogue, Extensions, Harness, HarnessError, KeyCommands, Notify, PolicyFiles, StateFolder};
use etcetera::BaseStrategy as _;

use crate::typed;

/// The surroundings.
pub(crate) struct Context {
    /// How the program was called, for "what to type next".
    pub(crate) program: String,
    /// Standard output is a terminal.
    pub(crate) terminal: bool,
    /// Both ends are a terminal: a person can be asked.
    pub(crate) interactive: bool,
    /// The name the person is logged in with.
    pub(crate) person: String,
    state: PathBuf,
    config: Option<PathBuf>,
    person_home: PathBuf,
    folder: PathBuf,
}

impl Context {
    pub(crate) fn from_environment() -> Self {
        let folders = etcetera::choose_base_strategy().ok();
        let person_home = folders.as_ref().map_or_else(PathBuf::new, |folders| folders.home_dir().to_path_buf());
        let state = env::var_os("CHECKREIN_HOME").filter(|path| !path.is_empty()).map_or_else(
            || folders.as_ref().map_or_else(|| PathBuf::from(".checkrein-state"), |f| f.data_dir().join("checkrein")),
            PathBuf::from,
        );
        let person = ["USER", "LOGNAME"].iter().find_map(|name| env::var(name).ok()).filter(|name| !name.is_empty());
        let terminal = std::io::stdout().is_terminal();
        Self {
            program: env::args().next().filter(|name| !name.is_empty()).unwrap_or_else(|| "checkrein".to_owned()),
            terminal,
            interactive: terminal && std::io::stdin().is_terminal(),
            person: person.unwrap_or_else(|| "someone".to_owned()),
            state,
            config: folders.as_ref().map(|folders| folders.config_dir().join("checkrein")),
            person_home,
            folder: env::current_dir().unwrap_or_default(),
        }
    }

    /// The folder the person stands in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The person's home.
    pub(crate) fn home(&self) -> &Path {
        &self.person_home
    }

    /// Somebody types at standard input.
    pub(crate) fn typed_input(&self) -> bool {
        std::io::stdin().is_terminal()
    }

    /// Asks the person a question that only a plain yes answers.
    pub(crate) fn confirmed(&self, question: &str) -> Result<bool, HarnessError> {
        if !self.interactive {
            return Err(HarnessError::Task("nobody can be asked here; read it, then say --yes".to_owned()));
        }
        let mut out = self.out();
        typed::discard_earlier();
        _ = write!(out, "{question} [y/N] ");
        _ = out.flush();
        let yes = matches!(typed::line().as_deref(), Some("y" | "yes"));
        if !yes {
            _ = writeln!(out, "nothing was changed");
        }
        Ok(yes)
    }

    /// A folder as the project that a policy speaks of, with the person's home.
    pub(crate) fn place(&self, folder: &Path) -> Place {
        let folder = folder.display().to_string();
        let home = self.person_home.display().to_string();
        Place { root: folder.clone(), cwd: folder, home, ..Place::default() }
    }

    /// Policies of the machine and of the person.
    pub(crate) fn policies(&self) -> Result<PolicyFiles, HarnessError> {
        PolicyFiles::read(self.config.as_deref(), &self.state)
    }

    /// A person's own command models.
    pub(crate) fn commands(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join("commands"))
    }

    /// Notes that a person trusts a policy, as it is.
    pub(crate) fn trust(&self, path: &Path, digest: &Digest) -> Result<(), HarnessError> {
        let nowhere = || HarnessError::Task("there is no home folder to keep this in".to_owned());
        checkrein::trust(self.config.as_deref().ok_or_else(nowhere)?, path, digest)
    }

    /// The state folder.
    pub(crate) fn state(&self) -> Result<StateFolder, HarnessError> {
        StateFolder::open(&self.state)
    }

    /// The journal.
    pub(crate) fn store(&self) -> Result<Arc<dyn EventStore>, HarnessError> {
        checkrein::open_journal(&self.state()?)
    }

    /// Everything a session needs from here.
    pub(crate) fn harness(&self) -> Result<Harness, HarnessError> {
        let home = self.state()?;
        let store = checkrein::open_journal(&home)?;
        Ok(Harness {
            launcher: env::current_exe().ok(),
            store,
            home,
            policies: self.policies()?,
            models: Catalogue::read_from(self.config.as_deref())?,
            environment: environment(),
            person_home: self.person_home.clone(),
            folder: self.folder.clone(),
            extensions: Extensions {
                keys: KeyCommands::read_from(self.config.as_deref())?,
                notify: Notify::read_from(self.config.as_deref())?,
                ..Extensions::default()
            },
        })
    }

    /// What takes secrets and keys out of what the person says.
    pub(crate) fn redactor(&self) -> Result<Redactor, HarnessError> {
        checkrein::redactor(&environment())
    }

    /// Standard output, coloured where that is wanted.
    pub(crate) fn out(&self) -> Box<dyn Write + Send> {
        Box::new(AutoStream::auto(std::io::stdout()))
    }

    /// Says what went wrong, on standard error.
    pub(crate) fn complain(&self, message: &str) {
        let mut stream = AutoStream::auto(std::io::stderr());
        let red = anstyle::AnsiColor::Red.on_default().bold();
        _ = writeln!(stream, "{red}error{red:#}: {message}");
    }
}

/// The variables that are text.
fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    env::vars_os().filter_map(text).collect()
}
