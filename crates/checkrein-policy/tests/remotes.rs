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
    kinds: Vec<(&'static str, &'static str)>,
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
            Question::Kind { path } if self.kinds.iter().any(|(known, _)| known == path) => {
                Finding::from(self.kinds.iter().find(|(known, _)| known == path)?.1)
            }
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
        ("git push --recurse-submodules=on-demand origin", vec!["git.example:443 own", "part.example:443 own"]),
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
    let two = World {
        remotes: vec![("origin", "https://git.example/r"), ("up", "https://up.example/r")],
        ..World::default()
    };
    for (command, expected) in [
        ("git fetch", vec!["git.example:443 own"]),
        ("git fetch --all", vec!["git.example:443 own", "up.example:443 own"]),
        ("git remote update", vec!["git.example:443 own", "up.example:443 own"]),
        ("git remote update up", vec!["up.example:443 own"]),
    ] {
        assert_eq!(two.connects(command), expected, "{command}");
    }
    let rewritten = World { rewritten: Some(("https://a.example/r", "ssh://b.example/r")), ..World::default() };
    assert_eq!(rewritten.connects("git ls-remote https://a.example/r"), ["a.example:443", "b.example:22"]);
}

/// What the settings leave as it is, is one address, also where they leave out who asks.
#[test]
fn an_address_is_told_once() {
    for (written, told, expected) in [
        ("https://a.example/r", "https://a.example/r", vec!["a.example:443"]),
        ("https://me@a.example/r", "https://a.example/r", vec!["a.example:443"]),
        ("https://me:word@a.example", "https://a.example", vec!["a.example:443"]),
        ("https://me@a.example/r", "https://me@a.example/r", vec!["a.example:443"]),
        ("https://me@a.example/r", "https://a.example/s", vec!["a.example:443", "a.example:443"]),
        ("me@a.example:r", "a.example:r", vec!["a.example:22"]),
        ("me@a.example:r", "b.example:r", vec!["a.example:22", "b.example:22"]),
        ("me@a.example:r", "https://b.example/r", vec!["a.example:22", "b.example:443"]),
    ] {
        let world = World { rewritten: Some((written, told)), ..World::default() };
        assert_eq!(world.connects(&format!("git ls-remote {written}")), expected, "{written}");
    }
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
    let silent = World { silent: true, ..World::default() };
    assert_eq!(silent.verdict("git ls-remote origin", &policy("")), Verdict::Ask, "no answer");
    let to =
        "[[rule]]\nid = \"h\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"connect\"\nhosts = [\"a.example\"]\n";
    assert_eq!(silent.verdict("git ls-remote https://a.example/r", &policy(to)), Verdict::Allow, "an address is one");
    assert_eq!(fetches(origin("ext::sh -c x")), Verdict::Ask, "a helper program");
    assert_eq!(fetches(origin("https://a b/")), Verdict::Ask, "no address");
    for path in ["/p/.git/config", "/p/.git/hooks"] {
        let expected = if path.ends_with("config") { Verdict::Ask } else { Verdict::Allow };
        let world = World { changed: Some(path), ..origin("https://git.example/r") };
        assert_eq!(world.verdict("git ls-remote origin", &policy("")), expected, "{path} was changed");
    }
    let submodules = vec!["https://part.example/p"];
    let world = World { submodules, changed: Some("/p/.gitmodules"), ..origin("https://git.example/r") };
    for (command, expected) in [("git ls-remote", Verdict::Allow), ("git submodule update", Verdict::Ask)] {
        assert_eq!(world.verdict(command, &policy("")), expected, "{command}: `.gitmodules` was changed");
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
    // Where the data of a repository is: beside a file that says so, or behind a name that was not written out.
    for (kinds, expected) in [
        (vec![("/srv/other/.git", "file")], "/p/.git"),
        (vec![("/srv/other/.git", "none"), ("/srv/other.git", "folder")], "/srv/other.git"),
        (vec![("/srv/other/.git", "none"), ("/srv/other", "folder"), ("/srv/other.git", "folder")], "/srv/other"),
        (vec![("/srv/other/.git", "none"), ("/srv/other.git", "file")], "/srv/other"),
    ] {
        let world = World { kinds: kinds.clone(), ..origin("/srv/other") };
        let (foreseen, _) = world.foresee("git ls-remote origin", &policy(""));
        let read = foreseen.effects.iter().find_map(|effect| match effect {
            Effect::ReadTree(_) => effect.path(),
            _ => None,
        });
        assert_eq!(read, Some(expected), "{kinds:?}");
    }
    let (foreseen, _) = World::default().foresee("git submodule add ../x", &policy(""));
    let beside = foreseen.effects.iter().any(|effect| effect.path() == Some("/x/.git"));
    assert!(beside, "without a remote it is beside the repository itself: {:?}", foreseen.effects);
}
