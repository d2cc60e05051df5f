//! The digest of a file's content.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};

use checkrein_contract::Digest;

/// More is no file that anybody reviews, and reading it would hold up the session.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const PIECE: usize = 64 * 1024;

/// `sha256:` and 64 hex digits, or `none` where nothing is there. `None` for a folder, a device, a file of more than
/// 64 MiB, and what may not be read.
pub(crate) fn digest(path: &str) -> Option<String> {
    if !path.starts_with('/') {
        return None;
    }
    // Looked at before it is opened: to open a pipe is to wait for whoever writes into it.
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= MAX_BYTES => {}
        Ok(_) => return None,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Some("none".to_owned());
        }
        Err(_) => return None,
    }
    let mut file = File::open(path).ok()?.take(MAX_BYTES + 1);
    let digest = Digest::of_stream(|feed| -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            feed(piece.get(..read).unwrap_or_default());
        }
    });
    // It may have grown since it was looked at.
    let whole = file.limit() > 0;
    digest.ok().filter(|_| whole).map(|digest| format!("sha256:{digest}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::folder;

    #[test]
    fn it_is_the_digest_of_the_content() {
        let (_held, at) = folder();
        let text = "abc".repeat(100_000);
        fs::write(format!("{at}/a"), &text).unwrap();
        symlink("a", format!("{at}/link")).unwrap();
        let expected = Some(format!("sha256:{}", Digest::of(text.as_bytes())));
        assert_eq!(digest(&format!("{at}/a")), expected);
        assert_eq!(digest(&format!("{at}/link")), expected);
        fs::write(format!("{at}/empty"), "").unwrap();
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(&format!("{at}/empty")).as_deref(), Some(empty));
    }

    #[test]
    fn what_is_absent_is_known_and_what_is_no_file_is_not() {
        let (_held, at) = folder();
        symlink("gone", format!("{at}/dangling")).unwrap();
        assert_eq!(digest(&format!("{at}/dangling")).as_deref(), Some("none"));
        assert_eq!(digest(&format!("{at}/gone/deep")).as_deref(), Some("none"));
        assert_eq!((digest(&at), digest("/dev/zero"), digest("relative")), (None, None, None));
        let large = File::create(format!("{at}/large")).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(digest(&format!("{at}/large")), None);
    }
}
