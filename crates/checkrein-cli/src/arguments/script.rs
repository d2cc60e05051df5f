//! What can be typed behind `script`.

use std::net::SocketAddr;
use std::path::PathBuf;

use checkrein::serve::Fault;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Script {
    /// Serve a script as a model over HTTP, on this machine only, to any program that speaks to Anthropic, OpenAI or Gemini
    Serve(ScriptServe),
}

/// The script says to each request what it would say to a session. `/NAME` in front of the path is a session of its own. Ends
/// on Ctrl-C or SIGTERM; exit code 1 where a request had no step or a step had no request.
#[derive(Debug, Args)]
pub(crate) struct ScriptServe {
    /// The script
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where to listen, on loopback; port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// A fault on top of the script, such as 1:status=429,retry_after_s=2 or *:chunk_bytes=1: which request of a session (`*`
    /// for all), and what a step may say of how a reply gets there; may be given several times
    #[arg(long = "fault", value_name = "N:KEY=VALUE,...")]
    pub(crate) faults: Vec<Fault>,
    /// Print JSON lines: where it is, then each request
    #[arg(long)]
    pub(crate) json: bool,
}
