//! The signing key: one ed25519 key beside the journal's file, made at first use, for its owner alone.
//!
//! Nothing but this reads it, and nothing prints it. Whoever can read it can sign whatever they like, so a head is worth as
//! much as the key's secrecy; one that was kept elsewhere stays what it was.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use checkrein_contract::SessionId;
use ed25519_dalek::{Signer as _, SigningKey};

use crate::signed::{PublicKey, SignedHead, bytes, hex};
use crate::{Head, JournalError, file};

/// What the file begins with; the 32 bytes of the key follow as hex digits.
const BEGINS: &str = "checkrein-key 1 ";

/// Signs heads.
pub(crate) struct Signer {
    key: SigningKey,
    public: PublicKey,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Signer").field(&self.public).finish()
    }
}

impl Signer {
    /// The key in this file; `None` when there is no file.
    ///
    /// # Errors
    /// [`JournalError::Key`] when what is there is no key; otherwise what the system says.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, JournalError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(file::error(error, path, "reading")),
        };
        let secret = text.strip_prefix(BEGINS).and_then(|rest| bytes::<32>(rest.trim_end()));
        let wrong = || JournalError::Key { path: path.to_owned(), reason: "it is no key of a journal".to_owned() };
        file::tighten(path)?;
        Ok(Some(Self::of(&secret.ok_or_else(wrong)?)))
    }

    /// The key in this file, made there first if there is none: whole or not at all, and once, however many processes
    /// begin at the same time.
    ///
    /// # Errors
    /// As [`Signer::open`]; [`JournalError::Key`] when the system gives no random numbers.
    pub(crate) fn open_or_make(path: &Path) -> Result<Self, JournalError> {
        if let Some(signer) = Self::open(path)? {
            return Ok(signer);
        }
        let mut secret = [0_u8; 32];
        getrandom::fill(&mut secret)
            .map_err(|error| JournalError::Key { path: path.to_owned(), reason: error.to_string() })?;
        file::make(path, |draft| {
            let text = format!("{BEGINS}{}\n", hex(&secret));
            fs::write(draft, text).map_err(|error| file::error(error, path, "writing"))
        })?;
        // Whichever process was first: its key is the one that counts.
        let gone = || JournalError::Key { path: path.to_owned(), reason: "it is gone again".to_owned() };
        Self::open(path)?.ok_or_else(gone)
    }

    fn of(secret: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(secret);
        let public = PublicKey::new(hex(key.verifying_key().as_bytes()));
        Self { key, public }
    }

    /// Its public half.
    pub(crate) fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs how far a chain reaches.
    pub(crate) fn sign(&self, session: &SessionId, head: &Head, at: u64) -> SignedHead {
        let signature = self.key.sign(SignedHead::text(session, head, at).as_bytes());
        SignedHead {
            at,
            hash: head.hash.clone(),
            key: self.public.clone(),
            seq: head.seq,
            session: session.clone(),
            signature: hex(&signature.to_bytes()),
        }
    }
}

/// Keys of elsewhere whose signatures count here, a line each.
///
/// # Errors
/// [`JournalError::Key`] for a line that is no key; otherwise what the system says.
pub(crate) fn accepted(path: &Path) -> Result<Vec<PublicKey>, JournalError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(file::error(error, path, "reading")),
    };
    let wrong = |line: &str| JournalError::Key { path: path.to_owned(), reason: format!("`{line}` is no public key") };
    text.lines().map(|line| PublicKey::parse(line).ok_or_else(|| wrong(line))).collect()
}

/// Adds one. Durable when it returns.
///
/// # Errors
/// As [`accepted`].
pub(crate) fn accept(path: &Path, key: &PublicKey) -> Result<(), JournalError> {
    if accepted(path)?.contains(key) {
        return Ok(());
    }
    let write = || {
        let mut file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.write_all(format!("{key}\n").as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| file::error(error, path, "writing"))
}

/// Where accepted keys stand.
pub(crate) fn beside_accepted(journal: &Path) -> PathBuf {
    journal.with_extension("keys")
}

/// Where the key of a journal lies: beside it, with a name that the floor of every policy denies to tools.
pub(crate) fn beside(journal: &Path) -> PathBuf {
    journal.with_extension("key")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1: the key is the one that others would make of the same 32 bytes.
    #[test]
    fn the_public_half_is_the_one_of_the_standard() {
        let secret = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
        let expected = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(Signer::of(&secret).public().as_str(), expected);
    }

    #[test]
    fn a_signature_is_for_one_head() {
        let signer = Signer::of(&[7; 32]);
        let session = SessionId::new("s-1");
        let signed = signer.sign(&session, &Head::genesis(&session), 5);
        assert!(signed.holds());
        let other = |change: &dyn Fn(&mut SignedHead)| {
            let mut other = signed.clone();
            change(&mut other);
            other.holds()
        };
        assert!(!other(&|head| head.at = 6));
        assert!(!other(&|head| head.seq = 1));
        assert!(!other(&|head| head.session = SessionId::new("s-2")));
        assert!(!other(&|head| head.hash = checkrein_contract::Digest::of(b"x")));
        assert!(!other(&|head| head.key = Signer::of(&[8; 32]).public().clone()));
        assert!(!other(&|head| head.key = PublicKey::new("no key")));
        assert!(!other(&|head| head.signature = head.signature.replace('1', "2")));
        assert!(!other(&|head| head.signature.clear()));
        assert!(!format!("{signer:?}").contains("0707"), "the key itself is never shown");
    }
}
