//! Detectors of secrets, one file each.

pub(crate) mod assignment;
pub(crate) mod private_key;
pub(crate) mod token;
