//! Tools that requests only name, from the outside: what each wire sends, what the gate and the journal see, and what a person
//! is asked.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use checkrein::approvals::Word;
use checkrein::contract::{Body, Code, Message, Status, Verdict, estimate_text};
use checkrein::gate::AnyTool;
use checkrein::providers::{Script, Server};
use checkrein::{Deferral, Front, Harness, HarnessBuilder, HarnessError, ResumeOptions, Task, tool};
use checkrein_testkit::{Lab, Record, Scripted, assert_never_called};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Article {
    /// The number of the article, as it stands on its label and in the ledger of the warehouse.
    article: String,
}

const POLICY: &str = r#"version = 1
[[rule]]
id = "move"
decision = "ask"
reason = "moving is decided by a person"
effect = "tool"
tool = "move_7"
[[rule]]
id = "never"
decision = "deny"
reason = "nobody burns anything"
effect = "tool"
tool = "burn_7"
[[rule]]
id = "look"
decision = "allow"
reason = "counting is free"
effect = "tool"
tool = "count_7"
where.article = { pattern = "a-.*" }
"#;

fn of_a_warehouse(name: String) -> impl AnyTool {
    let said =
        format!("{name}: does this with an article, and writes it down. {}", "It may take some time. ".repeat(5));
    tool(name, said, |input: Article| async move { Ok::<_, String>(format!("done with {}", input.article)) })
}

/// Two hundred tools.
fn warehouse(lab: &Lab) -> HarnessBuilder {
    let verbs = ["count", "move", "burn", "label", "reserve_for_customer"];
    let names = verbs.iter().flat_map(|verb| (0..40).map(move |n| format!("{verb}_{n}")));
    names.fold(lab.harness().policy(POLICY), |builder, name| builder.tool(of_a_warehouse(name)))
}

fn through(tool: &str, args: Value) -> Value {
    json!({ "tool": tool, "args": args })
}

/// What passes between a client and the server at this address, request by request.
struct Listening {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Listening {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, bodies) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let heard = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                pass(client, server, &heard);
            }
        });
        Self { address, bodies }
    }
}

/// One request and its answer, which ends with its connection.
fn pass(mut client: TcpStream, server: SocketAddr, heard: &Mutex<Vec<Vec<u8>>>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            head.push_str("connection: close\r\n\r\n");
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut upstream = TcpStream::connect(server).unwrap();
    upstream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    heard.lock().unwrap().push(body);
    _ = std::io::copy(&mut upstream, &mut client);
}

/// How each wire is reached, what it calls the conversation, and where its tools stand.
const WIRES: [(&str, &str); 4] =
    [("anthropic", "messages"), ("openai", "input"), ("gemini", "contents"), ("compatible", "messages")];

/// A request without its conversation and what is left of the budget, and the messages one by one; as bytes.
fn taken_apart(body: &[u8], conversation: &str) -> (String, Vec<String>) {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    let map = body.as_object_mut().unwrap();
    let said = map.remove(conversation).unwrap();
    for ceiling in ["max_tokens", "max_output_tokens", "max_completion_tokens", "generationConfig"] {
        map.remove(ceiling);
    }
    let said = said.as_array().unwrap().iter().map(|message| {
        let mut message = message.clone();
        without_marks(&mut message);
        message.to_string()
    });
    (body.to_string(), said.collect())
}

/// A mark says how far a provider may keep what it read; it moves, and is no part of what is read.
fn without_marks(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        _ => {}
    }
}

/// Shows R39: on each of the four wires two hundred tools cost less than 2,000 tokens, and what is looked up, and called, leaves
/// every byte of the requests before as it was: instructions, tools, messages.
#[tokio::test]
async fn a_look_up_leaves_the_prefix_as_it_was() {
    let steps = [
        json!({ "calls": [{ "tool": "find_tools", "args": { "query": "count 7" } }] }),
        json!({ "calls": [{ "tool": "call_tool", "args": through("count_7", json!({ "article": "a-1" })) },
                          { "tool": "find_tools", "args": { "names": ["label_3"] } }] }),
        json!({ "when": { "tool_result": "call_tool", "contains": "done with a-1" },
                "calls": [{ "tool": "count_7", "args": { "article": "a-2" } }] }),
        json!({ "when": { "tool_result": "count_7", "contains": "done with a-2" }, "text": "Counted." }),
    ];
    for (wire, conversation) in WIRES {
        let script = Script::of_steps(&steps).unwrap();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), script, "some-model", Vec::new(), Box::new(|_| {}));
        let server = server.await.unwrap();
        let listening = Listening::before(server.address());
        let address = format!("http://{}", listening.address);
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(server.run(async move { _ = ended.await }));
        let model = match wire {
            "compatible" => format!("compatible:{address}/v1#some-model"),
            _ => format!("{wire}:some-model"),
        };
        let told = [
            ("ANTHROPIC_BASE_URL", address.clone()),
            ("OPENAI_BASE_URL", format!("{address}/v1")),
            ("GOOGLE_GEMINI_BASE_URL", address),
            ("ANTHROPIC_API_KEY", "key-of-nobody-4711".to_owned()),
            ("OPENAI_API_KEY", "key-of-nobody-4711".to_owned()),
            ("GEMINI_API_KEY", "key-of-nobody-4711".to_owned()),
        ];
        let environment = told.map(|(name, value)| (name.to_owned(), value));
        let lab = Lab::new();
        let harness = warehouse(&lab).environment(environment).model(model).build().unwrap();
        let outcome = harness.run("Count a-1.").await.unwrap();
        assert_eq!((outcome.status, outcome.answer.as_deref()), (Status::Completed, Some("Counted.")), "{wire}");
        assert_eq!(outcome.tool_runs["count_7"], 2, "{wire}");
        _ = end.send(());
        serving.await.unwrap();
        let bodies = listening.bodies.lock().unwrap().clone();
        assert_eq!(bodies.len(), 4, "{wire}");
        for body in &bodies {
            let parsed: Value = serde_json::from_slice(body).unwrap();
            assert_eq!(parsed.to_string().as_bytes(), body, "{wire}: what is compared are its bytes");
            let cost = estimate_text(&parsed["tools"].to_string());
            assert!(cost < 2_000, "{wire}: {cost} tokens for {}", parsed["tools"]);
        }
        let taken: Vec<(String, Vec<String>)> = bodies.iter().map(|body| taken_apart(body, conversation)).collect();
        for pair in taken.windows(2) {
            let [(frame, before), (then, after)] = pair else { panic!("two of them") };
            assert_eq!(frame, then, "{wire}: instructions and tools");
            assert!(after.len() > before.len() && after.starts_with(before), "{wire}: {before:?} {after:?}");
        }
        if wire == "gemini" {
            let last = taken[3].1.join("\n");
            for name in ["find_tools", "call_tool", "count_7"] {
                let names = last.matches(&format!("\"name\":\"{name}\"")).count();
                assert_eq!(names % 2, 0, "a call and its result have one name: {last}");
            }
        }
    }
}

fn deferring(lab: &Lab, model: &Scripted) -> Harness {
    warehouse(lab).provider(model.clone()).build().unwrap()
}

fn answer_of(model: &Scripted, request: usize) -> String {
    let requests = model.requests();
    let Some(Message::Tool { results }) = requests[request].messages.last().map(|message| &**message) else {
        panic!("{:?}", requests[request].messages)
    };
    results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Shows R39: whatever a model makes of `call_tool`, it is a call of the tool it names, judged as such, or is told what to do.
#[tokio::test]
async fn what_models_make_of_it() {
    let lab = Lab::new();
    let model = Scripted::new()
        .calls("call_tool", through("count_7", json!({})))
        .calls("call_tool", through("call_tool", through("count_7", json!({ "article": "a-1" }))))
        .calls("call_tool", through("cuont_7", json!({ "article": "a-1" })))
        .calls("call_tool", json!({ "tool": "count_7", "article": "a-1" }))
        .calls("call_tool", json!({ "tool": "count_7", "args": "{\"article\": \"a-1\"}" }))
        .calls("call_tool", json!({ "tool": "count_7", "args": "a-1" }))
        .calls("call_tool", through("burn_7", json!({ "article": "a-1" })))
        .calls("call_tool", through("verify_file", json!({ "file": "a", "contains": "b" })))
        .calls("find_tools", json!({ "query": "x".repeat(10_000) }))
        .garbles("call_tool", "{\"tool\": ")
        .says("Done.");
    let harness = deferring(&lab, &model);
    let outcome = harness.run("Count.").await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{}", outcome.reason);
    let record = Record::of(&harness, &outcome.session);
    let said: Vec<(String, Option<Verdict>, bool, Option<Code>)> =
        record.calls().iter().map(|call| (call.tool.clone(), call.verdict, call.started, call.code)).collect();
    let (deny, allow) = (Some(Verdict::Deny), Some(Verdict::Allow));
    let expected = [
        ("count_7", deny, false, Some(Code::InvalidArgs)),
        ("call_tool", allow, true, Some(Code::InvalidArgs)),
        ("cuont_7", deny, false, Some(Code::UnknownTool)),
        ("call_tool", deny, false, Some(Code::InvalidArgs)),
        ("count_7", allow, true, None),
        ("count_7", deny, false, Some(Code::InvalidArgs)),
        ("burn_7", deny, false, Some(Code::Denied)),
        ("verify_file", deny, false, Some(Code::UnknownTool)),
        ("find_tools", deny, false, Some(Code::InvalidArgs)),
        ("call_tool", deny, false, Some(Code::InvalidArgs)),
    ];
    assert_eq!(said, expected.map(|(tool, verdict, started, code)| (tool.to_owned(), verdict, started, code)));
    assert!(answer_of(&model, 1).contains("`find_tools` with the name `count_7` shows what it takes"));
    assert!(answer_of(&model, 2).contains("calls other tools, not itself"));
    let unknown = answer_of(&model, 3);
    assert!(unknown.contains("nearest first: count_7, ") && unknown.len() < 600, "{unknown}");
    assert!(answer_of(&model, 4).contains("/article"), "{}", answer_of(&model, 4));
    assert!(answer_of(&model, 6).contains("not JSON"), "{}", answer_of(&model, 6));
    let burnt = answer_of(&model, 7);
    assert!(burnt.contains("nobody burns anything"), "{burnt}");
    assert!(model.requests().iter().all(|request| request.tools.len() == 2), "nothing is declared later");
}

/// Shows R39, R169: a call through it that needs a yes waits under the tool's own name and arguments, the yes is for those, and
/// another process goes on with it; what is looked up is no step towards any permission.
#[tokio::test]
async fn a_person_is_asked_about_the_tool_itself() {
    let lab = Lab::new();
    let model = Scripted::new()
        .calls("find_tools", json!({ "names": ["move_7"] }))
        .calls("call_tool", through("move_7", json!({ "article": "a-1" })))
        .step(json!({ "when": { "tool_result": "call_tool", "contains": "done with a-1" }, "text": "Moved." }));
    let harness = deferring(&lab, &model);
    let asked = harness.run("Move a-1.").await.unwrap();
    assert_eq!(asked.status, Status::NeedsApproval);
    assert_never_called!(Record::of(&harness, &asked.session), "move_7");
    let again = deferring(&lab, &model);
    assert_eq!(again.differences(&asked.session).unwrap(), []);
    let listed = again.approvals().unwrap();
    let request = listed[0].request();
    assert_eq!((request.tool.as_str(), &request.arguments), ("move_7", &json!({ "article": "a-1" })));
    again.answer(&asked.approvals[0], "dana", &Word::Approve { for_ms: None }).unwrap();
    let mut session = again.resume(&asked.session, &ResumeOptions::default(), Front::default()).unwrap();
    let done = session.drive().await.unwrap();
    assert_eq!((done.status, done.answer.as_deref(), done.tool_runs["move_7"]), (Status::Completed, Some("Moved."), 1));
}

/// Shows R39: who says what is deferred, and what happens where that is another choice, or a tool another one, when a session
/// is taken up again.
#[tokio::test]
async fn a_session_keeps_its_choice() {
    let lab = Lab::new();
    let model = Scripted::new()
        .calls("call_tool", through("move_7", json!({ "article": "a-1" })))
        .step(json!({ "when": { "tool_result": "call_tool", "contains": "done" }, "text": "Moved." }));
    let two = |deferral: Deferral, said: &'static str| {
        let build = lab.harness().policy(POLICY_OF_TWO).provider(model.clone()).deferral(deferral);
        let other = tool("count_7", said, |_: Article| async { Ok::<_, String>("3") });
        build.tool(of_a_warehouse("move_7".to_owned())).tool(other)
    };
    assert!(matches!(two(Deferral::of(["mvoe_7"]), "Counts.").build(), Err(HarnessError::File(error))
        if error.near.as_deref() == Some("move_7")));
    let plain = two(Deferral::default(), "Counts.").build().unwrap().tools(&Task::new("x")).unwrap();
    assert_eq!((plain.deferred.len(), plain.tools.len()), (0, 2), "so few are described");
    let harness = two(Deferral::of(["move_7", "count_7"]), "Counts.").build().unwrap();
    let asked = harness.run("Move a-1.").await.unwrap();
    assert_eq!(asked.status, Status::NeedsApproval);
    let never = two(Deferral::Never, "Counts.").build().unwrap();
    let different = never.differences(&asked.session).unwrap();
    let said: Vec<(&str, &str, &str)> =
        different.iter().map(|one| (one.what.as_str(), one.old.as_str(), one.new.as_str())).collect();
    let what = "which tools are only named until they are looked up is another choice";
    assert_eq!(said, [(what, "count_7\nmove_7\n", "")]);
    let told = two(Deferral::Never, "Counts articles.").build().unwrap();
    told.answer(&asked.approvals[0], "dana", &Word::Approve { for_ms: None }).unwrap();
    let mut session = told.resume(&asked.session, &ResumeOptions::default(), Front::default()).unwrap();
    let done = session.drive().await.unwrap();
    assert_eq!((done.status, done.answer.as_deref()), (Status::Completed, Some("Moved.")), "{}", done.reason);
    let last = model.requests().last().cloned().unwrap();
    let declared: Vec<&str> = last.tools.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(declared, ["call_tool", "find_tools"], "it goes on as it began");
    assert!(last.tools[1].description.contains("count_7: Counts articles"), "{}", last.tools[1].description);
    let events = told.store.read(&asked.session, 1).unwrap();
    assert!(events.iter().any(|event| matches!(&event.body, Body::Recomposed(change) if change.deferred.is_none())));
}

const POLICY_OF_TWO: &str = r#"version = 1
[[rule]]
id = "move"
decision = "ask"
reason = "moving is decided by a person"
effect = "tool"
tool = "move_7"
"#;

/// Shows R39, R136: a part of the work that is given away has the same tools in the same way, and of those only its own.
#[tokio::test]
async fn a_sub_session_defers_as_well() {
    let lab = Lab::new();
    let model = Scripted::new()
        .calls("task", json!({ "prompt": "Count a-1.", "may": "work" }))
        .step(json!({ "sub": 1, "calls": [{ "tool": "call_tool", "args": through("count_7", json!({ "article": "a-1" })) }] }))
        .step(json!({ "sub": 1, "text": "Counted." }))
        .says("Done.");
    let harness = warehouse(&lab).shipped(["task"]).provider(model.clone()).build().unwrap();
    let outcome = harness.run("Count.").await.unwrap();
    assert_eq!((outcome.status, outcome.answer.as_deref()), (Status::Completed, Some("Done.")), "{}", outcome.reason);
    let offered: BTreeSet<Vec<String>> =
        model.requests().iter().map(|request| request.tools.iter().map(|spec| spec.name.clone()).collect()).collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = [names(&["call_tool", "find_tools"]), names(&["call_tool", "find_tools", "task"])];
    assert_eq!(offered.into_iter().collect::<Vec<_>>(), expected);
}
