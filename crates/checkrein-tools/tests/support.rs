//! A project in a folder of its own, and a gate with the tools that ship around it. Calls go the whole way: parse,
//! judge, admit, start, run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use checkrein_contract::{
    Actor, Answer, ApprovalId, ApprovalRequest, Body, BoxFuture, Call, CallId, Code, Digest, Finished, FinishedAs,
    Identity, Layer, Place, PolicySource, RawCall, SessionId, Spend, Verdict,
};
use checkrein_facts::HostFacts;
use checkrein_gate::{
    After, AnyTool, Gate, Hook, HookFailure, Judged, RecordFailure, RecordedApproval, Recorder, Refused, Registry,
    RunContext, Scene, Spill, parse, start,
};
use checkrein_policy::{Manifest, Policy, Variables};
use checkrein_sandbox::Unconfined;
use checkrein_toml::Source;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Everything in the project is allowed, the floor aside: what is tested here is what the tools do.
const POLICY: &str = r#"
version = 1

[[rule]]
id = "read"
decision = "allow"
reason = "this is a test"
effect = "read"
paths = ["{root}/**", "{spill}/**"]

[[rule]]
id = "write"
decision = "allow"
reason = "this is a test"
effect = "write"
paths = ["{root}/**"]

[[rule]]
id = "run"
decision = "allow"
reason = "this is a test"
effect = "run"
program = "*"

[[rule]]
id = "withheld"
decision = "deny"
reason = "this is a test"
effect = "read"
paths = ["**/withheld*"]
"#;

struct Folder(PathBuf);

impl Spill for Folder {
    fn save(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        fs::create_dir_all(&self.0).ok()?;
        fs::write(self.path(name), bytes).ok()?;
        Some(self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

#[derive(Default)]
struct Lines(Vec<Body>);

impl Recorder for Lines {
    fn record(&mut self, _by: Actor, body: Body) -> Result<(), RecordFailure> {
        self.0.push(body);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordFailure> {
        Ok(())
    }
}

/// Keeps the value that the last call gave, which the gate itself lets go of.
#[derive(Default)]
struct LastValue(Mutex<Value>);

impl Hook for LastValue {
    fn name(&self) -> &str {
        "last-value"
    }

    fn after<'a>(&'a self, _call: &'a Call, value: &'a Value) -> BoxFuture<'a, Result<After, HookFailure>> {
        Box::pin(async move {
            *self.0.lock().unwrap() = value.clone();
            Ok(After::Keep)
        })
    }
}

/// The world around some calls.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    gate: Gate,
    value: Arc<LastValue>,
    seen: BTreeMap<String, Option<Digest>>,
    calls: u32,
    pub(crate) place: Place,
    pub(crate) cancel: CancellationToken,
}

impl World {
    /// The built-in tools, and the harness's own.
    pub(crate) fn new() -> Self {
        // Not below /tmp, wherever this repository is: the floor lets that be written.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = folder.path().canonicalize().unwrap();
        let text = |name: &str| base.join(name).to_str().unwrap().to_owned();
        let place = Place { root: text("project"), cwd: text("project"), home: text("home") };
        for made in [&place.root, &place.home, &text("task")] {
            fs::create_dir(made).unwrap();
        }
        let source = PolicySource {
            layer: Layer::Project,
            file: "policy.toml".to_owned(),
            text: POLICY.to_owned(),
            only_tightens: false,
        };
        let variables = Variables::new(&place, &Identity::default()).with("spill", &text("spill"));
        let mut registry = Registry::new();
        for tool in checkrein_tools::builtin().into_iter().chain([checkrein_tools::verify()]) {
            registry.add_any(tool).unwrap();
        }
        let value = Arc::new(LastValue::default());
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")];
        let gate = Gate {
            registry,
            policy: Arc::new(Policy::load(&[source], &variables).unwrap()),
            hooks: vec![Arc::clone(&value) as Arc<dyn Hook>],
            guards: Vec::new(),
            facts: Arc::new(HostFacts),
            sandbox: Arc::new(Unconfined::new(env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())),
            spill: Arc::new(Folder(base.join("spill"))),
        };
        let (seen, cancel) = (BTreeMap::new(), CancellationToken::new());
        Self { _folder: folder, gate, value, seen, calls: 0, place, cancel }
    }

    /// With one command tool more, from its manifest. Programs written as `./NAME` are in [`World::task`].
    pub(crate) fn with_command(manifest: &str) -> Self {
        let manifest = Manifest::load(Source { file: "tool.toml", text: manifest }).unwrap();
        let mut world = Self::new();
        let tool: Arc<dyn AnyTool> = checkrein_tools::CommandTool::new(manifest, world.task());
        world.gate.registry.add_any(tool).unwrap();
        world
    }

    /// The task folder, which is not the workspace.
    pub(crate) fn task(&self) -> PathBuf {
        PathBuf::from(&self.place.root).parent().unwrap().join("task")
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.gate.registry
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(&self.place.root).join(name)
    }

    /// Makes a file in the project, with its folders.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Names in a folder of the project, hidden ones included.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What the session remembers of a file.
    pub(crate) fn seen(&self, name: &str) -> Option<&Option<Digest>> {
        self.seen.get(self.path(name).to_str().unwrap())
    }

    /// The value that the last call gave.
    pub(crate) fn value(&self) -> Value {
        self.value.0.lock().unwrap().clone()
    }

    /// Judges a call, without running it.
    pub(crate) async fn judge(&self, tool: &str, args: &Value) -> Result<Judged, Refused> {
        let raw = RawCall { tool: tool.to_owned(), arguments: args.to_string() };
        let proposed = parse(CallId::new(format!("c{}-1", self.calls)), &raw);
        let parts = Parts::new(self);
        self.gate.judge(&proposed, &parts.scene(self)).await
    }

    /// A whole call. What the rules ask about is approved, for exactly this call.
    pub(crate) async fn call(&mut self, tool: &str, args: Value) -> Finished {
        self.call_while(tool, args, |_| {}).await
    }

    /// A whole call, in a world where something happens between the decision and the run.
    pub(crate) async fn call_while(&mut self, tool: &str, args: Value, meanwhile: impl FnOnce(&Self)) -> Finished {
        self.calls += 1;
        let judged = match self.judge(tool, &args).await {
            Ok(judged) => judged,
            Err(refused) => return refused.finished(),
        };
        let approval = (judged.decision().verdict == Verdict::Ask).then(|| approved(&judged));
        let token = match judged.admit(approval.as_ref(), 1) {
            Ok(token) => token,
            Err(refused) => return refused.finished(),
        };
        meanwhile(self);
        let mut recorder = Lines::default();
        let started = start(vec![token], &mut recorder).unwrap().remove(0);
        assert_eq!(recorder.0.len(), 1, "the start is recorded before anything runs");
        let parts = Parts::new(self);
        let context = RunContext {
            place: &self.place,
            identity: &parts.identity,
            sandbox: &*self.gate.sandbox,
            spill: &*self.gate.spill,
            seen: &self.seen,
            cancel: &self.cancel,
        };
        let finished = self.gate.run(started, &parts.scene(self), context).await;
        for seen in &finished.seen {
            self.seen.insert(seen.path.clone(), seen.version.clone());
        }
        finished
    }

    /// The text of a call that ends well.
    pub(crate) async fn text(&mut self, tool: &str, args: Value) -> String {
        let finished = self.call(tool, args).await;
        assert_eq!(finished.ended, FinishedAs::Ok, "{}", finished.text);
        finished.text
    }

    /// Code and message of a call that does not.
    pub(crate) async fn error(&mut self, tool: &str, args: Value) -> (Code, String) {
        let finished = self.call(tool, args).await;
        let Some(code) = finished.code else { panic!("it ended well: {}", finished.text) };
        let text: Value = serde_json::from_str(&finished.text).unwrap();
        (code, text["message"].as_str().unwrap().to_owned())
    }
}

/// What a scene borrows.
struct Parts {
    session: SessionId,
    identity: Identity,
    spend: Spend,
    offered: BTreeSet<String>,
    failures: BTreeMap<Digest, u32>,
}

impl Parts {
    fn new(world: &World) -> Self {
        Self {
            session: SessionId::new("s-1"),
            identity: Identity(BTreeMap::from([("customer".to_owned(), "c-17".to_owned())])),
            spend: Spend::default(),
            offered: world.gate.registry.names().map(str::to_owned).collect(),
            failures: BTreeMap::new(),
        }
    }

    fn scene<'a>(&'a self, world: &'a World) -> Scene<'a> {
        Scene {
            session: &self.session,
            place: &world.place,
            identity: &self.identity,
            spend: &self.spend,
            offered: &self.offered,
            failures: &self.failures,
            by_harness: true,
            unconfined_allowed: true,
        }
    }
}

/// A person's yes to exactly this call.
fn approved(judged: &Judged) -> RecordedApproval {
    let mut approval = RecordedApproval::new(ApprovalRequest {
        id: ApprovalId::new("a-1"),
        session: SessionId::new("s-1"),
        call: judged.call().id.clone(),
        tool: judged.call().tool.clone(),
        arguments: judged.call().args.clone(),
        effects: judged.effects().to_vec(),
        reason: judged.decision().reason.clone(),
        binds: judged.binds().clone(),
        identity: Identity::default(),
        policy: Digest::of(b""),
        requested_at: 0,
        expires_at: 2,
    });
    approval.record(Answer::Approved { expires_at: 2, uses: 1 });
    approval
}

/// The call that a text names as the way on: the last name in backquotes that is followed by JSON.
pub(crate) fn next_call(text: &str) -> Option<(String, Value)> {
    let at = text.rfind("` {")?;
    let name = text.get(..at)?.rsplit('`').next()?.to_owned();
    let rest = text.get(at + 2..)?;
    let args = serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()?;
    Some((name, args))
}
