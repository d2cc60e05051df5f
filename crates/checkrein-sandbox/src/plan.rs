//! What the harness tells the launcher, and what the launcher tells back: plain data, written as JSON lines. It does
//! nothing; the harness makes a [`Plan`] from a grant, the launcher carries it out to the letter or not at all.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// Where the way out listens, in the network namespace of the call: a port that nothing else is known to use.
pub(crate) const WAY_OUT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 61_080);

/// One program to run, and all that it may reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The program as it is found, and its words; the first is what it is called by.
    pub(crate) program: String,
    pub(crate) argv: Vec<String>,
    /// Absolute, real, and in the view.
    pub(crate) cwd: String,
    /// The whole environment.
    pub(crate) env: Vec<(String, String)>,
    /// What it finds on standard input.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) input: String,
    /// What there is, parents before what lies in them.
    pub(crate) view: Vec<Node>,
    /// Sockets that somebody had before in folders that may be changed, by device and number: to be seen, to be removed,
    /// not to be connected to.
    #[serde(default)]
    pub(crate) sockets: Vec<(u64, u64)>,
    /// Paths that were granted by name to be made and changed, with all below.
    #[serde(default)]
    pub(crate) named: Vec<String>,
    /// Patterns of names that some rule keeps from being written. What matches one is asked about before it is made.
    #[serde(default)]
    pub(crate) kept: Vec<String>,
    /// Git's folders that were there before.
    #[serde(default)]
    pub(crate) repositories: Vec<Repository>,
    pub(crate) limits: Limits,
    pub(crate) layers: Layers,
    /// There is a way out: a listener inside is handed to the harness, which connects for those who come to it.
    pub(crate) way_out: bool,
}

/// A folder of git's: its settings and hooks are held as long as it is this very folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repository {
    pub(crate) at: String,
    /// Device and number.
    pub(crate) is: (u64, u64),
}

/// One place of the file system as the program sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Absolute real path without dot segments.
    pub(crate) at: String,
    pub(crate) kind: NodeKind,
}

/// What a view says of a path: the innermost place that holds it.
pub(crate) fn innermost<'a>(view: &'a [Node], path: &Path) -> Option<&'a Node> {
    let holds = view.iter().filter(|node| path.starts_with(&node.at));
    holds.max_by_key(|node| node.at.len())
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeKind {
    /// The host's own, to be read and run.
    Read,
    /// The host's own, to be changed.
    Write,
    /// A folder of the host's own, given for the sake of paths in it that were granted by name: what else comes to be there
    /// ends with the call.
    Opened,
    /// To be removed, not to be written.
    Removed,
    /// Its mode, owner and times are to be changed, not what it holds.
    Mode,
    /// The host's own, of which only names may be learnt.
    List,
    /// The host's own, whose changes are private to the call and end with it.
    Layered,
    /// An empty file or folder in the place of what is there.
    Hidden,
    /// Nothing is there, and nothing may come to be there.
    Absent,
    /// A folder that begins empty and ends with the call.
    Private,
    /// A link, as the host has it.
    Link(String),
}

/// Limits of each process, where nothing better is to be had. See `docs/sandbox.md` for where the numbers come from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Private writable memory of one process, bytes.
    pub data_bytes: u64,
    /// Memory of all processes of a call together, bytes: to the byte where a control group can be had, else as far as it
    /// shows in what the machine has left.
    pub all_bytes: u64,
    /// What may go from the free room of each disk that a call may write to while it runs, bytes; never more than half of
    /// it.
    pub disk_bytes: u64,
    /// Largest file, bytes.
    pub file_bytes: u64,
    /// Descriptors of one process.
    pub open_files: u64,
    /// Processes at once.
    pub processes: u64,
    /// Processor time of one process, seconds.
    pub cpu_seconds: u64,
    /// Room in each private folder, bytes.
    pub private_bytes: u64,
}

/// The layers, each on or off. A layer that is on is there or the program does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each layer is there or not, by itself")]
pub(crate) struct Layers {
    /// Own user, mount, process and IPC namespaces: only what is in the view is there.
    pub(crate) namespaces: bool,
    /// A network namespace with nothing but its own loopback.
    pub(crate) network: bool,
    /// The machine's own network, since a person said yes to a call that connects where there is no such namespace.
    #[serde(default)]
    pub(crate) open_network: bool,
    /// Landlock, at the newest version that kernel and library both know.
    pub(crate) landlock: bool,
    /// The filter of system calls.
    pub(crate) calls: bool,
    /// Calls that change something or connect are looked at before they are carried out, and what is refused is told.
    pub(crate) notices: bool,
}

impl Layers {
    pub(crate) const ALL: Self =
        Self { namespaces: true, network: true, open_network: false, landlock: true, calls: true, notices: true };

    /// The same without one of them.
    pub(crate) fn without(mut self, layer: Layer) -> Self {
        match layer {
            Layer::Namespaces => {
                self.namespaces = false;
                // A network namespace comes with a user namespace, or not at all.
                self.network = false;
            }
            Layer::Network => self.network = false,
            Layer::Landlock => self.landlock = false,
            Layer::Calls => self.calls = false,
            Layer::Notices => self.notices = false,
        }
        self
    }

    pub(crate) fn has(self, layer: Layer) -> bool {
        match layer {
            Layer::Namespaces => self.namespaces,
            Layer::Network => self.network,
            Layer::Landlock => self.landlock,
            Layer::Calls => self.calls,
            Layer::Notices => self.notices,
        }
    }
}

/// One of the layers that hold a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Own user, mount, process and IPC namespaces: what was not granted is not there.
    Namespaces,
    /// Own network namespace: no way out.
    Network,
    /// Landlock: files, signals and abstract sockets.
    Landlock,
    /// The filter of system calls.
    Calls,
    /// Notices of calls, so that what is refused is told.
    Notices,
}

impl Layer {
    /// All of them, the outermost first.
    pub const ALL: [Self; 5] = [Self::Namespaces, Self::Network, Self::Landlock, Self::Calls, Self::Notices];

    /// Its name in words and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Network => "network",
            Self::Landlock => "landlock",
            Self::Calls => "calls",
            Self::Notices => "notices",
        }
    }
}

/// The answer to [`Report::MayWrite`]; every other byte is a no.
pub(crate) const YES: u8 = b'y';

/// A file, so that another one that takes its number later is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// When it came to be, nanoseconds; 0 where the file system does not say.
    pub(crate) born: u128,
}

impl FileId {
    /// What has this name now, itself if it is a link.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        let born = found.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Some(Self { device: found.dev(), number: found.ino(), born: born.map_or(0, |born| born.as_nanos()) })
    }
}

/// What the launcher tells, a line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The program is about to run, with all layers in place. The version of Landlock; 0 for none.
    Ready {
        landlock: i32,
    },
    /// The listener of the way out comes with this.
    WayOut,
    /// Something was refused.
    Denied {
        kind: String,
        target: String,
    },
    /// The first process inside, as the harness's process namespace counts: when it has gone, everybody inside has.
    First(i32),
    /// A name is about to come to be in a folder that was given for others; where it is moved there, from where.
    Made {
        path: String,
        from: Option<String>,
    },
    /// What was made there is about to go again: the file that it was.
    Left {
        path: String,
        was: FileId,
    },
    /// May this path be written? The answer is one byte, see [`YES`].
    MayWrite {
        path: String,
    },
    /// A folder of git's may come to be here; `below`: anywhere below.
    Repository {
        path: String,
        below: bool,
    },
    /// A program was to be started that the view does not give; whether there is one, nobody inside can see.
    NotGiven {
        program: String,
    },
    /// The program ended.
    Exited(i32),
    Killed(i32),
    /// All of it was ended, since this ran out.
    Exhausted(String),
    /// It could not be confined as the plan says, and did not run.
    Failed {
        layer: Option<Layer>,
        reason: String,
    },
    /// It was confined, but could not be started: the number of the operating system's error.
    NotStarted {
        errno: i32,
    },
}

impl Limits {
    /// What a program of a call with this time limit gets.
    ///
    /// Half the machine's memory for one process, three quarters for all of a call, and a quarter for each private
    /// folder; files of up to 16 GiB, more than a build makes; as many open files as servers usually set; 4,096 processes,
    /// some ten times what a parallel build on a large machine has at once; processor time for every core throughout the
    /// call.
    pub(crate) fn usual(seconds: u64) -> Self {
        let memory = memory_bytes().unwrap_or(8 << 30);
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        Self {
            data_bytes: memory / 2,
            all_bytes: memory / 4 * 3,
            disk_bytes: u64::MAX,
            file_bytes: 16 << 30,
            open_files: 65_536,
            processes: 4_096,
            cpu_seconds: seconds.saturating_mul(cores).saturating_add(60),
            private_bytes: memory / 4,
        }
    }
}

/// Memory of the machine.
fn memory_bytes() -> Option<u64> {
    told_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// What the kernel tells of memory in a line like `MemTotal:  1234 kB`, in bytes.
pub(crate) fn told_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}
