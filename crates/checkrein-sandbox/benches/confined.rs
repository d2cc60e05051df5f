//! What confinement costs: `true` through the gate, bare and confined, by turns in one run; and layer by layer. The bench is
//! its own launcher, which is larger than nothing and smaller than the real one.

use std::ffi::OsString;
use std::sync::Arc;

use checkrein_contract::Place;
use checkrein_gate::{Registry, Sandbox};
use checkrein_sandbox::{Confined, Layer, Settings, Unconfined};
use checkrein_testkit::{SpillFolder, World};
use divan::Bencher;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

#[path = "../tests/support/tool.rs"]
mod tool;

const POLICY: &str = "version = 1\n[[rule]]\nid = \"true\"\ndecision = \"allow\"\nreason = \"a bench\"\neffect = \"run\"\nprogram = [\"true\"]\n";

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if checkrein_sandbox::launch_if_asked(arguments).is_none() {
        divan::main();
    }
}

struct Bench {
    world: World,
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

fn env() -> Vec<(String, String)> {
    vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]
}

impl Bench {
    fn with(sandbox: Arc<dyn Sandbox>) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let root = folder.path().canonicalize().expect("it is there").display().to_string();
        let mut registry = Registry::new();
        registry.add(tool::RunProgram).expect("the tool fits");
        let place = Place { root: root.clone(), cwd: root, ..Place::default() };
        let mut world = World::new(registry, POLICY, place);
        world.gate.sandbox = sandbox;
        world.gate.spill = Arc::new(SpillFolder(folder.path().join("spill")));
        world.unconfined_allowed = true;
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { world, runtime, _folder: folder }
    }

    fn without(layers: &[Layer]) -> Self {
        Self::with(Arc::new(Confined::new(Settings {
            launcher: std::env::current_exe().expect("this bench"),
            env: env().into(),
            home: "/home/user".into(),
            without: layers.to_vec(),
        })))
    }

    fn run(&mut self) {
        let args = json!({"argv": ["true"], "effects": [{"effect": "run", "program": "true", "argv": ["true"], "modelled": true}]});
        let finished = self.runtime.block_on(self.world.call("run_program", &args.to_string()));
        assert!(finished.text.contains("\"exit\":0"), "{}", finished.text);
    }
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn bare(bencher: Bencher<'_, '_>) {
    let mut bench = Bench::with(Arc::new(Unconfined::new(env())));
    bencher.bench_local(|| bench.run());
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn confined(bencher: Bencher<'_, '_>) {
    let mut bench = Bench::without(&[]);
    bencher.bench_local(|| bench.run());
}

/// The same with one layer off: what that layer costs is the difference.
#[divan::bench(sample_count = 100, sample_size = 1, args = ["namespaces", "network", "landlock", "calls", "notices"])]
fn without(bencher: Bencher<'_, '_>, name: &str) {
    let layers: Vec<Layer> = Layer::ALL.into_iter().filter(|layer| layer.as_str() == name).collect();
    let mut bench = Bench::without(&layers);
    bencher.bench_local(|| bench.run());
}
