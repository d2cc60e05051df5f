//! Variables: what is known of them from the start, which of them programs look at, and what setting them means.

use checkrein_shell::{Assignment, Value};

use super::state::{Folders, Variable};
use super::value::{Text, UNKNOWN_VARIABLE};
use super::walk::Walker;

/// Variables that change only how a program looks, or what it assumes about its surroundings, whatever they hold.
const HARMLESS: &[&str] = &[
    "LANG",
    "TZ",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "CI",
    "NODE_ENV",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Settings that switch something off.
const HARMLESS_PAIRS: &[(&str, &str)] =
    &[("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// Variables that are in the environment of every shell, or that the shell itself goes by: setting one is felt by every
/// later command even without `export`.
const FELT: &[&str] = &[
    "PATH",
    "HOME",
    "IFS",
    "ENV",
    "SHELL",
    "USER",
    "LOGNAME",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "TMPDIR",
    "TMP",
    "TEMP",
    "PS4",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "MANPAGER",
    "MAKEFLAGS",
    "CC",
    "CXX",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "all_proxy",
];
const FELT_BEGINNINGS: &[&str] = &[
    "LD_", "DYLD_", "GIT_", "NODE_", "NPM_", "npm_", "PYTHON", "PERL", "RUBY", "RUST", "CARGO_", "JAVA_", "JDK_",
    "LESS", "BASH_", "SSH_", "GPG_", "DOCKER_", "KUBE", "AWS_", "XDG_", "GO", "MAVEN_", "GRADLE_", "PIP_", "UV_",
];

/// Whether a variable may be given to a program without a question.
pub(super) fn is_harmless(name: &str, value: &Text) -> bool {
    HARMLESS.contains(&name)
        || name.starts_with("LC_")
        || HARMLESS_PAIRS.iter().any(|(known, harmless)| *known == name && value.as_known() == Some(*harmless))
}

fn is_felt(name: &str) -> bool {
    FELT.contains(&name) || FELT_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

impl Walker<'_> {
    /// What a variable holds.
    pub(super) fn variable(&self, name: &str) -> Variable {
        if UNKNOWN_VARIABLE.contains(name) && name.starts_with("__") {
            return Variable::unknown();
        }
        if let Some(variable) = self.state.variables.get(name) {
            return variable.clone();
        }
        let place = self.scene.place;
        let known = |text: &str| Variable::one(Text::known(text.to_owned()));
        match name {
            "HOME" if !place.home.is_empty() => known(&place.home),
            "USER" | "LOGNAME" if !place.home.is_empty() => known(place.home.rsplit('/').next().unwrap_or_default()),
            "PWD" => self.state.folders.only().map_or_else(Variable::unknown, known),
            "OLDPWD" => self.state.previous.as_ref().and_then(Folders::only).map_or_else(Variable::unknown, known),
            "TMPDIR" => known("/tmp"),
            "#" | "?" | "$" | "!" | "RANDOM" | "SECONDS" | "LINENO" | "EPOCHSECONDS" | "UID" | "EUID" | "PPID" => {
                Variable::one(Text::number())
            }
            other => self.argument(other),
        }
    }

    /// `$1` and so on; of any other name nothing is known.
    fn argument(&self, name: &str) -> Variable {
        let Ok(index) = name.parse::<usize>() else { return Variable::unknown() };
        // What stands for any number of words moves those behind it.
        let mut arguments = self.state.arguments.iter().flat_map(|all| all.iter()).take_while(|field| !field.many);
        let argument = index.checked_sub(1).and_then(|before| arguments.nth(before));
        argument.map_or_else(Variable::unknown, |field| Variable::one(field.text.clone()))
    }

    /// Whether the script itself gave it a value, so that an operator's default does not come in.
    pub(super) fn is_set(&self, name: &str) -> bool {
        match self.state.variables.get(name) {
            Some(variable) => {
                !variable.list
                    && !variable.values.is_empty()
                    && variable.values.iter().all(|value| value.prefix() != "" || value.is_pattern())
            }
            None => matches!(name, "HOME" | "PWD" | "USER" | "$" | "#" | "?"),
        }
    }

    /// Sets a variable of the shell.
    pub(super) fn assign(&mut self, name: &str, value: Variable) {
        if self.is_fixed(name) {
            self.unknown(format!("it sets `{name}`, which can not be set any more"));
        }
        let harmless = !value.values.is_empty() && value.values.iter().all(|text| is_harmless(name, text));
        if is_felt(name) && !harmless {
            self.unknown(format!("it sets `{name}`, which later commands go by"));
        }
        self.state.variables.insert(name.to_owned(), value);
    }

    /// `NAME=VALUE` without a command behind it.
    pub(super) fn assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            let value = self.assigned(assignment);
            self.assign(&assignment.name, value);
        }
    }

    /// The value of an assignment.
    pub(super) fn assigned(&mut self, assignment: &Assignment) -> Variable {
        if let Some(subscript) = &assignment.subscript {
            self.subscript(subscript);
        }
        match &assignment.value {
            Value::Word(word) => {
                let values = self.alternatives(word);
                if assignment.subscript.is_some() {
                    return Variable::unknown();
                }
                if assignment.append {
                    let mut before = self.variable(&assignment.name);
                    let [added] = values.as_slice() else { return Variable::unknown() };
                    before.values.iter_mut().for_each(|value| value.append(added.clone()));
                    return before;
                }
                Variable { values, list: false }
            }
            Value::Array(elements) => {
                let mut values = Vec::new();
                for (subscript, word) in elements {
                    if let Some(subscript) = subscript {
                        self.subscript(subscript);
                    }
                    let fields = self.fields(std::slice::from_ref(word));
                    values.extend(fields.into_iter().map(|field| field.text));
                }
                Variable { values, list: true }
            }
        }
    }

    /// Gives a variable to every later program.
    pub(super) fn export(&mut self, name: &str, value: &Text) {
        if is_harmless(name, value) {
            return;
        }
        self.unknown(format!("it exports `{name}`, which later programs may go by"));
        self.state.exported.push(format!("{name}={}", value.shown()));
    }
}
