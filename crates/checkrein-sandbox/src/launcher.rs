//! The launcher: this very program, started again, that confines itself and then becomes the program to run. It has one
//! thread, so it may fork; it reads its plan from standard input, a socket, and reports there. What it can not put in
//! place as the plan says it reports, and runs nothing.
//!
//! Three processes: the *launcher* stays outside and ends when the harness does; the *first* process inside makes the
//! view, looks at notices and buries the dead; the *program* takes its rights away from itself and runs.

mod filter;
mod first;
mod landlock;
mod mounts;
mod notices;
mod program;
mod raw;
mod room;

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, set_parent_process_death_signal, waitpid};

use crate::plan::{Layer, Plan, Report, YES};

/// The word by which this program is asked to be the launcher.
pub(crate) const WORD: &str = "__confine";

/// Becomes the launcher when this program was started as one, as its arguments say; `None` otherwise. To be called first
/// in `main`, before any thread is started.
pub fn launch_if_asked(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    (arguments.into_iter().nth(1)? == WORD).then(|| match begin() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Why something could not be put in place.
pub(crate) struct Broken {
    layer: Option<Layer>,
    reason: String,
}

impl Broken {
    fn of(layer: Layer, what: &str) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self { layer: Some(layer), reason: format!("{what}: {}", plainly(&error)) }
    }

    fn plain(what: &str) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self { layer: None, reason: format!("{what}: {error}") }
    }
}

/// What the kernel says, and what it means where that is known.
fn plainly(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => "the limit of user namespaces is reached, or 0 (user.max_user_namespaces)".to_owned(),
        Some(libc::EBUSY) => "somebody else takes them already".to_owned(),
        Some(libc::EPERM) => "not permitted here".to_owned(),
        Some(libc::ENOSYS) => "this kernel has no such call, or it is refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Where reports go. Each is one small write, so those of several processes do not mix.
pub(crate) struct Reports(UnixStream);

impl Reports {
    fn tell(&self, report: &Report) {
        let mut line = serde_json::to_vec(report).unwrap_or_default();
        line.push(b'\n');
        // Nobody listens any more: the harness is gone, and this process goes as well.
        _ = (&self.0).write_all(&line);
    }

    /// Gives the harness something that is open here.
    fn hand_over(&self, descriptor: &OwnedFd) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(&Report::WayOut)?;
        line.push(b'\n');
        let descriptors = [descriptor.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&self.0, &[IoSlice::new(&line)], &mut control, SendFlags::empty())?;
        Ok(())
    }

    /// Asks the harness whether a rule lets this path be written. Whoever gets no answer has no right.
    fn may_write(&self, path: &std::path::Path) -> bool {
        let Some(path) = path.to_str().map(str::to_owned) else { return false };
        self.tell(&Report::MayWrite { path });
        let mut answer = [0_u8];
        matches!((&self.0).read(&mut answer), Ok(1)) && answer == [YES]
    }

    fn broken(&self, broken: Broken) {
        self.tell(&Report::Failed { layer: broken.layer, reason: broken.reason });
    }
}

fn begin() -> std::io::Result<()> {
    let socket = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let mut line = Vec::new();
    BufReader::new(&socket).read_until(b'\n', &mut line)?;
    let plan: Plan = serde_json::from_slice(&line)?;
    let reports = Reports(socket);
    if let Err(broken) = launch(&plan, &reports) {
        reports.broken(broken);
    }
    Ok(())
}

fn launch(plan: &Plan, reports: &Reports) -> Result<(), Broken> {
    // The one that ends a run asks the whole group to end; those inside do, and this process waits for them.
    raw::ignore_termination();
    let (told, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| Broken::plain("no pipe")(error.into()))?;
    let spaces = raw::Spaces { own: plan.layers.namespaces, network: plan.layers.network };
    let child = match raw::fork_into(spaces).map_err(Broken::of(Layer::Namespaces, "the kernel gives none"))? {
        raw::Forked::Child => {
            drop(tell);
            // The first process ends when the launcher does, whatever ends that.
            _ = set_parent_process_death_signal(Some(Signal::KILL));
            first::run(plan, reports, &told);
            raw::leave(0);
        }
        raw::Forked::Parent(child) => child,
    };
    drop(told);
    reports.tell(&Report::First(child.as_raw_nonzero().get()));
    if plan.layers.namespaces
        && let Err(error) = raw::map_users(child)
    {
        _ = rustix::process::kill_process(child, Signal::KILL);
        return Err(Broken::of(Layer::Namespaces, "users can not be mapped")(error));
    }
    _ = rustix::io::write(&tell, b"!");
    drop(tell);
    wait(child, reports)
}

/// Waits for the first process, or for the harness to be gone.
fn wait(child: Pid, reports: &Reports) -> Result<(), Broken> {
    let ended: OwnedFd = pidfd_open(child, PidfdFlags::empty()).map_err(|e| Broken::plain("no pidfd")(e.into()))?;
    loop {
        let mut fds = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&reports.0, PollFlags::RDHUP)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Broken::plain("it can not be waited for")(error.into())),
        }
        let [child_ended, harness_gone] = fds.map(|fd| !fd.revents().is_empty());
        if harness_gone && !child_ended {
            _ = rustix::process::kill_process(child, Signal::KILL);
        }
        if child_ended || harness_gone {
            _ = waitpid(Some(child), WaitOptions::empty());
            return Ok(());
        }
    }
}
