//! The harness's own folders as a layer of the floor. `floor.toml` names the usual ones, and is what it is word for word; where the
//! environment puts them elsewhere, or a link leads there, these rules do. Their text is always the same; what they name differs.

use checkrein_contract::{Layer, Place, PolicySource};

use crate::paths;

/// How the file is named in traces.
const FILE: &str = "own-folders.toml";
const TEXT: &str = include_str!("own-folders.toml");
/// What all of its names begin with.
const PREFIX: &str = "own.";
/// All of its names.
pub(crate) const NAMES: [&str; 5] = ["own.config", "own.config.real", "own.state", "own.state.real", "own.copy"];
/// What stands for them where the host gives no folder: a path below a file is none.
pub(crate) const NOWHERE: &str = "/dev/null/no-folder";

/// Where the harness keeps its things, absolute: each folder as it was named and as it really is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFolders {
    /// The person's rules, keys and programs.
    pub config: Option<(String, String)>,
    /// The journal.
    pub state: Option<(String, String)>,
}

impl OwnFolders {
    /// The rules; `None` where no folder is known.
    pub fn source(&self) -> Option<PolicySource> {
        let known = self.config.is_some() || self.state.is_some();
        known.then(|| PolicySource {
            layer: Layer::Floor,
            file: FILE.to_owned(),
            text: TEXT.to_owned(),
            only_tightens: false,
        })
    }

    /// What a session that works here calls them, in the place of what it called them. One that works inside of the state folder, in
    /// a copy that was made for it, may change that copy.
    pub fn named(&self, variables: Vec<(String, String)>, place: &Place) -> Vec<(String, String)> {
        let mut own = Vec::new();
        let mut name = |name: &str, value: &str| own.push((format!("{PREFIX}{name}"), value.to_owned()));
        for (what, folder) in [("config", &self.config), ("state", &self.state)] {
            if let Some((written, real)) = folder {
                name(what, written);
                name(&format!("{what}.real"), real);
            }
        }
        let mut states = self.state.iter().flat_map(|(written, real)| [written, real]);
        if states.any(|state| place.root != *state && paths::is_within(&place.root, state)) {
            name("copy", &place.root);
        }
        let (called, mut all): (Vec<_>, Vec<_>) =
            variables.iter().cloned().partition(|(name, _)| name.starts_with(PREFIX));
        if called == own {
            return variables;
        }
        all.extend(own);
        all
    }
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Effect, Facts, Foreseen, Identity, Question, Verdict};

    use super::*;
    use crate::{Policy, Variables, decide};

    const ALL: &str = "version = 1\n[[rule]]\nid = \"all\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"/**\"]\n";

    fn verdict(own: &OwnFolders, root: &str, path: &str) -> Verdict {
        let place = Place { root: root.to_owned(), cwd: root.to_owned(), home: "/home/dev".into(), ..Place::default() };
        let all = PolicySource { layer: Layer::User, file: "u.toml".into(), text: ALL.into(), only_tightens: false };
        let sources: Vec<PolicySource> = own.source().into_iter().chain([crate::floor(), all]).collect();
        let mut variables = Variables::new(&place, &Identity::default());
        for (name, value) in own.named(vec![("own.copy".to_owned(), "/".to_owned())], &place) {
            variables = variables.with(&name, &value);
        }
        let policy = Policy::load(&sources, &variables).unwrap();
        let mut facts = Facts::default();
        for known in [path, root] {
            facts.add(Question::RealPath { path: known.to_owned() }, Some(known.into()));
        }
        decide(&policy, &Foreseen { effects: vec![Effect::write(path)], ..Foreseen::default() }, &facts).verdict
    }

    /// A project that holds the harness's folders leaves them alone; a copy that lies in the state folder is the session's, and what
    /// lies beside it is not.
    #[test]
    fn a_session_keeps_to_its_own() {
        let pair = |written: &str, real: &str| Some((written.to_owned(), real.to_owned()));
        let own = OwnFolders { config: pair("/p/x{y}*[1]/checkrein", "/p/real"), state: pair("/s", "/p/s") };
        for (root, path, expected) in [
            ("/p", "/p/x{y}*[1]/checkrein/policy.toml", Verdict::Deny),
            ("/p", "/p/x{y}*[1]/checkrein", Verdict::Deny),
            ("/p", "/p/x{y}*[1]/other", Verdict::Allow),
            ("/p", "/p/xy1/checkrein/policy.toml", Verdict::Allow),
            ("/p", "/p/real/keys.toml", Verdict::Deny),
            ("/p", "/p/s/journal.db", Verdict::Deny),
            ("/s", "/s/journal.db", Verdict::Deny),
            ("/s/sessions/s-1/workspace", "/s/sessions/s-1/workspace/a.txt", Verdict::Allow),
            ("/s/sessions/s-1/workspace", "/s/sessions/s-1/spill/a.txt", Verdict::Deny),
        ] {
            assert_eq!(verdict(&own, root, path), expected, "{root} {path}");
        }
        // Where the host names none of them, nothing is denied because of that.
        assert_eq!(OwnFolders::default().source(), None);
        assert_eq!(verdict(&OwnFolders { config: None, ..own }, "/p", "/p/real/keys.toml"), Verdict::Allow);
    }

    /// What is called as it was before stays as it was, wherever it stands.
    #[test]
    fn names_are_put_in_once() {
        let own = OwnFolders { config: None, state: Some(("/s".to_owned(), "/s".to_owned())) };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let place = Place { root: "/p".into(), ..Place::default() };
        let mut named = own.named(vec![pair("spill", "/s/1"), pair("own.config", "/old")], &place);
        assert_eq!(named, [pair("spill", "/s/1"), pair("own.state", "/s"), pair("own.state.real", "/s")]);
        named.rotate_left(1);
        assert_eq!(own.named(named.clone(), &place), named);
    }
}
