//! Who may say yes: the `[approvals]` of policy files and the `approvers` of rules, over all layers.

use checkrein_contract::{Effect, Facts, Foreseen, Identity, Layer, Place, PolicySource};
use checkrein_policy::{Policy, Variables, decide};
use serde_json::json;

fn source(layer: Layer, text: &str) -> PolicySource {
    let file = format!("{}.toml", layer.as_str());
    PolicySource { layer, file, text: format!("version = 1\n{text}"), only_tightens: false }
}

fn load(sources: &[PolicySource]) -> Result<Policy, String> {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    Policy::load(sources, &Variables::new(&place, &Identity::default())).map_err(|error| error.to_string())
}

fn ask(id: &str, tool: &str, more: &str) -> String {
    format!(
        "[[rule]]\nid = \"{id}\"\ndecision = \"ask\"\nreason = \"r\"\neffect = \"tool\"\ntool = \"{tool}\"\n{more}\n"
    )
}

/// Shows R97: everyone whom each asking rule lets in, from whatever layer; four eyes where one file says so.
#[test]
fn every_rule_that_asks_is_heard() {
    let managed = format!(
        "[approvals]\nfour_eyes = true\n[approvals.roles]\nmanager = [\"lee\", \"dana\"]\n{}",
        ask("big", "pay", "approvers = [\"manager\"]")
    );
    let project = format!(
        "[approvals.roles]\nshop = [\"dana\", \"kim\"]\n{}{}",
        ask("shop", "pay", "approvers = [\"shop\", \"manager\"]"),
        ask("note", "note", "")
    );
    let policy = load(&[source(Layer::Managed, &managed), source(Layer::Project, &project)]).unwrap();
    assert!(policy.wants_four_eyes() && !load(&[]).unwrap().wants_four_eyes());
    let approvers = |tool: &str| {
        let effect = Effect::Tool { tool: tool.to_owned(), server: None, args: json!({}) };
        let foreseen = Foreseen { effects: vec![effect.clone(), effect], ..Foreseen::default() };
        policy.approvers(&decide(&policy, &foreseen, &Facts::default()))
    };
    let pay = approvers("pay");
    let said: Vec<_> = pay.roles.iter().map(|asked| (asked.rule.as_str(), asked.people.join(" "))).collect();
    assert_eq!(said, [("big", "dana lee".to_owned()), ("shop", "dana kim lee".to_owned())], "each once");
    let acts_for = |name: &str| Identity([("person".to_owned(), name.to_owned())].into());
    assert_eq!(pay.refuses("dana", &acts_for("sam")), None);
    let refused = |person: &str, own: &str| pay.refuses(person, &acts_for(own)).unwrap();
    assert_eq!(refused("kim", "sam"), "rule `big` wants the yes of a manager, and kim is none");
    assert_eq!(refused("dana", " Dana "), "the session acts for  Dana , and the policy wants another pair of eyes");
    assert!(pay.refuses("dana", &Identity::default()).unwrap().starts_with("it is not known for whom"));
    assert_eq!(
        pay.words(),
        ["not whoever the session acts for", "manager (dana, lee)", "shop or manager (dana, kim, lee)"]
    );
    for (tool, roles) in [("note", 0), ("unheard-of", 0)] {
        assert!(approvers(tool).four_eyes && approvers(tool).roles.len() == roles, "{tool}");
    }
    assert!(load(&[]).unwrap().approvers(&decide(&policy, &Foreseen::default(), &Facts::default())).is_anybody());
}

/// Each mistake is one, with its place.
#[test]
fn mistakes_are_found_when_the_file_loads() {
    let roles = "[approvals.roles]\nmanager = [\"dana\"]\n";
    let cases = [
        ("[approvals]\nfour_eye = true\n".to_owned(), "four_eyes"),
        ("[approvals.roles]\nmanager = []\n".to_owned(), "role `manager` needs the names"),
        ("[approvals.roles]\nmanager = [\" \"]\n".to_owned(), "role `manager` needs the names"),
        (ask("a", "t", "approvers = [\"manager\"]"), "wants the yes of a `manager`, and no `[approvals]` says who"),
        (format!("{roles}{}", ask("a", "t", "approvers = [\"manger\"]")), "did you mean `manager`"),
        (format!("{roles}{}", ask("a", "t", "approvers = []")), "`approvers` is empty"),
        (
            format!("{roles}{}", ask("a", "t", "approvers = [\"manager\"]").replace("\"ask\"", "\"allow\"")),
            "`approvers` is for `decision = \"ask\"`",
        ),
    ];
    for (text, said) in cases {
        let error = load(&[source(Layer::Project, &text)]).unwrap_err();
        assert!(error.starts_with("project.toml:") && error.contains(said), "{said} in {error}");
    }
    let twice = load(&[source(Layer::Managed, roles), source(Layer::Project, roles)]).unwrap_err();
    assert!(twice.starts_with("project.toml:3") && twice.contains("is said in managed.toml already"), "{twice}");
}
