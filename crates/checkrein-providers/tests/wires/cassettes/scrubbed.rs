//! What must not be in a cassette is not, however it comes; what names of places stand for comes back.

use super::*;

const SECRET: &str = "correct-horse-4711";

/// Takes one secret out, and gives one place a name.
struct Cleans {
    place: &'static str,
}

impl Scrub for Cleans {
    fn hide(&self, value: Value) -> Value {
        let text = value.to_string().replace(SECRET, "[redacted:x]").replace(self.place, "[place:root]");
        serde_json::from_str(&text).unwrap()
    }

    fn show(&self, value: Value) -> Value {
        serde_json::from_str(&value.to_string().replace("[place:root]", self.place)).unwrap()
    }
}

fn record(stream: &str, scrub: Arc<dyn Scrub>) -> (String, ModelReply, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let server = playing(Answer::stream(stream));
    let (live, model) = live("compatible", &server);
    let reply = say(&recorder(live, &path, scrub), &asked(&model, "/one/place")).0.unwrap();
    (model, reply, std::fs::read_to_string(&path).unwrap())
}

fn asked(model: &str, place: &str) -> ModelRequest {
    let text = format!("Look into {place}/a with {SECRET}.");
    ModelRequest { messages: vec![Arc::new(user(&text))], ..first(model) }
}

/// A stream that says this in these pieces, and reads a file.
fn saying(pieces: &[&str], path: &str) -> String {
    let mut out = String::new();
    for piece in pieces {
        out += &format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": piece } }] }));
    }
    let args = json!({ "path": path }).to_string();
    let call = json!({ "index": 0, "id": "x", "function": { "name": "look", "arguments": args } });
    out += &format!("data: {}\n\n", json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }));
    out += &format!("data: {}\n\n", json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }));
    out + "data: [DONE]\n\n"
}

#[test]
fn a_secret_and_a_place_are_taken_out_of_bytes_too() {
    let stream = saying(&["I use ", &format!("{SECRET} in /one/place")], "/one/place/a");
    let (model, live, text) = record(&stream, Arc::new(Cleans { place: "/one/place" }));
    assert!(live.text.contains(SECRET), "the session has it as it came");
    assert!(!text.contains(SECRET) && !text.contains("/one/place"), "{text}");
    assert!(text.contains("\"body\":{\"text\":"), "the bytes are there, without it: {text}");
    // Somewhere else the same is asked and answered with the places there.
    let elsewhere = player(&text, Arc::new(Cleans { place: "/another" }));
    let (reply, shown) = say(&elsewhere, &asked(&model, "/another"));
    let reply = reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), shown.as_str()),
        ("I use [redacted:x] in /another", "I use [redacted:x] in /another")
    );
    assert_eq!(reply.calls, [raw("look", "{\"path\":\"/another/a\"}")]);
    let miss = say(&elsewhere, &asked(&model, "/other")).0.unwrap_err();
    assert_eq!(miss.fault, ProviderFault::CassetteMiss, "a place that is not this one is a text like any other");
}

/// A secret whose halves came in two events is in neither; the bytes would still give it away, so they are withheld.
#[test]
fn a_secret_across_pieces_is_not_kept_in_halves() {
    let (head, tail) = SECRET.split_at(9);
    let stream = saying(&["I use ", head, tail, " now"], "a");
    let (model, _, text) = record(&stream, Arc::new(Cleans { place: "/one/place" }));
    assert!(!text.contains(head) && !text.contains(tail), "{text}");
    assert!(text.contains("\"body\":\"withheld\""), "{text}");
    let cassette = Cassette::read(&text).unwrap();
    assert_eq!(cassette.withheld(), 1);
    let scrub = Arc::new(Cleans { place: "/one/place" });
    let (reply, shown) = say(&player(&text, scrub), &asked(&model, "/one/place"));
    assert_eq!((reply.unwrap().text.as_str(), shown.as_str()), ("I use [redacted:x] now", "I use [redacted:x] now"));
}

/// What is found in a file that somebody put there by hand: a secret, an answer that reads otherwise, a reply that leads nowhere.
#[test]
fn a_file_is_looked_through() {
    let stream = saying(&["I look"], "a");
    let (_, _, text) = record(&stream, Arc::new(Cleans { place: "/one/place" }));
    let scrub = Cleans { place: "/one/place" };
    let flaws = |text: &str| Cassette::read(text).unwrap().flaws(text, &scrub);
    assert_eq!(flaws(&text), []);
    let planted = text.replacen("I look", SECRET, 1);
    let found: Vec<String> = flaws(&planted).into_iter().map(|flaw| format!("{}: {}", flaw.line, flaw.what)).collect();
    assert_eq!(found[0], "2: a secret, or the place of a person, is in it");
    // The first is in the bytes, the second in what was made of them.
    let other = flaws(&text.replacen("I look", "I hook", 1));
    assert!(
        other.len() == 1 && other[0].what.ends_with("read as another reply than the one that is recorded"),
        "{other:?}"
    );
}
