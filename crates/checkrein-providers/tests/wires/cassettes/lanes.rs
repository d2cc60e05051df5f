//! Lanes and order: rows of one lane in the order of their keys, lanes in any; what is recorded and not asked for is an error.

use checkrein_contract::BoxFuture;

use super::*;

/// A model that says what it was asked, and fails first where it is told to.
struct Echo;

impl Provider for Echo {
    fn model(&self) -> &str {
        "echo"
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        _on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        let Some(Message::User { text, .. }) = request.messages.last().map(|message| &**message) else { panic!() };
        let text = format!("{} heard {text}", request.lane);
        Box::pin(async move {
            Ok(ModelReply {
                text,
                calls: Vec::new(),
                stop: StopReason::End,
                usage: None,
                virtual_ms: 0,
                provider: json!([1]),
            })
        })
    }
}

fn asking(lane: &Lane, words: &[&str], provider: Value) -> ModelRequest {
    let messages = words.iter().map(|word| Arc::new(user(word))).collect();
    ModelRequest { messages, lane: lane.clone(), provider, ..first("echo") }
}

/// Records two requests on each lane, in this order of lanes.
fn recorded_in(order: &[Lane]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let recorder = recorder(Live::Other(Arc::new(Echo)), &path, Arc::new(Nothing));
    let mut back = vec![Value::Null; order.len()];
    for words in [&["one"][..], &["one", "two"]] {
        for (lane, back) in order.iter().zip(&mut back) {
            *back = say(&recorder, &asking(lane, words, back.clone())).0.unwrap().provider;
            assert_eq!(back["inner"], json!([1]), "what the model itself wants back");
        }
    }
    std::fs::read_to_string(&path).unwrap()
}

/// Whatever the order in which lanes came along, the file is the same, and plays in any other order.
#[test]
fn lanes_have_no_order() {
    let main = Lane::main();
    let lanes = [main.clone(), main.child(1), main.child(2)];
    let mut turned = lanes.clone();
    turned.reverse();
    let text = recorded_in(&lanes);
    assert_eq!(text, recorded_in(&turned));
    let player = player(&text, Arc::new(Nothing));
    for lane in &turned {
        let provider: Arc<dyn Provider> = match lane.as_str() {
            "main" => Arc::new(super::player(&text, Arc::new(Nothing))),
            "main/1" => player.delegate(1).unwrap(),
            _ => player.delegate(2).unwrap(),
        };
        let one = say(&*provider, &asking(lane, &["one"], Value::Null)).0.unwrap();
        assert_eq!(one.text, format!("{lane} heard one"));
        let unused = provider.close(&one.provider).unwrap_err();
        assert_eq!(unused.fault, ProviderFault::CassetteUnused);
        let line = 1 + 2 * (1 + lanes.iter().position(|known| known == lane).unwrap());
        let said =
            format!("replay:c.jsonl: the session ended before all of lane {lane} was asked for: row 2 (line {line})");
        assert_eq!(unused.message, said);
        let two = say(&*provider, &asking(lane, &["one", "two"], one.provider)).0.unwrap();
        provider.close(&two.provider).unwrap();
        // A row answers once.
        let error = say(&*provider, &asking(lane, &["one"], two.provider)).0.unwrap_err();
        assert!(error.message.ends_with("and that row has answered already"), "{error}");
    }
}

/// A row that is passed over answers when it is asked for, and is missed when it is not.
#[test]
fn a_key_counts_before_a_place() {
    let main = Lane::main();
    let text = recorded_in(std::slice::from_ref(&main));
    let player = player(&text, Arc::new(Nothing));
    let two = say(&player, &asking(&main, &["one", "two"], Value::Null)).0.unwrap();
    assert_eq!(two.text, "main heard two");
    assert!(player.close(&two.provider).unwrap_err().message.ends_with("row 1 (line 2)"));
    let one = say(&player, &asking(&main, &["one"], two.provider)).0.unwrap();
    player.close(&one.provider).unwrap();
}

/// A reply that was written down and lost with its process, before the session had it, is asked for again: only the reply
/// that the session had is in the file.
#[test]
fn a_reply_that_the_session_never_had_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let live = || Live::Other(Arc::new(Echo) as Arc<dyn Provider>);
    let one =
        say(&recorder(live(), &path, Arc::new(Nothing)), &asking(&Lane::main(), &["one"], Value::Null)).0.unwrap();
    for _ in 0..2 {
        let writer = CassetteWriter::resume(&path, header("echo", Who::None), Arc::new(Nothing), kinds_of()).unwrap();
        let next = asking(&Lane::main(), &["one", "two"], one.provider.clone());
        let two = say(&Recorder::new(live(), writer), &next).0.unwrap();
        assert_eq!(two.provider["cassette"]["at"], 2);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), recorded_in(&[Lane::main()]));
}

/// Nothing that was recorded is overwritten, and a second process writes behind the first.
#[test]
fn a_recording_goes_on_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let live = || Live::Other(Arc::new(Echo) as Arc<dyn Provider>);
    let one =
        say(&recorder(live(), &path, Arc::new(Nothing)), &asking(&Lane::main(), &["one"], Value::Null)).0.unwrap();
    let begun = std::fs::read_to_string(&path).unwrap();
    let refused = CassetteWriter::begin(&path, header("echo", Who::None), Arc::new(Nothing), kinds_of());
    assert!(refused.err().unwrap().contains("is there already"));
    let writer = CassetteWriter::resume(&path, header("echo", Who::None), Arc::new(Nothing), kinds_of()).unwrap();
    let second = Recorder::new(live(), writer);
    let two = say(&second, &asking(&Lane::main(), &["one", "two"], one.provider)).0.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&begun) && two.provider["cassette"]["at"] == 2, "{text}");
    assert_eq!(text, recorded_in(&[Lane::main()]), "two processes write what one does");
}

/// What is recorded of a sub-session that never was is missed when all is over, whichever number it has.
#[test]
fn a_lane_that_never_was_is_unused() {
    let main = Lane::main();
    let deep = main.child(3).child(1);
    let text = recorded_in(&[main.clone(), main.child(1), main.child(3), deep.clone()]);
    let player = player(&text, Arc::new(Nothing));
    let mut lanes = std::collections::BTreeMap::from([(main.clone(), Value::Null)]);
    for lane in [main.child(1), main.child(3), deep] {
        let unused = player.ended(&lanes).unwrap_err();
        assert_eq!(unused.fault, ProviderFault::CassetteUnused);
        assert!(unused.message.contains(&format!("before all of lane {lane} was asked for: row 1 ")), "{unused}");
        lanes.insert(lane, Value::Null);
    }
    player.ended(&lanes).unwrap();
}
