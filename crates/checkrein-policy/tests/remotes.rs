//! Where git turns to, as the settings of the repository say, and who decides about it.
//!
//! Shows R2, R14: a remote is where it leads, and one that nobody can follow is asked about.

use checkrein_contract::{
    Connect, Effect, Facts, Finding, Foreseen, Identity, Layer, Place, PolicySource, Question, Remotes, Verdict,
};
use checkrein_policy::{Models, Policy, Scene, Variables, decide, shell};

/// What the settings say, and what was changed in the session.
#[derive(Default)]
struct World {
    remotes: Vec<(&'static str, &'static str)>,
    rewritten: Option<(&'static str, &'static str)>,
    submodules: Vec<&'static str>,
    changed: Option<&'static str>,
    silent: bool,
}

fn place() -> Place {
    Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() }
}

impl World {
    fn answer(&self, question: &Question) -> Option<Finding> {
        Some(match question {
            Question::GitRemotes { .. } if self.silent => return None,
            Question::GitRemotes { which, .. } => {
                let all = self.remotes.iter().chain(&self.rewritten);
                let found = all.filter(|(known, _)| match which {
                    Remotes::Named(name) => known == name,
                    Remotes::Usual => *known == "origin",
                    Remotes::All => true,
                    Remotes::Submodules => false,
                });
                let submodules = self.submodules.iter().filter(|_| *which == Remotes::Submodules);
                Finding::List(found.map(|(_, to)| to).chain(submodules).map(|to| (*to).to_owned()).collect())
            }
            Question::RealPath { path } => Finding::Text(path.clone()),
            Question::Kind { path } if path.ends_with("/.git") => Finding::from("folder"),
            Question::Kind { .. } => Finding::from("none"),
            Question::GitHelpers { .. } | Question::Holds { .. } | Question::Matches { .. } => {
                Finding::List(Vec::new())
            }
            Question::GitFolder { .. } => Finding::from("/p/.git"),
            Question::Changed { path } => {
                Finding::from(if self.changed == Some(path) { "changed" } else { "unchanged" })
            }
            Question::CaseFolding { .. } => Finding::from("exact"),
            Question::Addresses { .. } => Finding::List(vec!["93.184.215.14".to_owned()]),
            _ => return None,
        })
    }

    fn foresee(&self, command: &str, policy: &Policy) -> (Foreseen, Facts) {
        let (place, mut facts) = (place(), Facts::default());
        loop {
            let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
            let foreseen = shell::foresee(command, scene);
            let mut open = foreseen.questions.clone();
            open.extend(policy.questions(&foreseen.effects, &facts));
            open.retain(|question| !facts.has(question));
            if open.is_empty() {
                return (foreseen, facts);
            }
            for question in open {
                let answer = self.answer(&question);
                facts.add(question, answer);
            }
        }
    }

    fn verdict(&self, command: &str, policy: &Policy) -> Verdict {
        let (foreseen, facts) = self.foresee(command, policy);
        decide(policy, &foreseen, &facts).verdict
    }

    fn connects(&self, command: &str) -> Vec<String> {
        let (foreseen, _) = self.foresee(command, &policy(""));
        let to = foreseen.effects.into_iter().filter_map(|effect| match effect {
            Effect::Connect(Connect { host, port, own, .. }) => {
                Some(format!("{host}:{port}{}", if own { " own" } else { "" }))
            }
            _ => None,
        });
        to.collect()
    }
}

fn policy(more: &str) -> Policy {
    let text = format!(
        "version = 1\n[[rule]]\nid = \"git\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"git\"]\n{more}"
    );
    let source = PolicySource { layer: Layer::Project, file: "p.toml".to_owned(), text, only_tightens: false };
    Policy::load(&[source], &Variables::new(&place(), &Identity::default())).unwrap()
}

fn origin(address: &'static str) -> World {
    World { remotes: vec![("origin", address)], ..World::default() }
}

#[test]
fn a_remote_is_where_it_leads() {
    let world = World { submodules: vec!["https://part.example/p"], ..origin("https://git.example/r.git") };
    for (command, expected) in [
        ("git fetch origin", vec!["git.example:443 own", "part.example:443 own"]),
        ("git fetch --no-recurse-submodules", vec!["git.example:443 own"]),
        ("git pull", vec!["git.example:443 own", "part.example:443 own"]),
        ("git push origin main", vec!["git.example:443 own"]),
        ("git ls-remote", vec!["git.example:443 own"]),
        ("git ls-remote --get-url origin", vec![]),
        ("git remote update", vec!["git.example:443 own"]),
        ("git remote -v", vec![]),
        ("git remote show -n origin", vec![]),
        ("git submodule update --init", vec!["part.example:443 own"]),
        ("git submodule add ../x", vec!["git.example:443 own"]),
        ("git archive --remote=origin main", vec!["git.example:443 own"]),
        ("git fetch https://else.example/r", vec!["else.example:443", "part.example:443 own"]),
        ("git status", vec![]),
    ] {
        assert_eq!(world.connects(command), expected, "{command}");
    }
    assert_eq!(origin("git.example:x/y.git").connects("git push"), ["git.example:22 own"]);
    assert_eq!(origin("ssh://git.example:2222/r").connects("git push"), ["git.example:2222 own"]);
    let rewritten = World { rewritten: Some(("https://a.example/r", "ssh://b.example/r")), ..World::default() };
    assert_eq!(rewritten.connects("git ls-remote https://a.example/r"), ["a.example:443", "b.example:22"]);
}

/// The rule that lets git run decides about it, unless a rule speaks of the host.
#[test]
fn a_configured_remote_goes_with_the_program() {
    let world = origin("https://git.example/r.git");
    assert_eq!(world.verdict("git fetch origin", &policy("")), Verdict::Allow);
    assert_eq!(world.verdict("git fetch https://git.example/r.git", &policy("")), Verdict::Ask);
    let host = |decision: &str| {
        format!(
            "[[rule]]\nid = \"h\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"connect\"\nhosts = [\"git.example\"]\n"
        )
    };
    assert_eq!(world.verdict("git fetch origin", &policy(&host("deny"))), Verdict::Deny);
    assert_eq!(world.verdict("git fetch origin", &policy(&host("ask"))), Verdict::Ask);
    assert_eq!(world.verdict("git fetch origin", &policy(&host("allow"))), Verdict::Allow);
    let inner =
        "[[rule]]\nid = \"i\"\ndecision = \"deny\"\nreason = \"r\"\neffect = \"connect\"\naddresses = [\"private\"]\n";
    assert_eq!(origin("http://10.0.0.1/r").verdict("git fetch origin", &policy(inner)), Verdict::Deny);
}

#[test]
fn what_can_not_be_followed_is_asked_about() {
    let fetches = |world: World| world.verdict("git fetch origin", &policy(""));
    assert_eq!(fetches(World { silent: true, ..World::default() }), Verdict::Ask, "no answer");
    assert_eq!(fetches(origin("ext::sh -c x")), Verdict::Ask, "a helper program");
    assert_eq!(fetches(origin("https://a b/")), Verdict::Ask, "no address");
    for path in ["/p/.git/config", "/p/.git/hooks"] {
        let expected = if path.ends_with("config") { Verdict::Ask } else { Verdict::Allow };
        let world = World { changed: Some(path), ..origin("https://git.example/r") };
        assert_eq!(world.verdict("git ls-remote origin", &policy("")), expected, "{path} was changed");
    }
    let world = origin("https://git.example/r");
    for command in
        ["git remote set-url origin https://x.example/ && git fetch", "git fetch \"$x\"", "cd \"$x\" && git pull"]
    {
        assert_eq!(world.verdict(command, &policy("")), Verdict::Ask, "{command}");
    }
}

/// A remote that is a path is read, and by a push written.
#[test]
fn a_remote_may_be_a_path() {
    let words = |command: &str| -> Vec<String> {
        let (foreseen, _) = origin("/srv/other").foresee(command, &policy(""));
        let named = foreseen.effects.iter().filter(|effect| !matches!(effect, Effect::Run(_)));
        named.map(|effect| format!("{} {}", effect.word().as_str(), effect.path().unwrap_or_default())).collect()
    };
    assert_eq!(words("git fetch origin"), ["read /srv/other", "read /srv/other/.git"]);
    assert_eq!(words("git fetch nobody"), ["read /p/nobody", "read /p/nobody/.git"]);
    let pushed = ["read /srv/other", "read /srv/other/.git", "write /srv/other/.git/**"];
    assert_eq!(words("git push origin main"), pushed);
    assert_eq!(words("git push /srv/other main"), pushed);
}
