//! A policy as data: what the twin judges by, and what is printed as TOML for the engine. Part of what shows R12.

use checkrein_contract::{Deed, EffectWord, Layer, PolicySource, Verdict};

/// One policy file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) layer: Layer,
    pub(crate) only_tightens: bool,
    pub(crate) default_deny: bool,
    pub(crate) on_ask_deny: bool,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) verdict: Verdict,
    pub(crate) word: EffectWord,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Path { paths: Vec<&'static str>, except: Vec<&'static str>, content: bool },
    Words { words: Vec<&'static str>, exact: bool, running: Running },
    Program { names: Vec<&'static str>, running: Running },
    Host(Host),
    Tool { tool: Option<&'static str>, server: Option<&'static str>, conditions: Vec<(&'static str, Condition)> },
    Anything,
}

/// How a program must be run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    pub(crate) modelled: Option<bool>,
    pub(crate) read_only: bool,
    pub(crate) does: Vec<Deed>,
    pub(crate) informational: bool,
    pub(crate) env: Vec<&'static str>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    pub(crate) hosts: Option<Vec<&'static str>>,
    pub(crate) schemes: Option<Vec<&'static str>>,
    pub(crate) not_schemes: Option<Vec<&'static str>>,
    pub(crate) ports: Option<Vec<u16>>,
    pub(crate) methods: Option<Vec<&'static str>>,
    pub(crate) url_paths: Option<Vec<&'static str>>,
    pub(crate) addresses: Option<Vec<&'static str>>,
    pub(crate) server: Option<&'static str>,
}

/// What an argument must be.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Number(f64),
    Text(&'static str),
    OneOf(Vec<&'static str>),
    Within(Option<f64>, Option<f64>),
    /// The pattern `(a|ab)[0-9]`, written `a|ab[0-9]`: alternatives are of the whole.
    Pattern,
    Path(&'static str),
    /// It names something that has no value.
    Broken,
}

impl File {
    pub(crate) fn source(&self) -> PolicySource {
        let mut text = "version = 1\n".to_owned();
        if self.default_deny {
            text.push_str("default = \"deny\"\n");
        }
        if self.on_ask_deny {
            text.push_str("on_ask = \"deny\"\n");
        }
        for rule in &self.rules {
            text.push_str(&rule.toml());
        }
        let file = format!("{}.toml", self.layer.as_str());
        PolicySource { layer: self.layer, file, text, only_tightens: self.only_tightens }
    }
}

impl Rule {
    fn toml(&self) -> String {
        let (id, verdict, word) = (&self.id, self.verdict, self.word.as_str());
        let mut text =
            format!("\n[[rule]]\nid = {id:?}\ndecision = \"{verdict}\"\nreason = \"r\"\neffect = \"{word}\"\n");
        let mut key = |name: &str, value: String| text.push_str(&format!("{name} = {value}\n"));
        match &self.kind {
            Kind::Path { paths, except, content } => {
                key("paths", format!("{paths:?}"));
                if !except.is_empty() {
                    key("except", format!("{except:?}"));
                }
                if *content {
                    key("content", "true".to_owned());
                }
            }
            Kind::Words { words, exact, running } => {
                key("words", format!("{words:?}"));
                if *exact {
                    key("exact", "true".to_owned());
                }
                running.toml(&mut key);
            }
            Kind::Program { names, running } => {
                if !names.is_empty() {
                    key("program", format!("{names:?}"));
                }
                running.toml(&mut key);
            }
            Kind::Host(host) => host.toml(&mut key),
            Kind::Tool { tool, server, conditions } => {
                tool.iter().for_each(|tool| key("tool", format!("{tool:?}")));
                server.iter().for_each(|server| key("server", format!("{server:?}")));
                for (argument, condition) in conditions {
                    key(&format!("where.{argument:?}"), condition.toml());
                }
            }
            Kind::Anything => {}
        }
        text
    }
}

impl Running {
    /// Whether it says anything that can stand alone.
    pub(crate) fn narrows(&self) -> bool {
        self.modelled.is_some() || self.read_only || !self.does.is_empty() || self.informational
    }

    fn toml(&self, key: &mut impl FnMut(&str, String)) {
        self.modelled.iter().for_each(|modelled| key("modelled", modelled.to_string()));
        if self.read_only {
            key("read_only", "true".to_owned());
        }
        if !self.does.is_empty() {
            key("does", format!("{:?}", self.does.iter().map(|deed| deed.as_str()).collect::<Vec<_>>()));
        }
        if self.informational {
            key("informational", "true".to_owned());
        }
        if !self.env.is_empty() {
            key("env", format!("{:?}", self.env));
        }
    }
}

impl Host {
    fn toml(&self, key: &mut impl FnMut(&str, String)) {
        for (name, list) in [
            ("hosts", &self.hosts),
            ("schemes", &self.schemes),
            ("not_schemes", &self.not_schemes),
            ("methods", &self.methods),
            ("url_paths", &self.url_paths),
            ("addresses", &self.addresses),
        ] {
            list.iter().for_each(|list| key(name, format!("{list:?}")));
        }
        self.ports.iter().for_each(|ports| key("ports", format!("{ports:?}")));
        self.server.iter().for_each(|server| key("server", format!("{server:?}")));
    }
}

impl Condition {
    fn toml(&self) -> String {
        match self {
            Self::Number(number) => format!("{{ equals = {number:?} }}"),
            Self::Text(text) => format!("{{ equals = {text:?} }}"),
            Self::OneOf(texts) => format!("{{ one_of = {texts:?} }}"),
            Self::Within(min, max) => {
                let bound = |name: &str, bound: &Option<f64>| bound.map(|bound| format!("{name} = {bound:?}"));
                let bounds: Vec<String> = [bound("min", min), bound("max", max)].into_iter().flatten().collect();
                format!("{{ {} }}", bounds.join(", "))
            }
            Self::Pattern => "{ pattern = \"a|ab[0-9]\" }".to_owned(),
            Self::Path(path) => format!("{{ path = {path:?} }}"),
            Self::Broken => "{ equals = \"{identity.nobody}\" }".to_owned(),
        }
    }
}
