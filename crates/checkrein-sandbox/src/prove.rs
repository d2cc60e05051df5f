//! Proof by trying: small programs that do what must not succeed, run as every program is run, with a look afterwards
//! from outside. What a layer is said to do counts for nothing here.

use std::fs;
use std::io::{Error, Result};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use checkrein_gate::{CommandSpec, Redactor, RunOutput};
use tokio_util::sync::CancellationToken;

use crate::confined::Confined;
use crate::host::shown;
use crate::plan::{Limits, Node, NodeKind, Plan};

/// A thing that was tried, and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What must hold, in words.
    pub claim: &'static str,
    /// Whether it did.
    pub outcome: Outcome,
}

/// How a try went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It held.
    Held,
    /// It did not: this is what was seen.
    Failed(String),
    /// It could not be tried.
    Untried(String),
}

/// What a program leaves behind on the machine.
struct Ground {
    folder: tempfile::TempDir,
    listener: TcpListener,
}

impl Ground {
    fn lay(at: &Path) -> Result<Self> {
        fs::create_dir_all(at)?;
        let folder = tempfile::Builder::new().prefix("doctor-").tempdir_in(at)?;
        let ground = Self { folder, listener: TcpListener::bind(("127.0.0.1", 0))? };
        ground.listener.set_nonblocking(true)?;
        fs::create_dir_all(ground.project().join(".git/hooks"))?;
        fs::create_dir_all(ground.outside())?;
        fs::write(ground.project().join(".env"), MARK)?;
        fs::write(ground.project().join("file"), "as it was")?;
        fs::write(ground.outside().join("secret"), MARK)?;
        Ok(ground)
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }
}

/// What no program may show.
const MARK: &str = "checkrein-doctor-secret";
/// Time for one try, milliseconds.
const LIMIT: u64 = 5_000;

/// One try: what must hold, what is run, and what is seen afterwards if it does not.
struct Try {
    claim: &'static str,
    /// For `sh`, with `$OUTSIDE`, `$PORT` and `$PARENT`.
    line: &'static str,
    seen: fn(&Ground, &RunOutput) -> Option<String>,
}

const TRIES: &[Try] = &[
    Try {
        claim: "a program runs, and its output and exit code come back",
        line: "echo works; exit 7",
        seen: |_, ran| (ran.exit != Some(7) || text(ran) != "works\n").then(|| format!("it said: {}", text(ran))),
    },
    Try {
        claim: "what was granted can be written",
        line: "echo new > file",
        seen: |ground, _| {
            let now = fs::read_to_string(ground.project().join("file")).unwrap_or_default();
            (now != "new\n").then(|| "it was not written".to_owned())
        },
    },
    Try {
        claim: "nothing outside is written",
        line: "echo x > $OUTSIDE/made; echo x > /usr/checkrein-doctor; echo x > /etc/checkrein-doctor",
        seen: |ground, _| {
            let made = [ground.outside().join("made"), "/usr/checkrein-doctor".into(), "/etc/checkrein-doctor".into()];
            let made: Vec<_> = made.iter().filter(|path| path.exists()).collect();
            for path in &made {
                _ = fs::remove_file(path);
            }
            made.first().map(|path| format!("{} was written", path.display()))
        },
    },
    Try {
        claim: "nothing outside is read",
        line: "cat $OUTSIDE/secret",
        seen: |_, ran| text(ran).contains(MARK).then(|| "a file outside was read".to_owned()),
    },
    Try {
        claim: "a secret in the project is hidden",
        line: "cat .env",
        seen: |_, ran| text(ran).contains(MARK).then(|| "a secret was read".to_owned()),
    },
    Try {
        claim: "control files in the project are held",
        line: "echo x > .git/hooks/pre-commit",
        seen: |ground, _| {
            let planted = ground.project().join(".git/hooks/pre-commit").exists();
            planted.then(|| "a git hook was planted".to_owned())
        },
    },
    Try {
        claim: "there is no way to a server of this machine",
        line: "bash -c 'echo x > /dev/tcp/127.0.0.1/'$PORT",
        seen: |ground, _| ground.listener.accept().is_ok().then(|| "it was connected to".to_owned()),
    },
    Try {
        claim: "no process outside is signalled",
        line: "kill -0 $PARENT && echo reached",
        seen: |_, ran| text(ran).contains("reached").then(|| "a process outside was reached".to_owned()),
    },
    Try {
        claim: "no rights come back, and system calls are filtered",
        line: "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status",
        seen: |_, ran| {
            let text = text(ran);
            let right = text.contains("NoNewPrivs:\t1") && text.contains("Seccomp:\t2");
            (!right).then(|| format!("the kernel says: {}", text.replace('\n', " ")))
        },
    },
    Try {
        claim: "nothing is left running",
        line: "setsid sleep 600.$PARENT & echo started; exit 0",
        seen: |_, _| left_running().then(|| "a process was left running".to_owned()),
    },
    Try {
        claim: "what was refused is told by its true path",
        line: "echo x > $OUTSIDE/made",
        seen: |ground, ran| {
            let path = shown(&ground.outside().join("made"));
            let told = ran.denied.iter().any(|denial| denial.kind == "write" && denial.target == path);
            (!told).then(|| "the refusal was not told".to_owned())
        },
    },
];

fn text(ran: &RunOutput) -> String {
    String::from_utf8_lossy(&ran.stdout.tail).into_owned()
}

/// Whether a process of a try is still there: it sleeps for a time that no other process on the machine does.
fn left_running() -> bool {
    let wanted = format!("sleep\0600.{}\0", std::process::id());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line == wanted.as_bytes())
}

impl Confined {
    /// Tries what must hold on this machine, in a folder made below this one and removed again.
    pub async fn prove(&self, below: &Path) -> Vec<Proof> {
        let untried = |why: &Error| {
            TRIES.iter().map(|each| Proof { claim: each.claim, outcome: Outcome::Untried(why.to_string()) }).collect()
        };
        if let Some(broken) = &self.found().broken {
            return untried(&Error::other(broken.clone()));
        }
        let ground = match Ground::lay(below) {
            Ok(ground) => ground,
            Err(error) => return untried(&error),
        };
        let mut proofs = Vec::new();
        for each in TRIES {
            let outcome = match self
                .carry_out(
                    &self.plan_of(&ground, each),
                    None,
                    spec(&ground),
                    &Redactor::default(),
                    &CancellationToken::new(),
                )
                .await
            {
                Ok(ran) => (each.seen)(&ground, &ran).map_or(Outcome::Held, Outcome::Failed),
                Err(error) => Outcome::Untried(error.to_string()),
            };
            proofs.push(Proof { claim: each.claim, outcome });
        }
        proofs
    }

    fn plan_of(&self, ground: &Ground, each: &Try) -> Plan {
        let mut view = self.host.view();
        let project = ground.project();
        view.push(Node { at: shown(&project), kind: NodeKind::Write });
        view.push(Node { at: shown(&project.join(".env")), kind: NodeKind::Hidden });
        view.push(Node { at: shown(&project.join(".git/hooks")), kind: NodeKind::Read });
        view.sort_by(|a, b| a.at.cmp(&b.at));
        let port = ground.listener.local_addr().map_or(0, |address| address.port());
        let mut env = self.host.env.plain.clone();
        env.push(("OUTSIDE".to_owned(), shown(&ground.outside())));
        env.push(("PORT".to_owned(), port.to_string()));
        env.push(("PARENT".to_owned(), std::process::id().to_string()));
        Plan {
            program: "/bin/sh".to_owned(),
            argv: ["sh", "-c", each.line].map(str::to_owned).to_vec(),
            cwd: shown(&project),
            env,
            view,
            input: String::new(),
            sockets: Vec::new(),
            named: Vec::new(),
            kept: Vec::new(),
            repositories: Vec::new(),
            limits: Limits::usual(LIMIT / 1_000),
            layers: self.found().layers,
            way_out: false,
        }
    }
}

fn spec(ground: &Ground) -> CommandSpec {
    CommandSpec {
        argv: Vec::new(),
        cwd: ground.project(),
        folder_given: false,
        env: Vec::new(),
        input: String::new(),
        timeout_ms: LIMIT,
        keep_bytes: 4_096,
        spill: None,
    }
}
