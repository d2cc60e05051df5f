//! Where programs connect to, and what they bring back.

use checkrein_contract::{Connect, Effect};

use super::super::perform::Doing;
use super::super::value::{Piece, Text};
use super::super::walk::Walker;
use crate::commands::Role;
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
            // Several, one after the other (`ssh -J a,b`).
            for host in host.split(',') {
                // A password before the `@` may have a colon in it.
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                let host = match host.split_once("://") {
                    Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
                    // `sftp HOST:PATH`.
                    None if doing.name == "sftp" => host.split(':').next().unwrap_or_default(),
                    None => host,
                };
                let (host, port) = match host.rsplit_once(':') {
                    Some((name, port)) if !name.contains(':') => (name, port.parse().unwrap_or(0)),
                    _ => (host, default_port(&doing.name)),
                };
                let host = host_name(host);
                walker.note(Effect::Connect(Connect { host, port, ..Connect::default() }));
            }
        }
    }
}

/// The host of `USER@HOST`, as rules name it: in lower case, without the dot that a name may end in.
pub(super) fn host_name(written: &str) -> String {
    written.rsplit_once('@').map_or(written, |(_, host)| host).trim_end_matches('.').to_ascii_lowercase()
}

fn default_port(program: &str) -> u16 {
    match program {
        "ssh" | "scp" | "sftp" | "rsync" | "ssh-copy-id" => 22,
        "telnet" => 23,
        "ftp" => 21,
        "psql" => 5432,
        "mysql" => 3306,
        "redis-cli" => 6379,
        _ => 0,
    }
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
        None if text.guess().is_some() => {
            walker.unknown(format!("the address `{}` is not known before it runs", text.shown()));
            return text.guess().iter().for_each(|guess| address_of_url(walker, guess, doing));
        }
        None => return walker.unknown(format!("the address `{}` is not known before it runs", text.shown())),
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
        let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
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
    if let Some((scheme, rest)) = prefix.split_once("://").filter(|(scheme, _)| *scheme == own) {
        let address = rest.split('/').next().unwrap_or_default();
        let usual = if own == "rsync" { 873 } else { 22 };
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(0)),
            _ => (address, usual),
        };
        let (host, scheme) = (host_name(host), Some(scheme.to_owned()));
        walker.note(Effect::Connect(Connect { host, port, scheme, ..Connect::default() }));
        doing.connects = true;
        return true;
    }
    let Some((host, _)) = prefix.split_once(':') else {
        if !text.is_known() && matches!(text.pieces().first(), Some(Piece::Any { .. })) {
            walker.unknown(format!("`{}` may name another machine", text.shown()));
        }
        return false;
    };
    if host.contains('/') || host.is_empty() {
        return false;
    }
    let modules = prefix.strip_prefix(host).is_some_and(|rest| rest.starts_with("::"));
    let port = if modules && doing.name == "rsync" { 873 } else { 22 };
    let host = host_name(host);
    walker.note(Effect::Connect(Connect { host, port, ..Connect::default() }));
    doing.connects = true;
    true
}

/// The files that `curl -O` and `wget` name by themselves.
pub(super) fn downloads(walker: &mut Walker<'_>, doing: &mut Doing) {
    let named_by_url = match doing.name.as_str() {
        "curl" => doing.reading.has("--remote-name") || doing.reading.has("--remote-name-all"),
        _ => !doing.reading.has("--output-document") && !doing.reading.has("--spider"),
    };
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
