//! The grant: what a call was judged by, and what of the world its programs and tools may touch because of it. Those who
//! carry a call out ask here about everything they meet; nothing here is looser than the policy that judged the call.

use std::net::IpAddr;
use std::sync::Arc;

use checkrein_contract::{
    Connect, Decision, Deed, Effect, EffectWord, Facts, Finding, Foreseen, Place, Question, Verdict, Winner,
};
use checkrein_policy::url::address_kind;
use checkrein_policy::{Policy, decide};

use crate::detectors::files::holds_secrets;

/// What in a project is code or configuration that others run later, or the harness's own: held in a tree that is given
/// to be written, unless a call was granted that very path.
pub const CONTROL_FILES: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".git/modules",
    ".checkrein",
];

/// Folders that package managers and builds fill with what others wrote.
const FILLED_FOLDERS: &[&str] = &["node_modules", "site-packages", "target"];

/// What a call may touch.
pub struct Grant {
    pub(crate) effects: Vec<Effect>,
    pub(crate) facts: Facts,
    pub(crate) policy: Arc<Policy>,
    pub(crate) place: Place,
    /// A person approved it, so what the policy asks about is granted as well.
    pub(crate) by_person: bool,
}

impl Grant {
    /// The effects that were judged.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Whether it reads from a file that is there to hold secrets, or from a tree with one in it, by the path that was written
    /// or by the real one.
    pub(crate) fn reads_secrets(&self) -> bool {
        let is_secret = |path: &str| holds_secrets(path) || holds_secrets(self.real_path(path));
        self.effects.iter().any(|effect| match effect {
            Effect::Read { path, .. } => is_secret(path),
            // What rules keep is masked inside of a tree, unless a person said yes to all of it.
            Effect::ReadTree(tree) => {
                let found = self.facts.holds(tree).filter(|_| self.by_person).unwrap_or_default();
                is_secret(&tree.root) || found.iter().any(|path| is_secret(path))
            }
            _ => false,
        })
    }

    /// Where.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The real path behind one that was judged; tools open this one.
    pub fn real_path<'a>(&'a self, written: &'a str) -> &'a str {
        self.facts.real_path(written).unwrap_or(written)
    }

    /// Whether a file met while walking a granted tree may be read. `real` is absolute, without links. The policy is asked
    /// about each; a secret inside a tree that may be read is left out.
    pub fn may_read(&self, real: &str) -> bool {
        match self.judged(Effect::read(real), real).verdict {
            Verdict::Allow => true,
            Verdict::Ask => self.by_person,
            Verdict::Deny => false,
        }
    }

    /// Whether a rule keeps this file out of a tree that is given to be read.
    pub fn is_kept_from_reading(&self, real: &str) -> bool {
        self.is_kept(Effect::read(real), real)
    }

    /// Whether a rule keeps this file from being changed in a tree that is given to be written.
    pub fn is_kept_from_writing(&self, real: &str) -> bool {
        self.is_kept(Effect::write(real), real)
    }

    /// Whether a rule keeps a file from coming to be there, where nothing is yet: as it does for one that is there. Folders
    /// that package managers and builds fill are left out: packages bring keys for their own tests, which are nobody's
    /// secrets, and could not be installed. Once there, such a file is a secret like any other.
    pub fn is_kept_from_coming(&self, real: &str) -> bool {
        let filled = real.split('/').any(|part| FILLED_FOLDERS.contains(&part));
        !filled && self.is_kept_from_writing(real)
    }

    /// Whether the rules alone allow writing there, whoever approved the call.
    pub fn rules_allow_writing(&self, real: &str) -> bool {
        self.judged(Effect::write(real), real).verdict == Verdict::Allow
    }

    /// The patterns of paths that some rule asks about or denies for this word.
    pub fn guarded(&self, word: EffectWord) -> Vec<String> {
        self.policy.guarded(word)
    }

    /// Whether a program of this call may connect there: what was judged names the host and the port, or the call runs
    /// code of the project and the rules allow anybody to connect there. `addresses` is what the name was found to mean
    /// just now: whatever a name says, it does not lead into a network that was not named.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn may_connect(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(), String> {
        let scheme = match port {
            443 => Some("https".to_owned()),
            80 => Some("http".to_owned()),
            _ => None,
        };
        let to = Connect { host: host.to_owned(), port, scheme, ..Connect::default() };
        let judged = self.effects.iter().any(|effect| match effect {
            Effect::Connect(named) => named.host == to.host && (named.port == to.port || named.port == 0),
            _ => false,
        });
        self.may_go(to, judged, self.runs_code(), addresses)
    }

    /// Whether this call may ask this of a server: it was judged to the letter, or, where a server sends on to, the rules
    /// alone allow it. `addresses` as for [`Grant::may_connect`].
    ///
    /// # Errors
    /// Why not, in words.
    pub fn may_fetch(&self, to: &Connect, addresses: &[IpAddr]) -> Result<(), String> {
        let judged = self.effects.iter().any(|effect| matches!(effect, Effect::Connect(named) if named == to));
        self.may_go(to.clone(), judged, true, addresses)
    }

    fn may_go(&self, to: Connect, judged: bool, by_rules: bool, addresses: &[IpAddr]) -> Result<(), String> {
        // What names this machine, or an address itself, is taken at its word.
        let literal = to.host.parse::<IpAddr>().is_ok() || to.host == "localhost" || to.host.ends_with(".localhost");
        let mut facts = self.facts.clone();
        let found: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        facts.add(Question::Addresses { host: to.host.clone() }, Some(Finding::List(found)));
        let foreseen = Foreseen { effects: vec![Effect::Connect(to)], ..Foreseen::default() };
        let verdict = decide(&self.policy, &foreseen, &facts).verdict;
        // A rule may speak of what the name means by now: its no counts, also after a person's yes.
        let allowed = if judged { verdict != Verdict::Deny } else { by_rules && verdict == Verdict::Allow };
        if !allowed {
            return Err("it was not granted".to_owned());
        }
        match addresses.iter().find_map(|address| address_kind(*address)) {
            Some(kind) if !literal => Err(format!("its name leads to a {kind} address")),
            _ => Ok(()),
        }
    }

    /// Whether some connection was judged and granted.
    pub fn connects(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Connect(_)))
    }

    /// Whether code runs that nobody has looked at: the project's, or that of a program without a model.
    pub fn runs_code(&self) -> bool {
        runs_code(&self.effects)
    }

    /// Whether some rule says no, or wants to be asked and nobody was: what no rule speaks of is not kept from a tree
    /// that was given.
    fn is_kept(&self, effect: Effect, real: &str) -> bool {
        let decision = self.judged(effect, real);
        let by_rule = decision.trace.iter().any(|step| matches!(step.winner, Winner::Rule(_)));
        match decision.verdict {
            Verdict::Allow => false,
            Verdict::Ask => by_rule && !self.by_person,
            Verdict::Deny => by_rule,
        }
    }

    fn judged(&self, effect: Effect, real: &str) -> Decision {
        let foreseen = Foreseen { effects: vec![effect], ..Foreseen::default() };
        // What the call was judged by holds for each file of it, such as whether names fold case there.
        let mut facts = self.facts.clone();
        facts.add(Question::RealPath { path: real.to_owned() }, Some(real.into()));
        decide(&self.policy, &foreseen, &facts)
    }
}

/// Whether code runs that nobody has looked at.
pub(crate) fn runs_code(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Run(run) => !run.modelled || run.deeds.contains(&Deed::Code),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Identity, Tree};
    use checkrein_policy::Variables;

    use super::*;

    fn reads_secrets(effect: Effect, holds: &[&str], by_person: bool) -> bool {
        let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
        let policy = Arc::new(Policy::load(&[], &Variables::new(&place, &Identity::default())).unwrap());
        let mut facts = Facts::default();
        facts.add(Question::RealPath { path: "/p/link".to_owned() }, Some("/home/dev/.ssh/id_rsa".into()));
        if let Effect::ReadTree(tree) = &effect {
            let found = holds.iter().map(|path| (*path).to_owned()).collect();
            let question = Question::Holds { tree: tree.clone(), patterns: Vec::new() };
            facts.add(question, Some(Finding::List(found)));
        }
        Grant { effects: vec![effect], facts, policy, place, by_person }.reads_secrets()
    }

    /// A file, by its name or by what it really is; a tree that is one, or, where a person said yes to all of it, holds one.
    #[test]
    fn what_holds_secrets_is_looked_at_more_strictly() {
        let tree = |root: &str| Effect::ReadTree(Tree { root: root.to_owned(), ..Tree::default() });
        assert!(reads_secrets(Effect::read("/p/.npmrc"), &[], false));
        assert!(reads_secrets(Effect::read("/p/link"), &[], false));
        assert!(!reads_secrets(Effect::read("/p/a.txt"), &[], true));
        assert!(reads_secrets(tree("/p"), &["/p/a.txt", "/p/.env"], true));
        assert!(!reads_secrets(tree("/p"), &["/p/.env"], false), "it is masked");
        assert!(!reads_secrets(tree("/p"), &["/p/a.txt"], true));
        assert!(reads_secrets(tree("/home/dev/.ssh/id_rsa"), &[], false));
        assert!(!reads_secrets(Effect::write("/p/.env"), &[], true));
    }
}
