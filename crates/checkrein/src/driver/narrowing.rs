//! The rules that a sub-session has besides those of the session that gave it the work, which hold as they are. These come
//! on top and only ever deny, so nothing that is written here can open anything.

use checkrein_contract::{EffectWord, Layer, PolicySource};
use checkrein_session::tools::{Access, Delegation};

/// The rules; none where it may do what the session may.
pub(super) fn narrowing(delegation: &Delegation) -> Option<PolicySource> {
    let mut rules = Vec::new();
    let (reason, within) = match delegation.may {
        Access::Look => {
            let reason = "this sub-session changes nothing";
            rules.push(deny("sub-session-runs", reason, "run", "does = [\"changes\", \"code\"]"));
            rules.push(deny("sub-session-tools", reason, "tool", "tool = \"*\""));
            (reason, Vec::new())
        }
        Access::Work if delegation.within.is_empty() => return None,
        Access::Work => {
            let places = delegation.within.iter();
            let both = places.flat_map(|path| [format!("{{root}}/{path}"), format!("{{root}}/{path}/**")]);
            ("this sub-session changes only what it was given", both.collect())
        }
    };
    let root = ["{root}".to_owned(), "{root}/**".to_owned()];
    // Temporary files are its own. A project may lie among them, so it has a rule for itself.
    let elsewhere = [root.as_slice(), &["/tmp/**".to_owned()]].concat();
    for effect in [EffectWord::Write, EffectWord::Delete, EffectWord::Metadata].map(EffectWord::as_str) {
        let project = format!("paths = {root:?}\nexcept = {within:?}");
        let others = format!("paths = [\"/**\"]\nexcept = {elsewhere:?}");
        rules.push(deny(&format!("sub-session-{effect}"), reason, effect, &project));
        rules.push(deny(&format!("sub-session-{effect}-elsewhere"), reason, effect, &others));
    }
    let text = format!("version = 1\n{}", rules.concat());
    Some(PolicySource { layer: Layer::Session, file: "sub-session".to_owned(), text, only_tightens: true })
}

fn deny(id: &str, reason: &str, effect: &str, more: &str) -> String {
    format!("\n[[rule]]\nid = \"{id}\"\ndecision = \"deny\"\nreason = \"{reason}\"\neffect = \"{effect}\"\n{more}\n")
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Effect, Facts, Foreseen, Identity, Place, Question, Verdict};
    use checkrein_policy::{Policy, Variables, decide};

    use super::*;

    fn verdict(may: Access, within: &[&str], root: &str, effect: Effect) -> Verdict {
        let within = within.iter().map(|path| (*path).to_owned()).collect();
        let delegation = Delegation { prompt: "x".to_owned(), may, within, share: 50 };
        let all = "version = 1\n[[rule]]\nid = \"all\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"write\"\npaths = [\"/**\"]\n";
        let session = PolicySource {
            layer: Layer::User,
            file: "all.toml".to_owned(),
            text: all.to_owned(),
            only_tightens: false,
        };
        let place = Place { root: root.to_owned(), cwd: root.to_owned(), ..Place::default() };
        let sources: Vec<PolicySource> = std::iter::once(session).chain(narrowing(&delegation)).collect();
        let policy = Policy::load(&sources, &Variables::new(&place, &Identity::default())).unwrap();
        let mut facts = Facts::default();
        if let Some(path) = effect.path() {
            facts.add(Question::RealPath { path: path.to_owned() }, Some(path.into()));
        }
        decide(&policy, &Foreseen { effects: vec![effect], ..Foreseen::default() }, &facts).verdict
    }

    /// Wherever the project lies, also among temporary files.
    #[test]
    fn nothing_is_changed_but_what_was_given() {
        for root in ["/srv/p", "/tmp/p"] {
            let write = |may, within: &[&str], path: &str| verdict(may, within, root, Effect::write(path));
            let of = |name: &str| format!("{root}/{name}");
            assert_eq!(write(Access::Work, &[], &of("b")), Verdict::Allow);
            assert_eq!(write(Access::Look, &[], &of("b")), Verdict::Deny);
            assert_eq!(write(Access::Look, &[], root), Verdict::Deny);
            assert_eq!(write(Access::Look, &[], "/srv/other"), Verdict::Deny);
            assert_eq!(write(Access::Work, &["src", "a.txt"], &of("src/x/y")), Verdict::Allow);
            assert_eq!(write(Access::Work, &["src", "a.txt"], &of("a.txt")), Verdict::Allow);
            assert_eq!(write(Access::Work, &["src", "a.txt"], &of("src2/x")), Verdict::Deny);
            assert_eq!(write(Access::Work, &["src", "a.txt"], "/srv/other"), Verdict::Deny);
        }
    }
}
