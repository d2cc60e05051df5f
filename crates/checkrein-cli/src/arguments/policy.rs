//! What can be typed after `policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Agent;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Judge one call: a bash command, or a tool with arguments. Exit code 0 allow, 10 ask, 11 deny
    Check(PolicyCheck),
    /// Judge one call, show why in full, and what would have to change
    Explain(PolicyCheck),
    /// Judge recorded calls and compare with what they expect
    Test(PolicyTest),
    /// Find rules that do nothing
    Lint(PolicyLint),
    /// Let the policy that a project brings allow things as well
    Trust(PolicyTrust),
    /// Which recorded decisions would change. Exit code 0 none, 10 only stricter ones, 11 something is let through
    Diff(PolicyDiff),
    /// The fewest rules that would have spared the questions that were answered with yes
    Suggest(PolicySuggest),
    /// Carry another agent's rules over: settings of Claude Code, a .rules file of Codex. What can not be is listed
    Import(PolicyImport),
    /// Print the page docs/commands.md
    Commands,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyImport {
    /// Whose rules
    #[arg(long = "from", value_name = "AGENT")]
    pub(crate) agent: Agent,
    /// The file: settings.json, or NAME.rules
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the policy to this file, which must not be there yet (default: print it)
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyDiff {
    /// The policy as it was
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The policy as it would be
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// What to judge by both: sessions (or the beginning of their ids) and files of recorded calls (default: all sessions)
    #[arg(long, value_name = "SESSION|FILE", num_args = 1..)]
    pub(crate) against: Vec<String>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicySuggest {
    /// Sessions, or the beginning of their ids (default: all)
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Files of calls that the rules must not let through either: their count is shown
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Vec<PathBuf>,
    /// Add the rules to this policy, after a yes
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Do not ask: the rules were read
    #[arg(long, requires = "to")]
    pub(crate) yes: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyLint {
    /// Policy files, each looked at by itself; folders stand for the files in them (default: what holds here)
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTrust {
    /// The policy (default: the project's own, .checkrein/policy.toml)
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Do not ask: the file was read
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyCheck {
    /// A bash command
    #[arg(value_name = "COMMAND", required_unless_present = "tool", conflicts_with = "tool")]
    pub(crate) command: Option<String>,
    /// A tool, instead of a command
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Its arguments as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// The working directory (default: this one)
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Facts to take instead of looking: a JSON file with `links`
    #[arg(long, value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,
    /// The policy of the project (default: what `run` would use there: .checkrein/policy.toml, which only tightens until it is
    /// trusted). Yours and the machine's hold as well; the one that ships where there is no other
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// On whose behalf: person=sam, tenant=acme ...; may be given several times
    #[arg(long = "as", value_name = "NAME=VALUE")]
    pub(crate) identity: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTest {
    /// Recorded calls: a JSON array, or JSON lines
    #[arg(value_name = "FILE", required_unless_present = "cases")]
    pub(crate) fixtures: Vec<PathBuf>,
    /// The same, for a file of cases with their world in a header
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Vec<PathBuf>,
    /// The policy for calls that name none, which then counts alone, with tools/*.toml and commands/*.toml beside it (default:
    /// what `policy check` judges by in this folder)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Where policies that calls name are: NAME.toml, beside tools/*.toml and commands/*.toml
    #[arg(long, value_name = "DIR")]
    pub(crate) policies: Option<PathBuf>,
    /// The project folder that the calls were recorded in, where no header says it
    #[arg(long, value_name = "DIR", default_value = "/home/user/project")]
    pub(crate) root: String,
    /// The home folder they were recorded in, where no header says it
    #[arg(long, value_name = "DIR", default_value = "/home/user")]
    pub(crate) home: String,
    /// Write the decisions that come out into the fixtures, after a yes to the shown change
    #[arg(long)]
    pub(crate) update: bool,
    /// Do not ask: the change was read
    #[arg(long, requires = "update")]
    pub(crate) yes: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}
