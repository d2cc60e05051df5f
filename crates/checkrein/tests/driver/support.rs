//! A harness in a temporary folder, with a model that says what it is told and copies every request it got.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use checkrein::contract::{
    BoxFuture, CallKind, Delta, Effect, Event, Facts, Foreseen, Message, ModelReply, ModelRequest, Outcome, Place,
    Provider, ProviderError, ProviderFault, RawCall, SessionId, StopReason, ToolSpec,
};
use checkrein::gate::{Approved, Concurrency, Failure, Rendered, RunContext, Tool, Typed};
use checkrein::session::SUMMARISER;
use checkrein::{
    Catalogue, Extensions, Front, Harness, Observer, PolicyFiles, ResumeOptions, RunOptions, Session, StateFolder,
    Task, Unobserved, task,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Barrier, Notify};

/// A model that gives these replies, in order, and keeps a copy of each request.
#[derive(Default)]
pub(crate) struct Says {
    replies: Mutex<VecDeque<Reply>>,
    /// What it says to requests for a summary, in order; then that it read.
    pub(crate) summaries: Mutex<VecDeque<Reply>>,
    pub(crate) requests: Mutex<Vec<Copied>>,
}

/// A request as the model saw it, copied, so that nothing later can reach it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Copied {
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) max_output_tokens: u32,
    /// It asks for a summary.
    pub(crate) summary: bool,
}

/// One reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    /// It fails instead.
    pub(crate) fault: Option<ProviderFault>,
}

pub(crate) fn fails(fault: ProviderFault) -> Reply {
    Reply { fault: Some(fault), ..Reply::default() }
}

pub(crate) fn text(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Reply {
    let calls = calls.iter().map(|(tool, args)| ((*tool).to_owned(), args.clone())).collect();
    Reply { calls, ..Reply::default() }
}

impl Says {
    /// What it is still going to say.
    pub(crate) fn replies(&self) -> MutexGuard<'_, VecDeque<Reply>> {
        self.replies.lock().unwrap()
    }
}

impl Provider for Says {
    fn model(&self) -> &str {
        "says"
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(Copied {
                messages: request.messages.iter().map(|message| (**message).clone()).collect(),
                tools: request.tools.clone(),
                max_output_tokens: request.max_output_tokens,
                summary: request.system == SUMMARISER,
            });
            let reply = if request.system == SUMMARISER {
                Some(self.summaries.lock().unwrap().pop_front().unwrap_or_else(|| text("It read.")))
            } else {
                self.replies.lock().unwrap().pop_front()
            };
            let fault = reply.as_ref().map_or(Some(ProviderFault::Refused), |reply| reply.fault);
            if let Some(fault) = fault {
                return Err(ProviderError {
                    fault,
                    message: "nothing more to say".to_owned(),
                    retry_after_ms: None,
                    provider: Value::Null,
                });
            }
            let reply = reply.unwrap_or_default();
            on_delta(Delta::Text(&reply.text));
            let stop = if reply.calls.is_empty() { StopReason::End } else { StopReason::Calls };
            let calls = reply.calls.into_iter().map(|(tool, args)| {
                let arguments = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
                RawCall { tool, arguments }
            });
            Ok(ModelReply {
                text: reply.text,
                calls: calls.collect(),
                stop,
                usage: None,
                virtual_ms: 0,
                provider: Value::Null,
            })
        })
    }

    fn virtual_time(&self) -> bool {
        true
    }
}

/// A tool for what the tests need of concurrency: it counts, meets others, hangs, or is a barrier.
pub(crate) struct Probe {
    pub(crate) running: AtomicU32,
    pub(crate) most: AtomicU32,
    pub(crate) ran: Mutex<Vec<String>>,
    pub(crate) meeting: Barrier,
    pub(crate) entered: Notify,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ProbeInput {
    /// What to do: meet, beside, alone, hang or note.
    pub(crate) what: String,
    /// A word for the result.
    #[serde(default)]
    pub(crate) word: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProbeOutput {
    word: String,
    beside: u32,
}

/// The tool that shares a probe with the test.
pub(crate) struct ProbeTool(pub(crate) Arc<Probe>);

impl Probe {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            running: AtomicU32::new(0),
            most: AtomicU32::new(0),
            ran: Mutex::default(),
            meeting: Barrier::new(3),
            entered: Notify::new(),
        })
    }
}

impl Tool for ProbeTool {
    type Input = ProbeInput;
    type Output = ProbeOutput;
    const NAME: &'static str = "probe";
    const DESCRIPTION: &'static str = "Does what a test asks for.";

    fn kind(&self, input: &ProbeInput) -> CallKind {
        if input.what == "meet" { CallKind::Pure } else { CallKind::Once }
    }

    fn concurrency(&self, input: &ProbeInput) -> Concurrency {
        if matches!(input.what.as_str(), "meet" | "beside") { Concurrency::Parallel } else { Concurrency::Exclusive }
    }

    fn effects(&self, input: &ProbeInput, _place: &Place, _facts: &Facts) -> Foreseen {
        let args = json!({ "what": input.what, "word": input.word });
        Foreseen::of(vec![Effect::Tool { tool: "probe".to_owned(), server: None, args }])
    }

    fn run<'a>(
        &'a self,
        _approved: &'a Approved,
        input: ProbeInput,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<ProbeOutput, Failure>> {
        Box::pin(async move {
            let probe = &self.0;
            let running = probe.running.fetch_add(1, Ordering::SeqCst) + 1;
            probe.most.fetch_max(running, Ordering::SeqCst);
            probe.ran.lock().unwrap().push(input.word.clone());
            probe.entered.notify_one();
            let beside = match input.what.as_str() {
                // Returns only when three are here at the same time.
                "meet" => {
                    probe.meeting.wait().await;
                    0
                }
                "hang" => {
                    context.cancel.cancelled().await;
                    probe.running.fetch_sub(1, Ordering::SeqCst);
                    return Err(Failure::new(checkrein::contract::Code::Cancelled, "the run was cancelled"));
                }
                _ => running - 1,
            };
            probe.running.fetch_sub(1, Ordering::SeqCst);
            Ok(ProbeOutput { word: input.word, beside })
        })
    }

    fn render(&self, _input: &ProbeInput, output: &ProbeOutput) -> Rendered {
        Rendered::whole(format!("{} beside {}", output.word, output.beside))
    }

    fn examples() -> Vec<Value> {
        vec![json!({ "what": "note", "word": "a" })]
    }
}

pub(crate) const ALLOW_PROBE: &str = "version = 1\n[[rule]]\nid = \"probe\"\ndecision = \"allow\"\nreason = \"a test\"\neffect = \"tool\"\ntool = \"probe\"\n[[rule]]\nid = \"files\"\ndecision = \"allow\"\nreason = \"a test\"\neffect = \"read\"\npaths = [\"{root}/**\"]\n[[rule]]\nid = \"writes\"\ndecision = \"allow\"\nreason = \"a test\"\neffect = \"write\"\npaths = [\"{root}/**\"]\n";

/// A harness on a temporary folder.
pub(crate) struct Rig {
    pub(crate) folder: TempDir,
    pub(crate) harness: Harness,
    pub(crate) says: Arc<Says>,
    pub(crate) probe: Arc<Probe>,
}

impl Rig {
    pub(crate) fn new(replies: Vec<Reply>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("project")).unwrap();
        let home = StateFolder::open(root.join("state")).unwrap();
        let says = Arc::new(Says::default());
        says.replies.lock().unwrap().extend(replies);
        let probe = Probe::new();
        let extensions = Extensions {
            tools: vec![Typed::new(ProbeTool(Arc::clone(&probe))).shared()],
            provider: Some(Arc::clone(&says) as Arc<dyn Provider>),
            ..Extensions::default()
        };
        let store = checkrein::open_journal(&home).unwrap();
        let harness = Harness {
            launcher: None,
            home,
            store,
            policies: PolicyFiles::default(),
            models: Catalogue::default(),
            environment: std::env::vars().collect(),
            person_home: root.join("home"),
            folder: root.join("project"),
            extensions,
        };
        Self { folder, harness, says, probe }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.harness.folder.clone()
    }

    pub(crate) fn task(&self) -> Task {
        let mut task = task::from_words("Do it.", &self.project()).unwrap();
        task.policy = vec![checkrein::contract::PolicySource {
            layer: checkrein::contract::Layer::Project,
            file: "policy.toml".to_owned(),
            text: ALLOW_PROBE.to_owned(),
            only_tightens: false,
        }];
        task
    }

    pub(crate) fn begin(&self, task: &Task) -> Session {
        self.begin_watched(task, Box::new(Unobserved))
    }

    pub(crate) fn begin_watched(&self, task: &Task, observer: Box<dyn Observer>) -> Session {
        self.harness.begin(task, &RunOptions::default(), Front { observer, asker: None }).unwrap()
    }

    pub(crate) fn resume(&self, session: &SessionId) -> Session {
        self.harness
            .resume(session, &ResumeOptions::default(), Front { observer: Box::new(Unobserved), asker: None })
            .unwrap()
    }

    pub(crate) async fn drive(&self) -> Outcome {
        self.begin(&self.task()).drive().await.unwrap()
    }

    pub(crate) fn events(&self, session: &SessionId) -> Vec<Event> {
        self.harness.store.read(session, 1).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Copied> {
        self.says.requests.lock().unwrap().clone()
    }
}
