//! The way out: programs have no network but their own loopback, where a proxy listens. It stands in the harness and
//! connects for them, to what their call was granted and nowhere else: a name is looked up here, and an address of
//! this machine or of a private network is not what a name may lead to. It speaks HTTP (`CONNECT`, and plain requests)
//! and SOCKS 5; it never looks into what is sent.

mod http;
mod socks;

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use checkrein_gate::{Connected, Denial, Grant};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::plan::WAY_OUT;

/// Connections at once, at most. A package manager opens some ten.
const MOST_AT_ONCE: usize = 256;
/// Different connections, and different refusals, that are told of one call.
const MOST_TOLD: usize = 256;
/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was connected to, and what was not.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) connected: Vec<Connected>,
    pub(crate) denied: Vec<Denial>,
}

/// Variables that tell programs of the way out, in the spellings that are in use.
pub(crate) fn variables(grant: &Grant) -> Vec<(String, String)> {
    let http = format!("http://{WAY_OUT}");
    let any = format!("socks5h://{WAY_OUT}");
    let mut variables: Vec<(String, String)> = Vec::new();
    for (name, value) in [("http_proxy", &http), ("https_proxy", &http), ("all_proxy", &any)] {
        variables.push((name.to_owned(), value.clone()));
        variables.push((name.to_ascii_uppercase(), value.clone()));
    }
    // Its own loopback needs no proxy, unless it is the machine's own that was granted.
    let local = ["localhost", "127.0.0.1", "::1"];
    let machine = grant.effects().iter().any(|effect| match effect {
        checkrein_contract::Effect::Connect(to) => local.contains(&to.host.as_str()),
        _ => false,
    });
    if !machine {
        for name in ["no_proxy", "NO_PROXY"] {
            variables.push((name.to_owned(), local.join(",")));
        }
    }
    variables
}

/// Serves the listener until it is dropped.
pub(crate) async fn serve(listener: std::net::TcpListener, grant: &Grant, told: &Mutex<Told>) -> Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if open.len() < MOST_AT_ONCE => {
                let (stream, _) = accepted?;
                open.push(one(stream, grant, told));
            }
            Some(_) = open.next(), if !open.is_empty() => {}
        }
    }
}

/// Serves one connection. What goes wrong in it is its client's to see.
async fn one(mut client: TcpStream, grant: &Grant, told: &Mutex<Told>) {
    let mut first = [0_u8];
    let Ok(Ok(1)) = timeout(PATIENCE, client.peek(&mut first)).await else { return };
    let way = Way { grant, told };
    let joined = match first {
        [socks::VERSION] => timeout(PATIENCE, socks::join(&mut client, &way)).await,
        _ => timeout(PATIENCE, http::join(&mut client, &way)).await,
    };
    if let Ok(Ok(mut server)) = joined {
        _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

/// Who may connect where, and where it is written down.
pub(crate) struct Way<'a> {
    grant: &'a Grant,
    told: &'a Mutex<Told>,
}

impl Way<'_> {
    /// Connects, if that was granted.
    ///
    /// # Errors
    /// `PermissionDenied` when it was not, else what the network says.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // Asked before it is looked up: a name can carry a message.
        self.check(&host, port, &[])?;
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port)).await?.collect();
        let ips: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        self.check(&host, port, &ips)?;
        let mut last = Error::from(ErrorKind::HostUnreachable);
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                    let connected = Connected { host, port, address: address.ip().to_string() };
                    if told.connected.len() < MOST_TOLD && !told.connected.contains(&connected) {
                        told.connected.push(connected);
                    }
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn check(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<()> {
        let Err(why) = self.grant.may_connect(host, port, addresses) else { return Ok(()) };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let denial = Denial { kind: "connect".to_owned(), target: format!("{host}:{port}") };
        if told.denied.len() < MOST_TOLD && !told.denied.contains(&denial) {
            told.denied.push(denial);
        }
        Err(Error::new(ErrorKind::PermissionDenied, why))
    }
}
