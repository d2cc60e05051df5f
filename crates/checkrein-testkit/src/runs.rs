//! Whether a tool ran: for what must never happen.

use checkrein_contract::Body;

use crate::World;

/// Something that knows what ran.
pub trait Runs {
    /// How often this tool was started; `None` where there is no such tool.
    fn runs_of(&self, tool: &str) -> Option<usize>;
}

impl Runs for World {
    fn runs_of(&self, tool: &str) -> Option<usize> {
        self.gate.registry.get(tool)?;
        let started = |body: &Body| matches!(body, Body::Started { tool: named, .. } if named == tool);
        Some(self.journal.events.iter().filter(|(_, body)| started(body)).count())
    }
}

/// Fails where the tool was started, however it ended, and where there is no such tool: a test that a misspelt tool never ran
/// would prove nothing.
///
/// ```
/// # use checkrein_contract::Place;
/// # use checkrein_gate::{Registry, tool};
/// # use checkrein_testkit::{World, assert_never_called};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Input {}
/// # let place = Place { root: "/srv".into(), cwd: "/srv".into(), home: "/home/dev".into(), ..Place::default() };
/// let mut registry = Registry::new();
/// registry.add_any(std::sync::Arc::new(tool("erase", "Erases all.", |_: Input| async { Ok::<_, String>("gone") })))?;
/// let mut world = World::new(registry, "version = 1", place);
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// world.call("erase", "{}").await;
/// # });
/// assert_never_called!(world, "erase");
/// # Ok::<(), checkrein_gate::RegistryError>(())
/// ```
#[macro_export]
macro_rules! assert_never_called {
    ($where:expr, $tool:expr $(,)?) => {
        $crate::never_called(&$where, $tool)
    };
}

/// What [`assert_never_called!`] does.
///
/// # Panics
/// Where the tool was started, or is not there.
#[track_caller]
pub fn never_called(runs: &impl Runs, tool: &str) {
    match runs.runs_of(tool) {
        Some(0) => {}
        Some(times) => panic!("`{tool}` was never to be called, and was started {times} times"),
        None => panic!("there is no tool `{tool}`, so that it was never called says nothing"),
    }
}
