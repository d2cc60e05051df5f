//! What a path leads to once every link is followed. It looks at each part by itself and opens nothing.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Links that are followed before the path counts as a loop; Linux has the same number (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// The real path behind an absolute one. The last parts need not exist; a link to something that does not exist leads
/// there all the same, since writing through it would create that.
///
/// `None` for a relative path, a loop, a folder that may not be looked into, or a name that is no UTF-8.
pub(crate) fn real_path(path: &str) -> Option<String> {
    if !path.starts_with('/') {
        return None;
    }
    let mut real = PathBuf::from("/");
    // The parts still to be walked, the next one last.
    let mut rest: Vec<Part> = Vec::new();
    push(&mut rest, Path::new(path));
    let mut links = 0;
    let mut missing = false;
    while let Some(part) = rest.pop() {
        let name = match part {
            Part::Root => {
                real = PathBuf::from("/");
                continue;
            }
            // `missing/..` leads nowhere for the kernel, so it has no real path.
            Part::Up if missing => return None,
            Part::Up => {
                real.pop();
                continue;
            }
            Part::Name(name) => name,
        };
        real.push(name);
        if missing {
            continue;
        }
        match fs::symlink_metadata(&real) {
            Ok(found) if found.file_type().is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                let target = fs::read_link(&real).ok()?;
                real.pop();
                push(&mut rest, &target);
            }
            Ok(_) => {}
            // A part below a file does not exist either; whoever opens it is told so.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => missing = true,
            Err(_) => return None,
        }
    }
    real.into_os_string().into_string().ok()
}

enum Part {
    Root,
    Up,
    Name(OsString),
}

fn push(rest: &mut Vec<Part>, path: &Path) {
    rest.extend(path.components().rev().filter_map(|component| match component {
        Component::RootDir => Some(Part::Root),
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    }));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::scratch::folder;

    /// A link counts as what it leads to, also where the last parts do not exist yet.
    #[test]
    fn links_are_followed_to_files_and_below_folders() {
        let (_held, at) = folder();
        fs::create_dir(format!("{at}/real")).unwrap();
        fs::write(format!("{at}/real/a.txt"), "a").unwrap();
        symlink("real/a.txt", format!("{at}/file")).unwrap();
        symlink(format!("{at}/real"), format!("{at}/dir")).unwrap();
        symlink("dir", format!("{at}/dir2")).unwrap();
        for (written, expected) in [
            ("file", "real/a.txt"),
            ("dir/a.txt", "real/a.txt"),
            ("dir2/new/deep.txt", "real/new/deep.txt"),
            ("real/a.txt", "real/a.txt"),
            ("new/deep.txt", "new/deep.txt"),
            ("real/a.txt/below", "real/a.txt/below"),
        ] {
            assert_eq!(real_path(&format!("{at}/{written}")), Some(format!("{at}/{expected}")), "{written}");
        }
        assert_eq!(real_path("/").as_deref(), Some("/"));
    }

    /// A link that dangles leads to where it points: a write through it would land there.
    #[test]
    fn a_dangling_link_leads_outside() {
        let (_held, at) = folder();
        let (_outside, outside) = folder();
        fs::create_dir(format!("{at}/sub")).unwrap();
        symlink(format!("{outside}/not-there"), format!("{at}/absolute")).unwrap();
        symlink("../gone/x", format!("{at}/sub/relative")).unwrap();
        symlink("gone/../x", format!("{at}/sub/crooked")).unwrap();
        assert_eq!(real_path(&format!("{at}/absolute")), Some(format!("{outside}/not-there")));
        assert_eq!(real_path(&format!("{at}/absolute/new")), Some(format!("{outside}/not-there/new")));
        assert_eq!(real_path(&format!("{at}/sub/relative")), Some(format!("{at}/gone/x")));
        assert_eq!(real_path(&format!("{at}/sub/crooked")), None);
    }

    #[test]
    fn loops_and_relative_paths_have_no_answer() {
        let (_held, at) = folder();
        symlink("b", format!("{at}/a")).unwrap();
        symlink("a", format!("{at}/b")).unwrap();
        symlink("self/x", format!("{at}/self")).unwrap();
        for path in [format!("{at}/a"), format!("{at}/a/below"), format!("{at}/self"), "relative".to_owned()] {
            assert_eq!(real_path(&path), None, "{path}");
        }
    }

    #[test]
    fn a_link_in_a_chain_may_be_as_long_as_the_kernel_allows() {
        let (_held, at) = folder();
        fs::write(format!("{at}/0"), "end").unwrap();
        for link in 1..=MAX_LINKS + 1 {
            symlink((link - 1).to_string(), format!("{at}/{link}")).unwrap();
        }
        assert_eq!(real_path(&format!("{at}/{MAX_LINKS}")), Some(format!("{at}/0")));
        assert_eq!(real_path(&format!("{at}/{}", MAX_LINKS + 1)), None);
    }

    /// Root may look everywhere, so there is nothing to see as root; the listing shows the skip.
    #[test]
    fn a_folder_that_may_not_be_looked_into_has_no_answer() {
        let (_held, at) = folder();
        let closed = format!("{at}/closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let inside = fs::symlink_metadata(format!("{closed}/x")).map_err(|error| error.kind());
        let answer = real_path(&format!("{closed}/x"));
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        match inside {
            Err(ErrorKind::PermissionDenied) => assert_eq!(answer, None),
            _ => assert_eq!(answer, Some(format!("{closed}/x")), "skipped: this user may look into every folder"),
        }
    }
}
