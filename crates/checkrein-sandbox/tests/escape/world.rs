//! The world around one run: a project, a person's home, and things outside that are nobody's business inside. It is made
//! afresh for each run, and its names are told to the attempt as variables.

use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::outside::{self, Victim};

/// Where programs are, inside and outside.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// By which what a run leaves behind is known.
const TAG: &str = "CHECKREIN_ESCAPE_RUN";

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    /// In every secret there is.
    pub(crate) mark: String,
    tag: String,
    variables: Vec<(String, String)>,
    _victim: Victim,
    _open: [OwnedFd; 2],
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("checkrein-").tempdir_in("/var/tmp").unwrap();
        let top = folder.path().canonicalize().unwrap();
        let suffix = top.file_name().unwrap().to_str().unwrap().trim_start_matches("checkrein-").to_owned();
        let (mark, tag) = (format!("found-{suffix}"), format!("run-{suffix}"));
        let [root, out, home] = ["project", "outside", "home"].map(|name| top.join(name));
        let state = home.join(".local/state/checkrein");
        project(&root, &mark);
        person(&home, &state, &mark);
        write(&out.join("secret.txt"), &mark);
        write(&out.join("writable.txt"), "as it was\n");
        write(&out.join("folder/file.txt"), "as it was\n");
        outside::local(&out.join("sock"), &mark);
        outside::local_datagrams(&out.join("datagrams"), &out.join("heard"));
        outside::local(&root.join("service.sock"), &mark);
        outside::local_datagrams(&root.join("datagrams.sock"), &out.join("heard"));
        let name = format!("checkrein-{suffix}");
        outside::abstract_name(&name, &mark);
        let victim = Victim::start(&mark);
        // Without the flag that closes them when a program starts.
        let open =
            [out.join("secret.txt"), out.clone()].map(|path| rustix::io::dup(fs::File::open(path).unwrap()).unwrap());
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let variables = [
            ("PATH", PATH.to_owned()),
            ("HOME", text(&home)),
            ("ROOT", text(&root)),
            ("OUT", text(&out)),
            ("STATE", text(&state)),
            ("TCP", outside::tcp_of_old(&mark).to_string()),
            ("TCP6", outside::tcp_of_now(&mark).unwrap_or(1).to_string()),
            ("UDP", outside::udp(&mark).to_string()),
            ("MINE", format!("/tmp/{name}-mine")),
            ("ABSTRACT", name),
            ("PID", victim.pid().to_string()),
            ("HARNESS", std::process::id().to_string()),
            ("FD", open[0].as_raw_fd().to_string()),
            ("FOLDER_FD", open[1].as_raw_fd().to_string()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Self { folder, root, home, mark, tag, variables, _victim: victim, _open: open }
    }

    /// The words that run a line of bash in the project, with everything in its environment that it may know.
    pub(crate) fn argv(&self, line: &str) -> Vec<String> {
        let mut argv = vec!["env".to_owned()];
        let known = self.variables.iter().filter(|(name, _)| name != "PATH" && name != "HOME");
        argv.extend(known.map(|(name, value)| format!("{name}={value}")));
        argv.push(format!("{TAG}={}", self.tag));
        argv.extend(["bash", "-c", line].map(str::to_owned));
        argv
    }

    /// A path that begins with the name of a place.
    pub(crate) fn path(&self, written: &str) -> String {
        let (name, rest) = written.split_once('/').unwrap_or((written, ""));
        let place = self.variables.iter().find(|(variable, _)| variable == name).map_or("", |(_, place)| place);
        if rest.is_empty() { place.to_owned() } else { format!("{place}/{rest}") }
    }

    /// A line of bash outside; whether it exits with 0.
    pub(crate) fn outside(&self, line: &str) -> bool {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "-k", "1", "30", "bash", "-c", line]).env_clear().current_dir(&self.root);
        command.envs(self.variables.iter().cloned()).env("MARK", &self.mark).env("RUN", &self.tag);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// A line of bash outside, as an attempt, its output in a file; what it printed at the end.
    pub(crate) fn plain(&self, line: &str) -> String {
        let into = self.folder.path().join("plain.out");
        let argv = self.argv(line);
        let output = fs::File::create(&into).unwrap();
        let mut command = Command::new("timeout");
        command.args(["--foreground", "-k", "1", "30"]).args(argv).env_clear().current_dir(&self.root);
        command.env("PATH", PATH).env("HOME", &self.home).stdin(Stdio::null()).stderr(Stdio::null()).stdout(output);
        _ = command.status();
        if fs::metadata(&into).unwrap().len() > 1 << 20 {
            String::new()
        } else {
            fs::read_to_string(&into).unwrap_or_default()
        }
    }

    /// Where what was cut goes.
    pub(crate) fn spill(&self) -> PathBuf {
        self.folder.path().join("spill")
    }

    /// Processes that this run left behind.
    pub(crate) fn left(&self) -> Vec<rustix::process::Pid> {
        let wanted = format!("{TAG}={}\0", self.tag);
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let left = numbers.filter(|number| {
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.windows(wanted.len()).any(|window| window == wanted.as_bytes())
        });
        left.filter_map(rustix::process::Pid::from_raw).collect()
    }

    /// Ends them.
    pub(crate) fn end_left(&self) {
        for pid in self.left() {
            _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for World {
    /// What an attempt mounted here must not be there when the folder is removed with all in it.
    fn drop(&mut self) {
        _ = fs::remove_file(self.path("MINE"));
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounted = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        for at in mounted.filter(|at| Path::new(at).starts_with(self.folder.path())) {
            _ = rustix::mount::unmount(at, rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// A repository with rules of its own, a secret, and a folder to write to.
fn project(root: &Path, mark: &str) {
    write(&root.join("notes.txt"), "notes\n");
    write(&root.join("src/lib.rs"), "pub fn one() -> u32 { 1 }\n");
    write(&root.join("out/kept.txt"), "as it was\n");
    write(&root.join(".env"), &format!("{mark}\n"));
    write(&root.join("conf/.env.local"), &format!("{mark}\n"));
    write(&root.join("server.pem"), &format!("{mark}\n"));
    write(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    write(&root.join(".git/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    write(&root.join(".git/hooks/pre-commit.sample"), "#!/bin/sh\n");
    write(&root.join(".git/info/attributes"), "# none\n");
    for folder in [".git/objects", ".git/refs/heads"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    write(&root.join(".checkrein/policy.toml"), "version = 1\n");
    write(&root.join(".checkrein/settings.toml"), "sandbox = \"required\"\n");
}

/// What a person has at home.
fn person(home: &Path, state: &Path, mark: &str) {
    write(&home.join(".ssh/id_ed25519"), &format!("{mark}\n"));
    write(&home.join(".ssh/authorized_keys"), "");
    write(&home.join(".aws/credentials"), &format!("{mark}\n"));
    write(&home.join(".bash_history"), &format!("{mark}\n"));
    write(&home.join(".netrc"), &format!("{mark}\n"));
    write(&home.join(".bashrc"), "# mine\n");
    write(&home.join(".profile"), "# mine\n");
    write(&home.join(".gitconfig"), "[user]\n\tname = Dev\n");
    write(&home.join(".cargo/credentials.toml"), &format!("{mark}\n"));
    write(&home.join(".cargo/bin/tool"), "#!/bin/sh\necho tool\n");
    write(&home.join(".config/checkrein/policy.toml"), "version = 1\n");
    write(&state.join("journal.db"), "an approval of nothing\n");
    write(&state.join("approvals.txt"), &format!("open: {mark}\n"));
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
