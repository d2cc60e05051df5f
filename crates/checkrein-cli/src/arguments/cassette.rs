//! What can be typed behind `cassette`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Cassette {
    /// Hold cassettes against what is there now: their age, task, tools, policy and instructions, what they must not hold
    Check(CassetteCheck),
    /// Record a cassette anew beside the old one, and show turn by turn what is different
    Refresh(CassetteRefresh),
    /// Make a cassette from a session's journal
    FromSession(CassetteFromSession),
}

/// Exit code 1 where something is wrong with one of them, or more are stale than --stale puts up with.
#[derive(Debug, Args)]
pub(crate) struct CassetteCheck {
    /// Folders, or single cassettes
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,
    /// What is older than this is stale: 90d
    #[arg(long, value_name = "TIME", default_value = "365d")]
    pub(crate) older_than: String,
    /// How many stale ones are put up with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) stale: usize,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// The model of the cassette is asked, so this needs its key, or a server on this machine. The new recording lies beside the
/// old one until --accept puts it in its place. Exit code 1 while there is a difference that nobody accepted.
#[derive(Debug, Args)]
pub(crate) struct CassetteRefresh {
    /// The cassette
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Another model than the one that was recorded
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["accept", "reject"])]
    pub(crate) model: Option<String>,
    /// Put the new recording in the place of the old one: its differences were read
    #[arg(long)]
    pub(crate) accept: bool,
    /// Throw the new recording away
    #[arg(long, conflicts_with = "accept")]
    pub(crate) reject: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CassetteFromSession {
    /// The session, or the beginning of its id
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// The new cassette
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
