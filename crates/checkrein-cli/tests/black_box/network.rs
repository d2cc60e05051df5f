//! Programs and the network: none, or the hosts that were granted, through the proxy that the harness keeps. The server
//! is a real one on this machine, the client a real curl.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::support::{Desk, Lines};

/// A server that answers every request with a word, and counts them.
fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = [0_u8; 4096];
            _ = stream.read(&mut head);
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nreally");
        }
    });
    (port, count)
}

fn policy(host: &str) -> String {
    format!(
        "version = 1\n[[rule]]\nid = \"curl\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"curl\", \"bash\", \"./t.sh\"]\n\
         [[rule]]\nid = \"host\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"connect\"\nhosts = [\"{host}\"]\n\
         [[rule]]\nid = \"read\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"read\"\npaths = [\"{{root}}/**\"]\n"
    )
}

fn run(desk: &Desk, host: &str, command: &str) -> Lines {
    let call = json!({ "command": command }).to_string().replace("{\"command\":", "{ command = ").replace('}', " }");
    let script =
        format!("version = 1\n[[step]]\ncalls = [{{ tool = \"bash\", args = {call} }}]\n[[step]]\ntext = \"done\"\n");
    let task = desk.task(&script, &policy(host), "workspace = \"in-place\"\n");
    desk.json(["run".as_ref(), task.as_os_str()])
}

/// Shows R175: a host that was granted is reached, through HTTP and SOCKS, and each connection is on record.
#[test]
fn a_granted_host_is_reached() {
    let desk = Desk::new();
    let (port, count) = server();
    for proxy in ["", "--proxy socks5h://127.0.0.1:61080 "] {
        let lines = run(&desk, "127.0.0.1", &format!("curl -sS {proxy}http://127.0.0.1:{port}/x"));
        if proxy.is_empty() {
            assert_eq!(lines.result(0).trim(), "really", "{}", lines.outcome());
        }
    }
    assert!(count.load(Ordering::SeqCst) >= 1);
}

/// Code that runs may reach what the rules allow, by name, and nothing else: no other host, no private address behind a
/// name, no way around the proxy.
#[test]
fn others_are_not() {
    let desk = Desk::new();
    let (port, count) = server();
    let lines = format!(
        "#!/bin/bash\n\
         echo by-proxy $(curl -sS --noproxy '' http://127.0.0.1:{port}/)\n\
         echo by-socks $(curl -sS --noproxy '' --proxy socks5h://127.0.0.1:61080 http://127.0.0.1:{port}/)\n\
         echo straight $(curl -sS --noproxy '*' http://127.0.0.1:{port}/ 2>&1)\n\
         echo other $(curl -sS --noproxy '' http://127.0.0.2:{port}/)\n\
         echo named $(curl -sS --noproxy '' https://other.example/ 2>&1)\n"
    );
    let script = desk.write("task/t.sh", &lines);
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = run(&desk, "127.0.0.1", "./t.sh");
    let said = ran.result(0);
    for wanted in [
        "by-proxy really",
        "by-socks really",
        "straight curl: (7)",
        &format!("other checkrein: connecting to 127.0.0.2:{port} was refused: it was not granted"),
        "named curl: (56) CONNECT tunnel failed, response 403",
        &format!("[not granted, so refused: connect 127.0.0.2:{port}]"),
        "[not granted, so refused: connect other.example:443]",
    ] {
        assert!(said.contains(wanted), "{wanted}\n---\n{said}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 2, "nothing else came through");
}

/// A name that is granted does not lead into a network that was not: here, to this very machine.
#[test]
fn a_name_leads_to_no_private_address() {
    let desk = Desk::new();
    let (port, count) = server();
    let Ok(name) = std::fs::read_to_string("/etc/hostname") else { return };
    let name = name.trim();
    let addresses = std::net::ToSocketAddrs::to_socket_addrs(&(name, port));
    if addresses.is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback())) {
        let ran = run(&desk, name, &format!("curl -sS http://{name}:{port}/"));
        assert!(ran.result(0).contains("its name leads to a loopback address"), "{}", ran.result(0));
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

/// What was refused is asked for by name, judged anew, and then granted, exactly.
#[test]
fn what_was_refused_can_be_asked_for() {
    let desk = Desk::new();
    let (port, count) = server();
    let lines = format!("#!/bin/bash\ncurl -sS --noproxy '' http://127.0.0.1:{port}/\n");
    let program = desk.write("task/t.sh", &lines);
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = format!(
        "version = 1\n[[step]]\ncalls = [{{ tool = \"bash\", args = {{ command = \"./t.sh\" }} }}]\n\
         [[step]]\ncalls = [{{ tool = \"bash\", args = {{ command = \"./t.sh\", needs = [{{ kind = \"connect\", target = \"127.0.0.1:{port}\" }}] }} }}]\n\
         [[step]]\ntext = \"done\"\n"
    );
    let policy = "version = 1\n[[rule]]\nid = \"t\"\ndecision = \"allow\"\nreason = \"r\"\neffect = \"run\"\nprogram = [\"./t.sh\"]\n";
    let task = desk.task(&script, policy, "workspace = \"in-place\"\n");
    let asked = desk.json(["run".as_ref(), task.as_os_str()]);
    let refused = asked.result(0);
    for wanted in [
        format!("[not granted, so refused: connect 127.0.0.1:{port}]"),
        format!("call again with \"needs\": [{{\"kind\":\"connect\",\"target\":\"127.0.0.1:{port}\"}}]"),
    ] {
        assert!(refused.contains(&wanted), "{wanted}\n---\n{refused}");
    }
    assert_eq!((asked.status(), count.load(Ordering::SeqCst)), ("needs_approval", 0));
    assert!(asked.of("ask")[0]["reason"].as_str().unwrap().contains("127.0.0.1"), "{}", asked.of("ask")[0]);
    let approval = asked.outcome()["approvals"][0].as_str().unwrap().to_owned();
    assert_eq!(desk.run(["approvals", "approve", &approval, "--by", "ann"]).code, 0);
    let done = desk.json(["resume", &asked.session()]);
    assert_eq!(done.status(), "completed", "{}", done.outcome());
    assert!(done.of("finished")[0]["text"].as_str().unwrap().contains("really"), "{:?}", done.of("finished"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
