//! What a person is told about a policy: rules that do nothing, what would let a call pass, and what models were seen at.

use checkrein_contract::Tree;
use checkrein_contract::{
    Call, CallId, Connect, Deed, Effect, Facts, Finding, Foreseen, Identity, Layer, Place, PolicySource, Question,
    RuleRef, Run, TraceStep, Verdict, Winner,
};
use checkrein_policy::fixtures::{FixtureContext, World};
use checkrein_policy::standing::{Answers, Standing, decide_after};
use checkrein_policy::{Models, Policy, Scene, Source, Variables, decide, explain, traced_lines};
use serde_json::json;

fn policy(rules: &[&str]) -> Policy {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let text: String = rules
        .iter()
        .enumerate()
        .map(|(index, rest)| {
            let (decision, rest) = rest.split_once(' ').expect("a decision comes first");
            format!(
                "[[rule]]\nid = \"r{index}\"\nreason = \"r\"\ndecision = \"{decision}\"\n{}\n",
                rest.replace("; ", "\n")
            )
        })
        .collect();
    let text = format!("version = 1\n{text}");
    let source = PolicySource { layer: Layer::Project, file: "p.toml".to_owned(), text, only_tightens: false };
    Policy::load(&[source], &Variables::new(&place, &Identity::default())).unwrap()
}

/// The one lint of these rules, and of which of them it speaks.
fn lint(rules: &[&str]) -> Option<(String, String)> {
    let lints = policy(rules).lint();
    assert!(lints.len() < 2, "{lints:?}");
    lints.into_iter().next().map(|lint| (lint.rule.rule, lint.problem))
}

#[test]
fn rules_that_can_never_match() {
    for (rule, expected) in [
        ("deny effect = \"read\"; paths = [\"/a/../b\"]", "`/a/../b` names no path"),
        ("allow effect = \"write\"; paths = [\"/a/\"]", "`/a/` names no path"),
        ("ask effect = \"read\"; paths = [\"/a//b\"]", "`/a//b` names no path"),
        ("allow effect = \"run\"; words = [\"env\", \"ls\"]", "`env` only wraps another command"),
        ("deny effect = \"run\"; program = [\"ls\", \"nice\"]", "`nice` only wraps another command"),
        ("allow effect = \"run\"; program = \"/bin/ls\"", "without folders"),
        ("allow effect = \"run\"; words = [\"ls\", \"--no-such\"]", "`ls --no-such` is not understood"),
        ("allow effect = \"write\"; paths = [\"/a/b\"]; except = [\"/a/b\"]", ""),
        ("allow effect = \"run\"; words = [\"rm\", \"a\"]; read_only = true; does = [\"code\"]", "fits its other keys"),
        ("allow effect = \"connect\"; hosts = [\"a.example\"]; server = \"s\"", ""),
        ("ask effect = \"connect\"; hosts = [\"a.example\"]; not_schemes = [\"https\"]", "fits its other keys"),
    ] {
        let found = lint(&[rule]);
        if expected.is_empty() {
            assert_eq!(found, None, "{rule}");
            continue;
        }
        let (id, problem) = found.expect(rule);
        assert!(id == "r0" && problem.starts_with("it can never match: ") && problem.contains(expected), "{problem}");
    }
}

/// A rule whose every plain call another one decides more strictly; a rule that decides any of them is no finding.
#[test]
fn rules_that_never_decide() {
    for (loose, strict) in [
        ("allow effect = \"read\"; paths = [\"{root}/a/**\"]", "deny effect = \"read\"; paths = [\"{root}/**\"]"),
        ("allow effect = \"write\"; paths = [\"**/a\"]", "ask effect = \"write\""),
        ("ask effect = \"delete\"; paths = [\"{root}/a\"]", "deny effect = \"delete\""),
        ("allow effect = \"metadata\"; paths = [\"{root}/a\"]", "deny effect = \"metadata\"; paths = [\"{root}/a\"]"),
        ("allow effect = \"run\"; words = [\"git\", \"status\"]", "deny effect = \"run\"; program = \"git\""),
        ("allow effect = \"run\"; program = [\"ls\", \"cat\"]", "ask effect = \"run\""),
        ("allow effect = \"tool\"; tool = \"pay\"", "deny effect = \"tool\"; tool = \"p*\""),
        (
            "allow effect = \"tool\"; tool = \"pay\"; server = \"shop\"",
            "ask effect = \"tool\"; tool = \"pay\"; server = \"*\"",
        ),
        (
            "allow effect = \"connect\"; hosts = [\"*.a.example\"]; url_paths = [\"/x/*\"]; methods = [\"POST\"]",
            "deny effect = \"connect\"; hosts = [\"*.a.example\"]",
        ),
        (
            "allow effect = \"connect\"; hosts = [\"a.example\"]; schemes = [\"ssh\"]; ports = [22]",
            "ask effect = \"connect\"; ports = [22]",
        ),
    ] {
        let (id, problem) = lint(&[loose, strict]).expect(loose);
        assert!(id == "r0" && problem.starts_with("it never decides: everything it "), "{id}: {problem}");
        assert!(problem.contains("is decided by `r1` (p.toml:"), "{problem}");
        assert_eq!(lint(&[loose]), None, "{loose}");
    }
    let partly = ["allow effect = \"read\"; paths = [\"/a\", \"/b\"]", "deny effect = \"read\"; paths = [\"/a\"]"];
    assert_eq!(lint(&partly), None);
    // Nobody can say of these which call they were written for.
    for open in [
        "ask effect = \"tool\"; tool = \"p*\"",
        "allow effect = \"tool\"; tool = \"pay\"; where.amount = { max = 5 }",
        "ask effect = \"connect\"; hosts = [\"a.example\"]; addresses = [\"private\"]",
        "ask effect = \"run\"; does = [\"code\"]",
    ] {
        assert_eq!(lint(&[open, "deny effect = \"tool\"; tool = \"*\"", "deny effect = \"run\""]), None, "{open}");
    }
}

fn needed(winner: Winner, decision: Verdict, effect: Option<Effect>) -> Option<String> {
    explain::needed(&TraceStep { effect, part: 0, winner, decision, also: Vec::new(), silent: Vec::new() })
}

#[test]
fn what_would_let_it_pass() {
    let rule = |layer| Winner::Rule(RuleRef { layer, rule: "r".into(), file: "p.toml".into(), line: 7 });
    let path = || "/p/a".to_owned();
    let rests = |on| Winner::RestsOn { on };
    let cases = [
        (rule(Layer::Floor), Verdict::Deny, "nothing: `r` is part of the floor"),
        (
            rule(Layer::Project),
            Verdict::Deny,
            "`r` (p.toml:7) would have to be narrowed; nothing below overrules a deny",
        ),
        (rule(Layer::Project), Verdict::Ask, "`r` (p.toml:7) asks a person; a yes lets it run once"),
        (
            rests(Question::Changed { path: path() }),
            Verdict::Ask,
            "`/p/a` would have to be what it was when the session",
        ),
        (rests(Question::Kind { path: path() }), Verdict::Ask, "`/p/a` would have to be absent"),
        (rests(Question::GitHelpers { folder: path() }), Verdict::Ask, "configuration would have to name no programs"),
        (
            rests(Question::Definition { server: "shop".into(), tool: "pay".into() }),
            Verdict::Ask,
            "a person would have to agree to `shop` as it is now",
        ),
        (rests(Question::RealPath { path: path() }), Verdict::Ask, "what it rests on would have to be known"),
        (Winner::NotUnderstood, Verdict::Ask, "say it in plain words, or a person decides"),
        (Winner::Hook { name: "h".into() }, Verdict::Ask, "`h` would have to let it pass"),
        (Winner::Guard { name: "g".into() }, Verdict::Deny, "`g` would have to let it pass"),
        (Winner::Unconfined, Verdict::Ask, "a sandbox, or a person's `--unconfined`"),
        (Winner::Default, Verdict::Ask, "a rule"),
    ];
    for (winner, decision, expected) in cases {
        let said = needed(winner.clone(), decision, None).expect(expected);
        assert!(said.contains(expected), "{winner:?}: {said}");
    }
    assert_eq!(needed(rule(Layer::Project), Verdict::Allow, None), None);
    assert_eq!(needed(Winner::NoEffect, Verdict::Ask, None), None);
}

/// The rule that is suggested allows the very call it was suggested for.
#[test]
fn a_suggested_rule_allows_what_it_was_suggested_for() {
    let run = |argv: &[&str], deeds: &[Deed]| {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        Effect::Run(Run { program: argv[0].clone(), argv, modelled: true, deeds: deeds.to_vec(), ..Run::default() })
    };
    for effect in [
        Effect::read("/p/a"),
        Effect::write("/p/\"quoted\""),
        Effect::Tool { tool: "pay".into(), server: None, args: json!({}) },
        Effect::Tool { tool: "pay".into(), server: Some("shop".into()), args: json!({ "amount": 5 }) },
        run(&["frob", "-v", "a"], &[]),
        run(&["frob", "a"], &[Deed::Changes]),
    ] {
        let said = needed(Winner::Default, Verdict::Ask, Some(effect.clone())).expect("something is needed");
        let rule = said.strip_prefix("a rule, such as:\n").expect("a rule");
        let text = format!("version = 1\n{rule}");
        let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
        let source = PolicySource { layer: Layer::Project, file: "p.toml".to_owned(), text, only_tightens: false };
        let policy = Policy::load(&[source], &Variables::new(&place, &Identity::default())).unwrap();
        let foreseen = Foreseen { effects: vec![effect.clone()], ..Foreseen::default() };
        let mut facts = Facts::default();
        for path in effect.path().into_iter().chain(["/p"]) {
            facts.add(Question::RealPath { path: path.to_owned() }, Some(path.into()));
        }
        facts.add(Question::Definition { server: "shop".into(), tool: "pay".into() }, Some("approved".into()));
        assert_eq!(decide(&policy, &foreseen, &facts).verdict, Verdict::Allow, "{effect:?}\n{rule}");
    }
    let nowhere = Effect::Connect(Connect::default());
    assert_eq!(needed(Winner::Default, Verdict::Ask, Some(nowhere)).as_deref(), Some("a rule"));
}

/// What ships was run under a tracer: programs, options, and the programs they start.
#[test]
fn what_was_seen_under_the_tracer() {
    let models = Models::built_in();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(traced_lines() > 3_000, "lines are only ever added: {}", traced_lines());
    assert!(models.is_traced("git") && !models.is_traced("no-such-program"));
    assert!(models.starts(&words("gcc -c a.c")).contains(&"as".to_owned()));
    assert_eq!(models.starts(&words("no-such-program a")), [""; 0]);
    assert!(["env", "nice", "xargs", "bash"].iter().all(|program| models.is_wrapper(program)));
    assert!(!models.is_wrapper("git") && !models.is_wrapper("no-such-program"));
    let used = |text: &str| models.used(&words(text)).into_iter().map(|(table, option)| format!("{table} {option}"));
    assert_eq!(used("sort --output=a b").collect::<Vec<_>>(), ["sort --output"]);
    assert_eq!(used("sort -r -- --output=a").collect::<Vec<_>>(), [""; 0]);
    let acting = models.acting();
    assert!(acting.contains(&("sort".to_owned(), "--output".to_owned())));
    assert!(!acting.iter().any(|(table, option)| table == "sort" && option == "--reverse"));
}

/// Addresses of a kind are found behind names and in every way to write them; an allow needs all of them to be of the kind.
#[test]
fn addresses_of_a_kind() {
    let verdict = |decision: &str, kind: &str, host: &str, found: &[&str]| {
        let hosts = if decision == "allow" { "; hosts = [\"*\"]" } else { "" };
        let policy = policy(&[&format!("{decision} effect = \"connect\"; addresses = [\"{kind}\"]{hosts}")]);
        let effect = Effect::Connect(Connect { host: host.into(), port: 443, ..Connect::default() });
        let foreseen = Foreseen { effects: vec![effect], ..Foreseen::default() };
        let mut facts = Facts::default();
        let found = found.iter().map(|address| (*address).to_owned()).collect();
        facts.add(Question::Addresses { host: host.to_owned() }, Some(Finding::List(found)));
        decide(&policy, &foreseen, &facts).verdict
    };
    for (host, kind) in [
        ("localhost", "loopback"),
        ("a.localhost", "loopback"),
        ("127.9.9.9", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("fd00::1", "private"),
        ("fec0::1", "private"),
        ("100.64.0.1", "shared"),
        ("fe80::1", "link-local"),
        ("metadata.google.internal", "link-local"),
        ("::", "reserved"),
        ("ff02::1", "reserved"),
        ("224.0.0.1", "reserved"),
        ("2002:a00:1::", "private"),
        ("64:ff9b::a00:1", "private"),
        ("::ffff:7f00:1", "loopback"),
    ] {
        assert_eq!(verdict("deny", kind, host, &[]), Verdict::Deny, "{host} is {kind}");
    }
    for host in ["93.184.215.14", "2606:2800::1"] {
        assert_eq!(verdict("deny", "private", host, &[]), Verdict::Ask, "{host}");
    }
    assert_eq!(verdict("deny", "private", "a.example", &["93.184.215.14", "10.0.0.1"]), Verdict::Deny);
    assert_eq!(verdict("allow", "private", "a.example", &["93.184.215.14", "10.0.0.1"]), Verdict::Ask);
    assert_eq!(verdict("allow", "private", "a.example", &["192.168.0.1", "10.0.0.1"]), Verdict::Allow);
    assert_eq!(verdict("allow", "private", "a.example", &[]), Verdict::Ask);
}

/// What can be read in two ways is not understood, whatever rules say, and so is a path where nobody knows whether case counts.
#[test]
fn what_can_be_read_in_two_ways() {
    let policy = policy(&["allow effect = \"read\"; paths = [\"{root}/**\"]", "ask effect = \"run\""]);
    let all = self::policy(&["ask effect = \"read\""]);
    let judged = |effect: Effect, facts: &Facts| {
        let foreseen = Foreseen { effects: vec![effect], ..Foreseen::default() };
        let decision = decide(&policy, &foreseen, facts);
        (decision.verdict, decision.reason)
    };
    let (verdict, reason) = judged(Effect::Connect(checkrein_policy::url::refused()), &Facts::default());
    assert!(verdict == Verdict::Ask && reason.contains("can be read in two ways"), "{reason}");
    let mut facts = Facts::default();
    for path in ["/p", "/p/a"] {
        facts.add(Question::RealPath { path: path.into() }, Some(path.into()));
    }
    assert_eq!(judged(Effect::read("/p/a"), &facts).0, Verdict::Allow);
    facts.add(Question::CaseFolding { path: "/p".into() }, None);
    let (verdict, reason) = judged(Effect::read("/p/a"), &facts);
    assert!(verdict == Verdict::Ask && reason.contains("whether case counts"), "{reason}");
    let tree = Effect::ReadTree(Tree { root: "/p".into(), ..Tree::default() });
    for policy in [&policy, &all] {
        let questions = policy.questions(std::slice::from_ref(&tree), &facts);
        assert!(questions.iter().any(|question| matches!(question, Question::Holds { .. })), "{questions:?}");
    }
}

/// A rule that names what has no value here decides nothing by guessing: the call is not allowed.
#[test]
fn a_name_without_a_value() {
    for condition in ["equals = \"{identity.who}\"", "pattern = \"{identity.who}.*\"", "path = \"/x/{identity.who}\""] {
        let rule = format!("effect = \"tool\"; tool = \"pay\"; where.to = {{ {condition} }}");
        let policy = policy(&["allow effect = \"tool\"; tool = \"pay\"", &format!("deny {rule}")]);
        let effect = Effect::Tool { tool: "pay".into(), server: None, args: json!({ "to": "dana" }) };
        let foreseen = Foreseen { effects: vec![effect], ..Foreseen::default() };
        let decision = decide(&policy, &foreseen, &Facts::default());
        assert_ne!(decision.verdict, Verdict::Allow, "{condition}");
        assert!(decision.reason.contains("`{identity.who}` has no value here"), "{}", decision.reason);
    }
}

/// The world of a fixture answers as the file system, the name server and the repository would that it states.
#[test]
fn a_fixture_states_its_world() {
    let world = World::default();
    let ask = |stated: serde_json::Value, question: Question| {
        let context: FixtureContext = serde_json::from_value(stated).unwrap();
        context.answer(&question, &context.place(&world), &world)
    };
    let real = |fs: &str, path: &str| ask(json!({ "fs": fs }), Question::RealPath { path: path.into() });
    assert_eq!(real("APFS", "/srv/project/.e\u{200b}nv"), Some("/srv/project/.env".into()));
    assert_eq!(real("HFS+", "/srv/project/.env"), Some("/srv/project/.env".into()));
    assert_eq!(real("ext4", "/srv/project/.e\u{200b}nv"), Some("/srv/project/.e\u{200b}nv".into()));
    assert_eq!(real("NTFS", "/srv/project/.env."), Some("/srv/project/.env".into()));
    let dns = json!({ "dns": { "a.example": ["10.0.0.1", "10.0.0.2"], "b.example": "10.0.0.3" } });
    let addresses = |host: &str| ask(dns.clone(), Question::Addresses { host: host.into() });
    let list = |all: &[&str]| Some(Finding::List(all.iter().map(|one| (*one).to_owned()).collect()));
    assert_eq!(addresses("a.example"), list(&["10.0.0.1", "10.0.0.2"]));
    assert_eq!(addresses("b.example"), list(&["10.0.0.3"]));
    let config = json!({ "git_config": { "core.fsmonitor": true, "core.bare": false, "core.pager": "less" } });
    let helpers = ask(config, Question::GitHelpers { folder: "/srv/project".into() });
    assert!(matches!(&helpers, Some(Finding::List(all)) if all.contains(&"core.pager".to_owned())), "{helpers:?}");
    assert!(checkrein_policy::git::starts_a_program("sendemail", "tocmd", Some("x")));
    assert!(!checkrein_policy::git::starts_a_program("sendemail", "to", Some("x")));
}

/// A model of one's own counts with the parts it includes, and with what its options stand for.
#[test]
fn a_model_made_of_parts() {
    let text = "[frob]\nabout = \"frobs\"\ninclude = [\"frob.-common\"]\n\n[frob.-common]\nflags = \"-a -b -c\"\nalso.\"-a\" = \"-b\"\nwhen.\"-b\" = { does = \"changes\" }\n";
    let models = Models::built_in().with(&[Source { file: "frob.toml", text }]).unwrap();
    let used = |option: &str| models.used(&["frob".to_owned(), option.to_owned()]).len();
    assert_eq!(["-a", "-b", "-c"].map(used), [1, 1, 0], "`-a` does what `-b` does");
    assert!(!Models::built_in().acting().contains(&("frob".to_owned(), "-b".to_owned())));
}

#[test]
fn a_path_is_shown_as_seen_from_the_project() {
    let place = Place { root: "/p".into(), ..Place::default() };
    let shown = ["/p", "/p/a/b", "/pa", "/etc/x"].map(|path| checkrein_policy::paths::shown(path, &place));
    assert_eq!(shown, [".", "a/b", "/pa", "/etc/x"]);
}

/// An earlier yes covers what it was given for, and nothing that was no part of it.
#[test]
fn how_far_an_earlier_answer_reaches() {
    let policy =
        policy(&["ask effect = \"write\"; paths = [\"/p/asks/**\"]", "allow effect = \"run\"; program = \"frob\""]);
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let mut facts = Facts::default();
    for path in ["/p", "/p/asks/a", "/p/asks/b/c"] {
        facts.add(Question::RealPath { path: path.into() }, Some(path.into()));
    }
    let definition = Question::Definition { server: "shop".into(), tool: "pay".into() };
    facts.add(definition, Some("approved".into()));
    let scene = Scene { place: &place, facts: &facts, models: Models::built_in() };
    let verdict = |yes: serde_json::Value, tool: &str, server: Option<&str>, effects: Vec<Effect>| {
        let yes: Standing = serde_json::from_value(yes).unwrap();
        let id = CallId::new("c");
        let call = Call { id, tool: tool.into(), server: server.map(str::to_owned), args: json!({}) };
        let foreseen = Foreseen { effects, ..Foreseen::default() };
        decide_after(&policy, &call, &foreseen, scene, &Answers { yes: vec![yes], no: Vec::new() }).verdict
    };
    let write = |path: &str| vec![Effect::write(path)];
    let exact = || json!({ "tool": "write", "path": "asks/a" });
    assert_eq!(verdict(exact(), "write", None, write("/p/asks/a")), Verdict::Allow);
    assert_eq!(verdict(exact(), "write", None, write("/p/asks/b/c")), Verdict::Ask);
    assert_eq!(verdict(exact(), "edit", None, write("/p/asks/a")), Verdict::Ask, "another tool");
    assert_eq!(verdict(json!({ "tool": "write" }), "write", None, write("/p/asks/a")), Verdict::Ask, "for nothing");
    let folder = json!({ "tool": "write", "path": "asks", "match": "folder" });
    assert_eq!(verdict(folder.clone(), "write", None, write("/p/asks/b/c")), Verdict::Allow);
    assert_eq!(
        verdict(folder, "write", None, write("/p/asks/unknown")),
        Verdict::Ask,
        "what it really is is not known"
    );
    // What an allow rests on is no matter of an earlier yes.
    let rests = |rests_on: Vec<Question>| {
        let (program, folder) = ("frob".to_owned(), "/p".to_owned());
        let argv = vec![program.clone(), "x".to_owned()];
        vec![Effect::Run(Run { program, argv, folder, rests_on, ..Run::default() })]
    };
    let frob = || json!({ "tool": "bash", "command": "frob", "match": "prefix" });
    assert_eq!(verdict(frob(), "bash", None, rests(Vec::new())), Verdict::Allow);
    let changed = || vec![Question::Changed { path: "/p/frob".into() }];
    assert_eq!(verdict(frob(), "bash", None, rests(changed())), Verdict::Ask);
    let server = json!({ "tool": "mcp", "server": "shop", "name": "pay" });
    let pay = |path: &str| {
        let own = Effect::Tool { tool: "pay".into(), server: Some("shop".into()), args: json!({}) };
        vec![own, Effect::write(path)]
    };
    assert_eq!(verdict(server.clone(), "pay", Some("shop"), pay("/p/asks/a")), Verdict::Allow);
    assert_ne!(verdict(server, "pay", Some("shop"), pay("/q/a")), Verdict::Allow, "outside of the project");
    let command = |words: &str, reach: &str| json!({ "tool": "bash", "command": words, "match": reach });
    assert_eq!(verdict(command("", "exact"), "bash", None, write("/p/asks/a")), Verdict::Ask);
    assert_eq!(verdict(command("> asks/a", "prefix"), "bash", None, write("/p/asks/a")), Verdict::Ask);
}
