//! Random policies, effects and facts over small alphabets, so that rules really hit. Part of what shows R1, R2, R11 and
//! R12.

use checkrein_contract::{Connect, Deed, Effect, EffectWord, Facts, Finding, Layer, Question, Run, Tree, Verdict};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::description::{Condition, File, Host, Kind, Rule, Running};

const WORDS: [EffectWord; 7] = [
    EffectWord::Read,
    EffectWord::Write,
    EffectWord::Delete,
    EffectWord::Metadata,
    EffectWord::Run,
    EffectWord::Connect,
    EffectWord::Tool,
];

const PATTERNS: [&str; 18] = [
    "{root}/**",
    "{root}",
    "{root}/a",
    "{root}/*",
    "**/.e",
    "**/a/**",
    "/q/**",
    "/**",
    "/p/{a,b}",
    "/p/z/[ab]",
    "/p/a*",
    "{root}/*/b",
    "{root}/a/**",
    "/q",
    "/etc/x",
    "**/A",
    "/p/**/b",
    "/r/**",
];
const PATHS: [&str; 14] = [
    "/p", "/p/a", "/p/b", "/p/.e", "/p/A", "/p/a/b", "/p/a/.e", "/p/z/b", "/q", "/q/a", "/q/z/z", "/r/a", "/etc/x",
    "/r",
];
const GLOBS: [&str; 7] = ["/p/*", "/p/a/*", "/p/.*", "/p/*/b", "/q/*", "/p/z*", "/q/**"];

/// Folders that are read whole. None is a link: the engine does not look for what an allow excepts below where one
/// leads.
const FOLDERS: [&str; 5] = ["/p", "/p/a", "/q", "/q/z/z", "/etc/x"];

fn some<T: Clone + std::fmt::Debug + 'static>(all: &[T], most: usize) -> BoxedStrategy<Vec<T>> {
    subsequence(all.to_vec(), 1..=most.min(all.len())).boxed()
}

fn maybe<S: Strategy + 'static>(strategy: S) -> BoxedStrategy<Option<S::Value>>
where
    S::Value: Clone,
{
    prop_oneof![2 => Just(None), 1 => strategy.prop_map(Some)].boxed()
}

fn rarely() -> BoxedStrategy<bool> {
    prop::bool::weighted(0.2).boxed()
}

/// A few words of effects: what one case is about, so that its rules and effects meet.
pub(crate) fn topics() -> impl Strategy<Value = Vec<EffectWord>> {
    subsequence(WORDS.to_vec(), 1..3)
}

pub(crate) fn files(topics: Vec<EffectWord>) -> impl Strategy<Value = Vec<File>> {
    prop::collection::vec(
        (
            select(Layer::ALL.to_vec()),
            rarely(),
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
            prop::collection::vec(rule(topics), 0..7),
        ),
        1..5,
    )
    .prop_map(|files| {
        let mut files: Vec<File> = files
            .into_iter()
            .enumerate()
            .map(|(number, (layer, only_tightens, default_deny, on_ask_deny, mut rules))| {
                for (index, rule) in rules.iter_mut().enumerate() {
                    rule.id = format!("rule-{number}-{index}");
                }
                File { layer, only_tightens, default_deny, on_ask_deny, rules }
            })
            .collect();
        // A floor of our own stands in for the built-in one.
        let floor = File {
            layer: Layer::Floor,
            only_tightens: false,
            default_deny: false,
            on_ask_deny: false,
            rules: Vec::new(),
        };
        files.push(floor);
        files
    })
}

fn rule(topics: Vec<EffectWord>) -> impl Strategy<Value = Rule> {
    let verdict = prop_oneof![3 => Just(Verdict::Allow), 1 => Just(Verdict::Ask), 1 => Just(Verdict::Deny)];
    (verdict, select(topics)).prop_flat_map(|(verdict, word)| {
        let allows = verdict == Verdict::Allow;
        let own = match word {
            EffectWord::Run => prop_oneof![words(), program(allows)].boxed(),
            EffectWord::Connect => host(allows),
            EffectWord::Tool => tool(allows),
            _ => path(word, allows),
        };
        let kind = if allows { own } else { prop_oneof![6 => own, 1 => Just(Kind::Anything)].boxed() };
        kind.prop_map(move |kind| Rule { id: String::new(), verdict, word, kind })
    })
}

fn path(word: EffectWord, allows: bool) -> BoxedStrategy<Kind> {
    let except = prop_oneof![2 => Just(Vec::new()), 1 => some(&PATTERNS, 2)];
    let content = if word == EffectWord::Read && !allows { rarely() } else { Just(false).boxed() };
    let broken = prop_oneof![15 => Just(None), 1 => Just(Some("/q/{identity.nobody}"))];
    (some(&PATTERNS, 3), except, content, broken)
        .prop_map(|(mut paths, except, content, broken)| {
            paths.extend(broken);
            Kind::Path { paths, except, content }
        })
        .boxed()
}

fn running() -> BoxedStrategy<Running> {
    let deeds = prop_oneof![3 => Just(Vec::new()), 1 => some(&Deed::ALL, 2)];
    let env = prop_oneof![3 => Just(Vec::new()), 1 => some(&["X", "Y"], 2)];
    (maybe(any::<bool>()), rarely(), deeds, rarely(), env)
        .prop_map(|(modelled, read_only, does, informational, env)| Running {
            modelled,
            read_only,
            does,
            informational,
            env,
        })
        .boxed()
}

fn words() -> BoxedStrategy<Kind> {
    let words: [&[&str]; 8] = [
        &["tool-x"],
        &["tool-x", "go"],
        &["tool-x", "go", "-n"],
        &["Tool-X", "-n"],
        &["/opt/tool-x", "go"],
        &["rm", "-rf"],
        &["git", "push"],
        &["git", "push", "-f"],
    ];
    (select(words.to_vec()), rarely(), running())
        .prop_map(|(words, exact, running)| Kind::Words { words: words.to_vec(), exact, running })
        .boxed()
}

fn program(allows: bool) -> BoxedStrategy<Kind> {
    let known = ["TOOL-X", "git", "tool-x", "rm", "tool-*", "*"];
    let names = prop_oneof![1 => Just(Vec::new()), 4 => some(if allows { &known[..4] } else { &known[2..] }, 2)];
    (names, running())
        .prop_filter("it says something", |(names, running)| !names.is_empty() || running.narrows())
        .prop_map(|(names, running)| Kind::Program { names, running })
        .boxed()
}

fn host(allows: bool) -> BoxedStrategy<Kind> {
    let hosts = some(&["a.example", "*.example", "*", "10.0.0.1", "localhost", "*.a.example"], 2);
    let hosts = if allows { hosts.prop_map(Some).boxed() } else { maybe(hosts) };
    (
        hosts,
        maybe(some(&["https", "http"], 2)),
        maybe(some(&["https", "ftp"], 2)),
        maybe(some(&[443_u16, 80], 2)),
        maybe(some(&["GET", "POST", "HEAD"], 2)),
        maybe(some(&["/", "/x", "/x/y/", "/x*"], 2)),
        if allows { Just(None).boxed() } else { maybe(some(&["private", "loopback", "link-local"], 2)) },
        maybe(select(vec!["srv", "other"])),
    )
        .prop_map(|(hosts, schemes, not_schemes, ports, methods, url_paths, addresses, server)| Host {
            hosts,
            schemes,
            not_schemes,
            ports,
            methods,
            url_paths,
            addresses,
            server,
        })
        .prop_filter("it says something", |host| {
            host.hosts.is_some()
                || host.schemes.is_some()
                || host.not_schemes.is_some()
                || host.ports.is_some()
                || host.methods.is_some()
                || host.url_paths.is_some()
                || host.addresses.is_some()
        })
        .prop_map(Kind::Host)
        .boxed()
}

fn tool(allows: bool) -> BoxedStrategy<Kind> {
    let tools = if allows { vec!["pay", "Pay", "list"] } else { vec!["pay", "p*", "*", "LIST"] };
    let servers = if allows { vec!["srv", "other"] } else { vec!["srv", "s*", "*"] };
    let condition = prop_oneof![
        select(vec![1.0, 2.5]).prop_map(Condition::Number),
        select(vec!["a", "b"]).prop_map(Condition::Text),
        some(&["a", "b", "ab1"], 2).prop_map(Condition::OneOf),
        select(vec![(Some(1.0), None), (None, Some(2.0)), (Some(1.0), Some(2.5))])
            .prop_map(|(min, max)| Condition::Within(min, max)),
        Just(Condition::Pattern),
        select(vec!["/p/a", "/p/a/b"]).prop_map(Condition::Path),
    ];
    let one = (select(vec!["x", "y", "o.x", "l.*.x", "l.*.x?"]), condition);
    let conditions = prop_oneof![
        3 => Just(Vec::new()),
        3 => prop::collection::vec(one, 1..3),
        1 => Just(vec![("x", Condition::Broken)]),
    ];
    (maybe(select(tools)), maybe(select(servers)), conditions)
        .prop_map(|(tool, server, mut conditions)| {
            conditions.sort_by_key(|(argument, _)| *argument);
            conditions.dedup_by_key(|(argument, _)| *argument);
            (tool, server, conditions)
        })
        .prop_filter("it says something", |(tool, server, conditions)| {
            tool.is_some() || server.is_some() || !conditions.is_empty()
        })
        .prop_map(|(tool, server, conditions)| Kind::Tool { tool, server, conditions })
        .boxed()
}

pub(crate) fn effects(topics: Vec<EffectWord>) -> impl Strategy<Value = Vec<Effect>> {
    let one = prop_oneof![
        12 => select(topics).prop_flat_map(effect),
        1 => Just(Effect::unknown("not understood")),
    ];
    prop::collection::vec(one, 0..6)
}

fn effect(word: EffectWord) -> BoxedStrategy<Effect> {
    let path = || select(PATHS.to_vec()).prop_map(str::to_owned);
    let glob = || select(GLOBS.to_vec()).prop_map(str::to_owned);
    let read_folder = || select(FOLDERS.to_vec()).prop_map(str::to_owned);
    // A tree is named from the project where that is a link: its real name is taken for another tree.
    let folder = || path().prop_filter("no tree below `/r`", |path| !path.starts_with("/r"));
    match word {
        EffectWord::Read | EffectWord::Unknown => prop_oneof![
            2 => path().prop_map(Effect::read),
            1 => (read_folder(), any::<bool>()).prop_map(|(path, deep)| Effect::List { path, deep, glob: false }),
            2 => (read_folder(), any::<bool>()).prop_map(|(path, asks_each)| Effect::ReadTree(tree(path, asks_each))),
            1 => glob().prop_map(|path| Effect::Read { path, glob: true }),
            1 => glob().prop_map(|path| Effect::List { path, deep: false, glob: true }),
        ]
        .boxed(),
        EffectWord::Write => prop_oneof![
            3 => (path(), rarely()).prop_map(|(path, incidental)| Effect::Write { path, incidental, glob: false }),
            1 => glob().prop_map(|path| Effect::Write { path, incidental: false, glob: true }),
        ]
        .boxed(),
        EffectWord::Delete => prop_oneof![
            3 => (folder(), any::<bool>()).prop_map(|(path, recursive)| Effect::delete(path, recursive)),
            1 => (glob(), any::<bool>()).prop_map(|(path, recursive)| Effect::Delete { path, recursive, glob: true }),
        ]
        .boxed(),
        EffectWord::Metadata => prop_oneof![
            3 => path().prop_map(Effect::metadata),
            1 => glob().prop_map(|path| Effect::Metadata { path, glob: true }),
        ]
        .boxed(),
        EffectWord::Run => run().prop_map(Effect::Run).boxed(),
        EffectWord::Connect => connect().prop_map(Effect::Connect).boxed(),
        EffectWord::Tool => called().boxed(),
    }
}

fn tree(root: String, asks_each: bool) -> Tree {
    Tree { root, asks_each, ..Tree::default() }
}

fn run() -> impl Strategy<Value = Run> {
    let runs: [(&str, &[&str], &[&str]); 12] = [
        ("tool-x", &["tool-x"], &[]),
        ("tool-x", &["tool-x", "go"], &[]),
        ("tool-x", &["tool-x", "-n", "go"], &[]),
        ("tool-x", &["tool-x", "go", "-n", "more"], &[]),
        ("TOOL-X", &["TOOL-X", "-n"], &[]),
        ("/opt/tool-x", &["/opt/tool-x", "go"], &[]),
        ("/opt/x/tool-y", &["/opt/x/tool-y"], &[]),
        ("rm", &["rm", "-fr", "a"], &["rm", "--force", "--recursive", "--", "a"]),
        ("rm", &["rm", "a"], &["rm", "--", "a"]),
        ("git", &["git", "push", "--force", "o"], &["git", "push", "--force", "--", "o"]),
        ("git", &["git", "push", "--force=x"], &["git", "push", "--force=x"]),
        ("git", &["git", "log"], &["git", "log"]),
    ];
    let deeds = prop_oneof![3 => Just(Vec::new()), 1 => some(&Deed::ALL, 2)];
    let env = prop_oneof![3 => Just(Vec::new()), 1 => some(&["X=1", "Y=2"], 2)];
    let steered = prop_oneof![4 => Just(Vec::new()), 1 => some(&["--force", "--receive-pack"], 2)];
    let rests = prop_oneof![3 => Just(Vec::new()), 2 => some(&questions(), 2)];
    (select(runs.to_vec()), any::<bool>(), deeds, env, steered, rests, rarely()).prop_map(
        |((program, argv, words), modelled, deeds, env, steered, rests_on, informational)| {
            let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
            Run {
                program: program.to_owned(),
                argv: owned(argv),
                words: owned(words),
                modelled,
                deeds,
                steered_by: owned(&steered),
                env: owned(&env),
                informational,
                rests_on,
                ..Run::default()
            }
        },
    )
}

fn questions() -> [Question; 3] {
    [
        Question::Changed { path: "/p/a".to_owned() },
        Question::Kind { path: "/p/b".to_owned() },
        Question::GitHelpers { folder: "/p".to_owned() },
    ]
}

const HOSTS: [&str; 7] =
    ["a.example", "b.a.example", "example", "10.0.0.1", "localhost", "evil-a.example", "127.0.0.1"];

fn connect() -> impl Strategy<Value = Connect> {
    (
        select(HOSTS.to_vec()),
        select(vec![443_u16, 80, 22]),
        maybe(select(vec!["https", "http", "ftp"])),
        maybe(select(vec!["/", "/x", "/x/y", "/xy", "/x/y/z"])),
        maybe(select(vec!["GET", "POST", "HEAD"])),
        maybe(select(vec!["srv", "other"])),
        rarely(),
        rarely(),
    )
        .prop_map(|(host, port, scheme, path, method, via, user_info, own)| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            Connect {
                host: host.to_owned(),
                port,
                scheme: owned(scheme),
                path: owned(path),
                method: owned(method),
                via: owned(via),
                user_info,
                own,
            }
        })
}

fn called() -> impl Strategy<Value = Effect> {
    let value = || {
        select(vec![
            json!(1),
            json!(1.0),
            json!(2.5),
            json!(7),
            json!("a"),
            json!("b"),
            json!("ab1"),
            json!("1"),
            json!(null),
            json!("/p/./a"),
            json!("a/../a/b"),
            json!(true),
            json!(["a", "b"]),
            json!([]),
        ])
    };
    let args = (maybe(value()), maybe(value()), value(), prop::collection::vec(value(), 0..3)).prop_map(
        |(x, y, inner, list)| {
            let list: Vec<Value> = list.into_iter().map(|x| json!({"x": x})).collect();
            let mut args = json!({"o": {"x": inner}, "l": list});
            x.into_iter().for_each(|x| args["x"] = x);
            y.into_iter().for_each(|y| args["y"] = y);
            args
        },
    );
    (select(vec!["pay", "list", "Pay"]), maybe(select(vec!["srv", "other"])), args).prop_map(|(tool, server, args)| {
        Effect::Tool { tool: tool.to_owned(), server: server.map(str::to_owned), args }
    })
}

const ADDRESSES: [&str; 5] = ["10.1.1.1", "127.0.0.1", "93.184.215.14", "169.254.169.254", "::1"];

/// An answer to every question that these effects raise, or that there is none.
pub(crate) fn facts() -> impl Strategy<Value = Facts> {
    let any_path = || select(PATHS.to_vec());
    let real = prop::collection::vec(
        prop_oneof![6 => Just(None), 1 => any_path().prop_map(Some), 1 => Just(Some(""))],
        PATHS.len(),
    );
    let root = prop_oneof![3 => Just("/p"), 1 => Just("/r")];
    let holds = prop::collection::vec(
        prop_oneof![1 => Just(None), 5 => subsequence(PATHS.to_vec(), 0..3).prop_map(Some)],
        PATHS.len() * 2,
    );
    let matches = prop::collection::vec(any::<bool>(), GLOBS.len());
    let addresses =
        prop::collection::vec(prop_oneof![1 => Just(None), 4 => some(&ADDRESSES, 2).prop_map(Some)], HOSTS.len());
    let definitions =
        prop::collection::vec(select(vec![Some("approved"), Some("changed"), None, Some("new"), Some("approved")]), 6);
    let rests = (
        select(vec![Some("unchanged"), Some("changed"), None]),
        select(vec![Some("none"), Some("file"), None]),
        select(vec![None, Some(vec![]), Some(vec!["hook pre-push"]), Some(vec!["hook a", "core.pager"])]),
    );
    (real, root, any::<bool>(), holds, matches, addresses, definitions, rests).prop_map(
        |(real, root, folds, holds, matches, addresses, definitions, (changed, kind, helpers))| {
            let mut facts = Facts::default();
            let list = |all: Vec<&str>| Finding::List(all.into_iter().map(str::to_owned).collect());
            for (path, real) in PATHS.iter().zip(real) {
                let answer = match real {
                    None => Some(*path),
                    Some(_) if root == "/r" && path.starts_with("/r") => Some(*path),
                    Some(other) if !other.is_empty() && FOLDERS.contains(path) => Some(*path),
                    Some("") => None,
                    other => other,
                };
                // Where the project is a link, nothing is really below its name.
                let inside = |path: &str| path.strip_prefix("/p").map(|rest| format!("{root}{rest}"));
                let answer = answer.map(|path| Finding::Text(inside(path).unwrap_or_else(|| path.to_owned())));
                facts.add(Question::RealPath { path: (*path).to_owned() }, answer);
            }
            facts.add(Question::RealPath { path: "/p".to_owned() }, Some(Finding::from(root)));
            facts.add(
                Question::CaseFolding { path: "/p".to_owned() },
                Some(Finding::from(if folds { "folds" } else { "exact" })),
            );
            for (index, holds) in holds.into_iter().enumerate() {
                let tree = tree(PATHS[index % PATHS.len()].to_owned(), index >= PATHS.len());
                facts.add(Question::Holds { tree, patterns: Vec::new() }, holds.map(list));
            }
            for (glob, known) in GLOBS.iter().zip(matches) {
                facts.add(Question::Matches { pattern: (*glob).to_owned() }, known.then(|| list(Vec::new())));
            }
            for (host, addresses) in HOSTS.iter().zip(addresses) {
                facts.add(Question::Addresses { host: (*host).to_owned() }, addresses.map(list));
            }
            let called = ["srv", "other"].iter().flat_map(|server| ["pay", "list", "Pay"].map(|tool| (*server, tool)));
            for ((server, tool), answer) in called.zip(definitions) {
                let question = Question::Definition { server: server.to_owned(), tool: tool.to_owned() };
                facts.add(question, answer.map(Finding::from));
            }
            let [on_changed, on_kind, on_helpers] = questions();
            facts.add(on_changed, changed.map(Finding::from));
            facts.add(on_kind, kind.map(Finding::from));
            facts.add(on_helpers, helpers.map(list));
            facts
        },
    )
}
