//! Faults on purpose: the n-th write of the journal, the n-th request, the n-th run of a tool.

mod model;
mod store;
mod tool;

use std::sync::{Arc, Mutex, PoisonError};

use checkrein::Harness;
use checkrein_contract::ProviderFault;

use model::FaultyModel;
use store::FaultyStore;
use tool::FaultyTool;

/// What fails, and when. A plan is a value of one test: two tests at once never meet each other's faults.
///
/// Put into a harness with [`Faults::arm`]. What is counted is counted over all sessions of that harness, from 1.
///
/// The cheapest thorough test of a crash is to fail each write in turn, until a run ends that no fault reached. Whatever came
/// before, the journal proves, and nothing has run that is not on record:
///
/// ```
/// use checkrein_testkit::{Faults, Lab, Scripted};
/// use serde_json::json;
///
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Parcel { number: u32 }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// for write in 1.. {
///     let (lab, sent) = (Lab::new(), std::sync::Arc::new(std::sync::Mutex::new(0)));
///     let counted = sent.clone();
///     let send = checkrein::tool("send", "Sends a parcel.", move |_: Parcel| {
///         *counted.lock().unwrap() += 1;
///         async { Ok::<_, String>("sent") }
///     });
///     let policy = "version = 1\n[[rule]]\nid = \"send\"\ndecision = \"allow\"\nreason = \"ours\"\neffect = \"tool\"\ntool = \"send\"";
///     let model = Scripted::new().calls("send", json!({ "number": 7 })).says("It is on its way.");
///     let mut harness = lab.harness().tool(send).policy(policy).provider(model).build()?;
///     let faults = Faults::new().write(write).arm(&mut harness);
///
///     let ended = harness.run("Send parcel 7.").await;
///
///     assert!(*sent.lock().unwrap() <= 1);
///     if !faults.all_met() {
///         assert!(ended.is_ok());
///         break;
///     }
///     assert!(ended.is_err(), "a session whose journal fails does not go on");
/// }
/// # Ok::<(), checkrein::HarnessError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Faults(Vec<Planned>);

/// Where a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Point {
    Write,
    Request(ProviderFault),
    Before(String),
    After(String),
}

/// One fault of a plan.
#[derive(Clone, Debug)]
struct Planned {
    point: Point,
    nth: u32,
    /// From there on every time, not once.
    from_there_on: bool,
    seen: u32,
    met: bool,
}

/// Faults that are in a harness; see [`Faults::arm`].
#[derive(Clone, Debug)]
pub struct Armed(Arc<Mutex<Vec<Planned>>>);

impl Faults {
    /// A plan without a fault.
    pub fn new() -> Self {
        Self::default()
    }

    fn planned(mut self, point: Point, nth: u32, from_there_on: bool) -> Self {
        self.0.push(Planned { point, nth, from_there_on, seen: 0, met: false });
        self
    }

    /// The n-th write of the journal fails, and leaves nothing. The first one begins the session.
    pub fn write(self, nth: u32) -> Self {
        self.planned(Point::Write, nth, false)
    }

    /// The disk is full from the n-th write on.
    pub fn writes_from(self, nth: u32) -> Self {
        self.planned(Point::Write, nth, true)
    }

    /// The n-th request fails this way. What can be sent again is, and counts as the next request.
    pub fn request(self, nth: u32, fault: ProviderFault) -> Self {
        self.planned(Point::Request(fault), nth, false)
    }

    /// Every request from the n-th on fails this way.
    pub fn requests_from(self, nth: u32, fault: ProviderFault) -> Self {
        self.planned(Point::Request(fault), nth, true)
    }

    /// The n-th run of a host's own tool fails, having done nothing.
    pub fn tool(self, name: &str, nth: u32) -> Self {
        self.planned(Point::Before(name.to_owned()), nth, false)
    }

    /// The n-th run of a host's own tool does what it does, and fails then.
    pub fn tool_afterwards(self, name: &str, nth: u32) -> Self {
        self.planned(Point::After(name.to_owned()), nth, false)
    }

    /// Puts the faults into a harness.
    ///
    /// # Panics
    /// Where a fault can not be met in this harness: it has no such tool, or no model of its own.
    pub fn arm(self, harness: &mut Harness) -> Armed {
        let names: Vec<String> = harness.extensions.tools.iter().map(|tool| tool.definition().name.clone()).collect();
        for planned in &self.0 {
            match &planned.point {
                Point::Before(name) | Point::After(name) => {
                    assert!(names.contains(name), "`{name}` is none of the host's tools: {}", names.join(", "));
                }
                Point::Request(_) => {
                    assert!(
                        harness.extensions.provider.is_some(),
                        "requests fail in a model that the builder was given"
                    );
                }
                Point::Write => {}
            }
        }
        let armed = Armed(Arc::new(Mutex::new(self.0)));
        harness.store = Arc::new(FaultyStore { inner: Arc::clone(&harness.store), faults: armed.clone() });
        if let Some(model) = harness.extensions.provider.take() {
            harness.extensions.provider = Some(Arc::new(FaultyModel { inner: model, faults: armed.clone() }));
        }
        for tool in &mut harness.extensions.tools {
            *tool = Arc::new(FaultyTool { inner: Arc::clone(tool), faults: armed.clone() });
        }
        armed
    }
}

impl Armed {
    /// Whether every fault struck. A test of a fault that never came proves nothing: assert it.
    pub fn all_met(&self) -> bool {
        self.planned(|planned| planned.iter().all(|fault| fault.met))
    }

    fn planned<T>(&self, look: impl FnOnce(&mut Vec<Planned>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts what happens at a point; whether it fails.
    fn strikes(&self, at: &Point) -> bool {
        self.strike(|point| (point == at).then_some(())).is_some()
    }

    fn request(&self) -> Option<ProviderFault> {
        self.strike(|point| match point {
            Point::Request(fault) => Some(*fault),
            _ => None,
        })
    }

    fn strike<T>(&self, here: impl Fn(&Point) -> Option<T>) -> Option<T> {
        self.planned(|planned| {
            let mut struck = None;
            for fault in planned {
                let Some(found) = here(&fault.point) else { continue };
                fault.seen += 1;
                if fault.seen == fault.nth || (fault.from_there_on && fault.seen > fault.nth) {
                    fault.met = true;
                    struck = struck.or(Some(found));
                }
            }
            struck
        })
    }
}
