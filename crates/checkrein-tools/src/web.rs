//! Getting a page: each hop is asked of the grant, by its address in full and by what its name means, and the connection
//! goes to exactly the addresses that were asked about.

pub(crate) mod page;

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Once;
use std::time::Duration;

use checkrein_contract::{Code, Connect};
use checkrein_gate::{Failure, Grant};
use checkrein_policy::url::Url;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, redirect};

/// Longest body, bytes: the largest pages of documentation are some 2 MB.
const MOST_BYTES: usize = 5_000_000;
/// Longest URL, characters; what servers and proxies commonly take.
pub(crate) const LONGEST_URL: usize = 2_048;
/// Redirects that are followed. Browsers follow 20; a page that is meant to be read needs two or three.
const MOST_HOPS: usize = 5;
/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(15);
/// What is liked best: some servers have a page as Markdown.
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5";
const USER_AGENT: &str = concat!("checkrein/", env!("CARGO_PKG_VERSION"));

/// What came.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Where it came from in the end.
    pub(crate) url: String,
    /// The address that was connected to.
    pub(crate) address: String,
    /// The addresses that sent on, in order.
    pub(crate) by_way_of: Vec<String>,
    pub(crate) status: u16,
    /// As the server said it; empty when it did not.
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// A URL that was read by both of those who have to mean the same by it: the rules, and the client.
#[derive(Debug)]
pub(crate) struct Target {
    /// What the rules judge.
    pub(crate) connect: Connect,
    url: reqwest::Url,
}

impl Target {
    /// Reads a URL: https, or http on this very machine.
    ///
    /// # Errors
    /// Why not, for the model.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.chars().count() > LONGEST_URL {
            return Err(format!("the URL is longer than {LONGEST_URL} characters"));
        }
        let judged = Url::parse(text).map_err(|why| format!("this URL is not taken: {why}"))?;
        let url = reqwest::Url::parse(text).map_err(|why| format!("this URL is not taken: {why}"))?;
        if judged.user_info {
            return Err("a URL with a user or a password is not taken".to_owned());
        }
        let here = judged.host == "localhost"
            || judged.host.ends_with(".localhost")
            || judged.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        match judged.scheme.as_str() {
            "https" => {}
            "http" if here => {}
            _ => return Err("only https is fetched (http from this very machine)".to_owned()),
        }
        let name = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let name = name.strip_suffix('.').unwrap_or(name);
        if name != judged.host || url.port_or_known_default() != Some(judged.port) || url.scheme() != judged.scheme {
            return Err(format!("this URL can be read in two ways; the host would be `{name}`: write that"));
        }
        Ok(Self { connect: judged.connect(), url })
    }

    fn host(&self) -> &str {
        &self.connect.host
    }
}

/// Gets what is there, following redirects as far as they were granted.
///
/// # Errors
/// Why not; the operator has the chain of causes.
pub(crate) async fn fetch(grant: &Grant, url: &str) -> Result<Fetched, Failure> {
    let mut target = Target::read(url).map_err(|why| Failure::new(Code::InvalidArgs, why))?;
    let mut by_way_of = Vec::new();
    loop {
        let address = addresses(grant, &target, by_way_of.is_empty()).await?;
        let response = get(&target, &address).await?;
        let next = match response.headers().get(LOCATION) {
            Some(location) if response.status().is_redirection() => location.to_str().ok(),
            _ => None,
        };
        let Some(next) = next else {
            return arrived(target, response, by_way_of).await;
        };
        if by_way_of.len() == MOST_HOPS {
            let message = format!("the server sends on more than {MOST_HOPS} times");
            return Err(Failure::new(Code::WebUnreachable, message));
        }
        let mut joined = target.url.join(next).map_err(|why| sent_on(&target, next, &why.to_string()))?;
        joined.set_fragment(None);
        by_way_of.push(target.url.to_string());
        target = Target::read(joined.as_str()).map_err(|why| sent_on(&target, joined.as_str(), &why))?;
    }
}

fn sent_on(from: &Target, to: &str, why: &str) -> Failure {
    let to: String = to.chars().take(LONGEST_URL).collect();
    Failure::new(Code::WebUnreachable, format!("{} sends on to {to}, which is not followed: {why}", from.host()))
}

/// What the name means, each of it granted. A name is asked about before it is looked up, since that alone can carry a
/// message.
async fn addresses(grant: &Grant, target: &Target, first: bool) -> Result<Vec<SocketAddr>, Failure> {
    let refused = |why: String| {
        let url = &target.url;
        if first {
            Failure::new(Code::Denied, format!("{url} was not fetched: {why}"))
        } else {
            Failure::new(
                Code::WebRedirect,
                format!("the page has moved to {url}, and this call may not go there: {why}"),
            )
        }
    };
    grant.may_fetch(&target.connect, &[]).map_err(&refused)?;
    let host = target.host();
    let looked_up = tokio::net::lookup_host((host, target.connect.port));
    let found = tokio::time::timeout(PATIENCE, looked_up).await.unwrap_or_else(|late| Err(late.into()));
    let found: Vec<SocketAddr> = found
        .map_err(|error| Failure::new(Code::WebUnreachable, format!("`{host}` was not found")).because(error))?
        .collect();
    let ips: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    grant.may_fetch(&target.connect, &ips).map_err(refused)?;
    Ok(found)
}

async fn get(target: &Target, addresses: &[SocketAddr]) -> Result<Response, Failure> {
    static TLS: Once = Once::new();
    // Fails when the host of this library has chosen one already, which serves as well.
    TLS.call_once(|| _ = rustls::crypto::ring::default_provider().install_default());
    // A client for one hop: it knows these addresses, no other name, no proxy, and takes nothing from hop to hop.
    let client = Client::builder()
        .resolve_to_addrs(target.url.host_str().unwrap_or_default(), addresses)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .https_only(target.url.scheme() == "https")
        .connect_timeout(PATIENCE)
        .user_agent(USER_AGENT)
        .build()
        .map_err(|error| unreachable(target, error))?;
    let response = client.get(target.url.clone()).header(ACCEPT, ACCEPTED).send().await;
    response.map_err(|error| unreachable(target, error))
}

async fn arrived(target: Target, mut response: Response, by_way_of: Vec<String>) -> Result<Fetched, Failure> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let content_type = header(CONTENT_TYPE).to_owned();
    let too_large = |size: &str| {
        let message = format!("what comes is larger than {MOST_BYTES} bytes{size}");
        Err(Failure::new(Code::WebTooLarge, message))
    };
    if let Ok(said) = header(CONTENT_LENGTH).parse::<u64>()
        && said > MOST_BYTES as u64
    {
        return too_large(&format!(" (the server says {said})"));
    }
    let address = response.remote_addr().map(|address| address.ip().to_string()).unwrap_or_default();
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&target, error))? {
        if body.len() + piece.len() > MOST_BYTES {
            return too_large("");
        }
        body.extend_from_slice(&piece);
    }
    Ok(Fetched { url: target.url.to_string(), address, by_way_of, status, content_type, body })
}

/// The innermost cause says most: a certificate that is not trusted, a connection that was refused.
fn unreachable(target: &Target, error: reqwest::Error) -> Failure {
    let mut cause: &dyn Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let why = if error.is_timeout() { "it took too long".to_owned() } else { cause.to_string() };
    let why: String = why.chars().take(200).collect();
    Failure::new(Code::WebUnreachable, format!("nothing came from `{}`: {why}", target.host()))
        .because(error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows R175 for pages: the host that is judged is the host that is connected to, or the URL is refused.
    #[test]
    fn a_url_means_one_thing_or_nothing() {
        let target = Target::read("https://Docs.Example.:8443/a/../b?c#d").unwrap();
        assert_eq!((target.connect.host.as_str(), target.connect.port), ("docs.example", 8443));
        assert_eq!(target.connect.path.as_deref(), Some("/b"));
        for right in ["https://a.example", "http://localhost:3000/x", "http://127.0.0.1/", "https://[2001:db8::1]/"] {
            assert!(Target::read(right).is_ok(), "{right}");
        }
        let long = format!("https://a.example/{}", "x".repeat(LONGEST_URL));
        for wrong in [
            "a.example",
            "http://a.example/",
            "ftp://a.example/",
            "file:///etc/passwd",
            "https://u:p@a.example/",
            "https://a.example\\@b.example/",
            "https://a.example/\tb",
            "https://bücher.example/",
            "https:///a",
            "http://localhost.evil.example/",
            &long,
        ] {
            assert!(Target::read(wrong).is_err(), "{wrong}");
        }
    }
}
