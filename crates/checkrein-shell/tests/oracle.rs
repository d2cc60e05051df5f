//! Bash itself says what ran. Many generated scripts are run by it, with nothing to run: a handler writes down each
//! command that was not found. Whatever the parser accepts must name all of them.

mod generate;
mod names;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io, thread};

use checkrein_shell::{Kind, Operation, Part, expand_braces, parse};
use generate::Dice;
use names::Found;

/// A folder that is gone when this is.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What bash did.
struct Run {
    /// Each command that was not found, with its arguments.
    calls: Vec<Vec<String>>,
    errors: String,
    files: Vec<String>,
}

/// Runs scripts, each in an empty folder and with a log of its own: what a script left running may still write.
struct Bash {
    program: PathBuf,
    base: PathBuf,
    prelude: PathBuf,
}

/// The first line ends what would run for ever. The count in front of each call says where it ends, and line ends go, as
/// bash would write the lines apart.
const PRELUDE: &str = r#"ulimit -t 2 -f 1000
unset BASH_ENV
command_not_found_handle() {
    (( SECONDS > 3 )) && kill -9 $$
    printf '%s\0' $# "${@//$'\n'/$'\x1e'}" >>"$CHECKREIN_LOG"
    return 127
}
"#;

impl Bash {
    fn new(base: &Path) -> io::Result<Bash> {
        let prelude = base.join("prelude");
        fs::write(&prelude, PRELUDE)?;
        let paths = env::var_os("PATH").unwrap_or_default();
        let program = env::split_paths(&paths)
            .map(|path| path.join("bash"))
            .find(|path| path.is_file())
            .ok_or_else(|| io::Error::other("there is no bash"))?;
        Ok(Bash { program, base: base.to_owned(), prelude })
    }

    fn run(&self, index: usize, script: &str) -> io::Result<Run> {
        let (folder, log) = (self.base.join(format!("run{index}")), self.base.join(format!("log{index}")));
        fs::create_dir(&folder)?;
        let output = Command::new(&self.program)
            .args(["--norc", "--noprofile", "-c", script])
            .env_clear()
            .env("PATH", "/nowhere")
            .env("LC_ALL", "C.UTF-8")
            .env("BASH_ENV", &self.prelude)
            .env("CHECKREIN_LOG", &log)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder)? {
            files.push(entry?.file_name().to_string_lossy().into_owned());
        }
        let calls = calls(&fs::read(&log).unwrap_or_default());
        // A process that is left may be writing into it; it goes with the folder around it then.
        let _ = fs::remove_dir_all(&folder);
        Ok(Run { calls, errors: String::from_utf8_lossy(&output.stderr).into_owned(), files })
    }
}

fn calls(log: &[u8]) -> Vec<Vec<String>> {
    let mut fields = log.split(|&byte| byte == 0).map(|field| String::from_utf8_lossy(field).replace('\u{1e}', "\n"));
    let mut calls = Vec::new();
    while let Some(count) = fields.next().and_then(|count| count.parse().ok()) {
        calls.push(fields.by_ref().take(count).collect());
    }
    calls
}

impl Run {
    /// Bash could not read the script, or a part of it when its turn came.
    fn refused(&self, script: &str) -> bool {
        // What `eval` reads is none of the tree's business.
        let evaluates = script.contains("eval");
        self.errors.lines().any(|line| {
            let reading =
                line.contains(": -c: line ") || (line.contains(": command substitution: line ") && !evaluates);
            reading && !line.contains("warning:")
        })
    }

    /// What the tree does not show.
    fn missing(&self, script: &str, found: &Found) -> Option<String> {
        // A pattern may have matched a file.
        if !self.files.is_empty() && script.contains(['*', '?', '[']) {
            return None;
        }
        for call in &self.calls {
            let Some(name) = call.first() else { continue };
            if !found.dynamic && !found.names().any(|known| known == name) {
                return Some(format!("the command {name:?}"));
            }
            let mut same =
                found.commands.iter().filter(|words| words.first().is_some_and(|first| first.as_ref() == Some(name)));
            let known = found.dynamic || same.any(|words| words.contains(&None) || words.iter().flatten().eq(call));
            if !known {
                return Some(format!("the call {call:?}"));
            }
        }
        let targets: HashSet<_> = found.targets.iter().collect();
        let anywhere = targets.contains(&None);
        self.files
            .iter()
            .find(|file| !anywhere && !targets.contains(&Some((*file).clone())))
            .map(|file| format!("the file {file:?}"))
    }
}

#[derive(Default)]
struct Tally {
    accepted: usize,
    good: usize,
    good_and_accepted: usize,
    wrong: Vec<String>,
    strict: Vec<String>,
}

fn judge(script: &str, run: &Run, tally: &mut Tally) {
    // Where a body begins behind the `)` of its substitution, bash 5.2 may stumble over what it has printed.
    let late = run.errors.contains(" unterminated here-document");
    // A syntax error in `eval`, or an array in `coproc { }` with a reserved word in it, confuses bash 5.2 for what follows.
    let confused = run.errors.contains(": eval: line ") || (script.contains("coproc {") && script.contains("=("));
    if (confused || late) && run.refused(script) {
        return;
    }
    let tree = parse(script);
    let good = !run.refused(script);
    tally.good += usize::from(good);
    match &tree {
        Err(broken) => {
            if good {
                tally.strict.push(format!("{script:?}: {} at {}", broken.reason, broken.at));
            }
        }
        Ok(tree) => {
            tally.accepted += 1;
            tally.good_and_accepted += usize::from(good);
            let found = Found::of(tree);
            if !good {
                tally.wrong.push(format!("{script:?}\n    accepted, but bash says: {}", run.errors.trim()));
            } else if let Some(what) = run.missing(script, &found) {
                tally.wrong.push(format!("{script:?}\n    {what} is not in {found:?}"));
            }
        }
    }
}

fn setting(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn whatever_bash_runs_is_in_the_tree() -> io::Result<()> {
    let count = setting("CHECKREIN_ORACLE_SCRIPTS", 3000);
    let seed = setting("CHECKREIN_ORACLE_SEED", 20_240_601);
    let mut dice = Dice::new(u64::try_from(seed).unwrap_or(0));
    let scripts: Vec<String> = (0..count).map(|_| generate::script(&mut dice)).collect();
    let base = Folder(env::temp_dir().join(format!("checkrein-shell-oracle-{}", std::process::id())));
    fs::create_dir_all(&base.0)?;
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let bash = Bash::new(&base.0)?;
    let work = || -> io::Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(script) = scripts.get(index) else { return Ok(()) };
            let run = bash.run(index, script)?;
            judge(script, &run, &mut tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        }
    };
    thread::scope(|scope| -> io::Result<()> {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().map_err(|_| io::Error::other("a worker panicked"))??;
        }
        Ok(())
    })?;
    let tally = tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Ok(path) = env::var("CHECKREIN_ORACLE_STRICT") {
        fs::write(path, tally.strict.join("\n"))?;
    }
    let summary = format!(
        "seed {seed}: {count} scripts, {} accepted; bash can read {} of them, {} of these are accepted; {} wrong",
        tally.accepted,
        tally.good,
        tally.good_and_accepted,
        tally.wrong.len()
    );
    assert!(tally.wrong.is_empty(), "{summary}\n{}", tally.wrong.join("\n"));
    // Refusing everything would be right as well, but of no use.
    assert!(tally.good_and_accepted * 10 > tally.good * 8, "{summary}");
    Ok(())
}

/// Words made of braces and what stands in them come out as from bash.
#[test]
fn braces_come_out_as_from_bash() -> io::Result<()> {
    let mut dice = Dice::new(u64::try_from(setting("CHECKREIN_ORACLE_SEED", 3)).unwrap_or(0));
    let pieces = [
        "{", "{", "}", "}", ",", ",", "..", "1", "3", "03", "-2", "a", "c", "x", "\"q\"", "\\,", "'{'", "$x",
        "${x:-b}", "+",
    ];
    let words: Vec<String> = (0..3000)
        .map(|_| (0..1 + dice.below(12)).map(|_| pieces.get(dice.below(pieces.len())).copied().unwrap_or("")).collect())
        .collect();
    let script: String = words.iter().map(|word| format!("printf '%s\\1' :{word}\nprintf '\\2'\n")).collect();
    let output = Command::new("bash").args(["--norc", "--noprofile", "-c", &script]).env_remove("BASH_ENV").output()?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    for (word, answer) in words.iter().zip(output.split('\u{2}')) {
        let expected: Vec<&str> = answer.split_terminator('\u{1}').collect();
        let tree = parse(&format!("printf :{word}"))
            .map_err(|broken| io::Error::other(format!("{word}: {}", broken.reason)))?;
        let Kind::Simple(simple) = &tree.statements[0].first.stages[0].kind else { continue };
        let Some(expanded) = expand_braces(&simple.words[1], 10_000) else { continue };
        let found: Vec<String> = expanded.iter().map(|word| with_unset_variables(&word.parts)).collect();
        assert_eq!(found, expected, "{word}");
    }
    Ok(())
}

/// The text of a word where no variable is set.
fn with_unset_variables(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Parameter(parameter) => {
                if let Operation::Default(word) = &parameter.operation {
                    text.push_str(&with_unset_variables(&word.parts));
                }
            }
            part => {
                names::push(part, &mut text);
            }
        }
    }
    text
}
