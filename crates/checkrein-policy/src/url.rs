//! URLs, read strictly: what two parsers might read in two ways is refused, so that the rule and the network mean the same
//! host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use checkrein_contract::Connect;

/// A URL with an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Lower case.
    pub scheme: String,
    /// Name or address, lower case, without a trailing dot; an address in its usual form.
    pub host: String,
    /// Given, or the scheme's own; 0 where it has none.
    pub port: u16,
    /// Begins with `/`; dot segments are gone, encoded ones too. Empty where it can not be compared (an encoded separator).
    pub path: String,
    /// A user or a password stands in front of the host.
    pub user_info: bool,
}

/// What stands for a text that is no URL: no rule about hosts fits it.
pub fn refused() -> Connect {
    Connect { scheme: Some("invalid".to_owned()), ..Connect::default() }
}

impl Url {
    /// Reads a URL.
    ///
    /// # Errors
    /// Why it is refused, for people.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err("it holds a blank or a control character");
        }
        if text.contains('\\') {
            return Err("it holds a backslash, which some read as a slash");
        }
        let (scheme, rest) = text.split_once("://").ok_or("it has no `://`")?;
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letters) {
            return Err("its scheme is none");
        }
        let scheme = scheme.to_ascii_lowercase();
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (user_info, address) = match authority.matches('@').count() {
            0 => (false, authority),
            1 => (true, authority.split_once('@').map_or(authority, |(_, address)| address)),
            _ => return Err("it holds more than one `@`"),
        };
        if scheme == "file" && address.is_empty() {
            let path = path(rest);
            return Ok(Self { scheme, host: String::new(), port: 0, path, user_info });
        }
        let (name, port) = split_port(address)?;
        let port = match (port, scheme.as_str()) {
            (Some(port), _) => port,
            (None, "https" | "wss") => 443,
            (None, "http" | "ws") => 80,
            (None, "ssh" | "git+ssh" | "sftp") => 22,
            (None, "ftp") => 21,
            (None, "git") => 9418,
            (None, _) => 0,
        };
        Ok(Self { host: host(name)?, scheme, port, path: path(rest), user_info })
    }

    /// The connection it stands for.
    pub fn connect(&self) -> Connect {
        Connect {
            host: self.host.clone(),
            port: self.port,
            scheme: Some(self.scheme.clone()),
            path: Some(self.path.clone()).filter(|path| !path.is_empty()),
            method: None,
            via: None,
            user_info: self.user_info,
            own: false,
        }
    }
}

fn split_port(address: &str) -> Result<(&str, Option<u16>), &'static str> {
    let behind = if address.starts_with('[') { address.find(']').ok_or("an address is not closed")? } else { 0 };
    match address.get(behind..).and_then(|rest| rest.rfind(':')).map(|at| at + behind) {
        None => Ok((address, None)),
        Some(at) => {
            let port = address.get(at + 1..).unwrap_or_default();
            let name = address.get(..at).unwrap_or_default();
            if port.is_empty() {
                return Ok((name, None));
            }
            if !port.bytes().all(|b| b.is_ascii_digit()) {
                return Err("its port is no number");
            }
            Ok((name, Some(port.parse().map_err(|_| "its port is too large")?)))
        }
    }
}

/// The one form of a host.
fn host(name: &str) -> Result<String, &'static str> {
    if let Some(inner) = name.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or("an address is not closed")?;
        let address: Ipv6Addr = inner.parse().map_err(|_| "it is no IPv6 address")?;
        return Ok(address.to_string());
    }
    let folded: String = name.chars().flat_map(folded).collect();
    let folded = folded.to_lowercase();
    let name = folded.strip_suffix('.').unwrap_or(&folded);
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') || !c.is_ascii();
    if name.is_empty() || !name.chars().all(legal) || name.split('.').any(str::is_empty) || name.len() > 253 {
        return Err("its host is no name");
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
        return old_ipv4(name).map(|address| address.to_string()).ok_or("its host is no address and no name");
    }
    Ok(name.to_owned())
}

/// Characters that name resolution takes for others: full-width and circled forms, and those that vanish.
fn folded(c: char) -> Option<char> {
    let code = u32::from(c);
    let plain = match code {
        0xAD | 0x200B..=0x200D | 0x2060 | 0xFEFF => return None,
        0x3002 | 0xFF0E | 0xFF61 => u32::from('.'),
        0xFF01..=0xFF5E => code - 0xFEE0,
        0x2460..=0x2468 => code - 0x2460 + u32::from('1'),
        0x24EA => u32::from('0'),
        0x24B6..=0x24CF => code - 0x24B6 + u32::from('a'),
        0x24D0..=0x24E9 => code - 0x24D0 + u32::from('a'),
        0x2080..=0x2089 => code - 0x2080 + u32::from('0'),
        0x2070 | 0x2074..=0x2079 => code - 0x2070 + u32::from('0'),
        0xB9 => u32::from('1'),
        0xB2 | 0xB3 => code - 0xB2 + u32::from('2'),
        _ => code,
    };
    char::from_u32(plain)
}

/// IPv4 in the forms that `inet_aton` takes: one to four numbers, decimal, octal or hexadecimal, the last one filling up.
fn old_ipv4(name: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = name
        .split('.')
        .map(|part| match part.strip_prefix("0x") {
            Some("") => Some(0),
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
            None => part.parse().ok(),
        })
        .collect::<Option<_>>()?;
    let (last, front) = numbers.split_last()?;
    if front.len() > 3 || front.iter().any(|number| *number > 255) || *last >= 1 << (8 * (4 - front.len())) {
        return None;
    }
    let front = front.iter().enumerate().map(|(index, number)| number << (8 * (3 - index))).sum::<u64>();
    u32::try_from(front + last).ok().map(Ipv4Addr::from)
}

/// The path with its dot segments taken out, encoded ones as well.
fn path(rest: &str) -> String {
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let raw = rest.get(..end).unwrap_or_default();
    let lower = raw.to_ascii_lowercase();
    if ["%2f", "%5c", "%252e", "%252f", "%00"].iter().any(|code| lower.contains(code)) {
        return String::new();
    }
    let mut segments: Vec<&str> = Vec::new();
    let raw = raw.strip_prefix('/').unwrap_or(raw);
    for segment in raw.split('/') {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        match plain.as_str() {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Kinds of address that are not of the public network.
pub(crate) const ADDRESS_KINDS: [&str; 5] = ["loopback", "private", "shared", "link-local", "reserved"];

/// What kind of address this is; `None` for one of the public network.
pub fn address_kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => ipv4_kind(v4),
        IpAddr::V6(v6) => {
            let [a, b, c, d, e, f, g, h] = v6.segments();
            let inner = Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
            if v6.is_loopback() {
                return Some("loopback");
            }
            if v6.is_unspecified() {
                return Some("reserved");
            }
            // IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4.
            if (a, b, c, d, e) == (0, 0, 0, 0, 0) && (f == 0xFFFF || f == 0)
                || (a, b, c, d, e, f) == (0, 0, 0, 0, 0xFFFF, 0)
                || (a, b, c, d, e, f) == (0x64, 0xFF9B, 0, 0, 0, 0)
            {
                return ipv4_kind(inner);
            }
            if a == 0x2002 {
                return ipv4_kind(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c)));
            }
            match a {
                0xFC00..=0xFDFF => Some("private"),
                0xFE80..=0xFEBF => Some("link-local"),
                0xFEC0..=0xFEFF => Some("private"),
                0xFF00..=0xFFFF => Some("reserved"),
                _ => None,
            }
        }
    }
}

fn ipv4_kind(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [127, ..] => Some("loopback"),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Some("private"),
        [100, 64..=127, ..] => Some("shared"),
        [169, 254, ..] => Some("link-local"),
        [0 | 224..=255, ..] | [192, 0, 0, _] | [192, 0, 2, _] | [198, 18 | 19, ..] => Some("reserved"),
        _ => None,
    }
}
