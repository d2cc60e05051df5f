//! Host rules: where a connection may go. `hosts` are names (`*.example.org`: every name below, not the name itself);
//! `schemes`, `ports`, `methods` and `url_paths` narrow them; `addresses` speaks of what a name resolves to.

use std::net::IpAddr;

use checkrein_contract::{Connect, Effect, EffectWord, Facts, Question};
use serde_json::Value;

use super::{Built, Context, Cover, Kind, Leaning, Matcher};
use crate::url::{ADDRESS_KINDS, Url, address_kind};

pub(super) const KIND: Kind = Kind {
    effects: &[EffectWord::Connect],
    keys: &["hosts", "schemes", "not_schemes", "ports", "methods", "url_paths", "addresses", "server"],
    build,
    example,
};

#[derive(Debug)]
struct Hosts {
    hosts: Option<Vec<String>>,
    schemes: Option<Vec<String>>,
    not_schemes: Option<Vec<String>>,
    ports: Option<Vec<u16>>,
    methods: Option<Vec<String>>,
    paths: Option<Vec<String>>,
    addresses: Option<Vec<String>>,
    /// Connections that this MCP server opens.
    server: Option<String>,
    leaning: Leaning,
}

fn build(context: &Context<'_>) -> Built {
    let rule = context.rule;
    let list = |key: &Option<checkrein_toml::Spanned<Vec<String>>>| key.as_ref().map(|list| list.get_ref().clone());
    let rules = Hosts {
        hosts: list(&rule.hosts).map(|hosts| hosts.iter().map(|host| host.to_ascii_lowercase()).collect()),
        schemes: list(&rule.schemes),
        not_schemes: list(&rule.not_schemes),
        ports: rule.ports.as_ref().map(|ports| ports.get_ref().clone()),
        methods: list(&rule.methods).map(|methods| methods.iter().map(|method| method.to_ascii_uppercase()).collect()),
        paths: list(&rule.url_paths),
        addresses: list(&rule.addresses),
        server: rule.server.as_ref().map(|server| server.get_ref().clone()),
        leaning: context.leaning,
    };
    let narrows = rules.hosts.is_some() || rules.addresses.is_some() || rules.not_schemes.is_some();
    if !narrows && rules.schemes.is_none() && rules.ports.is_none() && rules.methods.is_none() && rules.paths.is_none()
    {
        return Ok(None);
    }
    if context.leaning == Leaning::Loosens && rules.hosts.is_none() {
        let message = "a rule that allows connections says which: `hosts`";
        return Err(context.source.error(rule.effect.span().start, message));
    }
    for host in rules.hosts.iter().flatten() {
        let name = host.strip_prefix("*.").unwrap_or(host);
        if name.is_empty() || name.contains(['*', '/', ':', ' ', '@']) && !name.contains("::") && host != "*" {
            let at = rule.hosts.as_ref().map_or(0, |hosts| hosts.span().start);
            let message = format!("`{host}` is no host: a name, an address, or `*.` before a name");
            return Err(context.source.error(at, message));
        }
    }
    for (kind, at) in rules.addresses.iter().flatten().zip(rule.addresses.iter().map(|list| list.span().start).cycle())
    {
        if !ADDRESS_KINDS.contains(&kind.as_str()) {
            let message = format!("`addresses` holds `{kind}`, which is no kind of address");
            return Err(context.source.unknown(at, message, kind, ADDRESS_KINDS));
        }
    }
    Ok(Some(Box::new(rules)))
}

impl Hosts {
    fn host(&self, to: &Connect) -> bool {
        // What can be read in two ways is no host, not even any.
        if to.host.is_empty() {
            return false;
        }
        self.hosts.iter().flatten().any(|host| match host.strip_prefix("*.") {
            Some(parent) => to.host.strip_suffix(parent).is_some_and(|sub| sub.len() > 1 && sub.ends_with('.')),
            None => host == "*" || *host == to.host,
        })
    }

    /// A path below one of the prefixes, on a segment's edge.
    fn path(&self, to: &Connect) -> bool {
        let Some(wanted) = &self.paths else { return true };
        let Some(path) = &to.path else { return self.leaning == Leaning::Tightens };
        wanted.iter().any(|prefix| {
            let prefix = prefix.trim_end_matches('*').trim_end_matches('/');
            path == prefix || path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Whether the host is, or resolves to, an address of one of the kinds.
    fn address(&self, to: &Connect, facts: &Facts) -> bool {
        let Some(kinds) = &self.addresses else { return true };
        let of_kind = |address: &str| {
            let kind = address.parse::<IpAddr>().ok().and_then(address_kind);
            kind.is_some_and(|kind| kinds.iter().any(|wanted| wanted == kind))
        };
        // Names that clouds give to their metadata services.
        let metadata = ["metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"];
        if metadata.contains(&to.host.as_str()) && kinds.iter().any(|kind| kind == "link-local") {
            return true;
        }
        if (to.host == "localhost" || to.host.ends_with(".localhost")) && kinds.iter().any(|kind| kind == "loopback") {
            return true;
        }
        let question = Question::Addresses { host: to.host.clone() };
        if of_kind(&to.host) {
            return true;
        }
        let found = facts.list(&question).unwrap_or_default();
        match self.leaning {
            Leaning::Loosens => !found.is_empty() && found.iter().all(|address| of_kind(address)),
            Leaning::Tightens => found.iter().any(|address| of_kind(address)),
        }
    }
}

impl Matcher for Hosts {
    fn covers(&self, effect: &Effect, facts: &Facts) -> Result<Cover, String> {
        let Effect::Connect(to) = effect else { return Ok(Cover::None) };
        let scheme = to.scheme.as_deref().unwrap_or_default();
        let method = to.method.as_deref().unwrap_or("GET");
        // What a server opens is allowed by rules about that server; a deny holds for whoever opens it.
        let opener = match self.leaning {
            Leaning::Loosens => self.server == to.via,
            Leaning::Tightens => self.server.is_none() || self.server == to.via,
        };
        let mut hit = opener && (self.hosts.is_none() || self.host(to));
        hit &= self.schemes.as_ref().is_none_or(|schemes| schemes.iter().any(|known| known == scheme));
        hit &=
            self.not_schemes.as_ref().is_none_or(|schemes| to.scheme.is_some() && !schemes.iter().any(|s| s == scheme));
        hit &= self.ports.as_ref().is_none_or(|ports| ports.contains(&to.port));
        hit &= self.path(to) && self.address(to, facts);
        match (&self.methods, self.leaning) {
            (Some(methods), _) => hit &= methods.iter().any(|known| known == method),
            // A host that is allowed is allowed for reading.
            (None, Leaning::Loosens) => hit &= matches!(method, "GET" | "HEAD"),
            (None, Leaning::Tightens) => {}
        }
        if self.leaning == Leaning::Loosens && to.user_info {
            hit = false;
        }
        Ok(Cover::of([hit]))
    }

    fn samples(&self) -> Vec<Effect> {
        let scheme = match &self.schemes {
            Some(schemes) => schemes.first().cloned(),
            None => Some("https".to_owned()),
        };
        let port = self.ports.as_ref().and_then(|ports| ports.first().copied()).unwrap_or(443);
        let path = self.paths.iter().flatten().next().map(|path| path.trim_end_matches('*').to_owned());
        let method = self.methods.iter().flatten().next().cloned();
        let to = |host: &String| {
            let host = host.strip_prefix("*.").map_or_else(|| host.clone(), |parent| format!("some-name.{parent}"));
            let (scheme, path, method) = (scheme.clone(), path.clone(), method.clone());
            Effect::Connect(Connect {
                host,
                port,
                scheme,
                path,
                method,
                via: self.server.clone(),
                ..Connect::default()
            })
        };
        if self.addresses.is_some() {
            return Vec::new();
        }
        self.hosts.iter().flatten().map(to).collect()
    }

    fn asks_for_addresses(&self) -> bool {
        self.addresses.is_some()
    }
}

fn example(_context: &Context<'_>, example: &Value) -> Option<Effect> {
    let text = example.as_str()?;
    Some(Effect::Connect(match Url::parse(text) {
        Ok(url) => url.connect(),
        Err(_) if text.contains("://") => crate::url::refused(),
        Err(_) => {
            let (host, port) = text.rsplit_once(':').unwrap_or((text, "443"));
            Connect { host: host.to_owned(), port: port.parse().ok()?, ..Connect::default() }
        }
    }))
}
