//! Asks a program of the person's own for a line of text, such as a key from a keyring. It runs as the person would run it: what
//! a model or a project names never comes this way.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::group::Group;
use crate::itself::heard;
use crate::search::{find_program, search_path};

/// The search path.
const PATH: &str = "PATH";

/// Runs a program in this folder, with this environment, without input, and takes what it says on standard output. It is named by
/// its absolute path or by a bare name, and neither it nor what it starts is looked for by `PATH` in one of the folders `apart`.
/// Whatever else happens (it can not be started, fails, says too much, is not done by `until`) is an error in words; what it said
/// on standard output is in none. Its process group is gone when this returns.
///
/// # Errors
/// What went wrong; of a program that failed, what it said on standard error.
pub fn ask_program(
    argv: &[String],
    folder: &Path,
    apart: &[PathBuf],
    environment: &[(String, String)],
    until: Instant,
) -> Result<Vec<u8>, String> {
    let Some((program, arguments)) = argv.split_first() else { return Err("no program was named".to_owned()) };
    let path = environment.iter().find(|(name, _)| name == PATH).map(|(_, value)| value.as_str());
    let file = find_program(program, path, apart)?;
    let mut command = Command::new(file);
    command
        .arg0(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .envs(path.map(|path| (PATH, search_path(path, apart))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().map_err(|error| format!("`{program}` could not be started: {error}"))?;
    let group = Group::led_by(Some(child.id()));
    let said = heard(&mut child, Vec::new(), until);
    group.kill();
    _ = child.wait();
    said.map_err(|reason| format!("`{program}`: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::ask_program;

    fn asked(script: &str, time: Duration) -> Result<String, String> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        let environment = [("GREETING".to_owned(), "hello".to_owned())];
        let said = ask_program(&argv, Path::new("/"), &[], &environment, Instant::now() + time);
        said.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_it_says_comes_back_and_what_goes_wrong_is_told() {
        let minute = Duration::from_secs(60);
        assert_eq!(asked("echo $GREETING; pwd; read line || echo none", minute).unwrap(), "hello\n/\nnone\n");
        assert_eq!(
            asked("echo secret; echo 'it is locked' >&2; exit 3", minute).unwrap_err(),
            "`/bin/sh`: it is locked"
        );
        let silent = asked("echo secret; exit 3", minute).unwrap_err();
        assert!(silent.contains("exit status: 3") && !silent.contains("secret"), "{silent}");
        let none = ask_program(&["/no/such/program".to_owned()], Path::new("/"), &[], &[], Instant::now() + minute);
        assert!(none.unwrap_err().contains("could not be started"));
        assert!(ask_program(&[], Path::new("/"), &[], &[], Instant::now() + minute).is_err());
    }

    /// It is not waited for longer than there is time, nor is what it started in the background.
    #[test]
    fn a_program_that_hangs_is_ended_with_all_it_started() {
        let begun = Instant::now();
        let late = asked("sleep 600 & sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(late.contains("not done in time"), "{late}");
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
