//! The lines: read, foreseen, and run under the tracer.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use checkrein::contract::{Effect, Identity, Place};
use checkrein::{PolicyFiles, check_call, policy_for};
use checkrein_policy::{FAMILIES, Models, Source};

use super::observe::TRACED;
use super::world::World;

/// One line of a file.
pub(crate) struct Line {
    file: String,
    number: usize,
    /// The command.
    pub(crate) command: String,
    /// It ends with another code than 0.
    pub(crate) fails: bool,
    needs: Vec<String>,
}

/// What became of it.
pub(crate) struct Traced {
    /// What strace wrote.
    pub(crate) log: String,
    /// It ended with code 0.
    pub(crate) succeeded: bool,
    /// How it ended, for people.
    pub(crate) code: String,
    /// What it said on standard error.
    pub(crate) errors: String,
}

/// Reads all files of a folder.
pub(crate) fn all(folder: &Path) -> Vec<Line> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the lines are there").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut lines = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "txt")) {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("the lines can be read");
        for (number, text) in text.lines().enumerate().filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
            lines.push(Line::read(&file, number + 1, text));
        }
    }
    lines
}

impl Line {
    fn read(file: &str, number: usize, text: &str) -> Self {
        let (mut rest, mut fails, mut needs) = (text, false, Vec::new());
        while let Some((mark, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            match mark.split_once(' ') {
                Some(("needs", program)) => needs.push(program.to_owned()),
                _ if mark == "fails" => fails = true,
                _ => break,
            }
            rest = behind;
        }
        let words = rest.split(|letter: char| letter.is_whitespace()).find(|word| !word.contains('='));
        needs.extend(
            words
                .filter(|word| word.chars().all(|letter| letter.is_alphanumeric() || "-._+".contains(letter)))
                .map(str::to_owned),
        );
        Self { file: file.to_owned(), number, command: rest.replace("\\n", "\n"), fails, needs }
    }

    /// The first program of the line.
    pub(crate) fn program(&self) -> &str {
        self.needs.last().map_or("", String::as_str)
    }

    /// The name of its test.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}: {}", self.file, self.number, self.command)
    }

    /// A program that it needs and that is not here.
    pub(crate) fn lacks(&self) -> Option<&str> {
        let builtins = [
            "cd", "echo", "printf", "test", "[", "[[", "read", "export", "set", "source", ".", "eval", "exec", "for",
            "while", "if", "case", "(", "{", "true", "command", "umask", "type", "mapfile", "trap", "time",
        ];
        self.needs.iter().map(String::as_str).find(|name| !builtins.contains(name) && !on_path(name))
    }
}

const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The folder of the tools that `cargo xtask test` installs.
pub(crate) fn tools() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    folder.canonicalize().unwrap_or(folder).display().to_string()
}

/// Where programs are looked for: first what the system has, then the tools of `cargo xtask test`, then those of Rust.
fn search_path() -> String {
    let own = ["python/bin", "node/node_modules/.bin"].map(|folder| format!("{}/{folder}", tools()));
    let cargo = std::env::var("CARGO_HOME").ok().or_else(|| Some(format!("{}/.cargo", std::env::var("HOME").ok()?)));
    let cargo = cargo.map(|home| format!("{home}/bin"));
    FOLDERS.iter().map(|folder| (*folder).to_owned()).chain(own).chain(cargo).collect::<Vec<_>>().join(":")
}

/// Whether a program is found.
pub(crate) fn on_path(program: &str) -> bool {
    search_path().split(':').any(|folder| Path::new(folder).join(program).is_file())
}

/// The models that ship; those of the folder in `CHECKREIN_MODELS` while somebody works on them, so that nothing is built.
pub(crate) fn models() -> &'static Models {
    static MODELS: LazyLock<Models> = LazyLock::new(|| {
        let Some(folder) = std::env::var_os("CHECKREIN_MODELS") else { return Models::built_in().clone() };
        let texts: Vec<(String, String)> = FAMILIES
            .iter()
            .map(|(family, _)| {
                let path = Path::new(&folder).join(format!("{family}.toml"));
                (path.display().to_string(), std::fs::read_to_string(&path).expect("the models can be read"))
            })
            .collect();
        let sources: Vec<Source<'_>> = texts.iter().map(|(file, text)| Source { file, text }).collect();
        Models::built_in().with(&sources).unwrap_or_else(|error| panic!("{error}"))
    });
    &MODELS
}

/// What the harness says that a command would do.
pub(crate) fn foresee(command: &str, world: &World, models: &Models) -> Result<Vec<Effect>, String> {
    let place =
        Place { root: world.root.clone(), cwd: world.root.clone(), home: world.home.clone(), ..Place::default() };
    let policy =
        policy_for(&PolicyFiles::default(), &[], &place, &Identity::default()).map_err(|error| error.to_string())?;
    let args = serde_json::json!({ "command": command });
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let checked = runtime.block_on(check_call(&policy, "bash", args, &place, models, None));
    checked.map(|checked| checked.effects).map_err(|error| error.to_string())
}

/// Programs that the foreseen ones start as parts of themselves.
pub(crate) fn parts(effects: &[Effect]) -> BTreeSet<String> {
    let runs = effects.iter().filter_map(|effect| if let Effect::Run(run) = effect { Some(run) } else { None });
    runs.flat_map(|run| models().starts(run.words())).collect()
}

/// Runs a command under the tracer.
pub(crate) fn trace(command: &str, world: &World) -> Result<Traced, String> {
    let log = format!("{}/trace.log", world.private);
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "-yy",
        "-qq",
        "-s",
        "65536",
        "--seccomp-bpf",
        "-e",
        "signal=none",
        "-e",
        &format!("trace={TRACED}"),
        "-o",
        &log,
    ]);
    strace.args(["bash", "-c", command]).current_dir(&world.root).stdin(Stdio::null());
    strace
        .env_clear()
        .env("PATH", search_path())
        .env("HOME", &world.home)
        .env("TMPDIR", &world.private)
        .env("LC_ALL", "C.UTF-8")
        // The tools of the tests are not changed by running them.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    strace.env("CARGO_HOME", format!("{}/.cargo", world.home));
    if let Ok(home) =
        std::env::var("RUSTUP_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.rustup")))
    {
        strace.env("RUSTUP_HOME", home);
    }
    let output = strace.output().map_err(|error| format!("strace: {error}"))?;
    let log = std::fs::read(&log).map_err(|error| format!("what strace wrote: {error}"))?;
    Ok(Traced {
        log: String::from_utf8_lossy(&log).into_owned(),
        succeeded: output.status.success(),
        code: output.status.to_string(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// An effect in a few words.
pub(crate) fn shown(effect: &Effect) -> String {
    match effect {
        Effect::Run(run) => format!(
            "run {} [{}]",
            run.words().join(" "),
            run.deeds.iter().map(|deed| deed.as_str()).collect::<Vec<_>>().join(" ")
        ),
        Effect::Unknown { what } => format!("unknown: {what}"),
        Effect::Write { incidental: true, path, .. } => format!("write {path}, incidental"),
        Effect::List { path, deep: true, .. } => format!("list {path}/**"),
        Effect::ReadTree(tree) => format!("read {}/**", tree.root),
        other => format!("{} {}", other.word().as_str(), other.path().unwrap_or_default()),
    }
}
