//! What can be typed.

use std::path::PathBuf;

use checkrein::contract::NewLimit;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// An agent harness: the model proposes, the harness decides, the log remembers.
#[derive(Debug, Parser)]
#[command(name = "checkrein", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a task: a folder with a task.toml, or words
    Run(Run),
    /// Go on with a session that waits or was interrupted
    Resume(Resume),
    /// List the sessions
    Sessions(Listing),
    /// Show what happened in a session, and who decided it
    Show(Show),
    /// Print a session's journal as JSON lines
    Export(Export),
    /// List and answer requests for approval
    #[command(subcommand)]
    Approvals(Approvals),
    /// Ask the policy
    #[command(subcommand)]
    Policy(Policy),
    /// The tools that ship
    #[command(subcommand)]
    Tools(Tools),
    /// Try what confines programs on this machine
    Doctor(Listing),
    /// The journal
    #[command(subcommand)]
    Journal(Journal),
    /// Write the calls of a session as fixtures for `policy test`
    Record(Record),
    /// Answer another agent's hook: the same policy in front of Claude Code and Codex
    Hook(Hook),
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The session, or the beginning of its id; with --from, a session file of that agent
    #[arg(value_name = "SESSION|FILE")]
    pub(crate) session: String,
    /// Whose session file it is
    #[arg(long = "from", value_name = "AGENT")]
    pub(crate) agent: Option<Agent>,
    /// With --from: the policy whose decisions are expected (default: yours, or the one that ships)
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(crate) policy: Option<PathBuf>,
}

/// An agent whose hook is answered.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Hook {
    #[command(subcommand)]
    pub(crate) action: Option<HookAction>,
    /// Whose hook it is; the payload is read from standard input
    #[arg(long = "for", value_name = "AGENT", required = true)]
    pub(crate) agent: Option<Agent>,
    /// The policy (default: yours and the project's, or the one that ships)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// What the hook starts itself for: judge, and say so in its own words
    #[arg(long, hide = true)]
    pub(crate) judge: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookAction {
    /// Put the hook into an agent's settings; shows the change and asks
    Install(HookSettings),
    /// Take the hook out of an agent's settings again; shows the change and asks
    Uninstall(HookSettings),
}

#[derive(Debug, Args)]
pub(crate) struct HookSettings {
    /// Whose settings
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) agent: Agent,
    /// The settings file (default: the person's own, ~/.claude/settings.json or ~/.codex/config.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// A policy file that the hook is to use
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Do not ask: the change was read
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A task folder, or what to do in words
    #[arg(required = true, num_args = 1.., value_name = "TASK")]
    pub(crate) task: Vec<String>,
    /// The model: script:FILE, anthropic:NAME, openai:NAME, gemini:NAME, compatible:URL#NAME
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A policy file, instead of the task's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// A limit, such as steps=10 (also calls, tokens, seconds, usd); may be given several times
    #[arg(long, value_name = "LIMIT=N")]
    pub(crate) budget: Vec<NewLimit>,
    /// On whose behalf: person=sam, tenant=acme ...; may be given several times
    #[arg(long = "as", value_name = "NAME=VALUE")]
    pub(crate) identity: Vec<String>,
    /// Nobody may be asked: what would need a yes is refused
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Let programs run without a sandbox
    #[arg(long)]
    pub(crate) unconfined: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The session, or the beginning of its id
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// The answer to the question that the session waits with
    #[arg(long, value_name = "TEXT")]
    pub(crate) answer: Option<String>,
    /// What became of a call that ran when the session was lost: repeat, done, failed, or unknown where you can not tell
    /// either; may be given several times
    #[arg(long, value_name = "CALL=WORD")]
    pub(crate) unknown: Vec<String>,
    /// With --unknown: words that the model reads
    #[arg(long, value_name = "TEXT", requires = "unknown", default_value = "", hide_default_value = true)]
    pub(crate) note: String,
    /// Another limit from now on, such as steps=80; may be given several times
    #[arg(long, value_name = "LIMIT=N")]
    pub(crate) budget: Vec<NewLimit>,
    /// Who answers or sets limits
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The session, or the beginning of its id
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The session, or the beginning of its id
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// Without ids, times, durations and absolute paths: the same for every run of the same script
    #[arg(long)]
    pub(crate) transcript: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List the requests
    List(ListApprovals),
    /// Show one request whole
    Show(OneApproval),
    /// Say yes to exactly one call
    Approve(Approve),
    /// Say no
    Deny(Deny),
    /// Take a yes back, and the rules that were remembered with it
    Revoke(Deny),
    /// Take a question back: nobody is to answer it any more
    Withdraw(Deny),
}

#[derive(Debug, Args)]
pub(crate) struct ListApprovals {
    /// Also those that are answered
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OneApproval {
    /// The request, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The request, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Who says yes (default: the name you are logged in with)
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// How long the yes holds: 30m, 1h, 2d
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// The session it is meant for; another one is refused
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The request, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why; the model is told
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Who says it (default: the name you are logged in with)
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

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
    /// The policy (default: yours, or the one that ships)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
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
    /// The policy for calls that name none
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Where policies that calls name are: NAME.toml, beside tools/*.toml and commands/*.toml
    #[arg(long, value_name = "DIR")]
    pub(crate) policies: Option<PathBuf>,
    /// The project folder that the calls were recorded in
    #[arg(long, value_name = "DIR", default_value = "/home/user/project")]
    pub(crate) root: String,
    /// The home folder they were recorded in
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

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools
    List(Listing),
    /// Print the page docs/tools.md
    Catalog,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Journal {
    /// Prove the journal: chain, signed heads, payloads and invariants. Exit code 1 when something does not hold
    Verify(JournalVerify),
    /// Print the signed head of each session as a JSON line, to be kept elsewhere
    Head(JournalHead),
    /// Let sessions be gone on with that were brought here from elsewhere: those that this key signed
    Accept(JournalAccept),
    /// Remove what old sessions said and read; their events stay, and the chain still verifies
    Prune(JournalPrune),
}

#[derive(Debug, Args)]
pub(crate) struct JournalHead {
    /// Sessions, or the beginning of their ids (default: all)
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct JournalAccept {
    /// The public key, as `journal head` prints it there
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

#[derive(Debug, Args)]
pub(crate) struct JournalPrune {
    /// Sessions, or the beginning of their ids (default: all that can not be taken up again)
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// How long ago the last event is: 12h, 30d
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: String,
    /// Who says so (default: the name you are logged in with)
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Do not ask: what would go was read
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JournalVerify {
    /// One session, or the beginning of its id (default: all)
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// A head noted earlier, SEQ:HASH: finds out whether newer events were removed
    #[arg(long, value_name = "SEQ:HASH", requires = "session", conflicts_with = "against")]
    pub(crate) anchor: Option<String>,
    /// Lines of `journal head` that were kept elsewhere: finds out whether newer events or sessions were removed, and
    /// whether another key signs
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Exported lines instead of the journal here
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}
