//! HTTP/1.1 on loopback: connections, and answers that are sent piece by piece. It must not know what the bytes mean.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::unfold;
use http_body_util::{BodyExt as _, Limited, StreamBody};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::desk::{Answer, Desk, Letter};
use super::frames::{End, Plan};
use super::{Base, Exchange, Fault, Served, bases, loopback, servable};
use crate::script::{Script, ScriptProvider};

/// Longest request, bytes: the longest conversations of today's models, with room for pictures in text.
const MOST_BYTES: usize = 64 << 20;
/// How long answers that were begun may take to get to their end when the server is to end.
const GRACE: Duration = Duration::from_secs(2);
/// How long nobody is let in after the system had no room for another connection.
const FULL: Duration = Duration::from_millis(50);

/// A server of models that say what a script says.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    desk: Desk,
}

impl Server {
    /// Binds to this address, on loopback; port 0 is any free one. Nothing is answered yet. `name` is what the list of models
    /// calls the script, and `watch` hears of each request, before its answer is sent.
    ///
    /// # Errors
    /// An address that others could reach, one that is taken, and a script that answers sub-sessions.
    pub async fn bind(
        address: SocketAddr,
        script: Script,
        name: &str,
        faults: Vec<Fault>,
        watch: Box<dyn Fn(&Exchange) + Send + Sync>,
    ) -> io::Result<Self> {
        let script = ScriptProvider::new(script, name);
        servable(&script)?;
        let listener = TcpListener::bind(loopback(address)?).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, desk: Desk::new(script, name, faults, watch) })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How programs of each wire are pointed here.
    pub fn bases(&self) -> Vec<Base> {
        bases(&format!("http://{}", self.address))
    }

    /// Answers until `end` comes; then answers that were begun have two seconds to get to their end.
    pub async fn run(self, end: impl Future<Output = ()>) -> Served {
        let Self { listener, desk, .. } = self;
        let desk = Arc::new(desk);
        let mut connections = JoinSet::new();
        let (last, closing) = watch::channel(());
        let mut end = pin!(end);
        loop {
            tokio::select! {
                biased;
                () = &mut end => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(connection(stream, Arc::clone(&desk), closing.clone()));
                    }
                    // Too many files are open; some will be closed.
                    Err(_) => tokio::time::sleep(FULL).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        _ = last.send(());
        _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
        desk.close()
    }
}

/// Answers as many requests as come over this connection. How it ends is the other side's business.
async fn connection(stream: TcpStream, desk: Arc<Desk>, mut closing: watch::Receiver<()>) {
    // Pieces of a stream are to be seen one by one.
    _ = stream.set_nodelay(true);
    let end = closing.clone();
    let service = service_fn(|request| answer(request, Arc::clone(&desk), end.clone()));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new());
    let mut served = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = &mut served => {}
        _ = closing.changed() => {
            served.as_mut().graceful_shutdown();
            _ = served.await;
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    desk: Arc<Desk>,
    closing: watch::Receiver<()>,
) -> Result<Response<impl Body<Data = Bytes, Error = io::Error>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MOST_BYTES).collect().await.map(|body| body.to_bytes());
    let body = body.as_deref().map_err(|why| why.to_string());
    let asked = Letter {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        has_header: &|name| head.headers.contains_key(name),
        body,
    };
    let Answer { status, content_type, wait_s, plan } = desk.answer(asked);
    let mut response = Response::new(StreamBody::new(pieces(plan, closing)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(seconds) = wait_s {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ok(response)
}

/// The body: each piece in its time, and the end that was planned.
fn pieces(plan: Plan, closing: watch::Receiver<()>) -> impl futures_util::Stream<Item = io::Result<Frame<Bytes>>> {
    unfold(Some((plan, closing)), |state| async move {
        let (mut plan, mut closing) = state?;
        // What came before goes out first: pieces are pieces also to whoever reads, and an end takes nothing with it.
        tokio::task::yield_now().await;
        if let Some((wait, bytes)) = plan.pieces.pop_front() {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            return Some((Ok(Frame::data(bytes)), Some((plan, closing))));
        }
        match plan.end {
            End::Whole => None,
            // Whoever sends hangs up when its source fails.
            End::Drop => Some((Err(io::Error::other("the script breaks the stream off")), None)),
            // Until the other side hangs up, or the server is to end.
            End::Stall => {
                _ = closing.changed().await;
                Some((Err(io::Error::other("the server ends")), None))
            }
        }
    })
}
