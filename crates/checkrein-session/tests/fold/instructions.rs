//! Which folders have their turn, and what becomes of the files in them.

use checkrein_contract::{Body, CheckRound, Digest, FinishedAs, Message, ProposalKind, SeenFile, SessionOpened};
use checkrein_session::{Next, State};

use crate::support::{Log, call, finished, opened, reply, request, session};

fn with_names(names: &[&str]) -> SessionOpened {
    SessionOpened { instructions: names.iter().map(|name| (*name).to_owned()).collect(), ..opened() }
}

fn ended(state: &State, how: FinishedAs) -> Vec<Body> {
    let Next::Decide { calls, by_harness: true, .. } = state.next(0) else { panic!("{:?}", state.next(0)) };
    calls.iter().map(|call| finished(call.id.as_str(), "instructions", how, None)).collect()
}

/// The root's turn comes before the first request, that of other folders when a file there or below was seen; each comes once,
/// and nothing outside of the root has one.
#[test]
fn folders_have_their_turn_once() {
    assert!(Log::of(vec![session(opened())]).state().instruction_places().is_empty(), "nobody asked for any");
    let mut log = vec![session(with_names(&["AGENTS.md", "CLAUDE.md"]))];
    let root = ["/srv/shop/AGENTS.md", "/srv/shop/CLAUDE.md"];
    assert_eq!(Log::of(log.clone()).state().instruction_places(), [root]);
    log.push(request(1, 1));
    assert!(Log::of(log.clone()).state().instruction_places().is_empty(), "it was looked into");
    log.push(reply(ProposalKind::Calls, vec![call("c1-1", "read")]));
    let Body::Finished(mut end) = finished("c1-1", "read", FinishedAs::Ok, None) else { unreachable!() };
    let seen = |path: &str| SeenFile { path: path.to_owned(), version: Some(Digest::of(b"x")) };
    end.seen =
        vec![seen("/srv/shop/a/b/c.txt"), seen("/srv/shopping/d.txt"), seen("/etc/motd"), seen("/srv/shop/e.txt")];
    log.push(Body::Finished(end));
    let state = Log::of(log.clone()).state();
    let places: Vec<String> = state.instruction_places().into_iter().flatten().collect();
    let [a, b] = ["/srv/shop/a", "/srv/shop/a/b"].map(|at| [format!("{at}/AGENTS.md"), format!("{at}/CLAUDE.md")]);
    assert_eq!(places, [a, b].concat());
    assert!(state.is_unsaid("/srv/shop/a/AGENTS.md") && !state.is_unsaid("/srv/shop/a/b/c.txt"));
    log.push(request(2, 1));
    assert!(Log::of(log).state().instruction_places().is_empty());
}

/// What was read is said, marked as the harness's, within a bound for all of them; what was refused is not; what a cancelled run
/// did not come to is read later.
#[test]
fn what_was_read_is_said() {
    let state = Log::of(vec![session(with_names(&["AGENTS.md"]))]).state();
    let files: Vec<String> = (0..5).map(|n| format!("/srv/shop/{n}/AGENTS.md")).collect();
    let round = state.instruction_round(&files, "instructions");
    let most: Vec<u64> = round.calls.iter().map(|call| call.args["max_bytes"].as_u64().unwrap()).collect();
    assert_eq!((most, round.calls[4].id.as_str()), (vec![16_384, 16_384, 16_384, 0, 0], "i1-5"));

    let round = state.instruction_round(&["/srv/shop/AGENTS.md".to_owned()], "instructions");
    let begun = vec![session(with_names(&["AGENTS.md"])), Body::Instructions(round)];
    let state = Log::of(begun.clone()).state();
    assert!(state.reads_instructions() && state.instruction_places().is_empty());
    for (how, said) in [(FinishedAs::Ok, true), (FinishedAs::Refused, false), (FinishedAs::NotStarted, false)] {
        let state = Log::of([begun.clone(), ended(&state, how)].concat()).state();
        assert_eq!(state.next(0), Next::Request, "nobody is asked");
        let last = state.messages().last().unwrap();
        let told = matches!(&**last, Message::User { text, harness: true } if text.contains("words of a file") && text.ends_with("\ntext"));
        assert_eq!(told, said, "{last:?}");
        assert_eq!(state.instruction_places().len(), usize::from(how == FinishedAs::NotStarted));
    }
}

/// They are read before a request, and not while calls are on their way.
#[test]
fn they_do_not_come_in_between() {
    let round = CheckRound { round: 1, calls: vec![call("i1-1", "instructions")] };
    let calls = vec![request(1, 1), reply(ProposalKind::Calls, vec![call("c1-1", "read")])];
    let log = [vec![session(with_names(&["AGENTS.md"]))], calls, vec![Body::Instructions(round)]].concat();
    assert!(Log::of(log).error().contains("instruction files are read before a request"));
}
