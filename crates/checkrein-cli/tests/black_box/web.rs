//! `web_fetch` with the binary: a page over https from a real server, whose certificate is trusted, or is not.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{Desk, Lines};

/// OpenSSL's own server with a certificate for `localhost`, ended with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn new(desk: &Desk) -> Self {
        // What it serves is a whole answer, head and all.
        desk.write("site/guide", "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>Guide</h1><p>By <b>https</b>.");
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
            .args(["-keyout", "key.pem", "-out", "certificate.pem", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
            .current_dir(desk.path("site"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut child = Command::new("openssl")
            .args(["s_server", "-HTTP", "-accept", "127.0.0.1:0", "-cert", "certificate.pem", "-key", "key.pem"])
            .current_dir(desk.path("site"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // `ACCEPT 127.0.0.1:40123`
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.starts_with("ACCEPT ")).unwrap();
        let port = line.rsplit(':').next().unwrap().parse().unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }
}

fn run(desk: &Desk, server: &Server, trusted: bool) -> Lines {
    let script = format!(
        "version = 1\n[[step]]\ncalls = [{{ tool = \"web_fetch\", args = {{ url = \"https://localhost:{}/guide\" }} }}]\n\
         [[step]]\ntext = \"done\"\n",
        server.port
    );
    let policy = format!(
        "version = 1\n[[rule]]\nid = \"page\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"connect\"\n\
         hosts = [\"localhost\"]\nports = [{}]\nschemes = [\"https\"]\n",
        server.port
    );
    let task = desk.task(&script, &policy, "workspace = \"in-place\"\n");
    let mut command = desk.command(["run".as_ref(), task.as_os_str()]);
    if trusted {
        command.env("SSL_CERT_FILE", desk.path("site/certificate.pem"));
    }
    Lines::of_command(&mut command)
}

/// A page that the rules allow is fetched over https from a server that proves its name, and from no other.
#[test]
fn a_page_comes_over_https() {
    let desk = Desk::new();
    let server = Server::new(&desk);
    let lines = run(&desk, &server, true);
    assert!(
        lines.result(0).starts_with("# Guide\n\nBy **https**.\n[status 200, from https://localhost:"),
        "{}",
        lines.result(0)
    );
    let lines = run(&desk, &server, false);
    assert!(lines.result(0).contains("WEB_UNREACHABLE"), "{}", lines.result(0));
    assert!(lines.result(0).contains("certificate"), "{}", lines.result(0));
}
