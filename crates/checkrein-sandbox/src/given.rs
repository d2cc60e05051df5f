//! What a program finds on standard input: a file in memory that holds it, can not be changed and ends. A pipe would have to be
//! filled before anybody reads, and how much it takes is not ours to say: it is one page where the person has many of them.

use std::fs::File;
use std::io::{Result, Seek as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Standard input that holds this.
pub(crate) fn given(input: &str) -> Result<OwnedFd> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.write_all(input.as_bytes())?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// More than any pipe takes, while nobody reads.
    #[test]
    fn nobody_waits_for_a_reader() {
        let input = "a line\n".repeat(1 << 20);
        let mut file = File::from(given(&input).unwrap());
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert!(read == input);
        assert!(file.write_all(b"more").is_err(), "it is what it was");
    }
}
