//! The process group of one program: everything it started and did not take out of the group. It signals, and does
//! nothing else.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// A group that is ended for good when this goes, also when the run is dropped half way.
///
/// A process that makes a session of its own (`setsid`) leaves the group and is not reached; only a sandbox that
/// confines could hold it.
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group of a program that was started as its own group's first member.
    pub(crate) fn led_by(pid: Option<u32>) -> Self {
        let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        // Group 1 would mean every process there is.
        Self(pid.filter(|pid| *pid != Pid::INIT))
    }

    /// Asks every member to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every member.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether any member is left.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_some_and(|pid| test_kill_process_group(pid).is_ok())
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            // A group that is gone already is what was wanted.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
