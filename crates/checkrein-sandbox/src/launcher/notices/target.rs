//! Where a call connects or sends to, read from the memory of whoever makes it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use super::named::{memory, spelled};
use super::raw::Notice;
use super::would::Would;

/// Messages of one call that are looked at.
const MOST_MESSAGES: u64 = 64;

/// Longest address, bytes.
pub(super) const LONGEST_ADDRESS: usize = 128;

pub(super) enum Target {
    Internet(SocketAddr),
    Socket(PathBuf),
    Other,
}

pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || address.is_unspecified()
}

/// Where messages go that name their target themselves; the first that is not to be reached counts, or the first.
pub(super) fn messages(notice: &Notice) -> Option<Would> {
    const HEAD: u64 = size_of::<libc::msghdr>() as u64;
    const EACH: u64 = size_of::<libc::mmsghdr>() as u64;
    let count = if notice.call == libc::SYS_sendmmsg { (*notice.arguments.get(2)?).min(MOST_MESSAGES) } else { 1 };
    let mut first = None;
    for number in 0..count {
        let at = notice.arguments.get(1)?.checked_add(number * EACH)?;
        let head = memory(notice.pid, at, usize::try_from(HEAD).ok()?)?;
        let field = |from: usize| Some(u64::from_ne_bytes(head.get(from..from + 8)?.try_into().ok()?));
        let (address, length) = (field(0)?, field(8)? & 0xffff_ffff);
        let would = if address == 0 { None } else { target(notice.pid, address, length) };
        if matches!(would, Some(Would::Connect(Target::Socket(_)))) {
            return would;
        }
        first = first.or(would);
    }
    first
}

/// Where an address leads.
pub(super) fn target(pid: i32, address: u64, length: u64) -> Option<Would> {
    let length = usize::try_from(length).ok()?.min(LONGEST_ADDRESS);
    let bytes = memory(pid, address, length)?;
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    let target = match family {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Target::Internet(SocketAddr::new(Ipv4Addr::from(address).into(), port()?))
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            Target::Internet(SocketAddr::new(Ipv6Addr::from(address).into(), port()?))
        }
        libc::AF_UNIX => {
            let name = bytes.get(2..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            // A name without a file is held by the network namespace and by Landlock.
            if name.is_empty() {
                return Some(Would::Connect(Target::Other));
            }
            Target::Socket(spelled(pid, name, true)?)
        }
        _ => Target::Other,
    };
    Some(Would::Connect(target))
}
