//! A yes to one call, as rules for one session: the narrowest that would have spared the question, each with what it holds for.

use std::collections::BTreeMap;

use checkrein_contract::{Decision, Effect, EffectWord, Run, TraceStep, Verdict, Winner};
use serde_json::{Value, json};

use crate::explain::{list, narrowest};
use crate::held;

/// The rules, as a policy file. `runs` are the files that the call would run, with what was found of their content.
///
/// Only what no rule speaks of becomes a rule: an *ask* of a rule is for one call each time, whoever wrote it.
///
/// # Errors
/// Why no rule could have spared the question.
pub fn rules(decision: &Decision, runs: &BTreeMap<String, Option<String>>) -> Result<String, String> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (path, found) in runs {
        let name = path.rsplit('/').next().unwrap_or_default();
        let found = found.as_ref().ok_or_else(|| format!("what `{name}` holds could not be found out"))?;
        files.push((path.clone(), found.clone()));
    }
    let whole: Vec<Effect> = decision.trace.iter().filter_map(|step| step.effect.clone()).collect();
    let call = of_call(&whole)?;
    let mut all: Vec<String> = Vec::new();
    for step in decision.trace.iter().filter(|step| step.decision == Verdict::Ask) {
        let effect = open(step)?;
        let keys =
            rule(effect, &call, &files).ok_or("no rule could tell this call from others that nobody has seen")?;
        if !all.contains(&keys) {
            all.push(keys);
        }
    }
    if all.is_empty() {
        return Err("nothing of it is asked about".to_owned());
    }
    let head = |number: usize| {
        format!(
            "[[rule]]\nid = \"yes-{number}\"\ndecision = \"allow\"\nreason = \"a person said yes to this in this session\"\n"
        )
    };
    let rules = all.iter().enumerate().map(|(index, keys)| format!("\n{}{keys}", head(index + 1)));
    Ok(format!("version = 1\n{}", rules.collect::<String>()))
}

/// What is asked about because no rule speaks of it.
fn open(step: &TraceStep) -> Result<&Effect, String> {
    match (&step.winner, &step.effect) {
        (Winner::Default, Some(effect)) => Ok(effect),
        (Winner::Rule(rule), _) => {
            Err(format!("rule `{}` ({}:{}) wants a yes for each call", rule.rule, rule.file, rule.line))
        }
        (Winner::NotUnderstood, _) => Err("what it would do is not known before it runs".to_owned()),
        (Winner::RestsOn { .. }, _) => Err("what a rule about it rests on does not hold".to_owned()),
        (Winner::Hook { name } | Winner::Guard { name }, _) => Err(format!("`{name}` wants a yes for each call")),
        _ => Err("it is not the rules that ask".to_owned()),
    }
}

/// What all rules of a call hold for: its programs, word by word, and what it reads.
fn of_call(whole: &[Effect]) -> Result<Vec<String>, String> {
    let runs = || whole.iter().filter_map(|effect| if let Effect::Run(run) = effect { Some(run) } else { None });
    let unknown = |run: &Run| {
        run.dynamic
            || run.input.as_deref() == Some(Run::UNKNOWN)
            || run.env.iter().any(|pair| pair.contains(['$', '`']) || pair.ends_with("=..."))
    };
    if runs().any(unknown) {
        return Err("words of it are not known before it runs, so they may be others each time".to_owned());
    }
    let many = |effect: &Effect| effect.word() == EffectWord::Read && effect.is_glob();
    let many = |effect: &Effect| many(effect) || matches!(effect, Effect::ReadTree(_));
    if runs().any(|run| !run.modelled) && whole.iter().any(many) {
        return Err("a program that nobody knows reads files that are not named one by one".to_owned());
    }
    let commands: Vec<&Vec<String>> = held::commands(whole).collect();
    let mut held = vec![format!("commands = {}", list(&commands))];
    if !commands.is_empty() {
        let reads = held::reads(whole);
        if !reads.is_empty() {
            held.push(format!("reads = {}", list(reads)));
        }
    }
    Ok(held)
}

/// The keys of one rule, a line each. `call`: what it holds for besides.
fn rule(effect: &Effect, call: &[String], files: &[(String, String)]) -> Option<String> {
    let mut keys: Vec<(String, String)> = match effect {
        // Its words stand in `while`, all of them.
        Effect::Run(run) => of_run(run)?,
        _ => narrowest(effect)?.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    };
    let mut held: Vec<String> = Vec::new();
    match effect {
        Effect::Run(run) => {
            held.push(format!("folder = {}", json!(run.folder)));
            if !run.env.is_empty() {
                held.push(format!("env = {}", list(&run.env)));
            }
            held.extend(run.input.iter().map(|input| format!("input = {}", json!(input))));
        }
        Effect::Tool { args, .. } => {
            let args = args.as_object()?;
            for (name, value) in args {
                // In a condition a dot leads into a value, and a question mark says that it may be absent.
                if name.contains('.') || name.ends_with('?') {
                    return None;
                }
                keys.push((format!("where.{}", json!(name)), format!("{{ equals = {} }}", toml(value)?)));
            }
            held.push(format!("arguments = {}", list(args.keys())));
        }
        _ => {}
    }
    held.extend_from_slice(call);
    if !files.is_empty() {
        let files: Vec<String> = files.iter().map(|(path, is)| format!("{} = {}", json!(path), json!(is))).collect();
        held.push(format!("files = {{ {} }}", files.join(", ")));
    }
    keys.push(("while".to_owned(), format!("{{ {} }}", held.join(", "))));
    Some(keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect())
}

/// A program by its name; `None` where the name is a pattern, or where it would run is not known: that is part of what was
/// agreed to.
fn of_run(run: &Run) -> Option<Vec<(String, String)>> {
    if run.folder.is_empty() || run.program.is_empty() || run.program.contains(['*', '?', '[', '{', '\\', ' ']) {
        return None;
    }
    let mut keys = vec![
        ("effect".to_owned(), json!(EffectWord::Run.as_str()).to_string()),
        ("program".to_owned(), json!(run.program).to_string()),
    ];
    if !run.env.is_empty() {
        keys.push(("env".to_owned(), list(run.env.iter().filter_map(|pair| pair.split('=').next()))));
    }
    Some(keys)
}

/// A value as TOML, which has no null.
fn toml(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Option<Vec<_>>>()?.join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Some(format!("{} = {}", json!(name), toml(value)?)));
            format!("{{ {} }}", fields.collect::<Option<Vec<_>>>()?.join(", "))
        }
        scalar => scalar.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{
        Connect, Facts, Foreseen, Identity, Layer, Place, PolicySource, Question, Remembered, RuleId, Run,
    };

    use super::*;
    use crate::{Models, Policy, Scene, Variables, decide, shell};

    fn place() -> Place {
        Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() }
    }

    fn load(sources: &[PolicySource]) -> Result<Policy, crate::FileError> {
        Policy::load(sources, &Variables::new(&place(), &Identity::default()))
    }

    fn other(layer: Layer, text: &str) -> PolicySource {
        let text = format!("version = 1\n{text}");
        PolicySource { layer, file: "other.toml".to_owned(), text, only_tightens: false }
    }

    /// Judges these effects where every path is what it seems, with digests of these files.
    fn judged(sources: &[PolicySource], effects: &[Effect], files: &[(&str, &str)]) -> Decision {
        let mut facts = Facts::default();
        for path in effects.iter().filter_map(Effect::path).chain(["/p"]) {
            facts.add(Question::RealPath { path: path.to_owned() }, Some(path.into()));
        }
        for (path, digest) in files {
            facts.add(Question::Digest { path: (*path).to_owned() }, Some((*digest).into()));
        }
        decide(&load(sources).unwrap(), &Foreseen { effects: effects.to_vec(), ..Foreseen::default() }, &facts)
    }

    fn remembered(effects: &[Effect], runs: &[(&str, &str)]) -> Result<PolicySource, String> {
        let runs = runs.iter().map(|(path, digest)| ((*path).to_owned(), Some((*digest).to_owned()))).collect();
        let text = rules(&judged(&[], effects, &[]), &runs)?;
        Ok(Remembered::source(&RuleId::new("r-1"), &text))
    }

    fn run(words: &str) -> Run {
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        Run { program: argv[0].clone(), argv, folder: "/p".to_owned(), ..Run::default() }
    }

    fn unmodelled(words: &str) -> Effect {
        Effect::Run(run(words))
    }

    /// What is agreed to, what the rule covers besides, and what it does not.
    #[test]
    fn how_far_a_remembered_yes_reaches() {
        let tool = |args: Value| Effect::Tool { tool: "pay".to_owned(), server: None, args };
        let connect = |port: u16, method: Option<&str>| {
            let method = method.map(str::to_owned);
            Effect::Connect(Connect { host: "a.example".to_owned(), port, method, ..Connect::default() })
        };
        let cases = [
            (
                Effect::write("/p/a[1].txt"),
                vec![],
                vec![Effect::write("/p/a1.txt"), Effect::delete("/p/a[1].txt", false)],
            ),
            (Effect::read("/p/{root}"), vec![], vec![Effect::read("/p/p"), Effect::read("/p")]),
            (Effect::list("/srv"), vec![Effect::read("/srv")], vec![Effect::read("/srv/a")]),
            (connect(443, None), vec![connect(443, Some("GET"))], vec![connect(80, None), connect(443, Some("POST"))]),
            (connect(443, Some("POST")), vec![], vec![connect(443, None)]),
            (
                tool(json!({ "sum": 5, "to": ["dana"], "how": { "fast": true } })),
                vec![],
                vec![
                    tool(json!({ "sum": 6, "to": ["dana"], "how": { "fast": true } })),
                    tool(json!({ "sum": 5, "to": ["dana"], "how": { "fast": true }, "twice": true })),
                    tool(json!({ "sum": 5, "to": ["dana"] })),
                ],
            ),
            (
                unmodelled("frob deploy --to prod"),
                vec![],
                vec![
                    unmodelled("frob deploy --to test"),
                    unmodelled("frob deploy"),
                    unmodelled("frob deploy --to prod --now"),
                    unmodelled("other deploy --to prod"),
                ],
            ),
            (unmodelled("./go.sh"), vec![], vec![unmodelled("./go.sh a"), unmodelled("go.sh")]),
            (
                Effect::Run(Run { argv: vec!["frob".into(), "two words".into()], ..run("frob") }),
                vec![],
                vec![unmodelled("frob two words")],
            ),
        ];
        for (agreed, covered, not) in cases {
            let rule = remembered(std::slice::from_ref(&agreed), &[]).unwrap();
            let verdict =
                |effect: &Effect| judged(std::slice::from_ref(&rule), std::slice::from_ref(effect), &[]).verdict;
            for effect in std::iter::once(&agreed).chain(&covered) {
                assert_eq!(verdict(effect), Verdict::Allow, "{effect:?}\n{}", rule.text);
            }
            for effect in &not {
                assert_ne!(verdict(effect), Verdict::Allow, "{effect:?}\n{}", rule.text);
            }
        }
    }

    /// A command line is agreed to as it stands: its words, what goes into it and what stands around it.
    #[test]
    fn a_command_line_is_remembered_word_by_word() {
        let foreseen = |line: &str| {
            let (place, facts) = (place(), Facts::default());
            let mut effects =
                shell::foresee(line, Scene { place: &place, facts: &facts, models: Models::built_in() }).effects;
            for effect in &mut effects {
                // What an allow rests on is another matter.
                if let Effect::Run(run) = effect {
                    run.rests_on.clear();
                }
            }
            effects
        };
        let policy = other(
            Layer::Project,
            "[[rule]]\nid = \"o\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"/p/**\"]\n\
             [[rule]]\nid = \"e\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"echo\", \"cat\"]\n",
        );
        let rule_of = |line: &str| {
            let decision = judged(std::slice::from_ref(&policy), &foreseen(line), &[]);
            Ok::<_, String>(Remembered::source(&RuleId::new("r-1"), &rules(&decision, &BTreeMap::new())?))
        };
        for (agreed, others) in [
            ("sh go.sh a", vec!["sh go.sh b", "sh go.sh", "sh -x go.sh a", "sh other.sh a", "sh go.sh a; sh go.sh b"]),
            ("make test", vec!["make", "make install", "make test -f other.mk", "make -j test", "make test X=1"]),
            ("cargo test", vec!["cargo run", "cargo test -- --nocapture", "cargo test --config x.toml"]),
            ("kill 12", vec!["kill 13", "kill -9 12", "kill 12 13"]),
            ("frob a", vec!["frob b", "echo x | frob a", "frob a < in.txt", "frob a <<< x", "frob a; frob b"]),
            ("echo x | frob a", vec!["frob a", "echo y | frob a", "cat in.txt | frob a", "frob a | echo x"]),
            ("frob a < in.txt", vec!["frob a < other.txt", "cat other.txt | frob a", "frob a"]),
            ("frob a <<< x", vec!["frob a <<< y", "frob a", "frob a <<< $X"]),
            ("{ frob a; } <<E\nx\nE\n", vec!["{ frob a; } <<E\ny\nE\n", "frob a"]),
            ("sh -c 'frob a'", vec!["sh -c 'frob b'", "sh -c 'frob a; frob b'"]),
        ] {
            let rule = rule_of(agreed).expect(agreed);
            let verdict = |line: &str| judged(&[policy.clone(), rule.clone()], &foreseen(line), &[]).verdict;
            assert_eq!(verdict(agreed), Verdict::Allow, "{agreed}: {}", rule.text);
            for line in others {
                assert_eq!(verdict(line), Verdict::Ask, "{agreed}, then {line}: {}", rule.text);
            }
        }
        for (line, why) in [
            ("frob $X", "not known before it runs"),
            ("frob \"$(cat in.txt)\"", "not known before it runs"),
            ("frob <<< $X", "not known before it runs"),
            ("A=$X frob", "not known before it runs"),
            ("frob *.txt", "not known before it runs"),
            ("cat *.txt | frob", "not known before it runs"),
            ("ls | xargs frob", "not known before it runs"),
        ] {
            let said = rule_of(line).expect_err(line);
            assert!(said.contains(why), "{line}: {said}");
        }
    }

    /// Folder, environment and files of the call are part of the yes; where they are others, the trace says which.
    #[test]
    fn what_a_remembered_yes_holds_for() {
        let set = |pairs: &[&str], folder: &str| {
            let env = pairs.iter().map(|pair| (*pair).to_owned()).collect();
            vec![Effect::Run(Run { env, folder: folder.to_owned(), ..run("frob deploy") })]
        };
        let files = [("/p/bin/frob", "sha256:00"), ("/opt/frob.conf", "none")];
        let rule = remembered(&set(&["A=1"], "/p/sub"), &files).unwrap();
        let why = |effects: &[Effect], files: &[(&str, &str)]| {
            let decision = judged(std::slice::from_ref(&rule), effects, files);
            let step = decision.trace.first().unwrap();
            let why = step.silent.first().map_or_else(String::new, |silent| silent.why.clone());
            assert_eq!(step.silent.is_empty(), decision.verdict == Verdict::Allow, "{why}");
            assert!(decision.reason.contains(&why), "{}", decision.reason);
            why
        };
        assert_eq!(why(&set(&["A=1"], "/p/sub"), &files), "");
        assert_eq!(why(&set(&["A=1"], "/p"), &files), "it was given for the folder `sub`");
        assert_eq!(why(&set(&["A=2"], "/p/sub"), &files), "it was given for another environment");
        assert_eq!(why(&set(&[], "/p/sub"), &files), "it was given for another environment");
        let changed = [("/p/bin/frob", "sha256:01"), files[1]];
        assert_eq!(why(&set(&["A=1"], "/p/sub"), &changed), "`bin/frob` is not what it was when the yes was given");
        let there = [files[0], ("/opt/frob.conf", "sha256:00")];
        assert_eq!(why(&set(&["A=1"], "/p/sub"), &there), "`frob.conf` is not what it was when the yes was given");
        assert_eq!(why(&set(&["A=1"], "/p/sub"), &files[..1]), "what `frob.conf` holds could not be found out");
        let top = remembered(&[unmodelled("frob deploy")], &[]).unwrap();
        let elsewhere = judged(&[top], &set(&[], "/q"), &[]);
        assert_eq!(elsewhere.trace[0].silent[0].why, "it was given for another folder");
        let questions = load(std::slice::from_ref(&rule)).unwrap().questions(&set(&[], "/p"), &Facts::default());
        assert!(files.iter().all(|(path, _)| questions.contains(&Question::Digest { path: (*path).to_owned() })));
    }

    /// No rule of anybody is beaten by it, nor a policy that denies what no rule speaks of.
    #[test]
    fn a_remembered_yes_beats_nothing() {
        let effects = [unmodelled("frob deploy")];
        let rule = remembered(&effects, &[]).unwrap();
        let verdict = |other: PolicySource| judged(&[other, rule.clone()], &effects, &[]).verdict;
        let says = |decision: &str| {
            format!(
                "[[rule]]\nid = \"o\"\ndecision = \"{decision}\"\nreason = \"r\"\neffect = \"run\"\nprogram = \"frob\"\n"
            )
        };
        for layer in [Layer::Managed, Layer::User, Layer::Project] {
            assert_eq!(verdict(other(layer, &says("ask"))), Verdict::Ask, "{layer:?}");
            assert_eq!(verdict(other(layer, &says("deny"))), Verdict::Deny, "{layer:?}");
            assert_eq!(verdict(other(layer, "default = \"deny\"\n")), Verdict::Deny, "{layer:?}");
        }
        assert_eq!(verdict(other(Layer::Session, &says("deny"))), Verdict::Deny);
        assert_eq!(verdict(other(Layer::Project, "")), Verdict::Allow);
    }

    /// Where no rule could have spared the question, it says why.
    #[test]
    fn what_can_not_be_remembered_says_why() {
        let nothing = BTreeMap::new();
        let asks = |step: TraceStep| {
            let (verdict, code) = (Verdict::Ask, checkrein_contract::Code::AskRule);
            rules(&Decision { verdict, code, reason: String::new(), trace: vec![step] }, &nothing).unwrap_err()
        };
        let step = |winner: Winner| TraceStep {
            effect: None,
            part: 0,
            winner,
            decision: Verdict::Ask,
            also: Vec::new(),
            silent: Vec::new(),
        };
        let origin =
            checkrein_contract::RuleRef { layer: Layer::User, rule: "o".into(), file: "o.toml".into(), line: 3 };
        let on = Question::Kind { path: "/p/a".to_owned() };
        for (winner, expected) in [
            (Winner::Rule(origin), "rule `o` (o.toml:3) wants a yes for each call"),
            (Winner::NotUnderstood, "what it would do is not known before it runs"),
            (Winner::RestsOn { on }, "what a rule about it rests on does not hold"),
            (Winner::Hook { name: "h".to_owned() }, "`h` wants a yes for each call"),
            (Winner::Unconfined, "it is not the rules that ask"),
        ] {
            assert_eq!(asks(step(winner)), expected);
        }
        let allowed = judged(&[], &[], &[]);
        assert_eq!(rules(&allowed, &nothing).unwrap_err(), "nothing of it is asked about");
        let unknown = BTreeMap::from([("/p/bin/a".to_owned(), None)]);
        assert_eq!(rules(&allowed, &unknown).unwrap_err(), "what `a` holds could not be found out");
        let pay = |args: Value| Effect::Tool { tool: "pay".to_owned(), server: None, args };
        for effect in [
            Effect::Run(Run { folder: String::new(), ..run("frob deploy") }),
            Effect::Run(Run { program: "fr*b".to_owned(), ..run("fr*b") }),
            Effect::Delete { path: "/p/*".to_owned(), recursive: false, glob: true },
            Effect::Connect(Connect::default()),
            pay(json!({ "a": null })),
            pay(json!({ "a.b": 1 })),
            pay(json!({ "a?": 1 })),
            pay(json!(1)),
        ] {
            let step = TraceStep { effect: Some(effect.clone()), ..step(Winner::Default) };
            assert_eq!(asks(step), "no rule could tell this call from others that nobody has seen", "{effect:?}");
        }
    }

    /// `while` stands in remembered yeses, in each of their rules, and nowhere else.
    #[test]
    fn a_remembered_yes_says_what_it_holds_for() {
        let rule = |more: &str| format!("version = 1\n[[rule]]\nid = \"a\"\nreason = \"r\"\n{more}\n");
        let wrong = |file: &str, more: &str| {
            let text = rule(more);
            let source = PolicySource { layer: Layer::Session, file: file.to_owned(), text, only_tightens: false };
            load(&[source]).unwrap_err().message
        };
        let run = "decision = \"allow\"\neffect = \"run\"\nprogram = \"a\"";
        assert!(wrong("r-1", run).contains("says with `while` what it holds for"));
        assert!(wrong("r-1", &format!("{run}\nwhile = {{}}")).contains("names its folder"));
        let older =
            "decision = \"allow\"\neffect = \"run\"\nwords = [\"frob\", \"deploy\"]\nwhile = { folder = \"/p\" }";
        let text = rule(older);
        let older = PolicySource { layer: Layer::Session, file: "r-1".to_owned(), text, only_tightens: false };
        let then = judged(&[older], &[unmodelled("frob deploy --to prod")], &[]);
        assert_eq!(then.verdict, Verdict::Allow, "what an older journal holds counts as it was agreed to");
        assert!(wrong("r-1", &format!("{run}\nwhile = {{ foldr = 1 }}")).contains("foldr"));
        let tool = "decision = \"allow\"\neffect = \"tool\"\ntool = \"a\"\nwhile = {}";
        assert!(wrong("r-1", tool).contains("names its arguments"));
        let only = "`while` is for a yes that a person gave in a session";
        assert!(wrong("supplied.toml", &format!("{run}\nwhile = {{ folder = \"/p\" }}")).contains(only));
        let deny = "decision = \"deny\"\neffect = \"read\"\npaths = [\"/a\"]\nwhile = {}";
        assert!(wrong("r-1", deny).contains(only));
    }
}
