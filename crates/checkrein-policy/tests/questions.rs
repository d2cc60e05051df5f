//! What a policy must know before it judges: asked where a rule needs it, and not where none does.
//!
//! Shows R12: facts are gathered before, by name, so that a decision can be computed again.

use checkrein_contract::{
    Code, Connect, Effect, Facts, Finding, Foreseen, Identity, Layer, Place, PolicySource, Question, Run, Tree, Verdict,
};
use checkrein_policy::{Models, Policy, Scene, Variables, decide, shell};

fn policy(text: &str) -> Policy {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let text = format!("version = 1\n{text}");
    let source = PolicySource { layer: Layer::Project, file: "p.toml".to_owned(), text, only_tightens: false };
    Policy::load(&[source], &Variables::new(&place, &Identity::default())).unwrap()
}

fn rule(id: &str, decision: &str, rest: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\ndecision = \"{decision}\"\nreason = \"r\"\n{rest}\n")
}

fn asked(policy: &Policy, effect: Effect) -> Vec<Question> {
    policy.questions(&[effect], &Facts::default())
}

fn tree(root: &str) -> Tree {
    Tree { root: root.to_owned(), ..Tree::default() }
}

fn held(questions: &[Question]) -> Option<(&Tree, &Vec<String>)> {
    questions.iter().find_map(|question| match question {
        Question::Holds { tree, patterns } => Some((tree, patterns)),
        _ => None,
    })
}

#[test]
fn a_tree_is_searched_for_what_rules_guard() {
    let rules = [
        rule("free", "allow", "effect = \"read\"\npaths = [\"{root}/free/**\"]"),
        rule("kept", "deny", "effect = \"read\"\npaths = [\"{root}/kept/**\"]"),
        rule("asked", "ask", "effect = \"read\"\npaths = [\"{root}/asked/**\"]"),
        rule("gone", "deny", "effect = \"delete\"\npaths = [\"{root}/gone/**\"]"),
        rule("all", "ask", "effect = \"read\"\npaths = [\"/**\", \"/\"]"),
    ];
    let policy = policy(&rules.concat());
    let questions = asked(&policy, Effect::ReadTree(tree("/p/src")));
    let (searched, patterns) = held(&questions).expect("the tree is searched");
    assert_eq!(searched, &tree("/p/src"));
    let has = |pattern: &str| patterns.iter().any(|known| known == pattern);
    assert!(has("/p/kept/**") && has("/p/asked/**") && has("**/.env"), "{patterns:?}");
    assert!(!has("/p/free/**") && !has("/p/gone/**") && !has("/**") && !has("/"), "{patterns:?}");

    let own = Effect::ReadTree(Tree { asks_each: true, ..tree("/p/src") });
    assert_eq!(held(&asked(&policy, own)), None, "who asks about each file needs no search");
    let questions = asked(&policy, Effect::delete("/p/src", true));
    let (searched, patterns) = held(&questions).expect("what goes with a tree is searched as well");
    assert_eq!(searched, &tree("/p/src"));
    assert!(patterns.contains(&"/p/gone/**".to_owned()) && !patterns.contains(&"/p/kept/**".to_owned()));
    assert_eq!(held(&asked(&policy, Effect::delete("/p/src/a", false))), None);
    let pattern = Effect::Delete { path: "/p/*".to_owned(), recursive: true, glob: true };
    assert_eq!(held(&asked(&policy, pattern)), None, "a pattern is judged as one");
}

#[test]
fn names_are_looked_up_where_a_rule_speaks_of_addresses() {
    let to = |host: &str| Effect::Connect(Connect { host: host.to_owned(), port: 443, ..Connect::default() });
    let looks_up =
        |policy: &Policy, host: &str| asked(policy, to(host)).iter().any(|q| matches!(q, Question::Addresses { .. }));
    let plain = policy(&rule("docs", "allow", "effect = \"connect\"\nhosts = [\"a.example\"]"));
    assert!(!looks_up(&plain, "a.example"), "a name that no rule resolves is not looked up: a lookup tells others");
    let inner = policy(&rule("inner", "deny", "effect = \"connect\"\naddresses = [\"private\"]"));
    assert!(looks_up(&inner, "a.example"));
    assert!(!looks_up(&inner, ""), "no name, nothing to look up");
}

/// Where nobody is to be asked, what would ask is denied, and says why.
#[test]
fn nobody_is_asked() {
    let foreseen = Foreseen::of(vec![Effect::read("/p/a")]);
    let attended = decide(&policy(""), &foreseen, &Facts::default());
    let decision = decide(&policy("on_ask = \"deny\""), &foreseen, &Facts::default());
    assert_eq!(
        (attended.verdict, decision.verdict, decision.code),
        (Verdict::Ask, Verdict::Deny, Code::DeniedUnattended)
    );
    assert!(decision.reason.starts_with(&attended.reason) && decision.reason.contains("asks nobody"), "{decision:?}");
}

/// Names of everything below a folder are given away where everything below it is allowed, not the folder alone.
#[test]
fn a_deep_listing_needs_more_than_its_top() {
    let mut facts = Facts::default();
    for path in ["/p", "/p/a"] {
        facts.add(Question::RealPath { path: path.to_owned() }, Some(Finding::Text(path.to_owned())));
    }
    let judged = |paths: &str, deep: bool| {
        let policy = policy(&rule("a", "allow", &format!("effect = \"read\"\npaths = {paths}")));
        let list = Effect::List { path: "/p/a".to_owned(), deep, glob: false };
        decide(&policy, &Foreseen::of(vec![list]), &facts).verdict
    };
    let (top, all) = ("[\"{root}/a\"]", "[\"{root}/a\", \"{root}/a/**\"]");
    assert_eq!((judged(top, false), judged(top, true)), (Verdict::Allow, Verdict::Ask));
    assert_eq!((judged(all, false), judged(all, true)), (Verdict::Allow, Verdict::Allow));
}

#[test]
fn what_is_known_is_not_asked_again() {
    let policy = policy("");
    let run = Run { rests_on: vec![Question::Changed { path: "/p/Makefile".into() }], ..Run::default() };
    let effects = [Effect::Run(run), Effect::read("/p/a")];
    let mut facts = Facts::default();
    let first = policy.questions(&effects, &facts);
    assert!(first.contains(&Question::Changed { path: "/p/Makefile".into() }));
    assert!(first.contains(&Question::RealPath { path: "/p".into() }));
    for question in first {
        facts.add(question, None);
    }
    assert_eq!(policy.questions(&effects, &facts), [], "a question without an answer was asked all the same");
    // Files that a search found are judged by what they really are.
    let found = Finding::List(vec!["/p/.env".into()]);
    facts.add(Question::Holds { tree: tree("/p"), patterns: vec![] }, Some(found));
    assert_eq!(policy.questions(&effects, &facts), [Question::RealPath { path: "/p/.env".into() }]);
}

#[test]
fn tools_that_rules_name_are_known() {
    let policy = policy(
        &[
            rule("one", "allow", "effect = \"tool\"\ntool = \"refund\""),
            rule("many", "deny", "effect = \"tool\"\ntool = \"drop_*\""),
            rule("theirs", "allow", "effect = \"tool\"\ntool = \"get\"\nserver = \"s\""),
        ]
        .concat(),
    );
    let named: Vec<&str> = policy.named_tools().map(|(tool, _)| tool).collect();
    assert_eq!(named, ["refund"]);
}

/// The strongest layer that speaks decides; inside one the strictest rule; of equals the first.
#[test]
fn layers_speak_in_their_order() {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let layer = |layer: Layer, rules: &[String]| PolicySource {
        layer,
        file: format!("{}.toml", layer.as_str()),
        text: format!("version = 1\n{}", rules.concat()),
        only_tightens: false,
    };
    let run = |decision: &str, id: &str| rule(id, decision, "effect = \"run\"\nprogram = \"go\"");
    let judged = |sources: &[PolicySource]| {
        let policy = Policy::load(sources, &Variables::new(&place, &Identity::default())).unwrap();
        let run = Run { program: "go".into(), argv: vec!["go".into()], ..Run::default() };
        let foreseen = Foreseen::of(vec![Effect::Run(run)]);
        let decision = decide(&policy, &foreseen, &Facts::default());
        let rule = match &decision.trace[0].winner {
            checkrein_contract::Winner::Rule(rule) => rule.rule.clone(),
            other => format!("{other:?}"),
        };
        (decision.verdict, rule)
    };
    let (user, project) = (Layer::User, Layer::Project);
    for (sources, verdict, winner) in [
        (vec![layer(user, &[run("ask", "a")]), layer(project, &[run("allow", "b")])], Verdict::Ask, "a"),
        (vec![layer(user, &[run("allow", "a")]), layer(project, &[run("ask", "b")])], Verdict::Allow, "a"),
        (vec![layer(user, &[run("allow", "a")]), layer(project, &[run("deny", "b")])], Verdict::Deny, "b"),
        (vec![layer(user, &[run("allow", "a"), run("ask", "b")])], Verdict::Ask, "b"),
        (vec![layer(user, &[run("ask", "a"), run("ask", "b"), run("allow", "c")])], Verdict::Ask, "a"),
        (vec![layer(user, &[run("deny", "a")]), layer(project, &[run("deny", "b")])], Verdict::Deny, "a"),
    ] {
        assert_eq!(judged(&sources), (verdict, winner.to_owned()));
    }
}

/// Shows R12: a rule for somebody else, or for another stage, does not hold; it is read and checked all the same.
#[test]
fn rules_hold_for_whom_and_when_they_say() {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let go = |id: &str, decision: &str, scope: &str| {
        rule(id, decision, &format!("effect = \"run\"\nprogram = \"go\"\n{scope}"))
    };
    let text = [
        go("acme", "allow", "identity.tenant = \"acme\""),
        go("others", "deny", "identity = { tenant = [\"b\", \"c\"], person = \"sam\" }"),
        go("planning", "deny", "stage = \"plan\""),
    ];
    let text = format!("version = 1\n{}", text.concat());
    let verdict = |names: &[(&str, &str)], stage: Option<&str>| {
        let identity = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut variables = Variables::new(&place, &Identity(identity));
        if let Some(stage) = stage {
            variables = variables.with("stage", stage);
        }
        let source =
            PolicySource { layer: Layer::Project, file: "p.toml".into(), text: text.clone(), only_tightens: false };
        let policy = Policy::load(&[source], &variables).unwrap();
        let run = Run { program: "go".into(), argv: vec!["go".into()], ..Run::default() };
        decide(&policy, &Foreseen::of(vec![Effect::Run(run)]), &Facts::default()).verdict
    };
    assert_eq!(verdict(&[("tenant", "acme")], None), Verdict::Allow);
    assert_eq!(verdict(&[], None), Verdict::Ask);
    assert_eq!(verdict(&[("tenant", "b")], None), Verdict::Ask, "all names must be as the rule says");
    assert_eq!(verdict(&[("tenant", "c"), ("person", "sam")], None), Verdict::Deny);
    assert_eq!(verdict(&[("tenant", "acme")], Some("plan")), Verdict::Deny);
    assert_eq!(verdict(&[("tenant", "acme")], Some("build")), Verdict::Allow);
}

/// A deny that names an option without a value holds for every value.
#[test]
fn an_option_without_its_value_is_any() {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let facts = Facts::default();
    for (words, command, expected) in [
        ("\"--output\"", "curl --output x https://docs.example.org/", Verdict::Deny),
        ("\"--output\"", "curl -ox https://docs.example.org/", Verdict::Deny),
        ("\"--output=y\"", "curl -ox https://docs.example.org/", Verdict::Ask),
        ("\"--output=x\"", "curl -ox https://docs.example.org/", Verdict::Deny),
    ] {
        let policy = policy(&rule("a", "deny", &format!("effect = \"run\"\nwords = [\"curl\", {words}]")));
        let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
        assert_eq!(decide(&policy, &shell::foresee(command, scene), &facts).verdict, expected, "{words}: {command}");
    }
}
