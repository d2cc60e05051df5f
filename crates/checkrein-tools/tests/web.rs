//! `web_fetch` with a real server on this machine: what it shows, what it takes, and where it does not go.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use checkrein_contract::{Code, FinishedAs};
use serde_json::{Value, json};

use crate::support::{World, next_call};

/// A server that answers by the path, and remembers which paths were asked for.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets the path and gives the whole answer, head and body.
    pub(crate) fn new(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = Vec::new();
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                head.extend(lines.by_ref().take_while(|line| !line.is_empty()));
                let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
                noted.lock().unwrap().push(path.clone());
                // A client that has seen enough hangs up.
                _ = stream.write_all(&answer(&path));
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// An answer that closes the connection.
pub(crate) fn answer(status: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{head}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn site(path: &str) -> Vec<u8> {
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    let to = |place: &str| answer("302 Found", &format!("Location: {place}\r\n"), b"");
    match path {
        "/open/guide" => answer("200 OK", html, b"<h1>Guide</h1><p>Do <b>this</b>.<script>bad()</script>"),
        "/open/long" => {
            let lines: String = (1..=9_000).map(|n| format!("line {n}\n")).collect();
            answer("200 OK", "Content-Type: text/plain\r\n", lines.as_bytes())
        }
        "/open/one-line" => answer("200 OK", "Content-Type: text/plain\r\n", "\u{e9}".repeat(40_000).as_bytes()),
        "/open/none" => answer("404 Not Found", html, b"<p>No such page.</p>"),
        "/open/image" => answer("200 OK", "Content-Type: image/png\r\n", b"\x89PNG\0"),
        "/open/nothing" => answer("204 No Content", "", b""),
        "/open/huge" => answer("200 OK", "Content-Type: text/plain\r\nContent-Length: 9000000\r\n", b"x"),
        "/open/endless" => answer("200 OK", "Content-Type: text/plain\r\n", &vec![b'x'; 6_000_000]),
        "/open/short" => answer("200 OK", "Content-Type: text/plain\r\nContent-Length: 100\r\n", b"too short"),
        "/open/within" => to("guide"),
        "/open/loop" => to("/open/loop"),
        "/open/out" => to("/closed"),
        "/open/to-file" => to("file:///etc/passwd"),
        "/open/to-http" => to("http://a.example/"),
        "/open/to-metadata" => to("http://169.254.169.254/latest/"),
        "/open/hostile" => answer("200 OK", "Content-Type: text/plain\r\n", "\x1b[31m\u{202e}x\r\n\x07".as_bytes()),
        "/closed" => answer("200 OK", "Content-Type: text/plain\r\n", b"closed"),
        _ => b"nonsense\r\n\r\n".to_vec(),
    }
}

/// What is below `/open` may be fetched by rule; the rest is asked about, and a person says yes to the call.
fn world(server: &Server) -> World {
    let rule = format!(
        "[[rule]]\nid = \"open\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"connect\"\nhosts = [\"127.0.0.1\"]\n\
         ports = [{}]\nurl_paths = [\"/open/**\"]\nmethods = [\"GET\"]\n",
        server.port
    );
    World::with_rules(&rule)
}

/// Snapshot of what the model reads. Shows R69, R70.
#[tokio::test]
async fn shown() {
    let server = Server::new(site);
    let mut world = world(&server);
    let mut text = Vec::new();
    for path in [
        "/open/guide",
        "/open/within",
        "/open/long",
        "/open/none",
        "/open/image",
        "/open/nothing",
        "/open/huge",
        "/open/endless",
        "/open/short",
        "/open/loop",
        "/open/out",
        "/open/to-file",
        "/open/to-http",
        "/open/to-metadata",
        "/open/hostile",
        "/open/broken",
        "/closed",
    ] {
        let said = world.call("web_fetch", json!({ "url": server.url(path) })).await.text;
        let lines: Vec<&str> = said.lines().collect();
        let said = match lines.len() {
            0..=9 => said.clone(),
            all => format!("{}\n<{} lines>\n{}", lines[..3].join("\n"), all - 6, lines[all - 3..].join("\n")),
        };
        text.push(format!("--> {path}\n{said}\n"));
    }
    let place = world.path("..").canonicalize().unwrap();
    let text = text.join("\n").replace(place.to_str().unwrap(), "<PLACE>");
    insta::assert_snapshot!(text.replace(&server.port.to_string(), "<PORT>"));
}

/// A redirect is followed where the rules allow it, whoever said yes to the call; elsewhere nothing is asked for.
#[tokio::test]
async fn redirects_are_judged() {
    let server = Server::new(site);
    let mut world = world(&server);
    world.text("web_fetch", json!({ "url": server.url("/open/within") })).await;
    assert_eq!(server.asked(), ["/open/within", "/open/guide"]);
    let (code, message) = world.error("web_fetch", json!({ "url": server.url("/open/out") })).await;
    assert_eq!(code, Code::WebRedirect);
    assert!(message.contains(&format!("has moved to {}", server.url("/closed"))), "{message}");
    assert_eq!(server.asked(), ["/open/out"], "it was not asked for");
    // Asked for by itself it is judged by itself: here a person says yes.
    let judged = world.judge("web_fetch", &json!({ "url": server.url("/closed") })).await.unwrap();
    assert_eq!(judged.decision().verdict, checkrein_contract::Verdict::Ask);
    assert!(world.text("web_fetch", json!({ "url": server.url("/closed") })).await.starts_with("closed\n"));
}

/// A name may be granted; where it leads is another matter.
#[tokio::test]
async fn a_name_leads_to_no_private_address() {
    let Ok(name) = std::fs::read_to_string("/etc/hostname") else { return };
    let mut world = World::with_rules("");
    let found = std::net::ToSocketAddrs::to_socket_addrs(&(name.trim(), 443));
    let own = |address: std::net::SocketAddr| address.ip().is_loopback() || address.ip().to_string().starts_with("10.");
    if found.is_ok_and(|mut found| found.any(own)) {
        let (code, message) = world.error("web_fetch", json!({ "url": format!("https://{}/", name.trim()) })).await;
        assert_eq!(code, Code::Denied, "{message}");
        assert!(message.contains("its name leads to a"), "{message}");
    }
}

/// Shows R73: what is cut is in a file, and the call that is named gets the very next line.
#[tokio::test]
async fn nothing_is_lost_where_it_is_cut() {
    let server = Server::new(site);
    let mut world = world(&server);
    let text = world.text("web_fetch", json!({ "url": server.url("/open/long") })).await;
    let shown = text.lines().take_while(|line| line.starts_with("line ")).count();
    let (tool, args) = next_call(&text).unwrap();
    let rest = world.text(&tool, args).await;
    assert!(rest.starts_with(&format!("{0}: line {0}\n", shown + 1)), "{}", &rest[..40]);
    let text = world.text("web_fetch", json!({ "url": server.url("/open/one-line") })).await;
    assert!(next_call(&text).unwrap().1["offset"] == json!(1), "a line that is cut begins anew");
}

/// What is no https address is a mistake of the call, told before anybody is asked.
#[tokio::test]
async fn other_addresses_are_not_taken() {
    let mut world = World::new();
    for url in ["ftp://a.example/", "file:///etc/passwd", "https://u:p@a.example/", "a.example", "https://a b/"] {
        let finished = world.call("web_fetch", json!({ "url": url })).await;
        assert_eq!((finished.code, finished.ended), (Some(Code::InvalidArgs), FinishedAs::Refused), "{url}");
    }
    let (code, message) = world.error("web_fetch", json!({ "url": "http://a.example/" })).await;
    assert_eq!((code, message.contains("only https")), (Code::InvalidArgs, true), "{message}");
}

/// Names, addresses and what was sent on are in the value.
#[tokio::test]
async fn the_value_says_where_it_came_from() {
    let server = Server::new(site);
    let mut world = world(&server);
    world.text("web_fetch", json!({ "url": server.url("/open/within") })).await;
    let value: Value = world.value();
    assert_eq!(value["address"], "127.0.0.1");
    assert_eq!(value["by_way_of"], json!([server.url("/open/within")]));
    assert_eq!(value["url"], json!(server.url("/open/guide")));
}
