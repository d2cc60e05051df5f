//! Which addresses a name has, asked of the machine's own resolver.
//!
//! To look a name up tells its name servers that somebody asked, and with what letters: whoever asks this question does so
//! only about names that would be allowed.

use std::collections::BTreeSet;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

/// The addresses as text, sorted; an address answers itself. `None` for a name that has none, or is not answered in time.
pub(crate) fn addresses(host: &str) -> Option<Vec<String>> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(vec![address.to_string()]);
    }
    let (tell, told) = mpsc::channel();
    let name = host.to_owned();
    // A thread of its own, which nobody waits for longer than the limit: the resolver can not be stopped.
    let asking =
        move || _ = tell.send((name.as_str(), 0).to_socket_addrs().map(|found| found.map(|at| at.ip()).collect()));
    thread::Builder::new().name("resolver".to_owned()).spawn(asking).ok()?;
    let found: BTreeSet<IpAddr> = told.recv_timeout(LIMIT).ok()?.ok()?;
    let text: BTreeSet<String> = found.iter().map(IpAddr::to_string).collect();
    (!text.is_empty()).then(|| text.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_answers_itself() {
        for (host, address) in
            [("192.0.2.7", "192.0.2.7"), ("2001:DB8::1", "2001:db8::1"), ("[::1]", "::1"), ("0:0:0:0:0:0:0:1", "::1")]
        {
            assert_eq!(addresses(host), Some(vec![address.to_owned()]), "{host}");
        }
    }

    /// The real resolver, with names that it answers without asking anybody.
    #[test]
    fn names_are_looked_up_on_this_machine() {
        let local = addresses("localhost").unwrap();
        assert!(local.iter().any(|address| address == "127.0.0.1" || address == "::1"), "{local:?}");
        // Other spellings of an address are the resolver's to read.
        assert_eq!(addresses("0x7f.1"), Some(vec!["127.0.0.1".to_owned()]));
        for none in ["", "a..b", "a b", &"x".repeat(300)] {
            assert_eq!(addresses(none), None, "{none:?}");
        }
    }
}
