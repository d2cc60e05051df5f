//! Where a program of the person's own is looked for: by its absolute path, or by its bare name in the folders of `PATH`, and
//! never in a project, whose files others wrote.

use std::env::{join_paths, split_paths};
use std::path::{Path, PathBuf};

/// Where programs lie when no `PATH` says so.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// What such a program may not be named by, in words; `None` where the name is plain.
pub fn odd_name(program: &str) -> Option<&'static str> {
    let odd = program.is_empty() || program.contains('/') && !program.starts_with('/');
    odd.then_some("name the program by its absolute path, or by a bare name that PATH finds")
}

/// The folders of a search path that may be looked into: the absolute ones, but for those that are in one of the folders
/// `apart`, by name or by what they really are.
pub fn search_path(path: &str, apart: &[PathBuf]) -> String {
    let kept = split_paths(path).filter(|folder| folder.is_absolute() && !lies_in(folder, apart));
    join_paths(kept).ok().and_then(|path| path.into_string().ok()).unwrap_or_default()
}

/// The program of this bare name or absolute path; of `PATH` what [`search_path`] leaves counts.
///
/// # Errors
/// Why there is none, in words.
pub fn find_program(program: &str, path: Option<&str>, apart: &[PathBuf]) -> Result<PathBuf, String> {
    if let Some(why) = odd_name(program) {
        return Err(why.to_owned());
    }
    if program.starts_with('/') {
        return Ok(PathBuf::from(program));
    }
    let executable = |file: &PathBuf| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file();
    let path = search_path(path.unwrap_or(USUAL), apart);
    let mut files = split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| executable(file) && !lies_in(file, apart)).ok_or_else(|| {
        let project = if apart.is_empty() { "" } else { " outside the project" };
        format!("there is no program `{program}` on PATH{project}; name it by its absolute path")
    })
}

fn lies_in(path: &Path, apart: &[PathBuf]) -> bool {
    let real = path.canonicalize();
    apart.iter().any(|folder| {
        let there = folder.canonicalize();
        path.starts_with(folder)
            || real.as_ref().ok().zip(there.ok()).is_some_and(|(real, there)| real.starts_with(there))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Neither a relative folder nor one of the project is looked into, nor one that leads there, nor a link to a program there.
    #[test]
    fn nothing_is_found_in_a_project() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().canonicalize().unwrap().join(name);
        for name in ["project/bin/key", "own/key"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(at("links")).unwrap();
        symlink(at("project/bin"), at("linked")).unwrap();
        symlink(at("project/bin/key"), at("links/key")).unwrap();
        let shown = |name: &str| at(name).display().to_string();
        let apart = [at("project")];
        let path = |own: &str| {
            let theirs = [".".to_owned(), "bin".to_owned(), String::new(), shown("project/bin"), shown("linked")];
            [&theirs[..], &[shown("links"), own.to_owned()]].concat().join(":")
        };
        assert_eq!(search_path(&path("/usr/bin"), &apart), format!("{}:/usr/bin", shown("links")));
        assert_eq!(find_program("key", Some(&path(&shown("own"))), &apart), Ok(at("own/key")));
        let none = find_program("key", Some(&path("/nowhere")), &apart).unwrap_err();
        assert!(none.contains("no program `key` on PATH outside the project"), "{none}");
        assert_eq!(find_program("key", Some(&path("/nowhere")), &[]), Ok(at("project/bin/key")));
        for odd in ["./key", "bin/key", "../key", ""] {
            assert!(find_program(odd, Some(&path("/usr/bin")), &apart).unwrap_err().contains("absolute path"), "{odd}");
        }
        assert_eq!(find_program("/bin/sh", None, &apart), Ok(PathBuf::from("/bin/sh")));
        assert!(find_program("sh", None, &apart).is_ok(), "without a PATH it is where such programs usually are");
    }
}
