//! A call through the gate for one attempt, so that what it is granted is what the gate says. It decides nothing.

use std::sync::Arc;

use checkrein_contract::{FinishedAs, Place};
use checkrein_gate::{Registry, Sandbox};
use checkrein_testkit::{SpillFolder, Yes};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::attempt::Grant;
use crate::facts::Looked;
use crate::tool::{Ended, RunProgram};
use crate::world::World;

/// Every program may run; what may be written is said by each grant.
const POLICY: &str = r#"
version = 1
[[rule]]
id = "any-program"
decision = "allow"
reason = "this is a test"
effect = "run"
program = ["*", "./*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*", "/*/*/*/*/*/*"]
[[rule]]
id = "writes"
decision = "allow"
reason = "this is a test"
effect = "write"
paths = ["{root}/WHERE"]
[[rule]]
id = "loopback"
decision = "allow"
reason = "this is a test"
effect = "connect"
hosts = ["127.0.0.1"]
"#;

/// Runs words in the project; an error where they could not be started.
pub(crate) async fn call(
    world: &World,
    sandbox: Arc<dyn Sandbox>,
    grant: &Grant,
    argv: &[String],
    (milliseconds, cancel): (u64, &CancellationToken),
) -> Result<Ended, String> {
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (root, home) = (text(&world.root), text(&world.home));
    let mut registry = Registry::new();
    registry.add(RunProgram).unwrap();
    let place = Place { root: root.clone(), cwd: root.clone(), home, ..Place::default() };
    let writes = match grant {
        Grant::Out | Grant::Connect | Grant::Effect(..) => "out/**",
        Grant::Project | Grant::Tree => "**",
        Grant::File => "notes.txt",
    };
    let policy = POLICY.replace("WHERE", writes);
    let mut gate = checkrein_testkit::World::new(registry, &policy, place);
    gate.gate.sandbox = sandbox;
    gate.gate.facts = Arc::new(Looked);
    gate.gate.spill = Arc::new(SpillFolder(world.spill()));
    gate.unconfined_allowed = true;
    gate.cancel = cancel.clone();
    let args = json!({
        "argv": argv, "timeout_ms": milliseconds, "keep_bytes": 16 << 10, "effects": effects(grant, world, argv),
    });
    let finished = gate.call_with("run_program", &args.to_string(), Yes::Asked).await;
    if finished.ended != FinishedAs::Ok {
        return Err(finished.text);
    }
    serde_json::from_str(&finished.text).map_err(|error| format!("{error}: {}", finished.text))
}

fn effects(grant: &Grant, world: &World, argv: &[String]) -> Vec<Value> {
    let root = world.root.to_str().unwrap();
    let unknown = json!({"effect": "run", "program": argv.first(), "argv": argv});
    let known = json!({"effect": "run", "program": argv.first(), "argv": argv, "modelled": true});
    match grant {
        Grant::Out | Grant::Project => vec![unknown],
        Grant::Tree => vec![known, json!({"effect": "write", "path": format!("{root}/**"), "glob": true})],
        Grant::File => vec![known, json!({"effect": "write", "path": format!("{root}/notes.txt")})],
        Grant::Effect(effect, path) => vec![known, json!({"effect": effect, "path": world.path(path)})],
        Grant::Connect => vec![unknown, json!({"effect": "connect", "host": "127.0.0.1", "port": 80})],
    }
}
