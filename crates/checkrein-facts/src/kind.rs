//! What is at a path: a folder, a file, or nothing.

use std::fs;
use std::io::ErrorKind;

/// `folder`, `file` or `none`, once every link is followed. Whatever is neither (a device, a socket) is written and read
/// like a file. `None` where that may not be looked at.
pub(crate) fn kind(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        return None;
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Some("folder"),
        Ok(_) => Some("file"),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Some("none"),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::scratch::folder;

    #[test]
    fn links_are_followed_and_what_is_no_folder_is_a_file() {
        let (_held, at) = folder();
        fs::write(format!("{at}/a.txt"), "a").unwrap();
        symlink("a.txt", format!("{at}/to-file")).unwrap();
        symlink(&at, format!("{at}/to-folder")).unwrap();
        symlink("gone", format!("{at}/dangling")).unwrap();
        symlink("round", format!("{at}/round")).unwrap();
        let _socket = UnixListener::bind(format!("{at}/socket")).unwrap();
        for (name, expected) in [
            ("a.txt", Some("file")),
            ("to-file", Some("file")),
            ("to-folder", Some("folder")),
            ("socket", Some("file")),
            ("dangling", Some("none")),
            ("gone/deep", Some("none")),
            ("a.txt/below", Some("none")),
            ("round", None),
        ] {
            assert_eq!(kind(&format!("{at}/{name}")), expected, "{name}");
        }
        assert_eq!((kind("/"), kind("/dev/null"), kind("relative")), (Some("folder"), Some("file"), None));
    }
}
