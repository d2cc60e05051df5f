//! The first process inside: it makes the view, starts the program, answers notices, and buries whoever dies. When it
//! goes, the kernel ends everything that is left in its process namespace; without one it does so itself.

use std::fs;
use std::io::Result;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use super::notices::Notices;
use super::room::Room;
use super::{Broken, Reports, mounts, program, raw, room};
use crate::plan::{Layer, Plan, Report, WAY_OUT};

/// Runs the plan.
pub(super) fn run(plan: &Plan, reports: &Reports, told: &OwnedFd) {
    match begin(plan, reports, told) {
        Ok(begun) => begun.bury(plan, reports),
        Err(broken) => reports.broken(broken),
    }
}

struct Begun {
    room: Room,
    signals: OwnedFd,
    program: Pid,
    notices: Option<Notices>,
}

fn begin(plan: &Plan, reports: &Reports, told: &OwnedFd) -> std::result::Result<Begun, Broken> {
    // Without an answer the launcher is gone, or users could not be mapped, which it tells itself.
    let mut answer = [0_u8];
    if rustix::io::read(told, &mut answer) != Ok(1) {
        raw::leave(1);
    }
    let meminfo = fs::File::open("/proc/meminfo").ok();
    if plan.layers.namespaces {
        mounts::enter(plan).map_err(Broken::of(Layer::Namespaces, "the view can not be made"))?;
        _ = rustix::system::sethostname(b"checkrein");
    } else {
        // Whoever loses its parent comes to this process, and so is found when all is to end.
        _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
    if plan.layers.network {
        raw::loopback_up().map_err(Broken::of(Layer::Network, "no loopback"))?;
        if plan.way_out {
            // It belongs to this network namespace, whoever holds it: the harness answers it from outside.
            let listener = TcpListener::bind(WAY_OUT).map_err(Broken::of(Layer::Network, "no way out"))?;
            reports.hand_over(&listener.into()).map_err(Broken::of(Layer::Network, "no way out"))?;
        }
    }
    let room = Room::begin(meminfo, plan);
    let signals = raw::signals().map_err(Broken::plain("no signals"))?;
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(Broken::plain("no socket"))?;
    let program = match raw::fork().map_err(Broken::plain("no process"))? {
        raw::Forked::Child => {
            drop(ours);
            raw::leave(program::become_it(plan, reports, &theirs));
        }
        raw::Forked::Parent(program) => program,
    };
    drop(theirs);
    let notices = if plan.layers.notices { Notices::taken(&ours, program, plan) } else { None };
    // What the program may not do to this process, it can not do: it has no right that this one lacks, and not all of
    // those that this one keeps.
    _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    Ok(Begun { room, signals, program, notices })
}

impl Begun {
    /// Until the program has ended.
    fn bury(mut self, plan: &Plan, reports: &Reports) {
        loop {
            let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
            if let Some(notices) = &self.notices {
                fds.push(PollFd::from_borrowed_fd(notices.fd(), PollFlags::IN));
            }
            _ = poll(&mut fds, Some(&room::EVERY));
            let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
            drop(fds);
            let seen = ready.get(1).copied().unwrap_or_else(PollFlags::empty);
            if let Some(notices) = &mut self.notices {
                if seen.contains(PollFlags::IN) {
                    notices.answer_one(reports);
                } else if !seen.is_empty() {
                    // Nobody is left who could make a call.
                    self.notices = None;
                }
            }
            while let Some(signal) = raw::next_signal(&self.signals) {
                if signal != libc::SIGCHLD {
                    signal_all(plan, Signal::TERM);
                }
            }
            let ended = self.dead();
            let room = &mut self.room;
            let exhausted = || room.exhausted(|| inside(plan)).map(|what| Report::Exhausted(what.to_owned()));
            if let Some(status) = ended.or_else(exhausted) {
                reports.tell(&status);
                if !plan.layers.namespaces {
                    end_descendants();
                }
                return;
            }
        }
    }

    /// Takes the dead away; how the program ended, if it did.
    fn dead(&self) -> Option<Report> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.program {
                return Some(told(status));
            }
        }
        None
    }
}

fn told(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, signal) => Report::Killed(signal.unwrap_or(libc::SIGKILL)),
    }
}

/// Asks everybody inside.
fn signal_all(plan: &Plan, signal: Signal) {
    for pid in inside(plan) {
        _ = kill_process(pid, signal);
    }
}

/// Everybody inside.
fn inside(plan: &Plan) -> Vec<Pid> {
    if plan.layers.namespaces { others() } else { descendants() }
}

/// Everybody in this process namespace but this process.
fn others() -> Vec<Pid> {
    let own = rustix::process::getpid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| *pid != own).collect()
}

/// Ends all that came from this process, and what they start meanwhile.
fn end_descendants() {
    loop {
        let left = descendants();
        if left.is_empty() {
            return;
        }
        for pid in left {
            _ = kill_process(pid, Signal::KILL);
        }
        _ = wait(WaitOptions::empty());
    }
}

fn descendants() -> Vec<Pid> {
    let mut found: Vec<Pid> = Vec::new();
    let mut look = vec![rustix::process::getpid()];
    while let Some(pid) = look.pop() {
        for child in children(pid).unwrap_or_default() {
            found.push(child);
            look.push(child);
        }
    }
    found
}

fn children(pid: Pid) -> Result<Vec<Pid>> {
    let pid = pid.as_raw_nonzero();
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let listed = fs::read_to_string(task?.path().join("children"))?;
        found.extend(listed.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Ok(found)
}
