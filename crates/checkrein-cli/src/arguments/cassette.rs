//! What can be typed behind `cassette`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Every turn.
pub(crate) const ALL: &str = "all";

#[derive(Debug, Subcommand)]
pub(crate) enum Cassette {
    /// Hold cassettes against what is there now: their age, task, tools, policy and instructions, what they must not hold
    Check(CassetteCheck),
    /// Record a cassette anew beside the old one, and show turn by turn what is different
    Refresh(CassetteRefresh),
    /// Keep the answers of a cassette where nothing but the words and schemas of tools changed; it says so from then on
    ReKey(CassetteReKey),
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
/// old one until each turn of it is accepted or rejected; at a terminal each is asked about. What a turn says is in every
/// request behind it, so turns that say something else are decided together. Exit code 1 while nobody has decided.
#[derive(Debug, Args)]
pub(crate) struct CassetteRefresh {
    /// The cassette
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Another model than the one that was recorded
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["accept", "reject"])]
    pub(crate) model: Option<String>,
    /// Run the task and ask the model that the file names, which is shown first
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    pub(crate) yes: bool,
    /// Put the new recording in the place of the old one; with turns, such as --accept=main:2, only these
    #[arg(long, value_name = "TURN,...", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = ALL)]
    pub(crate) accept: Option<Vec<String>>,
    /// Throw the new recording away; with turns, such as --reject=main/1:1, only these
    #[arg(long, value_name = "TURN,...", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = ALL, conflicts_with = "accept")]
    pub(crate) reject: Option<Vec<String>>,
}

/// Refused where anything but the words and schemas of tools is different: then the answers are those to another question.
#[derive(Debug, Args)]
pub(crate) struct CassetteReKey {
    /// The cassette
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
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
