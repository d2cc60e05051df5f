//! Keys from a program of the person's own, such as a keyring: `keys.toml` in the configuration folder. A key is asked for when a
//! model that needs it is opened, once a process; it is in no file of ours, and no program and no model sees it.
//!
//! No task and no project has a say in this: what they name would run as the person, outside of gate and sandbox. So the programs
//! run in the configuration folder, and are not looked for in the project.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use checkrein_providers::{key_variable, wire_kinds};
use checkrein_sandbox::{ask_program, odd_name};
use checkrein_toml::{FileError, Source, Spanned};
use serde::Deserialize;
use serde_json::Value;

use crate::HarnessError;
use crate::task::read;

/// The file in the configuration folder.
const FILE: &str = "keys.toml";
/// How long such a program may take. A person may have to unlock something.
const PATIENCE: Duration = Duration::from_secs(60);
/// Models of one's own server: each address has a key of its own.
const IN_NAME: &str = "compatible:";

/// Where programs run that no file names.
const TOP: &str = "/";

/// Programs that print keys, and the keys that they printed.
#[derive(Clone, Default)]
pub struct KeyCommands {
    commands: BTreeMap<String, Vec<String>>,
    /// Where they run: the folder of the file.
    folder: Option<PathBuf>,
    printed: Arc<Mutex<BTreeMap<String, String>>>,
    /// For the models of each command, whoever asks: nobody asks twice at a time, and nobody waits for another's program.
    asking: Arc<Mutex<BTreeMap<String, Arc<Mutex<()>>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysFile {
    version: Spanned<u32>,
    #[serde(default)]
    keys: BTreeMap<Spanned<String>, Value>,
}

impl KeyCommands {
    /// Reads the person's file, where there is one.
    ///
    /// # Errors
    /// [`HarnessError::Unreadable`], or [`HarnessError::File`] with the line.
    pub fn read_from(config: Option<&Path>) -> Result<Self, HarnessError> {
        match config.map(|folder| folder.join(FILE)).filter(|path| path.exists()) {
            Some(path) => {
                let read = Self::parse(&path.display().to_string(), &read(&path)?)?;
                let folder = config.map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf()));
                Ok(Self { folder, ..read })
            }
            None => Ok(Self::default()),
        }
    }

    /// With a program that prints the key of these models: `anthropic`, `openai`, `gemini` or `compatible:URL`. It is named by
    /// its absolute path, or by a bare name that is looked for outside the project.
    #[must_use]
    pub fn with(mut self, models: impl Into<String>, argv: Vec<String>) -> Self {
        self.commands.insert(models.into(), argv);
        self
    }

    fn parse(shown: &str, text: &str) -> Result<Self, FileError> {
        let source = Source { file: shown, text };
        let file: KeysFile = source.toml()?;
        if *file.version.get_ref() != 1 {
            let message = format!("version {} is not known here; this program reads version 1", file.version.get_ref());
            return Err(source.error(file.version.span().start, message));
        }
        let mut commands = BTreeMap::new();
        for (models, argv) in file.keys {
            let (at, models) = (models.span().start, models.into_inner());
            let vendor = key_variable(&models).is_some() && !IN_NAME.starts_with(&models);
            let address =
                models.strip_prefix(IN_NAME).is_some_and(|address| !address.is_empty() && !address.contains('#'));
            if !vendor && !address {
                let message = format!("`{models}` is none of `anthropic`, `openai`, `gemini` and `compatible:URL`");
                return Err(source.error(at, message));
            }
            // A key that somebody wrote here in place of a program is not repeated.
            let list = argv.as_array().filter(|list| !list.is_empty());
            let words = list.and_then(|list| list.iter().map(|word| word.as_str().map(str::to_owned)).collect());
            let none =
                || source.error(at, "write the program that prints the key, and its arguments, as a list of texts");
            let words: Vec<String> = words.ok_or_else(none)?;
            if let Some(why) = words.first().and_then(|program| odd_name(program)) {
                return Err(source.error(at, format!("`{models}`: {why}")));
            }
            commands.insert(models, words);
        }
        Ok(Self { commands, ..Self::default() })
    }

    /// The key of this model as the variable that its wire reads, where a program prints it and nothing else says it. The program
    /// is not looked for in the folders of the `project`.
    pub(crate) fn of(
        &self,
        model: &str,
        project: &[PathBuf],
        environment: &[(String, String)],
    ) -> Result<Option<(String, String)>, HarnessError> {
        let kind = model.split_once(':').map_or(model, |(kind, _)| kind);
        // A key for one's own server goes to the address that the person wrote, and to no other.
        let models =
            if IN_NAME.starts_with(kind) { model.rsplit_once('#').map_or(model, |(address, _)| address) } else { kind };
        let (Some(variable), Some(argv)) = (key_variable(kind), self.commands.get(models)) else { return Ok(None) };
        if environment.iter().any(|(name, value)| name == variable && !value.trim().is_empty()) {
            return Ok(None);
        }
        let turn = Arc::clone(held(&self.asking).entry(models.to_owned()).or_default());
        let _asks = held(&turn);
        if let Some(key) = held(&self.printed).get(models) {
            return Ok(Some((variable.to_owned(), key.clone())));
        }
        let failed = |reason: &str| {
            let reason = checkrein_gate::redact_text(reason).into_owned();
            HarnessError::Task(format!("model `{model}`: its key command in {FILE} brought no key: {reason}"))
        };
        let folder = self.folder.as_deref().unwrap_or(Path::new(TOP));
        let said = ask_program(argv, folder, project, environment, Instant::now() + PATIENCE)
            .map_err(|reason| failed(&reason))?;
        let key = String::from_utf8(said).map_err(|_| failed("what it printed is no text"))?;
        let key = key.trim().to_owned();
        if key.is_empty() || key.lines().count() > 1 {
            return Err(failed("it has to print the key and nothing else"));
        }
        held(&self.printed).insert(models.to_owned(), key.clone());
        Ok(Some((variable.to_owned(), key)))
    }

    /// The keys that were printed: no text may hold them.
    pub(crate) fn printed(&self) -> Vec<(String, String)> {
        held(&self.printed).values().enumerate().map(|(n, key)| (format!("model-key-{}", n + 1), key.clone())).collect()
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The keys of models that variables hold. What stands there for a server that wants none is no key, and may be said.
pub(crate) fn set_keys(environment: &[(String, String)]) -> Vec<(String, String)> {
    let variables: Vec<&str> = wire_kinds().filter_map(|(kind, _)| key_variable(kind)).collect();
    let keys = environment.iter().map(|(name, value)| (name, value.trim()));
    keys.filter(|(name, key)| variables.contains(&name.as_str()) && !is_word(key))
        .map(|(name, key)| (name.clone(), key.to_owned()))
        .collect()
}

/// A short word without digits, as local servers are given (`ollama`, `lm-studio`, `EMPTY`): hiding it would take it out of
/// every text that speaks of such a thing.
fn is_word(value: &str) -> bool {
    value.len() < 16 && value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'_')
}

impl fmt::Debug for KeyCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the arguments either: somebody may have written a key there.
        f.debug_set().entries(self.commands.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{FILE, KeyCommands, set_keys};

    fn says(text: &str) -> Vec<String> {
        ["/bin/sh", "-c", text].map(str::to_owned).to_vec()
    }

    /// A key is asked for once, in the folder of the file, for its own models and for no others, and only where nothing else says
    /// it.
    #[test]
    fn a_key_goes_where_it_was_meant_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = "version = 1\n[keys]\nanthropic = [\"/bin/sh\", \"-c\", \"mkdir asked && echo ' k-4711 '\"]\n";
        std::fs::write(folder.path().join(FILE), file).unwrap();
        let keys = KeyCommands::read_from(Some(folder.path())).unwrap();
        let keys = keys.with("compatible:http://127.0.0.1:1/v1", says("echo k-2"));
        let of = |model: &str, environment: &[(String, String)]| keys.of(model, &[], environment).unwrap();
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let set = [variable("ANTHROPIC_API_KEY", "own")];
        assert_eq!(of("anthropic:m", &set), None);
        let path = [variable("PATH", "/usr/bin:/bin")];
        for _ in 0..2 {
            assert_eq!(of("anthropic:m", &path), Some(variable("ANTHROPIC_API_KEY", "k-4711")));
        }
        assert_eq!(of("openai:m", &path), None);
        assert_eq!(of("compatible:http://127.0.0.1:1/v1#m", &path), Some(variable("COMPATIBLE_API_KEY", "k-2")));
        assert_eq!(of("compatible:http://127.0.0.1:1/v1/evil#m", &path), None);
        assert!(folder.path().join("asked").is_dir());
        assert_eq!(keys.printed().len(), 2);
        assert!(!format!("{keys:?}").contains("k-4711"));
    }

    /// A program that is not done keeps no other model's key back, and is not started twice.
    #[test]
    fn a_slow_program_keeps_nobody_else_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo").display().to_string();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let slow = says(&format!("read word < {fifo}; echo $word"));
        let keys = KeyCommands::default().with("anthropic", slow).with("openai", says("echo k-fast"));
        std::thread::scope(|scope| {
            let both = [(); 2].map(|()| scope.spawn(|| keys.of("anthropic:m", &[], &[]).unwrap()));
            // Opens once the slow program is there to read, which then waits for a word.
            let mut word = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
            let fast = keys.of("openai:m", &[], &[]).unwrap();
            assert_eq!((fast.unwrap().1.as_str(), keys.printed().len()), ("k-fast", 1));
            std::io::Write::write_all(&mut word, b"k-slow\n").unwrap();
            drop(word);
            for one in both {
                assert_eq!(one.join().unwrap().unwrap().1, "k-slow");
            }
        });
    }

    #[test]
    fn what_is_no_key_is_an_error_that_holds_none() {
        for (script, told) in [
            ("echo sesame; echo locked >&2; exit 1", "locked"),
            ("echo", "the key and nothing else"),
            ("echo sesame; echo sesame", "the key and nothing else"),
            ("printf '\\377'", "no text"),
        ] {
            let keys = KeyCommands::default().with("gemini", says(script));
            let error = keys.of("gemini:m", &[], &[]).unwrap_err().to_string();
            assert!(error.contains(told) && error.contains(FILE) && !error.contains("sesame"), "{error}");
        }
    }

    /// Keys that variables hold are known by their values; words that stand there for none are not.
    #[test]
    fn keys_of_the_environment_are_known() {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environment = [
            variable("ANTHROPIC_API_KEY", " k-4711-of-nobody\n"),
            variable("COMPATIBLE_API_KEY", "lm-studio"),
            variable("GEMINI_API_KEY", "correct-horse-battery"),
            variable("OTHER_API_KEY", "k-4712-of-nobody"),
        ];
        let known =
            [variable("ANTHROPIC_API_KEY", "k-4711-of-nobody"), variable("GEMINI_API_KEY", "correct-horse-battery")];
        assert_eq!(set_keys(&environment), known);
    }

    #[test]
    fn a_broken_file_names_its_line() {
        for (wrong, line) in [
            ("version = 2\n", "1"),
            ("version = 1\n[keys]\nantropic = [\"pass\"]\n", "3"),
            ("version = 1\n[keys]\ncompatible = [\"pass\"]\n", "3"),
            ("version = 1\n[keys]\n\"compatible:\" = [\"pass\"]\n", "3"),
            ("version = 1\n[keys]\nopenai = []\n", "3"),
            ("version = 1\n[keys]\nopenai = \"sk-1\"\n", "3"),
            ("version = 1\n[keys]\nopenai = [\"./key\"]\n", "3"),
            ("version = 1\n[keys]\nopenai = [\"bin/sk-1\", \"openai\"]\n", "3"),
        ] {
            let error = KeyCommands::parse(FILE, wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("{FILE}:{line}")) && !error.contains("sk-1"), "{wrong}: {error}");
        }
        let good = "version = 1\n[keys]\nopenai = [\"pass\", \"openai\"]\n\"compatible:https://models.example/v1\" = [\"cat\", \"key\"]\n";
        assert_eq!(KeyCommands::parse(FILE, good).unwrap().commands.len(), 2);
    }
}
