//! Which port a connection has, where a word of its own says so, and which host, where none does.

use checkrein_contract::{Connect, Effect};

use super::super::base_name;
use super::super::perform::Doing;
use super::super::value::{Field, Text};
use super::super::walk::Walker;
use super::network::host_name;
use crate::commands::{Reading, Role, Table, read};
use crate::url::{self, Url};

/// Finds the ports that options give, before any host is looked at.
pub(in super::super) fn find_ports(walker: &mut Walker<'_>, doing: &mut Doing) {
    let ports = given(&doing.reading);
    doing.ports = ports.iter().map(|text| port(walker, text)).collect();
    let shells = doing.reading.given.iter().flat_map(|given| &given.values);
    let shells: Vec<Text> =
        shells.filter(|(role, _)| *role == Role::RemoteShell).map(|(_, text)| text.clone()).collect();
    for shell in shells {
        // `ssh -p 2222`: as that program would read it. What is not known is told where the shell is.
        let words: Vec<Field> = shell.prefix().split_whitespace().map(Field::from).collect();
        let Some((program, arguments)) = words.split_first() else { continue };
        let Some(reading) = read(walker.scene.models, base_name(program.text.prefix()), arguments) else { continue };
        doing.shell_ports = given(&reading).iter().map(|text| port(walker, text)).collect();
    }
}

/// The words that give ports.
fn given(reading: &Reading) -> Vec<Text> {
    let mut ports = Vec::new();
    for given in &reading.given {
        let Some(table) = reading.tables.get(given.table) else { continue };
        for (role, text) in &given.values {
            match role {
                Role::Port => ports.push(text.clone()),
                Role::Setting => {
                    ports.extend(settled(table, text).filter(|(role, _)| *role == Role::Port).map(|(_, text)| text))
                }
                _ => {}
            }
        }
    }
    ports
}

/// A port by its number. One by name, and a range of them, may be any: 0.
pub(in super::super) fn port(walker: &mut Walker<'_>, text: &Text) -> u16 {
    if !text.is_known() {
        walker.unknown(format!("the port `{}` is not known before it runs", text.shown()));
    }
    text.as_known().and_then(|known| known.trim().parse().ok()).unwrap_or(0)
}

impl Doing {
    /// The ports of a host that names none itself.
    pub(super) fn usual_ports(&self) -> Vec<u16> {
        if self.ports.is_empty() { vec![self.own_port()] } else { self.ports.clone() }
    }

    /// The port that the program takes where nothing is said.
    pub(super) fn own_port(&self) -> u16 {
        self.reading.tables.iter().rev().find_map(|table| table.port).unwrap_or(0)
    }
}

/// Where a program connects when no word names a host.
pub(in super::super) fn usual_host(walker: &mut Walker<'_>, doing: &mut Doing) {
    let host = doing.reading.tables.iter().rev().find_map(|table| table.host.clone());
    if let Some(host) = host.filter(|_| !doing.connects) {
        doing.connects = true;
        connects(walker, &host, doing);
    }
}

fn connects(walker: &mut Walker<'_>, host: &str, doing: &Doing) {
    for port in doing.usual_ports() {
        walker.note(Effect::Connect(Connect { host: host_name(host), port, ..Connect::default() }));
    }
}

/// `Name=VALUE` or `Name VALUE`: a setting that the table knows.
fn settled(table: &Table, text: &Text) -> Option<(Role, Text)> {
    let prefix = text.prefix();
    let end = prefix.find(['=', ' ', '\t'])?;
    let name = prefix.get(..end)?.to_ascii_lowercase();
    let role = table.settings.iter().find(|(known, _)| *known == name)?.1;
    let behind = prefix.get(end..)?;
    let value = behind.trim_start_matches([' ', '\t']);
    let value = value.strip_prefix('=').unwrap_or(value).trim_start_matches([' ', '\t']);
    Some((role, text.skip(prefix.len() - value.len())))
}

/// A word with a setting in it. One that the table does not know changes what the program does.
pub(in super::super) fn setting(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    let found = doing.reading.tables.iter().rev().find_map(|table| settled(table, text));
    match found {
        Some((role, value)) => walker.give(role, &value, doing),
        None => walker.give(Role::Config, text, doing),
    }
}

/// A database: a name, a URL, or `host=H port=P sslkey=FILE`.
pub(in super::super) fn database(walker: &mut Walker<'_>, text: &Text, doing: &mut Doing) {
    let Some(known) = text.as_known() else {
        return walker.unknown(format!("where the database `{}` is, is not known before it runs", text.shown()));
    };
    if known.contains("://") {
        doing.connects = true;
        let connect = Url::parse(known).map_or_else(|_| url::refused(), |url| url.connect());
        let ports =
            if connect.port == 0 && !connect.host.is_empty() { doing.usual_ports() } else { vec![connect.port] };
        for port in ports {
            walker.note(Effect::Connect(Connect { port, ..connect.clone() }));
        }
        return;
    }
    if !known.contains('=') {
        return;
    }
    if known.contains(['\'', '\\']) || known.contains("= ") || known.contains(" =") {
        return walker.unknown(format!("where `{known}` leads was not read"));
    }
    let pairs: Vec<(&str, &str)> = known.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    let ports = pairs.iter().filter(|(name, _)| *name == "port").flat_map(|(_, ports)| ports.split(','));
    doing.ports.extend(ports.map(|port| port.parse().unwrap_or(0)));
    for (name, value) in pairs {
        match name {
            "host" | "hostaddr" if !value.starts_with('/') => {
                doing.connects = true;
                value.split(',').for_each(|host| connects(walker, host, doing));
            }
            "passfile" | "sslcert" | "sslkey" | "sslrootcert" | "sslcrl" => walker.read(&Text::from(value)),
            "service" => walker.unknown(format!("where the service `{value}` is, a file says")),
            _ => {}
        }
    }
}
