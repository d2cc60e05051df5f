//! The model of the world. What it says follows from the seed and from the conversation it is shown, so that a request which
//! is sent again gets the same reply, and a fault changes nothing but what it hits.

use std::sync::Arc;
use std::time::Duration;

use checkrein::contract::{
    BoxFuture, Delta, Message, ModelReply, ModelRequest, Provider, ProviderError, ProviderFault, RawCall, StopReason,
    ToolChoice, Usage,
};
use checkrein::session::SUMMARISER;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::doing::{How, huge};
use crate::plan::{Kind, Op};
use crate::world::World;

/// The beginning of a reply that breaks off. It must never be seen again.
pub(crate) const PARTIAL: &str = "PARTIAL WORDS";
/// A token by its shape, in two parts, so that this file holds none.
const SECRET: (&str, &str) = ("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
/// The longest wait that the harness accepts of a model, milliseconds.
const LONGEST_WAIT_MS: u64 = 60_000;
/// The first wait where the model names none, milliseconds.
const FIRST_WAIT_MS: u64 = 500;

/// The model.
pub(crate) struct Model(pub(crate) Arc<World>);

impl Provider for Model {
    fn model(&self) -> &str {
        "simulated:model"
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move {
            let shown = serde_json::to_string(&request.messages).unwrap_or_default();
            self.look_at(request, &shown);
            let met = self.0.meet(Op::Request);
            if let Some(kind) = met.filter(|_| request.system == SUMMARISER) {
                self.0.mark(&format!("summary/{}", kind.name()));
            }
            match met {
                None => {}
                Some(Kind::CrashBefore | Kind::CrashAfter) => return self.0.crash_waiting().await,
                Some(Kind::Slow) => {
                    tokio::time::sleep(Duration::from_secs(45)).await; // no wait: the clock is paused
                }
                Some(Kind::RateLimited) => return Err(self.failed(&shown, ProviderFault::RateLimited, None)),
                Some(Kind::RateLimitedFor) => {
                    let wait = [7_000, 3_600_000][self.0.dice("429").usize(0..2)];
                    return Err(self.failed(&shown, ProviderFault::RateLimited, Some(wait)));
                }
                Some(Kind::Server) => return Err(self.failed(&shown, ProviderFault::Server, None)),
                Some(Kind::Refused) => return Err(self.failed(&shown, ProviderFault::Refused, None)),
                Some(Kind::TooLong) => {
                    // It is not to be waited for, but to be made shorter.
                    let (fault, message) = (ProviderFault::TooLong, "too long".to_owned());
                    return Err(ProviderError { fault, message, retry_after_ms: None, provider: Value::Null });
                }
                Some(Kind::BrokenMidway) => {
                    on_delta(Delta::Text(PARTIAL));
                    return Err(self.failed(&shown, ProviderFault::Broken, None));
                }
                Some(Kind::Stalled) => {
                    on_delta(Delta::Text(PARTIAL));
                    tokio::time::sleep(Duration::from_secs(90)).await; // no wait: the clock is paused
                    return Err(self.failed(&shown, ProviderFault::Broken, None));
                }
                Some(_) => return Err(self.failed(&shown, ProviderFault::Broken, None)),
            }
            let reply = self.reply(request, &shown);
            on_delta(Delta::Text(&reply.text));
            Ok(reply)
        })
    }
}

impl Model {
    fn failed(&self, shown: &str, fault: ProviderFault, retry_after_ms: Option<u64>) -> ProviderError {
        let wait = retry_after_ms.unwrap_or(FIRST_WAIT_MS).min(LONGEST_WAIT_MS);
        let now = self.0.now();
        self.0.inner().not_before = Some((now + wait, shown.to_owned()));
        ProviderError { fault, message: "the other side failed".to_owned(), retry_after_ms, provider: Value::Null }
    }

    /// What holds of every request that a model is sent.
    fn look_at(&self, request: &ModelRequest, text: &str) {
        let now = self.0.now();
        let not_before = self.0.inner().not_before.take();
        if let Some((earliest, same)) = not_before
            && same == text
            && now < earliest
        {
            self.0.violation(format!("asked again {} ms too early", earliest - now));
        }
        let first = request.messages.first().map(|message| &**message);
        let summary = request.system == SUMMARISER;
        if !summary && !matches!(first, Some(Message::User { harness: false, .. })) {
            self.0.violation("a request does not begin with the task".to_owned());
        }
        if summary && !request.tools.is_empty() {
            self.0.violation("a request for a summary shows tools".to_owned());
        }
        let mut open: Option<Vec<&str>> = None;
        for message in &request.messages {
            match (&**message, open.take()) {
                (Message::Assistant { calls, .. }, None) if !calls.is_empty() => {
                    open = Some(calls.iter().map(|call| call.id.as_str()).collect());
                }
                (Message::Tool { results }, Some(calls)) => {
                    if !results.iter().map(|result| result.call.as_str()).eq(calls.iter().copied()) {
                        self.0.violation(format!("results come in another order than the calls {calls:?}"));
                    }
                }
                (_, None) => {}
                (_, Some(calls)) => self.0.violation(format!("the calls {calls:?} have no results")),
            }
        }
        if open.is_some() {
            self.0.violation("a request ends with calls that have no results".to_owned());
        }
        for (what, found) in [
            ("a part of a reply that broke off", text.contains(PARTIAL)),
            ("a secret", text.contains(&secret())),
            ("a terminal escape", text.contains("\\u001b")),
        ] {
            if found {
                self.0.violation(format!("a request shows {what}"));
            }
        }
    }

    fn reply(&self, request: &ModelRequest, shown: &str) -> ModelReply {
        let mut rng = self.0.dice(&format!("reply/{shown}"));
        let turns = request.messages.iter().filter(|message| matches!(***message, Message::Assistant { .. })).count();
        let mut reply = ModelReply {
            text: String::new(),
            calls: Vec::new(),
            stop: StopReason::Calls,
            usage: None,
            virtual_ms: 0,
            provider: json!({ "turn": turns }),
        };
        if request.system == SUMMARISER {
            self.summary(&mut reply, &mut rng);
            return reply;
        }
        self.fill(&mut reply, &mut rng, turns);
        if request.tool_choice == ToolChoice::None && !reply.calls.is_empty() {
            self.0.mark("model/calls-without-being-asked");
        }
        if reply.calls.is_empty() && reply.stop == StopReason::Calls {
            reply.stop = StopReason::End;
        }
        let said = reply.calls.iter().map(|call| call.arguments.len() + 8).sum::<usize>() + reply.text.len();
        reply.usage = match rng.u8(0..4) {
            0 => None,
            1 => Some(Usage { input: 900, output: u64::from(request.max_output_tokens) * 2, ..Usage::default() }),
            _ => Some(Usage { input: 700, output: said as u64 / 4, ..Usage::default() }),
        };
        reply
    }

    /// A summary, or one of the things that are none.
    fn summary(&self, reply: &mut ModelReply, rng: &mut Rng) {
        reply.stop = StopReason::End;
        let what = match rng.u8(0..10) {
            0 => {
                reply.calls = vec![call("post", json!({ "word": "summary" }))];
                "calls-in-a-summary"
            }
            1 => "empty-summary",
            2 => {
                (reply.text, reply.stop) = ("It did".to_owned(), StopReason::Length);
                "cut-summary"
            }
            3 => {
                reply.text = huge("summary");
                "huge-summary"
            }
            _ => {
                reply.text = format!("It did {} things.", rng.u8(..));
                "summary"
            }
        };
        self.0.mark(&format!("model/{what}"));
    }

    fn fill(&self, reply: &mut ModelReply, rng: &mut Rng, turns: usize) {
        let mark = |what: &str| self.0.mark(&format!("model/{what}"));
        match (self.0.seed % 12, rng.u32(0..100)) {
            (0, 0..90) => {
                mark("endless-failing-loop");
                reply.calls = vec![call("look", json!({ "word": "again", "how": "fails" }))];
            }
            (1, 0..90) => {
                mark("endless-loop");
                reply.calls = vec![call("look", json!({ "word": "again" }))];
            }
            (2, 0..60) | (_, 0..4) => {
                mark("empty-reply");
                reply.text = [" ", "", "\n"][rng.usize(0..3)].to_owned();
            }
            (3, 0..50) | (_, 4..8) => {
                mark("cut-with-calls");
                reply.calls = vec![call("post", json!({ "word": "cut" })), raw("put", "{\"word\": \"c")];
                reply.stop = StopReason::Length;
            }
            (_, 8..10) => {
                mark("huge-reply");
                reply.text = huge("reply");
            }
            (4, 10..40) | (_, 18..21) => {
                self.0.mark("call/delegates-several");
                for part in 0..rng.usize(2..=4) {
                    let word = format!("w{}-{part}", rng.u32(0..1_000));
                    reply.calls.push(call("task", delegation(rng, &word)));
                }
            }
            (_, 10..18) => {
                mark("answer");
                reply.text = "All is done.".to_owned();
            }
            (_, chance) if chance as usize >= 92_usize.saturating_sub(6 * turns) => {
                mark("answer");
                reply.text = format!("All is done after {turns} turns.");
            }
            _ => {
                reply.text = if rng.bool() { "Let me see.".to_owned() } else { String::new() };
                reply.calls = (0..rng.usize(1..=4)).map(|_| self.call(rng)).collect();
                if reply.calls.len() > 1 {
                    mark("several-calls");
                }
                if rng.u8(0..10) == 0 {
                    mark("the-same-call-twice");
                    reply.calls.push(reply.calls[0].clone());
                }
            }
        }
    }

    fn call(&self, rng: &mut Rng) -> RawCall {
        let how = how(rng);
        let word = format!("w{}", rng.u32(0..1_000));
        let args = json!({ "word": word, "how": how.name() });
        let line = |name: &str| json!({ "command": format!("sh {name} {word}-{}", how.name()), "timeout_s": 30 });
        let (what, call) = match rng.u32(0..100) {
            0..16 => ("look", call("look", args)),
            16..34 => ("post", call("post", args)),
            34..40 => ("put", call("put", args)),
            40..46 => ("through-another", call("call_tool", json!({ "tool": "put", "args": args }))),
            46..56 => ("pay", call("pay", args)),
            56..58 => ("wipe", call("wipe", args)),
            58..68 => ("append", call("bash", line("append.sh"))),
            68..71 => ("transfer", call("bash", line("transfer.sh"))),
            71..73 => ("removes-all", call("bash", json!({ "command": "rm -rf /" }))),
            73..75 => ("not-a-shell-line", call("bash", json!({ "command": "echo $(( " }))),
            75..78 => ("count", call("bash", json!({ "command": "wc -l notes.txt" }))),
            78..81 => ("ship", call("ship", json!({ "word": format!("{word}-{}", how.name()) }))),
            81..84 => ("skill", call("load_skill", json!({ "name": "shipping" }))),
            84..86 => ("asks-a-person", call("ask_user", json!({ "question": format!("Which {word}?") }))),
            86..89 => ("delegates", call("task", delegation(rng, &word))),
            89..90 => ("unknown-tool", call("repost", args)),
            90..91 => ("wrong-case", call("Post", args)),
            91..93 => ("not-json", raw("post", "{\"word\": ")),
            93..95 => ("wrong-type", call("post", json!({ "word": 7, "when": true }))),
            95..97 => ("empty-arguments", raw("post", ["", "{}"][rng.usize(0..2)])),
            97..98 => ("names-a-secret", call("post", json!({ "word": secret() }))),
            98..99 => ("looks-up", call("find_tools", json!({ "names": ["put"], "query": "parcel" }))),
            _ => ("plan", call("todo", json!({ "items": [{ "text": word }] }))),
        };
        self.0.mark(&format!("call/{what}"));
        call
    }
}

fn delegation(rng: &mut Rng, word: &str) -> Value {
    let share = [20, 50, 90][rng.usize(0..3)];
    let within = match rng.u8(0..5) {
        0 => Vec::new(),
        1 => vec!["shared".to_owned()],
        _ => vec![word.to_owned()],
    };
    let prompt = format!("See to {word}.");
    match rng.bool() {
        true => json!({ "prompt": prompt, "may": "work", "within": within, "share": share }),
        false => json!({ "prompt": prompt, "may": "look", "share": share }),
    }
}

fn secret() -> String {
    [SECRET.0, SECRET.1].concat()
}

fn how(rng: &mut Rng) -> How {
    let mut at = rng.u32(0..How::ALL.iter().map(|(_, _, weight)| weight).sum());
    for (how, _, weight) in How::ALL {
        if at < weight {
            return how;
        }
        at -= weight;
    }
    How::Well
}

fn call(tool: &str, args: Value) -> RawCall {
    raw(tool, &args.to_string())
}

fn raw(tool: &str, arguments: &str) -> RawCall {
    RawCall { tool: tool.to_owned(), arguments: arguments.to_owned() }
}
