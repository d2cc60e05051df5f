//! What this machine has for every program: the system, tool chains, and where the person's own things are. It only
//! looks; what a call is granted comes on top, in `view`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::plan::{Node, NodeKind};

/// Folders of the system. A link among them stays one.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/run/current-system",
];
/// Where the system's settings are. What others than its owner may not read there is nobody's business, also where it is
/// root that runs.
const SETTINGS: &str = "/etc";
/// Entries of it that are looked at. A folder behind that is not given.
const MOST_SETTINGS: usize = 50_000;
/// What of the system is nobody's business besides.
const SYSTEM_SECRETS: &[&str] = &["/etc/docker", "/etc/kubernetes", "/etc/rancher"];
/// Files at the top of one tool chain that are looked at.
const MOST_LOOSE: usize = 1_000;
/// Folders below a home where tool chains live, and settings that tools read.
const TOOLCHAINS: &[&str] = &[
    ".cargo",
    ".rustup",
    ".nvm",
    ".volta",
    ".fnm",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    ".asdf",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".deno",
    ".bun",
    "go",
    ".gitconfig",
    ".config/git",
    ".npmrc",
];
/// Variables that name a folder where a tool chain lives.
const TOOLCHAIN_VARIABLES: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "GOROOT",
    "GOPATH",
    "GOMODCACHE",
    "JAVA_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "PNPM_HOME",
    "GEM_HOME",
    "M2_HOME",
    "MAVEN_HOME",
];
/// What tool chains keep besides programs: names below their folder, and below a home.
const KEPT_SECRETS: &[&str] = &["credentials", "credentials.toml", ".npmrc", "settings-security.xml"];

/// The machine, as it is when a session begins.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The environment of every program, and the secrets of those that name them.
    pub(crate) env: Environment,
    pub(crate) home: PathBuf,
    /// Places that every program has.
    pub(crate) places: BTreeMap<String, NodeKind>,
    /// Files at the top of tool chains, among which a person may keep more than tools.
    pub(crate) loose: Vec<PathBuf>,
}

impl Host {
    /// The places as a view that nothing was granted in.
    pub(crate) fn view(&self) -> Vec<Node> {
        self.places.iter().map(|(at, kind)| Node { at: at.clone(), kind: kind.clone() }).collect()
    }

    /// Looks around.
    pub(crate) fn look(env: Environment, home: &Path) -> Self {
        let mut places = BTreeMap::new();
        let mut loose = Vec::new();
        for path in SYSTEM {
            match fs::read_link(path) {
                Ok(target) => {
                    places.insert((*path).to_owned(), NodeKind::Link(target.to_string_lossy().into_owned()));
                }
                Err(_) if Path::new(path).is_dir() => {
                    places.insert((*path).to_owned(), NodeKind::Read);
                }
                Err(_) => {}
            }
        }
        let secrets = SYSTEM_SECRETS.iter().map(PathBuf::from).filter(|path| path.exists());
        for path in secrets.chain(not_for_others(Path::new(SETTINGS))) {
            places.insert(shown(&path), NodeKind::Hidden);
        }
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let named =
            |variable: &&str| env.plain.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone());
        let paths = named(&"PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = TOOLCHAIN_VARIABLES.iter().filter_map(named).map(PathBuf::from).collect();
        folders.extend(TOOLCHAINS.iter().map(|name| home.join(name)));
        folders.extend(std::env::split_paths(&paths).map(|folder| with_its_parts(folder, &home)));
        for folder in folders.into_iter().filter(|folder| folder.is_absolute()) {
            let Ok(real) = folder.canonicalize() else { continue };
            // A variable that names a whole home, or everything, names no tool chain.
            if home.starts_with(&real) {
                continue;
            }
            for secret in KEPT_SECRETS.iter().map(|name| real.join(name)).filter(|path| path.is_file()) {
                places.insert(shown(&secret), NodeKind::Hidden);
            }
            if folder != real && !is_below(&places, &folder) {
                places.insert(shown(&folder), NodeKind::Link(shown(&real)));
            }
            if real.file_name().is_some_and(|name| KEPT_SECRETS.iter().any(|secret| name == *secret)) {
                places.insert(shown(&real), NodeKind::Hidden);
            } else if !is_below(&places, &real) {
                loose.extend(files_at_top(&real));
                // A tool chain keeps what it fetched and its locks beside its programs.
                let kind = if real.is_dir() && real.parent().is_some() { NodeKind::Layered } else { NodeKind::Read };
                places.insert(shown(&real), kind);
            }
        }
        Self { env, home, places, loose }
    }
}

/// What in a folder others than its owner may not read, whole folders before what lies in them.
fn not_for_others(top: &Path) -> Vec<PathBuf> {
    let (mut closed, mut folders, mut seen) = (Vec::new(), vec![top.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        if seen > MOST_SETTINGS {
            closed.push(folder);
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            // Of a link itself: what it leads to has its own place.
            let Ok(found) = entry.metadata() else { continue };
            if found.is_symlink() {
                continue;
            }
            let needed = if found.is_dir() { 0o5 } else { 0o4 };
            if found.mode() & needed != needed {
                closed.push(entry.path());
            } else if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    closed
}

/// Files in the folder of a tool chain and in those that lie in it. Further down is what it fetched, keys of examples among
/// it, which builds need.
fn files_at_top(top: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).take(MOST_LOOSE).collect()
    };
    let (folders, mut files): (Vec<_>, Vec<_>) =
        entries(top).into_iter().partition(|path| path.is_dir() && !path.is_symlink());
    files.extend(folders.iter().flat_map(|folder| entries(folder)).filter(|path| !path.is_dir()));
    files.truncate(MOST_LOOSE);
    files
}

/// A folder of programs with what lies beside it: tools find their parts from where they are. A folder in a home itself
/// is given alone.
fn with_its_parts(folder: PathBuf, home: &Path) -> PathBuf {
    let is_one = folder.file_name().is_some_and(|name| name == "bin" || name == "shims" || name == "sbin");
    match folder.parent() {
        Some(above) if is_one && !home.starts_with(above) && above.parent().is_some() => above.to_owned(),
        _ => folder,
    }
}

/// Whether a place that is given whole holds this one.
fn is_below(places: &BTreeMap<String, NodeKind>, path: &Path) -> bool {
    path.ancestors().any(|above| {
        matches!(
            places.get(above.to_string_lossy().as_ref()),
            Some(NodeKind::Read | NodeKind::Layered | NodeKind::Link(_))
        )
    })
}

pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
