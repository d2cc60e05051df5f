//! What system calls did, in the words of effects.

use std::collections::HashMap;

use super::log::{Syscall, described, unquoted};

/// System calls that are looked at. A `?` in front: not every machine has it.
pub(crate) const TRACED: &str = "?open,?openat,?openat2,?creat,?mkdir,?mkdirat,?mknod,?mknodat,?symlink,?symlinkat,?link,\
    ?linkat,?rename,?renameat,?renameat2,?unlink,?unlinkat,?rmdir,?chmod,?fchmod,?fchmodat,?fchmodat2,?chown,?lchown,\
    ?fchown,?fchownat,?utime,?utimes,?utimensat,?futimesat,?truncate,?setxattr,?lsetxattr,?fsetxattr,?removexattr,\
    ?lremovexattr,?fremovexattr,?chdir,?fchdir,?clone,?clone3,?fork,?vfork,?execve,?execveat,?connect,?sendto,?sendmsg,\
    ?sendmmsg,?getdents,?getdents64,?mount,?umount2,?chroot,?pivot_root,?bind";

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Observed {
    Read(String),
    List(String),
    Write(String),
    Delete(String),
    Metadata(String),
    /// A program by its path.
    Run(String),
    Connect(String, u16),
    /// What no effect has a word for.
    Other(String),
}

impl std::fmt::Display for Observed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(path) => write!(out, "read {path}"),
            Self::List(path) => write!(out, "list {path}"),
            Self::Write(path) => write!(out, "write {path}"),
            Self::Delete(path) => write!(out, "delete {path}"),
            Self::Metadata(path) => write!(out, "metadata {path}"),
            Self::Run(path) => write!(out, "run {path}"),
            Self::Connect(host, port) => write!(out, "connect {host}:{port}"),
            Self::Other(what) => out.write_str(what),
        }
    }
}

/// Turns calls into what they did. The first program is the shell itself and is left out.
pub(crate) fn observe(calls: &[Syscall], folder: &str) -> Vec<Observed> {
    let mut watcher = Watcher { folders: HashMap::new(), first: folder.to_owned(), seen: Vec::new() };
    let mut shell = true;
    for call in calls {
        let before = watcher.seen.len();
        watcher.call(call);
        if shell && matches!(watcher.seen.get(before), Some(Observed::Run(_))) {
            watcher.seen.pop();
            shell = false;
        }
    }
    watcher.seen
}

struct Watcher {
    /// Working directories of processes. A child stands here from the call that made it on, which began before its own.
    folders: HashMap<u32, String>,
    first: String,
    seen: Vec<Observed>,
}

impl Watcher {
    fn folder(&self, pid: u32) -> String {
        self.folders.get(&pid).unwrap_or(&self.first).clone()
    }

    fn path(&self, call: &Syscall, at: usize) -> Option<String> {
        let path = unquoted(call.args.get(at)?)?;
        let base = self.folder(call.pid);
        Some(absolute(&base, &path))
    }

    /// The path of an `..at` call: a folder's descriptor, and a path below it.
    fn path_at(&self, call: &Syscall, at: usize) -> Option<String> {
        let folder = call.args.get(at)?;
        let base = described(folder).map_or_else(|| self.folder(call.pid), str::to_owned);
        let argument = call.args.get(at + 1)?;
        // A null path, or an empty one, is the descriptor itself.
        let path = unquoted(argument).unwrap_or_default();
        Some(if path.is_empty() { base } else { absolute(&base, &path) })
    }

    fn call(&mut self, call: &Syscall) {
        // A connection that was refused was tried.
        let tried = ["EINPROGRESS", "ECONNREFUSED"].iter().any(|error| call.result.contains(error));
        if !(call.succeeded() || call.name == "connect" && tried) {
            return;
        }
        match call.name.as_str() {
            "clone" | "clone3" | "fork" | "vfork" => {
                if let Some(child) = call.result.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                    let folder = self.folder(call.pid);
                    self.folders.insert(child, folder);
                }
            }
            "open" => self.open(call, 0, false),
            "openat" | "openat2" => self.open(call, 0, true),
            "creat" => self.see(call, 0, false, Observed::Write),
            "mkdir" | "mknod" | "truncate" => self.see(call, 0, false, Observed::Write),
            "mkdirat" | "mknodat" => self.see(call, 0, true, Observed::Write),
            "symlink" => self.see(call, 1, false, Observed::Write),
            "symlinkat" => self.see(call, 1, true, Observed::Write),
            "link" => self.see(call, 1, false, Observed::Write),
            "linkat" => self.see(call, 2, true, Observed::Write),
            "rename" => {
                self.see(call, 0, false, Observed::Delete);
                self.see(call, 1, false, Observed::Write);
            }
            "renameat" | "renameat2" => {
                self.see(call, 0, true, Observed::Delete);
                self.see(call, 2, true, Observed::Write);
            }
            "unlink" | "rmdir" => self.see(call, 0, false, Observed::Delete),
            "unlinkat" => self.see(call, 0, true, Observed::Delete),
            "chmod" | "chown" | "lchown" | "utime" | "utimes" | "setxattr" | "lsetxattr" | "removexattr"
            | "lremovexattr" => self.see(call, 0, false, Observed::Metadata),
            "fchmodat" | "fchmodat2" | "fchownat" | "utimensat" | "futimesat" => {
                self.see(call, 0, true, Observed::Metadata);
            }
            "fchmod" | "fchown" | "fsetxattr" | "fremovexattr" => {
                let path = call.args.first().and_then(|argument| described(argument));
                self.seen
                    .extend(path.filter(|path| path.starts_with('/')).map(|path| Observed::Metadata(path.to_owned())));
            }
            "chdir" => {
                if let Some(path) = self.path(call, 0) {
                    self.folders.insert(call.pid, path);
                }
            }
            "fchdir" => {
                if let Some(path) = call.args.first().and_then(|argument| described(argument)) {
                    self.folders.insert(call.pid, path.to_owned());
                }
            }
            "getdents" | "getdents64" => {
                let path = call.args.first().and_then(|argument| described(argument));
                self.seen.extend(path.filter(|path| path.starts_with('/')).map(|path| Observed::List(path.to_owned())));
            }
            "execve" => self.see(call, 0, false, Observed::Run),
            "execveat" => self.see(call, 0, true, Observed::Run),
            "connect" => self.connect(call),
            "sendto" | "sendmsg" | "sendmmsg" => self.connect(call),
            "mount" | "umount2" | "chroot" | "pivot_root" => {
                self.seen.push(Observed::Other(format!("{}({})", call.name, call.args.join(", "))));
            }
            _ => {}
        }
    }

    fn see(&mut self, call: &Syscall, at: usize, below: bool, what: fn(String) -> Observed) {
        let path = if below { self.path_at(call, at) } else { self.path(call, at) };
        self.seen.extend(path.map(what));
    }

    fn open(&mut self, call: &Syscall, at: usize, below: bool) {
        let flags = call.args.get(at + 1 + usize::from(below)).cloned().unwrap_or_default();
        let path = if below { self.path_at(call, at) } else { self.path(call, at) };
        let Some(path) = path else { return };
        if flags.contains("O_PATH") {
            return;
        }
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"];
        // A folder that is only opened may be one to come back to; its names are read by another call.
        if writes.iter().any(|flag| flags.contains(flag)) {
            self.seen.push(Observed::Write(path));
        } else if !flags.contains("O_DIRECTORY") && !std::path::Path::new(&path).is_dir() {
            self.seen.push(Observed::Read(path));
        }
    }

    fn connect(&mut self, call: &Syscall) {
        let socket = call.args.first().map(String::as_str).unwrap_or_default();
        let Some(address) = call.args.iter().find(|argument| argument.contains("sa_family=AF_INET")) else { return };
        let between = |from: &str, to: &str| -> Option<String> {
            let (_, rest) = address.split_once(from)?;
            Some(rest.split_once(to)?.0.to_owned())
        };
        let host = between("inet_addr(\"", "\"").or_else(|| between("inet_pton(AF_INET6, \"", "\""));
        let port = between("htons(", ")").and_then(|port| port.parse::<u16>().ok());
        let (Some(host), Some(port)) = (host, port) else { return };
        // Only the route is looked up: a datagram socket is connected and nothing is sent.
        if call.name == "connect" && socket.contains("UDP") || port == 53 || port == 0 {
            return;
        }
        self.seen.push(Observed::Connect(host, port));
    }
}

/// A path without dot segments.
fn absolute(base: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{base}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
