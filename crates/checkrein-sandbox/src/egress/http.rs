//! The HTTP side of the way out: `CONNECT host:port`, and requests that name a whole URL. It reads the head of the first
//! request and no more; what follows is the server's.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Way;

/// Longest head, bytes: what servers usually take.
const LONGEST_HEAD: usize = 64 * 1024;
const MOST_HEADERS: usize = 100;

/// Connects as the client's first request says, and passes on what belongs to the server.
pub(super) async fn join(client: &mut TcpStream, way: &Way<'_>) -> Result<TcpStream> {
    let mut bytes = Vec::new();
    let request = loop {
        let read = client.read_buf(&mut bytes).await?;
        if read == 0 || bytes.len() > LONGEST_HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        match head(&bytes) {
            Ok(Some(request)) => break request,
            Ok(None) => {}
            Err(error) => {
                refuse(client, "400 Bad Request", "this proxy takes `CONNECT host:port` and whole http URLs").await?;
                return Err(error);
            }
        }
    };
    let mut server = match way.connect(&request.host, request.port).await {
        Ok(server) => server,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let (host, port) = (&request.host, request.port);
            let why = format!("connecting to {host}:{port} was refused: {error}");
            refuse(client, "403 Forbidden", &why).await?;
            return Err(error);
        }
        Err(error) => {
            refuse(client, "502 Bad Gateway", &error.to_string()).await?;
            return Err(error);
        }
    };
    match request.passed_on {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Some(head) => server.write_all(&head).await?,
    }
    server.write_all(bytes.get(request.length..).unwrap_or_default()).await?;
    Ok(server)
}

struct Request {
    host: String,
    port: u16,
    /// The head as the server gets it; `None` for `CONNECT`, whose head is for the proxy alone.
    passed_on: Option<Vec<u8>>,
    length: usize,
}

/// The head of a request; `None` while it is not all there.
fn head(bytes: &[u8]) -> Result<Option<Request>> {
    let wrong = || Error::from(ErrorKind::InvalidData);
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes).map_err(|_| wrong())? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let (method, target) = (request.method.ok_or_else(wrong)?, request.path.ok_or_else(wrong)?);
    if method.eq_ignore_ascii_case("CONNECT") {
        let (host, port) = authority(target).ok_or_else(wrong)?;
        let port = port.ok_or_else(wrong)?;
        return Ok(Some(Request { host, port, passed_on: None, length }));
    }
    let rest = target.strip_prefix("http://").ok_or_else(wrong)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    let (host, port) = authority(place).ok_or_else(wrong)?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    // One request a connection: the next one may be for another host.
    let mut head = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    for header in request.headers.iter() {
        let hop = ["connection", "proxy-connection", "keep-alive", "proxy-authorization", "host"];
        if !hop.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            head.extend_from_slice(header.name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(header.value);
            head.extend_from_slice(b"\r\n");
        }
    }
    // The host that was checked, not another one that a header names.
    head.extend_from_slice(format!("Host: {place}\r\nConnection: close\r\n\r\n").as_bytes());
    Ok(Some(Request { host, port: port.unwrap_or(80), passed_on: Some(head), length }))
}

/// `host`, `host:port` or `[address]:port`, without a user.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    if text.contains('@') {
        return None;
    }
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().ok()?),
        None if rest.is_empty() => None,
        None => return None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> Result<()> {
    let body = format!("checkrein: {why}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(body.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, u16, Option<String>)> {
        let request = head(text.as_bytes()).ok()??;
        Some((request.host, request.port, request.passed_on.map(|head| String::from_utf8(head).unwrap())))
    }

    #[test]
    fn a_tunnel_names_host_and_port() {
        assert_eq!(
            read("CONNECT a.example:443 HTTP/1.1\r\nHost: b\r\n\r\n"),
            Some(("a.example".to_owned(), 443, None))
        );
        assert_eq!(read("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n"), Some(("2001:db8::1".to_owned(), 443, None)));
        for wrong in ["CONNECT a.example HTTP/1.1\r\n\r\n", "CONNECT u@a:1 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"]
        {
            assert!(head(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(matches!(head(b"CONNECT a.example:4"), Ok(None)));
    }

    /// The host that was checked is the one that the server is told, and the connection serves one request.
    #[test]
    fn a_plain_request_is_passed_on_for_one_host() {
        let wanted = "GET /x?y HTTP/1.1\r\nAccept: */*\r\nHost: a.example:8080\r\nConnection: close\r\n\r\n";
        let text = "GET http://a.example:8080/x?y HTTP/1.1\r\nHost: other.example\r\nAccept: */*\r\n\
                    Proxy-Connection: keep-alive\r\n\r\n";
        assert_eq!(read(text), Some(("a.example".to_owned(), 8080, Some(wanted.to_owned()))));
        let bare = read("GET http://a.example?y HTTP/1.1\r\n\r\n").unwrap();
        assert!(bare.2.unwrap().starts_with("GET /?y HTTP/1.1\r\nHost: a.example\r\n"));
        assert_eq!(bare.1, 80);
    }
}
