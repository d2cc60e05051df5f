//! The harness's end of the launcher's socket: the plan goes in, reports come out, and with one of them the listener of
//! the way out.

use std::io::{Error, ErrorKind, IoSliceMut, Result};
use std::mem::MaybeUninit;
use std::net::TcpListener;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;

use crate::plan::{Plan, Report, YES};

/// Longest report, bytes. The longest path and some words.
const LONGEST: usize = 64 * 1024;

pub(crate) struct Reports {
    socket: UnixStream,
    bytes: Vec<u8>,
    listener: Option<TcpListener>,
}

impl Reports {
    pub(crate) fn over(socket: std::os::unix::net::UnixStream) -> Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UnixStream::from_std(socket)?, bytes: Vec::new(), listener: None })
    }

    pub(crate) async fn give(&mut self, plan: &Plan) -> Result<()> {
        let mut line = serde_json::to_vec(plan)?;
        line.push(b'\n');
        self.socket.write_all(&line).await
    }

    /// Answers whether a path may be written.
    pub(crate) async fn answer(&mut self, yes: bool) -> Result<()> {
        self.socket.write_all(&[if yes { YES } else { b'n' }]).await
    }

    /// The listener that came with a report.
    pub(crate) fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// The next report; `None` when the launcher has gone.
    pub(crate) async fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return serde_json::from_slice(&line).ok();
            }
            if self.bytes.len() > LONGEST || !matches!(self.more().await, Ok(1..)) {
                return None;
            }
        }
    }

    async fn more(&mut self) -> Result<usize> {
        let (socket, bytes, listener) = (&self.socket, &mut self.bytes, &mut self.listener);
        socket
            .async_io(Interest::READABLE, || {
                let mut buffer = [0_u8; 4096];
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut control = RecvAncillaryBuffer::new(&mut space);
                let slices = &mut [IoSliceMut::new(&mut buffer)];
                let read = recvmsg(socket, slices, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
                for message in control.drain() {
                    if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                        *listener = descriptors.map(TcpListener::from).next().or(listener.take());
                    }
                }
                bytes.extend_from_slice(buffer.get(..read).ok_or_else(|| Error::from(ErrorKind::InvalidData))?);
                Ok(read)
            })
            .await
    }
}
