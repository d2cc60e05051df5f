//! The SOCKS 5 side of the way out (RFC 1928): connections without a password, by name or by address. It takes nothing
//! else: no listening, no datagrams.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Way;

pub(super) const VERSION: u8 = 5;
const NO_PASSWORD: u8 = 0;
const NO_WAY: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// What is answered: done, refused by the rules, unreachable, no such command, no such kind of address.
const DONE: u8 = 0;
const REFUSED: u8 = 2;
const UNREACHABLE: u8 = 4;
const NO_COMMAND: u8 = 7;
const NO_KIND: u8 = 8;

/// Connects as the client asks.
pub(super) async fn join(client: &mut TcpStream, way: &Way<'_>) -> Result<TcpStream> {
    let mut head = [0_u8; 2];
    client.read_exact(&mut head).await?;
    let mut ways = vec![0_u8; usize::from(head[1])];
    client.read_exact(&mut ways).await?;
    if !ways.contains(&NO_PASSWORD) {
        client.write_all(&[VERSION, NO_WAY]).await?;
        return Err(ErrorKind::InvalidData.into());
    }
    client.write_all(&[VERSION, NO_PASSWORD]).await?;
    let mut request = [0_u8; 4];
    client.read_exact(&mut request).await?;
    let [_, command, _, kind] = request;
    let Some(host) = host(client, kind).await? else {
        answer(client, NO_KIND).await?;
        return Err(ErrorKind::InvalidData.into());
    };
    let port = client.read_u16().await?;
    if command != CONNECT {
        answer(client, NO_COMMAND).await?;
        return Err(ErrorKind::InvalidData.into());
    }
    match way.connect(&host, port).await {
        Ok(server) => {
            answer(client, DONE).await?;
            Ok(server)
        }
        Err(error) => {
            let code = if error.kind() == ErrorKind::PermissionDenied { REFUSED } else { UNREACHABLE };
            answer(client, code).await?;
            Err(error)
        }
    }
}

async fn host(client: &mut TcpStream, kind: u8) -> Result<Option<String>> {
    Ok(match kind {
        IPV4 => Some(Ipv4Addr::from(client.read_u32().await?).to_string()),
        IPV6 => Some(Ipv6Addr::from(client.read_u128().await?).to_string()),
        NAME => {
            let mut name = vec![0_u8; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            Some(String::from_utf8(name).map_err(|_| Error::from(ErrorKind::InvalidData))?)
        }
        _ => None,
    })
}

async fn answer(client: &mut TcpStream, code: u8) -> Result<()> {
    // Where the connection begins is nobody's business.
    client.write_all(&[VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}
