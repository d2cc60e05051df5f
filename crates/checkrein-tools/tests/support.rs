//! A project in a folder of its own, with the tools that ship.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use checkrein_contract::{BoxFuture, Call, Code, Digest, Finished, FinishedAs, Identity, Place};
use checkrein_facts::HostFacts;
use checkrein_gate::{After, AnyTool, Hook, HookFailure, Judged, Refused, Registry};
use checkrein_policy::{Manifest, Models, Variables};
use checkrein_sandbox::Unconfined;
use checkrein_testkit::{SpillFolder, Yes, policy};
use checkrein_toml::Source;
use checkrein_tools::CommandTool;
use serde_json::Value;

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
program = ["*", "./*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*", "/*/*/*/*/*/*"]

[[rule]]
id = "withheld"
decision = "deny"
reason = "this is a test"
effect = "read"
paths = ["**/withheld*"]
"#;

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

/// A project, its task folder, and the tools that ship.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    world: checkrein_testkit::World,
    value: Arc<LastValue>,
    pub(crate) place: Place,
}

impl World {
    /// The built-in tools, and the harness's own.
    pub(crate) fn new() -> Self {
        Self::with(None, "")
    }

    /// The same, with rules besides.
    pub(crate) fn with_rules(rules: &str) -> Self {
        Self::with(None, rules)
    }

    fn with(manifest: Option<Manifest>, rules: &str) -> Self {
        // Not below /tmp, wherever this repository is: the floor lets that be written.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = folder.path().canonicalize().unwrap();
        let text = |name: &str| base.join(name).to_str().unwrap().to_owned();
        let place = Place { root: text("project"), cwd: text("project"), home: text("home"), ..Place::default() };
        for made in [&place.root, &place.home, &text("task")] {
            fs::create_dir(made).unwrap();
        }
        let mut registry = Registry::new();
        let command = manifest.map(|manifest| {
            CommandTool::new(manifest, base.join("task"), Models::built_in().clone()) as Arc<dyn AnyTool>
        });
        for tool in checkrein_tools::builtin(Models::built_in(), &["SHOP".to_owned()])
            .into_iter()
            .chain([checkrein_tools::verify(Models::built_in())])
            .chain(command)
        {
            registry.add_any(tool).unwrap();
        }
        let value = Arc::new(LastValue::default());
        let mut world = checkrein_testkit::World::new(registry, "version = 1\n", place.clone());
        let variables = Variables::new(&place, &Identity::default()).with("spill", &text("spill"));
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")];
        world.gate.policy = Arc::new(policy(&format!("{POLICY}\n{rules}"), &variables));
        world.gate.hooks.push(Arc::clone(&value) as Arc<dyn Hook>);
        world.gate.facts = Arc::new(HostFacts::default());
        world.gate.sandbox =
            Arc::new(Unconfined::new(env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()));
        world.gate.spill = Arc::new(SpillFolder(base.join("spill")));
        world.identity = Identity(BTreeMap::from([("customer".to_owned(), "c-17".to_owned())]));
        world.by_harness = true;
        world.unconfined_allowed = true;
        Self { _folder: folder, world, value, place }
    }

    /// With one command tool more, from its manifest. Programs written as `./NAME` are in [`World::task`].
    pub(crate) fn with_command(manifest: &str) -> Self {
        Self::with(Some(Manifest::load(Source { file: "tool.toml", text: manifest }).unwrap()), "")
    }

    /// Stops the calls from now on.
    pub(crate) fn cancel(&self) {
        self.world.cancel.cancel();
    }

    /// The task folder, which is not the workspace.
    pub(crate) fn task(&self) -> PathBuf {
        PathBuf::from(&self.place.root).parent().unwrap().join("task")
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.world.gate.registry
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
        self.world.seen.get(self.path(name).to_str().unwrap())
    }

    /// The value that the last call gave.
    pub(crate) fn value(&self) -> Value {
        self.value.0.lock().unwrap().clone()
    }

    /// Judges a call, without running it.
    pub(crate) async fn judge(&self, tool: &str, args: &Value) -> Result<Judged, Refused> {
        self.world.judge(tool, &args.to_string()).await
    }

    /// A whole call. What the rules ask about is approved, for exactly this call.
    pub(crate) async fn call(&mut self, tool: &str, args: Value) -> Finished {
        self.call_while(tool, args, || {}).await
    }

    /// A whole call, in a world where something happens between the decision and the run.
    pub(crate) async fn call_while(&mut self, tool: &str, args: Value, meanwhile: impl FnOnce()) -> Finished {
        self.world.call_while(tool, &args.to_string(), Yes::Asked, meanwhile).await
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

/// The call that a text names as the way on: the last name in backquotes that is followed by JSON.
pub(crate) fn next_call(text: &str) -> Option<(String, Value)> {
    let at = text.rfind("` {")?;
    let name = text.get(..at)?.rsplit('`').next()?.to_owned();
    let rest = text.get(at + 2..)?;
    let args = serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()?;
    Some((name, args))
}
