//! A real HTTP server on loopback that answers with bytes that a test wrote, in the pieces and with the end that it says.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As HTTP ends it.
    Whole,
    /// The connection is closed, as if that were all.
    Closed,
    /// The connection is reset.
    Reset,
    /// Nothing more comes.
    Stall,
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) pieces: Vec<Vec<u8>>,
    /// Each piece is a chunk of its own; else the end of the connection is the end of the answer.
    pub(crate) chunked: bool,
    pub(crate) end: End,
}

impl Answer {
    /// A whole stream of events.
    pub(crate) fn stream(text: &str) -> Self {
        let headers = vec![("content-type", "text/event-stream; charset=utf-8".to_owned())];
        Self { status: 200, headers, pieces: vec![text.as_bytes().to_vec()], chunked: true, end: End::Whole }
    }

    /// An error with a body of JSON.
    pub(crate) fn error(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, ..Self::stream(body) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// In pieces of at most this many bytes.
    pub(crate) fn in_pieces(mut self, bytes: usize) -> Self {
        self.pieces = self.pieces.concat().chunks(bytes).map(<[u8]>::to_vec).collect();
        self
    }

    /// Only this many bytes, and then this end.
    pub(crate) fn cut(mut self, bytes: usize, end: End) -> Self {
        self.pieces = vec![self.pieces.concat()[..bytes].to_vec()];
        self.end = end;
        self
    }

    fn send(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        write!(stream, "HTTP/1.1 {} Some Words\r\n", self.status)?;
        for (name, value) in &self.headers {
            write!(stream, "{name}: {value}\r\n")?;
        }
        write!(stream, "{}\r\n\r\n", if self.chunked { "transfer-encoding: chunked" } else { "connection: close" })?;
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            if self.chunked {
                write!(stream, "{:x}\r\n", piece.len())?;
            }
            stream.write_all(piece)?;
            if self.chunked {
                write!(stream, "\r\n")?;
            }
            stream.flush()?;
        }
        if self.chunked && self.end == End::Whole {
            write!(stream, "0\r\n\r\n")?;
        }
        stream.flush()
    }
}

/// The server. It answers the requests of one connection one after the other, and ends with the test program.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Receiver<Request>,
}

/// What answers the n-th request, from 0.
type Answers = dyn Fn(usize) -> Answer + Send + Sync;

impl Server {
    pub(crate) fn new(answers: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        let (answers, number): (Arc<Answers>, _) = (Arc::new(answers), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answers, number, sender) = (Arc::clone(&answers), Arc::clone(&number), sender.clone());
                thread::spawn(move || serve(stream, &*answers, &number, &sender));
            }
        });
        Self { address, requests }
    }
}

/// Answers as many requests as come over this connection.
fn serve(mut stream: TcpStream, answers: &Answers, number: &AtomicUsize, sender: &Sender<Request>) {
    _ = stream.set_nodelay(true);
    while let Some((line, headers)) = head(&stream) {
        let answer = answers(number.fetch_add(1, Ordering::SeqCst));
        let Some(body) = body(&stream, &headers, answer.end == End::Reset) else { return };
        _ = sender.send(Request { line, headers, body });
        let sent = answer.send(&mut stream);
        if answer.end == End::Stall {
            // Open for as long as the other side waits.
            _ = stream.read(&mut [0]);
        }
        if sent.is_err() || answer.end != End::Whole || !answer.chunked {
            return;
        }
    }
}

/// The head of a request; `None` at the end of the connection. Nothing is read that follows.
fn head(stream: &TcpStream) -> Option<(String, Vec<(String, String)>)> {
    let mut reader = BufReader::with_capacity(1, stream);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    Some((line.trim().to_owned(), headers))
}

/// The body. A connection that is closed while something of a request was not read is reset: then one byte is left.
fn body(mut stream: &TcpStream, headers: &[(String, String)], leave_one: bool) -> Option<Value> {
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse::<usize>().ok()?;
    let mut body = vec![0; length - usize::from(leave_one)];
    stream.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap_or_default())
}
