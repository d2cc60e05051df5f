//! Where programs connect to, and what they bring back.

use checkrein_contract::{Connect, Effect};

use super::super::perform::Doing;
use super::super::value::Text;
use super::super::walk::Walker;
use crate::commands::{Given, Role};
use crate::url::{self, Url};

/// Notes a connection that a word names.
pub(in super::super) fn connect(walker: &mut Walker<'_>, role: Role, text: &Text, doing: &mut Doing) {
    match role {
        Role::Url => address_of_url(walker, text, doing),
        Role::Address => walker.address(text),
        _ => {
            let Some(host) = text.as_known() else {
                return walker.unknown(format!("the host `{}` is not known before it runs", text.shown()));
            };
            // Several, one after the other (`ssh -J a,b`), each with a port of its own.
            let ports = if role == Role::Via { vec![doing.own_port()] } else { doing.usual_ports() };
            for host in host.split(',') {
                // A password before the `@` may have a colon in it.
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                let host = match host.split_once("://") {
                    Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
                    // `sftp HOST:PATH`.
                    None if doing.name == "sftp" => host.split(':').next().unwrap_or_default(),
                    None => host,
                };
                let (host, ports) = match host.rsplit_once(':') {
                    Some((name, port)) if !name.contains(':') => (name, vec![port.parse().unwrap_or(0)]),
                    _ => (host, ports.clone()),
                };
                for port in ports {
                    walker.note(Effect::Connect(Connect { host: host_name(host), port, ..Connect::default() }));
                }
            }
        }
    }
}

/// The host of `USER@HOST`, as rules name it: in lower case, without the dot that a name may end in and without brackets.
pub(super) fn host_name(written: &str) -> String {
    let host = written.rsplit_once('@').map_or(written, |(_, host)| host);
    plain_host(host)
}

fn plain_host(written: &str) -> String {
    written.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

fn address_of_url(walker: &mut Walker<'_>, text: &Text, doing: &Doing) {
    let method = method(doing).unwrap_or_else(|unknown| {
        walker.unknown(format!("the method `{unknown}` is not known before it runs"));
        None
    });
    let known = match text.as_known() {
        Some(known) => known.to_owned(),
        // Behind the host nothing changes where it goes.
        None if text.prefix().split_once("://").is_some_and(|(_, rest)| rest.contains('/')) => text.prefix().to_owned(),
        None => {
            walker.unknown(format!("the address `{}` is not known before it runs", text.shown()));
            return text.guess().iter().for_each(|guess| address_of_url(walker, guess, doing));
        }
    };
    let whole = if known.contains("://") { known } else { format!("http://{known}") };
    let expanded =
        matches!(doing.name.as_str(), "curl") && whole.contains(['{', '[']) && !doing.reading.has("--globoff");
    if expanded && !whole.contains("://[") {
        return walker.unknown(format!("`{whole}` stands for several addresses"));
    }
    let connect = match Url::parse(&whole) {
        Ok(url) if url.scheme == "file" => return walker.read(&Text::known(url.path)),
        Ok(url) => Connect { method, path: text.as_known().and(Some(url.path.clone())), ..url.connect() },
        Err(_) => url::refused(),
    };
    walker.note(Effect::Connect(connect));
}

/// The method of `curl` and `wget`, unless it only fetches; where it is not known, what stands for it.
fn method(doing: &Doing) -> Result<Option<String>, String> {
    // The last one counts.
    let written = doing.reading.values("--request").next_back().or(doing.reading.values("--method").next_back());
    let written = written.map(|text| text.as_known().map(str::to_ascii_uppercase).ok_or_else(|| text.shown()));
    let sends = [
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-ascii",
        "--data-urlencode",
        "--form",
        "--form-string",
        "--json",
        "--post-data",
        "--post-file",
        "--body-data",
        "--body-file",
    ];
    let upload = doing.reading.has("--upload-file").then(|| "PUT".to_owned());
    let post =
        (sends.iter().any(|name| doing.reading.has(name)) && !doing.reading.has("--get")).then(|| "POST".to_owned());
    let method = written.transpose()?.or(upload).or(post);
    Ok(method.filter(|method| method != "GET" && method != "HEAD"))
}

impl Walker<'_> {
    /// `HOST:PORT`.
    pub(in super::super) fn address(&mut self, text: &Text) {
        let Some(known) = text.as_known() else {
            return self.unknown(format!("the address `{}` is not known before it runs", text.shown()));
        };
        let (host, port) = known.rsplit_once(':').unwrap_or((known, "0"));
        let host = plain_host(host);
        self.note(Effect::Connect(Connect { host, port: port.parse().unwrap_or(0), ..Connect::default() }));
    }
}

/// `HOST:PATH`, as `scp` and `rsync` write what is elsewhere, also `HOST::MODULE` and an URL. Whether it was one.
pub(in super::super) fn connect_remote(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) -> bool {
    if !matches!(doing.name.as_str(), "scp" | "rsync" | "sftp") {
        return false;
    }
    let prefix = text.prefix();
    let own = if doing.name == "rsync" { "rsync" } else { "scp" };
    // rsync takes `RSYNC://` too, to scp `SCP:` is a host.
    let is_own = |scheme: &str| if own == "rsync" { scheme.eq_ignore_ascii_case(own) } else { scheme == own };
    if let Some((_, rest)) = prefix.split_once("://").filter(|(scheme, _)| is_own(scheme)) {
        let address = rest.split('/').next().unwrap_or_default();
        if !rest.contains('/') && !text.is_known() {
            // `rsync://HOST$x`: the name of the host may go on.
            walker.unknown(format!("the address `{}` is not known before it runs", text.shown()));
        }
        let usual = if own == "rsync" { 873 } else { 22 };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(0)),
            _ => (address, usual),
        };
        let (host, scheme) = (host_name(host), Some(own.to_owned()));
        walker.note(Effect::Connect(Connect { host, port, scheme, ..Connect::default() }));
        doing.connects = true;
        return true;
    }
    // Where nothing of it is known, which file it is is not known either.
    let Some((host, rest)) = other_machine(prefix, doing) else {
        if own == "rsync" && has_odd_brackets(prefix) {
            walker.unknown(format!("whether `{}` is on another machine was not read", text.shown()));
        }
        return false;
    };
    for port in remote_ports(doing, rest.starts_with("::")) {
        walker.note(Effect::Connect(Connect { host: host_name(host), port, ..Connect::default() }));
    }
    doing.connects = true;
    true
}

/// Ports of `HOST:PATH`. rsync reaches `HOST::MODULE` straight, unless a shell is named; that has a port of its own.
fn remote_ports(doing: &Doing, modules: bool) -> Vec<u16> {
    if doing.name != "rsync" {
        return doing.usual_ports();
    }
    let shell = if doing.shell_ports.is_empty() { vec![doing.own_port()] } else { doing.shell_ports.clone() };
    match (modules, doing.reading.has("--rsh")) {
        (false, _) => shell,
        (true, with_shell) => {
            let mut ports = if doing.ports.is_empty() { vec![873] } else { doing.ports.clone() };
            ports.extend(shell.into_iter().filter(|_| with_shell));
            ports
        }
    }
}

/// The values of an option. rsync takes some of its folders from where the destination is.
pub(in super::super) fn placed(walker: &mut Walker<'_>, given: &Given, doing: &Doing) -> Vec<(Role, Text)> {
    let inside = doing.reading.tables.get(given.table).is_some_and(|table| table.inside.contains(&given.name));
    let [.., _, last] = doing.reading.operands.as_slice() else { return given.values.clone() };
    if !inside {
        return given.values.clone();
    }
    // On another machine it is that machine's.
    if other_machine(last.text.prefix(), doing).is_some() {
        return Vec::new();
    }
    let mut values = Vec::new();
    for (role, text) in &given.values {
        if text.prefix().starts_with('/') {
            values.push((*role, text.clone()));
            continue;
        }
        let mut folder = last.text.clone();
        folder.push_str("/");
        folder.append(text.clone());
        // A single file that is copied lies in the folder that counts.
        if let Some((above, _)) = last.text.as_known().map(|last| last.rsplit_once('/').unwrap_or((".", last)))
            && doing.reading.operands.len() == 2
        {
            let mut beside = Text::from(above);
            beside.push_str("/");
            beside.append(text.clone());
            values.push((*role, beside));
        }
        // What arrives in parts is kept in a folder of this name wherever it arrives.
        if given.name == "--partial-dir" {
            let below: Vec<String> = text.as_known().map(|name| format!("{name}/**")).into_iter().collect();
            walker.written_below(&last.text, &below);
        }
        values.push((*role, folder));
    }
    values
}

/// The host of `HOST:PATH`, and what stands behind it.
fn other_machine<'a>(text: &'a str, doing: &Doing) -> Option<(&'a str, &'a str)> {
    let (host, rest) = text.split_at_checked(ends_host(text)?)?;
    if host.is_empty() || doing.name == "rsync" && has_odd_brackets(text) {
        return None;
    }
    Some((host, rest))
}

/// Whether a `[` stands where rsync may take the word for a file, and its versions differ: `a[b:c`, `[a]b:c`.
fn has_odd_brackets(text: &str) -> bool {
    let front = text.split('/').next().unwrap_or_default();
    let host = front.rsplit_once('@').map_or(front, |(_, host)| host);
    let address = host.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    let plain = front.split(':').next().unwrap_or_default();
    plain.contains('[') && front.contains(':') && address.is_none_or(|(address, _)| address.contains(['[', ']']))
}

/// Where the colon stands that ends a host, as `scp` looks for it: the colons of `[2001:db8::1]:PATH` are others.
fn ends_host(text: &str) -> Option<usize> {
    let mut inside = text.starts_with('[');
    for (at, c) in text.char_indices() {
        let next = text.as_bytes().get(at + 1);
        match c {
            '@' if next == Some(&b'[') => inside = true,
            ']' if inside && next == Some(&b':') => return Some(at + 1),
            ':' if !inside => return Some(at),
            '/' => return None,
            _ => {}
        }
    }
    None
}

/// The files that `curl -O` and `wget` name by themselves.
pub(super) fn downloads(walker: &mut Walker<'_>, doing: &mut Doing) {
    let named_by_url = match doing.name.as_str() {
        "curl" => doing.reading.has("--remote-name") || doing.reading.has("--remote-name-all"),
        _ => !doing.reading.has("--output-document") && !doing.reading.has("--spider"),
    };
    // A file that is sent may be a pattern of several.
    let uploads = doing.reading.values("--upload-file").find(|text| text.prefix().contains(['{', '[']));
    if let Some(several) = uploads.filter(|_| !doing.reading.has("--globoff")).map(Text::shown) {
        walker.unknown(format!("`{several}` stands for several files"));
    }
    if !named_by_url {
        return;
    }
    let folder =
        doing.reading.given.iter().find(|given| matches!(given.name.as_str(), "--output-dir" | "--directory-prefix"));
    let folder = folder.and_then(|given| given.values.first()).map(|(_, text)| text.clone());
    for field in doing.reading.operands.clone() {
        let known = field.text.as_known().unwrap_or_default();
        let path = known.split(['?', '#']).next().unwrap_or_default();
        let path = path.split_once("://").map_or(path, |(_, rest)| rest);
        let name = path.split_once('/').map_or("", |(_, path)| path).rsplit('/').next().unwrap_or_default();
        let name = if name.is_empty() { "index.html" } else { name };
        let mut file = folder.clone().unwrap_or_default();
        if folder.is_some() {
            file.push_str("/");
        }
        file.push_str(name);
        if field.text.is_known()
            && !doing.reading.has("--remote-header-name")
            && !doing.reading.has("--content-disposition")
        {
            walker.written(&file);
            doing.wrote.push(file);
        } else {
            walker.unknown("the name of the file that is written comes from the server");
            walker.state.downloaded_anywhere = true;
        }
    }
}
