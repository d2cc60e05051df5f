//! Cassettes of every wire: recorded from a server on loopback, played without it, and held against whatever could make a
//! replay say yes where it must say no.

mod keys;
mod lanes;
mod scrubbed;

use std::path::Path;
use std::sync::Arc;

use checkrein_contract::{CallKind, Digest, ModelRequest, Provider, ProviderError};
use checkrein_providers::{
    AnsweredBy as Who, Cassette, CassettePlayer, CassetteWriter, Digests, Header, KindOf, Live, PARSER, Recorder,
    Scrub, TaskRef,
};

use super::*;

/// A scrub that has nothing to do.
pub(super) struct Nothing;

impl Scrub for Nothing {
    fn hide(&self, value: Value) -> Value {
        value
    }

    fn show(&self, value: Value) -> Value {
        value
    }
}

pub(super) fn header(model: &str, server: Who) -> Header {
    let digest = Digest::of(b"");
    Header {
        version: Header::VERSION,
        harness: "0".to_owned(),
        recorded_at: Header::time(1_796_000_000_000),
        model: model.to_owned(),
        answered: Vec::new(),
        server,
        task: TaskRef::Words("Look.".to_owned()),
        digests: Digests { config: digest.clone(), tools: digest.clone(), policy: digest.clone(), system: digest },
        detectors: "0".to_owned(),
        parser: PARSER,
        rekeyed: Vec::new(),
    }
}

pub(super) fn kinds_of() -> KindOf {
    Arc::new(|tool, _| (tool == "look").then_some(CallKind::Pure))
}

/// Records into this file what a live model answers.
pub(super) fn recorder(live: Live, path: &Path, scrub: Arc<dyn Scrub>) -> Recorder {
    let header = header(live.provider().model(), live.server());
    Recorder::new(live, CassetteWriter::begin(path, header, scrub, kinds_of()).unwrap())
}

pub(super) fn player(text: &str, scrub: Arc<dyn Scrub>) -> CassettePlayer {
    CassettePlayer::new(Arc::new(Cassette::read(text).unwrap()), "replay:c.jsonl", scrub)
}

/// One request; beside what came of it, what was streamed.
pub(super) fn say(provider: &dyn Provider, request: &ModelRequest) -> (Result<ModelReply, ProviderError>, String) {
    let mut shown = String::new();
    let mut on_delta = |delta: Delta<'_>| match delta {
        Delta::Text(piece) => shown.push_str(piece),
        Delta::Void => shown.clear(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reply = runtime.block_on(provider.complete(request, &mut on_delta));
    (reply, shown)
}

pub(super) fn first(model: &str) -> ModelRequest {
    ModelRequest { model: model.to_owned(), ..request() }
}

/// The request behind a reply, as a session sends it.
pub(super) fn next(model: &str, reply: &ModelReply) -> ModelRequest {
    ModelRequest { model: model.to_owned(), ..follow_up(reply) }
}

/// The same request again, behind a failure.
pub(super) fn again(request: &ModelRequest, error: &ProviderError) -> ModelRequest {
    ModelRequest { provider: error.provider.clone(), ..request.clone() }
}

pub(super) fn streams() -> [(&'static str, &'static str); 4] {
    [
        ("anthropic", anthropic::STREAM),
        ("compatible", chat::STREAM),
        ("gemini", gemini::STREAM),
        ("openai", responses::STREAM),
    ]
}

pub(super) fn live(kind: &str, server: &Server) -> (Live, String) {
    let live = Live::Wire(Arc::new(open(kind, &server.address)));
    let model = live.provider().model().to_owned();
    (live, model)
}

/// A cassette of a busy server, a stream that breaks off, a reply and the one to its follow-up.
fn recorded(kind: &str, stream: &'static str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let server = Server::new(move |n| match n {
        0 => Answer::error(429, "{\"error\":{\"message\":\"busy\"}}").header("retry-after", "7"),
        1 => Answer::stream(stream).in_pieces(50).cut(stream.len() / 2, End::Closed),
        _ => Answer::stream(stream),
    });
    let (live, model) = live(kind, &server);
    let recorder = recorder(live, &path, Arc::new(Nothing));
    let request = first(&model);
    let busy = say(&recorder, &request).0.unwrap_err();
    let broken = say(&recorder, &again(&request, &busy)).0.unwrap_err();
    let reply = say(&recorder, &again(&request, &broken)).0.unwrap();
    say(&recorder, &next(&model, &reply)).0.unwrap();
    (model, std::fs::read_to_string(&path).unwrap())
}

/// What was recorded is played, to the byte, with no server: failures, what was seen of a reply that broke off, the replies,
/// what goes back with them. Shows R191.
#[test]
fn what_is_recorded_is_played() {
    for (kind, stream) in streams() {
        let (model, text) = recorded(kind, stream);
        let player = player(&text, Arc::new(Nothing));
        assert!(player.model() == model && player.virtual_time());
        let request = first(&model);
        let (busy, _) = say(&player, &request);
        let busy = busy.unwrap_err();
        assert_eq!((busy.fault, busy.retry_after_ms), (ProviderFault::RateLimited, Some(7000)), "{kind}");
        assert!(player.close(&busy.provider).unwrap_err().message.contains("row 2 (line "), "three rows are unused");
        let (broken, shown) = say(&player, &again(&request, &busy));
        let broken = broken.unwrap_err();
        assert_eq!(broken.fault, ProviderFault::Broken, "{kind}: {broken}");
        let (reply, whole) = say(&player, &again(&request, &broken));
        let reply = reply.unwrap();
        assert!(whole == reply.text && whole.starts_with(&shown), "{kind}: {shown}");
        let live = reply_to(kind, stream);
        assert_eq!((&reply.text, &reply.calls, reply.usage), (&live.text, &live.calls, live.usage));
        assert_eq!(reply.provider[kind], live.provider[kind], "what the vendor wants back");
        let (second, _) = say(&player, &next(&model, &reply));
        player.close(&second.unwrap().provider).unwrap();
        // A process that knows nothing but what came back goes on where another one stopped.
        let other = cassettes::player(&text, Arc::new(Nothing));
        say(&other, &next(&model, &reply)).0.unwrap();
    }
}

/// Recording again gives the same bytes, but for how the network cut them.
#[test]
fn two_recordings_are_the_same() {
    for (kind, stream) in streams() {
        let (model, text) = recorded(kind, stream);
        let (other, again) = recorded(kind, stream);
        let steady = |text: &str, model: &str| {
            let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            for line in &mut lines {
                if let Some(answer) = line.get_mut("answer").and_then(Value::as_object_mut) {
                    answer.remove("pieces");
                }
                // The server of `compatible` is in the model's name, and so in every key.
                line.as_object_mut().unwrap().remove("key");
            }
            json!(lines).to_string().replace(model, "MODEL")
        };
        assert_eq!(steady(&text, &model), steady(&again, &other), "{kind}");
    }
}

/// However the bytes of an answer are cut, they are the same reply; bytes that are not are an error, never another reply.
#[test]
fn every_cut_reads_the_same() {
    for (kind, stream) in streams() {
        let (model, text) = recorded(kind, stream);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let at = lines.iter().position(|line| line["outcome"].get("reply").is_some()).unwrap();
        let request = ModelRequest { provider: json!({ "cassette": { "at": 2 } }), ..first(&model) };
        let with = |change: &dyn Fn(&mut Value)| {
            let mut lines = lines.clone();
            change(&mut lines[at]["answer"]);
            lines.iter().map(|line| format!("{line}\n")).collect::<String>()
        };
        let whole = say(&player(&text, Arc::new(Nothing)), &request);
        let bytes = lines[at]["answer"]["body"]["text"].as_str().unwrap().len();
        for cut in 0..=bytes {
            let text = with(&|answer| answer["pieces"] = json!([cut, bytes - cut]));
            assert_eq!(say(&player(&text, Arc::new(Nothing)), &request), whole, "{kind}, cut at {cut}");
        }
        let wrong = with(&|answer| answer["pieces"] = json!([bytes + 1]));
        let error = say(&player(&wrong, Arc::new(Nothing)), &request).0.unwrap_err();
        assert_eq!(error.fault, ProviderFault::CassetteBroken);
        let other = with(&|answer| {
            let body = answer["body"]["text"].as_str().unwrap().replace("look", "Look");
            answer["body"]["text"] = json!(body);
        });
        let error = say(&player(&other, Arc::new(Nothing)), &request).0.unwrap_err();
        assert!(error.message.ends_with("read as another reply than the one that is recorded"), "{error}");
        assert_eq!((error.fault, error.can_retry()), (ProviderFault::CassetteBroken, false));
    }
}

/// What kind of key there was is recorded, and never which.
#[test]
fn of_a_key_only_its_kind_is_kept() {
    for (status, class) in [(401, "invalid"), (403, "invalid"), (500, "present")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.jsonl");
        let body = json!({ "error": { "message": format!("no: {KEY}") } }).to_string();
        let server = playing(Answer::error(status, &body));
        let (live, model) = live("anthropic", &server);
        let error = say(&recorder(live, &path, Arc::new(Nothing)), &first(&model)).0.unwrap_err();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("\"credential\":\"{class}\"")) && !text.contains(KEY), "{text}");
        assert!(text.contains("no: [key]"), "the server's words are kept, without the key: {text}");
        let played = say(&player(&text, Arc::new(Nothing)), &first(&model)).0.unwrap_err();
        assert_eq!(played, error, "a key that was not taken is played as such");
    }
    let server = playing(Answer::stream(chat::STREAM));
    let none = WireProvider::open(&format!("compatible:{}/v1#m", server.address), |_| None, Patience::default());
    let live = Live::Wire(Arc::new(none.unwrap()));
    let (folder, model) = (tempfile::tempdir().unwrap(), live.provider().model().to_owned());
    let path = folder.path().join("c.jsonl");
    say(&recorder(live, &path, Arc::new(Nothing)), &first(&model)).0.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"credential\":\"absent\"") && text.contains("\"server\":\"loopback\""), "{text}");
    assert!(text.contains("\"answered\":[\"some-model\"]") || text.contains("\"answered\":["), "{text}");
}

/// What a person changed by hand, or another version wrote, is not played.
#[test]
fn a_file_that_does_not_fit_is_refused() {
    let (_, text) = recorded("anthropic", anthropic::STREAM);
    let wrong = |text: &str| Cassette::read(text).unwrap_err();
    assert_eq!(wrong(""), "the file is empty");
    assert_eq!(wrong("{\"row\":\"tool\"}\n").split(':').next(), Some("line 1"));
    assert_eq!(
        wrong(&text.replacen("\"version\":1", "\"version\":2", 1)),
        "line 1: version 2 is not known here; this program reads version 1"
    );
    assert!(wrong(&text.replacen("\"parser\":", "\"parsed\":", 1)).starts_with("line 1: unknown field `parsed`"));
    let edited = text.replacen("What is there?", "What is here?", 1);
    assert_eq!(wrong(&edited), "line 2: the key is not that of this request: the row was changed by hand");
    let lines: Vec<&str> = text.lines().collect();
    let without = [lines[0], lines[2]].join("\n");
    assert_eq!(wrong(&without), "line 2: row 2 of lane main stands where row 1 has to");
    assert_eq!(wrong(&[lines[0], lines[0]].join("\n")), "line 2: a cassette begins once");
    assert_eq!(wrong(lines[1]), "line 1: no cassette begins like this");
    let cut = text[..text.len() - 20].to_owned();
    assert!(wrong(&cut).starts_with(&format!("line {}: EOF while parsing", lines.len())), "{}", wrong(&cut));
}
