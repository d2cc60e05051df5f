//! A web server on loopback that gives every request the same short page.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};

/// Starts it; the port.
pub(crate) fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = BufReader::new(&stream);
                let mut lines = request.by_ref().lines().map_while(Result::ok);
                while lines.next().is_some_and(|line| !line.is_empty()) {}
                let body = "hello\n";
                _ = write!(&stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                // What is still being sent is taken: a connection closed over unread bytes is reset, and the client that was
                // still sending fails, or does not, as the clock has it.
                _ = stream.shutdown(Shutdown::Write);
                _ = io::copy(&mut request, &mut io::sink());
            });
        }
    });
    port
}
