//! The clean environment of programs: a short list of names that may pass. It reads no environment; the host brings it.

use std::collections::BTreeMap;
use std::fmt;

use checkrein_contract::{SECRET_VARIABLE, with_secrets};
use checkrein_gate::{Redactor, SandboxFailure};

/// Names that pass: who and where the person is, how text looks, and where tool chains live.
const PASS: &[&str] = &[
    "CARGO_HOME",
    "COLORTERM",
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "M2_HOME",
    "MAVEN_HOME",
    "NO_COLOR",
    "NVM_DIR",
    "PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SHELL",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
];
/// Beginnings of names that pass.
const PASS_PREFIXES: &[&str] = &["LC_"];
/// Parts of names that never pass, whatever the lists above say.
const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE", "CREDENTIAL"];

/// Shortest secret, bytes. A shorter one would be found in any output, and taken out of it.
const SHORTEST: usize = 6;

/// What programs find in their environment, and the secrets that calls may name. Secrets are filled in for one call at
/// a time and shown to nobody.
#[derive(Clone)]
pub struct Environment {
    pub(crate) plain: Vec<(String, String)>,
    secrets: BTreeMap<String, String>,
    /// Knows all of them; `None` where they can not be looked for.
    redactor: Option<Redactor>,
}

impl Default for Environment {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<(String, String)>> for Environment {
    /// The host's environment: of its variables those on the list of names that may pass are kept, and as secrets those
    /// whose names begin with [`SECRET_VARIABLE`].
    fn from(host: Vec<(String, String)>) -> Self {
        let (secrets, plain): (Vec<_>, Vec<_>) =
            host.into_iter().partition(|(name, _)| name.starts_with(SECRET_VARIABLE));
        let name = |name: String| name.get(SECRET_VARIABLE.len()..).unwrap_or_default().to_owned();
        let secrets: BTreeMap<String, String> =
            secrets.into_iter().map(|(variable, value)| (name(variable), value)).collect();
        let long = secrets.iter().filter(|(_, value)| value.len() >= SHORTEST);
        let redactor = Redactor::knowing(&long.map(|(name, value)| (name.clone(), value.clone())).collect());
        Self { plain: plain.into_iter().filter(|(name, _)| passes(name)).collect(), secrets, redactor }
    }
}

impl Environment {
    /// With these variables for every program.
    #[must_use]
    pub fn with(mut self, own: &BTreeMap<String, String>) -> Self {
        self.plain.retain(|(name, _)| !own.contains_key(name));
        self.plain.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    /// Keeps these values out of texts as well; no call can name them.
    #[must_use]
    pub fn hiding(mut self, values: impl IntoIterator<Item = (String, String)>) -> Self {
        let all = self.secrets.clone().into_iter().chain(values).filter(|(_, value)| value.len() >= SHORTEST);
        self.redactor = Redactor::knowing(&all.collect());
        self
    }

    /// The names of the secrets that there are.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.keys().map(String::as_str)
    }

    /// What takes the secrets out of texts again, all of them: also a call that was not given one may come upon it, in what an
    /// earlier call left behind.
    ///
    /// # Errors
    /// [`SandboxFailure::NotStarted`] where there are too many to be looked for.
    pub fn redactor(&self) -> Result<Redactor, SandboxFailure> {
        let too_many =
            || SandboxFailure::NotStarted { reason: "there are too many secrets to be looked for".to_owned() };
        self.redactor.clone().ok_or_else(too_many)
    }

    /// Fills in the secrets that the values name, and says what must not come out again.
    pub(crate) fn fill(&self, added: &mut [(String, String)]) -> Result<Redactor, SandboxFailure> {
        for (_, value) in added {
            *value = with_secrets(value, |name| {
                let no_secret = |reason| SandboxFailure::NoSecret { name: name.to_owned(), reason };
                let secret = self.secrets.get(name).ok_or_else(|| no_secret("has no value here"))?;
                if secret.len() < SHORTEST {
                    return Err(no_secret("is too short to be told from other text"));
                }
                Ok(secret.clone())
            })?;
        }
        self.redactor()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<&String> = self.secrets.keys().collect();
        f.debug_struct("Environment").field("plain", &self.plain).field("secrets", &secrets).finish()
    }
}

/// Variables that keep programs from writing where they need not.
const QUIET: &[(&str, &str)] = &[("GIT_OPTIONAL_LOCKS", "0"), ("TMPDIR", "/tmp")];

/// The environment of one confined program: the host's, what keeps it quiet, and what its call adds.
pub(crate) fn with(host: &[(String, String)], added: &[(String, String)]) -> Vec<(String, String)> {
    let quiet = QUIET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut env: Vec<(String, String)> = host.to_vec();
    for (name, value) in quiet.chain(added.iter().cloned()) {
        env.retain(|(there, _)| *there != name);
        env.push((name, value));
    }
    env
}

fn passes(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let listed = PASS.contains(&name) || PASS_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    listed && !SECRET.iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_to_the_call_that_names_it() {
        let host = [("PATH", "/bin"), ("CHECKREIN_SECRET_SHOP", "hunter-2-hunter"), ("CHECKREIN_SECRET_PIN", "1234")];
        let host: Vec<_> = host.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let environment = Environment::from(host);
        assert_eq!(environment.plain, [("PATH".to_owned(), "/bin".to_owned())]);
        assert!(!format!("{environment:?}").contains("hunter"));
        let fill = |value: &str| {
            let mut added = [("A".to_owned(), value.to_owned())];
            environment.fill(&mut added).map(|_| std::mem::take(&mut added[0].1))
        };
        assert_eq!(fill("Bearer ${secret:SHOP}!").unwrap(), "Bearer hunter-2-hunter!");
        assert_eq!(fill("${secret:SHOP} ${secret:SHOP}").unwrap(), "hunter-2-hunter hunter-2-hunter");
        assert_eq!(fill("$SHOP ${secret:").unwrap(), "$SHOP ${secret:");
        assert!(matches!(fill("${secret:NONE}"), Err(SandboxFailure::NoSecret { name, .. }) if name == "NONE"));
        assert!(fill("${secret:PIN}").is_err(), "it could not be kept out of what is printed");
    }

    #[test]
    fn what_is_hidden_is_nobodys_to_name() {
        let host = [("CHECKREIN_SECRET_SHOP".to_owned(), "hunter-2-hunter".to_owned())].to_vec();
        let environment = Environment::from(host).hiding([("KEY".to_owned(), "k-4711-k-4711".to_owned())]);
        let redactor = environment.redactor().unwrap();
        let told = redactor.text("hunter-2-hunter and k-4711-k-4711");
        assert!(!told.contains("hunter") && !told.contains("4711"), "{told}");
        let mut added = [("A".to_owned(), "${secret:KEY}".to_owned())];
        assert!(matches!(environment.fill(&mut added), Err(SandboxFailure::NoSecret { .. })));
    }

    #[test]
    fn only_listed_names_pass_and_never_a_secret() {
        for name in ["PATH", "HOME", "LC_ALL", "LC_TIME", "CARGO_HOME"] {
            assert!(passes(name), "{name}");
        }
        for name in ["LD_PRELOAD", "BASH_ENV", "ENV", "path", "GH_TOKEN", "LC_SECRET", "LC_apikey", "SSH_AUTH_SOCK", ""]
        {
            assert!(!passes(name), "{name}");
        }
    }
}
