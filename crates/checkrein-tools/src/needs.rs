//! What a call asks for on top of what its command line says: the exact path or host that the sandbox refused before.
//! It becomes an effect like any other, judged by the same rules; nothing is granted here.

use checkrein_contract::{Connect, Effect, Foreseen, Place, Question};
use checkrein_policy::paths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is asked for, in the words in which the sandbox tells a refusal.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    /// What would be done.
    kind: Kind,
    /// A path, or host:port.
    #[schemars(length(min = 1))]
    target: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Read,
    Write,
    Delete,
    Metadata,
    Connect,
}

impl Need {
    fn effect(&self, place: &Place) -> Effect {
        let path = || paths::absolute(&self.target, place);
        match self.kind {
            Kind::Read => Effect::read(path()),
            Kind::Write => Effect::write(path()),
            Kind::Delete => Effect::delete(path(), false),
            Kind::Metadata => Effect::metadata(path()),
            Kind::Connect => connect(&self.target),
        }
    }
}

/// `host:port`, `[address]:port`; what is neither is not understood, and so at least asked about.
fn connect(target: &str) -> Effect {
    let parts = target.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        Some((host, port)) if !host.is_empty() && !host.contains(['/', '@', ' ']) => {
            let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
            Effect::Connect(Connect { host, port, ..Connect::default() })
        }
        _ => Effect::unknown(format!("`{target}` is no host with a port")),
    }
}

/// Adds what is asked for to what the command line would do, as a part of its own.
pub(crate) fn add(foreseen: &mut Foreseen, needs: &[Need], place: &Place) {
    let part = foreseen.parts.iter().max().map(|part| part + 1);
    for need in needs {
        let effect = need.effect(place);
        if let Some(path) = effect.path() {
            foreseen.questions.push(Question::RealPath { path: path.to_owned() });
        }
        foreseen.effects.push(effect);
        foreseen.parts.extend(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_an_effect_like_any_other() {
        let place = Place { root: "/p".to_owned(), cwd: "/p/src".to_owned(), ..Place::default() };
        let need = |kind, target: &str| Need { kind, target: target.to_owned() }.effect(&place);
        assert_eq!(need(Kind::Write, "../a"), Effect::write("/p/a"));
        assert_eq!(need(Kind::Delete, "/x"), Effect::delete("/x", false));
        let Effect::Connect(to) = need(Kind::Connect, "A.Example.:443") else { panic!("no connection") };
        assert_eq!((to.host.as_str(), to.port), ("a.example", 443));
        let Effect::Connect(to) = need(Kind::Connect, "[2001:db8::1]:80") else { panic!("no connection") };
        assert_eq!((to.host.as_str(), to.port), ("2001:db8::1", 80));
        for wrong in ["a.example", "https://a.example", "a:b", ":80", "u@a:80"] {
            assert!(matches!(need(Kind::Connect, wrong), Effect::Unknown { .. }), "{wrong}");
        }
    }
}
