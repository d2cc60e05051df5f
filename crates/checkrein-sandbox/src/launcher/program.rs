//! The program's own process, before it is the program: it takes its rights away, one layer after the other, and then
//! runs what the plan says. A layer that does not hold is an error, and nothing runs.

use std::io::{Error, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Resource, Rlimit, chdir, getrlimit, setrlimit, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};

use super::{Broken, Reports, filter, landlock, raw};
use crate::given::given;
use crate::plan::{Layer, Limits, NodeKind, Plan, Report};

/// What root keeps of its rights: those over files and users, which the view bounds.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Runs the program. Comes back only when it could not be, which it has reported.
pub(super) fn become_it(plan: &Plan, reports: &Reports, first: &UnixStream) -> i32 {
    if let Err(broken) = confine(plan, reports, first) {
        reports.broken(broken);
        return 1;
    }
    let error = raw::execute(&plan.program, &plan.argv, &plan.env);
    reports.tell(&Report::NotStarted { errno: error.raw_os_error().unwrap_or(libc::EINVAL) });
    1
}

fn confine(plan: &Plan, reports: &Reports, first: &UnixStream) -> Result<(), Broken> {
    let plain = |what: &'static str| move |error: rustix::io::Errno| Broken::plain(what)(error.into());
    raw::default_signals();
    setsid().map_err(plain("no session"))?;
    let input = if plan.input.is_empty() {
        rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())
            .map_err(plain("no /dev/null"))?
    } else {
        given(&plan.input).map_err(Broken::plain("no standard input"))?
    };
    rustix::stdio::dup2_stdin(input).map_err(plain("no standard input"))?;
    limit(&plan.limits).map_err(plain("limits can not be set"))?;
    // Where memory runs out all the same, it is the program that goes, not those who watch it or others.
    _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    chdir(&plan.cwd).map_err(plain("the working directory is not there"))?;
    drop_rights(plan).map_err(plain("rights can not be given up"))?;
    rustix::thread::set_no_new_privs(true).map_err(plain("rights can not be kept from coming back"))?;
    let landlock = if plan.layers.landlock { landlock::restrict(plan)? } else { 0 };
    raw::close_from(3).map_err(Broken::plain("descriptors can not be closed"))?;
    let calls = |what: &'static str| Broken::of(Layer::Calls, what);
    // Notices first: what the second filter refuses, no notice is asked about.
    if plan.layers.notices {
        let program =
            filter::notices(plan.view.iter().any(|node| node.kind == NodeKind::List)).map_err(calls("no filter"))?;
        let listener = raw::install(&program, true).map_err(Broken::of(Layer::Notices, "no notices"))?;
        let listener = listener.ok_or_else(|| Broken::of(Layer::Notices, "no notices")(Error::other("none")))?;
        offer(first, &listener).map_err(Broken::of(Layer::Notices, "notices go nowhere"))?;
    }
    if plan.layers.calls {
        for program in filter::refusals(plan.layers).map_err(calls("no filter"))? {
            raw::install(&program, false).map_err(calls("system calls can not be filtered"))?;
        }
    }
    reports.tell(&Report::Ready { landlock });
    Ok(())
}

/// Lowers each limit to the plan's; one that is lower already stays.
fn limit(limits: &Limits) -> rustix::io::Result<()> {
    let wanted = [
        (Resource::Data, limits.data_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Core, 0),
    ];
    for (resource, most) in wanted {
        let there = getrlimit(resource);
        let lowered = |now: Option<u64>| Some(now.map_or(most, |now| now.min(most)));
        setrlimit(resource, Rlimit { current: lowered(there.current), maximum: lowered(there.maximum) })?;
    }
    Ok(())
}

/// Gives up every right but those that stay.
fn drop_rights(plan: &Plan) -> rustix::io::Result<()> {
    let root = rustix::process::getuid().is_root();
    let kept = if root { KEPT } else { CapabilitySet::empty() };
    let now = rustix::thread::capabilities(None)?;
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for right in CapabilitySet::all().difference(kept).iter() {
            // A right that this kernel does not know is none that could be used.
            _ = remove_capability_from_bounding_set(right);
        }
    } else if plan.layers.namespaces {
        return Err(rustix::io::Errno::PERM);
    }
    let kept = kept.intersection(now.permitted);
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}

/// Tells the first process which descriptor to take, and waits until it has: sending it would be a call that is looked
/// at, and nobody looks yet.
fn offer(mut first: &UnixStream, listener: &OwnedFd) -> std::io::Result<()> {
    first.write_all(&listener.as_raw_fd().to_ne_bytes())?;
    first.read_exact(&mut [0_u8])
}
