//! Who is there outside while an attempt runs: services on the loopback and on local sockets that answer everybody, and a
//! process to attack. All is of this machine and goes with this process.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::spawn;

/// A process that minds its own business. It ends with this value.
pub(crate) struct Victim(Child);

impl Victim {
    /// Its environment, and so its memory, holds the mark.
    pub(crate) fn start(mark: &str) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600").env_clear().env("PURPOSE", mark).env("PATH", super::world::PATH);
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A TCP service; its port, where this machine has such addresses.
pub(crate) fn tcp(address: IpAddr, mark: &str) -> Option<u16> {
    let listener = TcpListener::bind((address, 0)).ok()?;
    let port = listener.local_addr().ok()?.port();
    let mark = mark.to_owned();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            _ = writeln!(&stream, "{mark}");
        }
    });
    Some(port)
}

pub(crate) fn tcp_of_old(mark: &str) -> u16 {
    tcp(Ipv4Addr::LOCALHOST.into(), mark).unwrap()
}

pub(crate) fn tcp_of_now(mark: &str) -> Option<u16> {
    tcp(Ipv6Addr::LOCALHOST.into(), mark)
}

/// A service that answers datagrams; its port.
pub(crate) fn udp(mark: &str) -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    let mark = mark.to_owned();
    spawn(move || {
        let mut bytes = [0; 512];
        while let Ok((_, from)) = socket.recv_from(&mut bytes) {
            _ = socket.send_to(mark.as_bytes(), from);
        }
    });
    port
}

/// A service on a socket with a file.
pub(crate) fn local(path: &Path, mark: &str) {
    serve(UnixListener::bind(path).unwrap(), mark);
}

/// A service on a socket with a file that takes datagrams and writes them down beside it.
pub(crate) fn local_datagrams(path: &Path, heard: &Path) {
    let socket = UnixDatagram::bind(path).unwrap();
    let heard = heard.to_owned();
    spawn(move || {
        let mut bytes = [0; 512];
        while let Ok(count) = socket.recv(&mut bytes) {
            _ = std::fs::write(&heard, &bytes[..count]);
        }
    });
}

/// A service on a name without a file.
pub(crate) fn abstract_name(name: &str, mark: &str) {
    serve(UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap(), mark);
}

fn serve(listener: UnixListener, mark: &str) {
    let mark = mark.to_owned();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            _ = writeln!(&stream, "{mark}");
        }
    });
}
