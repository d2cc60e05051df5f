//! The key: whatever is in a request counts. What is altered is found by walking the canonical request, so that a field that
//! is new is altered too.

use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;

use super::*;

/// Every leaf of a value, as JSON Pointers.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    let below = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, value)| leaves(value, &below(name), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(n, value)| leaves(value, &below(&n.to_string()), found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// Another value of the same kind.
fn other(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(format!("{text}x")),
        Value::Bool(bool) => json!(!bool),
        Value::Number(number) => json!(number.as_u64().unwrap_or(0) + 1),
        Value::Null => json!(0),
        Value::Array(_) | Value::Object(_) => Value::Null,
    }
}

/// Alters a request where it becomes canonical: what is sent is another one, in this place and no other. What is kept of a
/// request is made of everything but its messages, and of these one by one.
struct Altered {
    place: String,
    messages: AtomicUsize,
}

impl Altered {
    fn at(place: &str) -> Arc<Self> {
        Arc::new(Self { place: place.to_owned(), messages: AtomicUsize::new(0) })
    }
}

impl Scrub for Altered {
    fn hide(&self, mut value: Value) -> Value {
        let leaf = if value.get("max_output_tokens").is_some() {
            value.pointer_mut(&self.place)
        } else {
            let number = self.messages.fetch_add(1, Ordering::Relaxed);
            let below = self.place.strip_prefix(&format!("/messages/{number}"));
            below.filter(|below| below.starts_with('/')).and_then(|below| value.pointer_mut(below))
        };
        if let Some(leaf) = leaf {
            *leaf = other(leaf);
        }
        value
    }

    fn show(&self, value: Value) -> Value {
        value
    }
}

/// The request of each row, put together by a second pair of hands.
fn requests(text: &str) -> Vec<ModelRequest> {
    let mut found: Vec<Value> = Vec::new();
    for line in text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if line["row"] != "model" {
            continue;
        }
        let request = &line["request"];
        let whole = match request.get("whole") {
            Some(whole) => whole.clone(),
            None => {
                let mut whole = found.iter().rev().find(|whole| whole["lane"] == line["lane"]).unwrap().clone();
                let more = request["more"].as_array().unwrap().clone();
                whole["messages"].as_array_mut().unwrap().extend(more);
                for (name, value) in request.get("set").and_then(Value::as_object).into_iter().flatten() {
                    whole[name] = value.clone();
                }
                whole
            }
        };
        let mut whole = whole;
        whole["lane"] = line["lane"].clone();
        found.push(whole);
    }
    found.iter().map(request_of).collect()
}

fn request_of(whole: &Value) -> ModelRequest {
    let text = |name: &str| whole[name].as_str().unwrap().to_owned();
    let messages: Vec<Message> = serde_json::from_value(whole["messages"].clone()).unwrap();
    ModelRequest {
        model: text("model"),
        system: text("system"),
        tools: serde_json::from_value(whole["tools"].clone()).unwrap(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tool_choice: if whole["tool_choice"] == "none" { ToolChoice::None } else { ToolChoice::Auto },
        max_output_tokens: u32::try_from(whole["max_output_tokens"].as_u64().unwrap()).unwrap(),
        lane: serde_json::from_value(whole["lane"].clone()).unwrap(),
        provider: Value::Null,
    }
}

/// Every cassette of the repository, and those of the wires.
fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cassettes");
    let mut all: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    assert!(all.len() >= 3, "{all:?}");
    all.extend(streams().map(|(kind, stream)| (kind.to_owned(), recorded(kind, stream).1)));
    all
}

/// Every request of every cassette hits as it is; with any one leaf altered, none does. Shows R192.
#[test]
fn one_leaf_altered_in_any_request_is_a_miss() {
    let mut altered = 0;
    for (name, text) in corpus() {
        let cassette = Arc::new(Cassette::read(&text).unwrap());
        let all = requests(&text);
        // Whatever was asked before: what is kept of earlier messages is not mistaken for that of others.
        let plain = player(&text, Arc::new(Nothing));
        for request in all.iter().chain(all.iter().rev()) {
            let hit = say(&plain, request).0;
            assert!(!hit.is_err_and(|error| error.fault == ProviderFault::CassetteMiss), "{name}");
        }
        for request in all {
            let mut places = Vec::new();
            leaves(&serde_json::to_value(&request).unwrap(), "", &mut places);
            for place in places {
                let player = CassettePlayer::new(Arc::clone(&cassette), "c", Altered::at(&place));
                let error = say(&player, &request).0.unwrap_err();
                assert_eq!(error.fault, ProviderFault::CassetteMiss, "{name}: {place}: {error}");
                altered += 1;
            }
        }
    }
    assert!(altered > 1_000, "{altered}");
}

/// Each field of a request is part of its key, or it is known why not: a field that is new does not compile here.
#[test]
fn every_field_is_accounted_for() {
    let (model, text) = recorded("anthropic", anthropic::STREAM);
    let player = player(&text, Arc::new(Nothing));
    let request = first(&model);
    let ModelRequest { model: _, system, tools, messages, tool_choice: _, max_output_tokens, lane, provider: _ } =
        request.clone();
    let mut fewer = tools.clone();
    fewer.pop();
    let mut schema = tools.clone();
    schema[0].parameters["properties"]["depth"]["maximum"] = json!(8);
    let mut described = tools;
    described[0].description.push('!');
    let harness = Message::User { text: "What is there?".to_owned(), harness: true };
    let longer: Vec<_> = messages.iter().cloned().chain([Arc::new(user("And?"))]).collect();
    let changed = [
        ModelRequest { model: "anthropic:other".to_owned(), ..request.clone() },
        ModelRequest { system: format!("{system} "), ..request.clone() },
        ModelRequest { tools: fewer, ..request.clone() },
        ModelRequest { tools: described, ..request.clone() },
        ModelRequest { tools: schema, ..request.clone() },
        ModelRequest { messages: vec![Arc::new(harness)], ..request.clone() },
        ModelRequest { messages: longer, ..request.clone() },
        ModelRequest { tool_choice: ToolChoice::None, ..request.clone() },
        ModelRequest { max_output_tokens: max_output_tokens - 1, ..request.clone() },
        ModelRequest { lane: lane.child(1), ..request.clone() },
    ];
    let said = changed.map(|changed| {
        let error = say(&player, &changed).0.unwrap_err();
        assert_eq!(error.fault, ProviderFault::CassetteMiss);
        error.message
    });
    assert_snapshot!(said.join("\n"));
    // What a provider wants back is not what the model sees.
    let with = ModelRequest { provider: json!({ "wire": 1 }), ..request };
    assert_eq!(say(&player, &with).0.unwrap_err().fault, ProviderFault::RateLimited);
}

/// One request has one spelling.
#[test]
fn a_key_has_one_spelling() {
    let (model, text) = recorded("anthropic", anthropic::STREAM);
    let mut request = first(&model);
    let turned: serde_json::Map<String, Value> =
        request.tools[0].parameters.as_object().unwrap().clone().into_iter().rev().collect();
    request.tools[0].parameters = Value::Object(turned);
    let error = say(&player(&text, Arc::new(Nothing)), &request).0.unwrap_err();
    assert_eq!(error.fault, ProviderFault::RateLimited, "the order of keys means nothing: {error}");
}
