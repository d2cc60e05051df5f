//! The clean environment of programs: a short list of names that may pass. It reads no environment; the host brings it.

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

/// What is left of the host's environment.
pub(crate) fn clean(host: Vec<(String, String)>) -> Vec<(String, String)> {
    host.into_iter().filter(|(name, _)| passes(name)).collect()
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
