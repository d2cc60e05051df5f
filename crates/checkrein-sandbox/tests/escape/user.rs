//! As whom an attempt runs, and how a process of that user is started. It runs nothing itself.

use std::fs::{self, OpenOptions};
use std::io::{Error, Result};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::run::{Order, Outcomes};
use crate::world::PATH;

/// The word by which this program is asked to run one attempt.
pub(crate) const WORD: &str = "__attempt";
/// A number that is nobody's: nobody's processes are in reach of what it does.
const ORDINARY: &str = "64999";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum User {
    Root,
    Ordinary,
}

impl User {
    pub(crate) const ALL: [Self; 2] = [Self::Root, Self::Ordinary];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Ordinary => "user",
        }
    }

    /// Whether whoever runs the suite can be this one.
    pub(crate) fn can_be(self) -> bool {
        self == Self::Ordinary || rustix::process::geteuid().is_root()
    }

    /// Whether this user finds on this machine what an attempt needs.
    pub(crate) fn meets(self, needs: &str) -> bool {
        let words = [self.words(), vec!["bash", "-c", needs]].concat();
        let mut command = Command::new(words.first().copied().unwrap_or_default());
        command.args(words.iter().skip(1)).env_clear().envs(tool_chains());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        needs.is_empty() || (self.can_be() && command.status().is_ok_and(|status| status.success()))
    }

    /// What starts the program of this name as this user.
    fn words(self) -> Vec<&'static str> {
        let change = self == Self::Ordinary && rustix::process::geteuid().is_root();
        let words: &[&str] =
            if change { &["setpriv", "--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups"] } else { &[] };
        words.to_vec()
    }
}

/// What of this process's environment says where tool chains are.
pub(crate) fn tool_chains() -> Vec<(String, String)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let named = |name: &str, below: &str| {
        let folder = std::env::var(name).unwrap_or_else(|_| format!("{home}/{below}"));
        Path::new(&folder).is_dir().then(|| (name.to_owned(), folder))
    };
    let folders: Vec<_> =
        [named("CARGO_HOME", ".cargo"), named("RUSTUP_HOME", ".rustup")].into_iter().flatten().collect();
    let path = match folders.iter().find(|(name, _)| name == "CARGO_HOME") {
        Some((_, cargo)) => format!("{cargo}/bin:{PATH}"),
        None => PATH.to_owned(),
    };
    folders.into_iter().chain([("PATH".to_owned(), path)]).collect()
}

/// This program, where every user can start it.
pub(crate) struct Launcher {
    folder: tempfile::TempDir,
}

impl Launcher {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("checkrein-escape-").tempdir_in("/var/tmp")?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let to = folder.path().join("launcher");
        fs::copy(std::env::current_exe()?, &to)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
        Ok(Self { folder })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("launcher")
    }
}

/// Carries an order out in a process of this user.
pub(crate) fn carry_out(order: &Order, user: User) -> Result<Outcomes> {
    let mut words: Vec<&str> = Vec::new();
    let terminal = order.attempt.terminal.then(terminal).transpose()?;
    if terminal.is_some() {
        words.extend(["setsid", "--ctty", "--wait"]);
    }
    words.extend(user.words());
    let text = serde_json::to_string(order)?;
    let launcher = order.launcher.to_string_lossy();
    words.extend([&*launcher, WORD, &text]);
    let (first, rest) = words.split_first().ok_or_else(|| Error::other("no words"))?;
    let mut command = Command::new(first);
    command.args(rest).env_clear().env("PATH", PATH).current_dir(Path::new("/"));
    let stdin =
        terminal.as_ref().map(|terminal| terminal.1.try_clone()).transpose()?.map_or(Stdio::null(), Stdio::from);
    let output = command.stdin(stdin).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn()?.wait_with_output()?;
    let what = || {
        let tail = String::from_utf8_lossy(&output.stderr).chars().take(2_000).collect::<String>();
        Error::other(format!("{}: {tail}", output.status))
    };
    serde_json::from_slice(&output.stdout).map_err(|_| what())
}

/// A terminal: the side of whoever sits there, and the side of the programs.
fn terminal() -> Result<(OwnedFd, OwnedFd)> {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let name = ptsname(&person, Vec::new())?;
    let programs = OpenOptions::new().read(true).write(true).open(name.to_string_lossy().as_ref())?;
    fs::set_permissions(name.to_string_lossy().as_ref(), fs::Permissions::from_mode(0o666))?;
    Ok((person, programs.into()))
}
