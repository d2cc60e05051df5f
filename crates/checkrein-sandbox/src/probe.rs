//! Which layers hold here: found out by putting them in place around a program that is not there. What fails is left
//! out and remembered with its reason; nothing is taken from a version number or a setting.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::host::Host;
use crate::launcher::WORD;
use crate::plan::{Layer, Layers, Limits, Plan, Report};

/// A layer that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Which one.
    pub layer: Layer,
    /// What the kernel said, or that it was switched off.
    pub reason: String,
}

/// What this machine lets a sandbox be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub(crate) layers: Layers,
    /// The version of Landlock in use; 0 for none.
    pub landlock: i32,
    /// What is not there, with the reason.
    pub lacks: Vec<Lack>,
    /// Why nothing can be started at all, where that is so.
    pub broken: Option<String>,
}

impl Found {
    /// Whether a layer is in use.
    pub fn has(&self, layer: Layer) -> bool {
        self.broken.is_none() && self.layers.has(layer)
    }

    /// Programs reach only what was granted.
    pub(crate) fn confines(&self) -> bool {
        self.has(Layer::Namespaces) || self.has(Layer::Landlock)
    }

    /// In words, for the first line of a session.
    pub fn words(&self) -> String {
        if let Some(broken) = &self.broken {
            return format!("programs can not be started here: {broken}");
        }
        let held: Vec<String> = Layer::ALL
            .iter()
            .filter(|layer| self.has(**layer))
            .map(|layer| match layer {
                Layer::Landlock => format!("landlock {}", self.landlock),
                layer => layer.as_str().to_owned(),
            })
            .collect();
        let mut words = match (self.confines(), held.is_empty()) {
            (true, _) => format!("programs are confined to what was granted ({})", held.join(", ")),
            (false, false) => format!("files are not confined here; in use: {}", held.join(", ")),
            (false, true) => "nothing here confines programs".to_owned(),
        };
        for lack in &self.lacks {
            words.push_str(&format!("; no {}: {}", lack.layer.as_str(), lack.reason));
        }
        words
    }
}

/// Tries, with these layers left out from the beginning.
pub(crate) fn probe(launcher: &Path, host: &Host, without: &[Layer]) -> Found {
    let mut found = Found { layers: Layers::ALL, landlock: 0, lacks: Vec::new(), broken: None };
    for layer in without {
        found.layers = found.layers.without(*layer);
        found.lacks.push(Lack { layer: *layer, reason: "switched off".to_owned() });
    }
    // Each round either succeeds or leaves out a layer, so there are at most as many as layers and one more.
    for _ in 0..=Layer::ALL.len() {
        let reports = match trial(launcher, host, found.layers) {
            Ok(reports) => reports,
            Err(error) => {
                found.broken = Some(format!("the launcher could not be started: {error}"));
                return found;
            }
        };
        if let Some(landlock) = reports.iter().find_map(|report| match report {
            Report::Ready { landlock } => Some(*landlock),
            _ => None,
        }) {
            found.landlock = landlock;
            return found;
        }
        match reports.into_iter().find_map(|report| match report {
            Report::Failed { layer, reason } => Some((layer, reason)),
            _ => None,
        }) {
            Some((Some(layer), reason)) if found.layers.has(layer) => {
                let had = found.layers;
                found.layers = found.layers.without(layer);
                found.lacks.push(Lack { layer, reason });
                // One that only comes with another goes with it.
                let gone = Layer::ALL.into_iter().filter(|each| *each != layer && had.has(*each));
                for each in gone.filter(|each| !found.layers.has(*each)).collect::<Vec<_>>() {
                    found.lacks.push(Lack { layer: each, reason: format!("it comes with {}", layer.as_str()) });
                }
            }
            Some((_, reason)) => {
                found.broken = Some(reason);
                return found;
            }
            None => {
                found.broken = Some("the launcher ended without a word".to_owned());
                return found;
            }
        }
    }
    found
}

fn trial(launcher: &Path, host: &Host, layers: Layers) -> std::io::Result<Vec<Report>> {
    let (ours, theirs) = UnixStream::pair()?;
    let plan = Plan {
        program: "/checkrein/no-such-program".to_owned(),
        argv: vec!["no-such-program".to_owned()],
        cwd: "/".to_owned(),
        env: Vec::new(),
        view: host.view(),
        input: String::new(),
        sockets: Vec::new(),
        named: Vec::new(),
        kept: Vec::new(),
        repositories: Vec::new(),
        limits: Limits::usual(1),
        layers,
        way_out: false,
    };
    let mut child = Command::new(launcher)
        .arg(WORD)
        .env_clear()
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = serde_json::to_vec(&plan)?;
    line.push(b'\n');
    let written = (&ours).write_all(&line);
    let lines: Vec<String> = BufReader::new(&ours).lines().map_while(Result::ok).collect();
    child.wait()?;
    written?;
    Ok(lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
}
