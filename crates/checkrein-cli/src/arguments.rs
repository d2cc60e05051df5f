//! What can be typed.

mod cassette;
mod policy;
mod script;

use std::path::PathBuf;

use checkrein::contract::NewLimit;
use checkrein::hook::Caller;
use checkrein::person;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::cassette::{ALL, Cassette, CassetteCheck, CassetteFromSession, CassetteReKey, CassetteRefresh};
pub(crate) use self::policy::{
    Policy, PolicyCheck, PolicyDiff, PolicyImport, PolicyLint, PolicySuggest, PolicyTest, PolicyTrust,
};
pub(crate) use self::script::{Script, ScriptServe};

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
    /// Begin a session with the first events of another, and go on from there
    Fork(ForkArguments),
    /// Do a session again from its journal, without a model, and name the first thing that comes out otherwise
    Replay(Replay),
    /// List and answer requests for approval
    #[command(subcommand)]
    Approvals(Approvals),
    /// Ask the policy
    #[command(subcommand)]
    Policy(Policy),
    /// Scripts: models that say what was written down
    #[command(subcommand)]
    Script(Script),
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
    /// Recorded answers of models: check them, record them anew, make one of a session
    #[command(subcommand)]
    Cassette(Cassette),
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

impl From<Agent> for Caller {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
        }
    }
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
    /// The model: script:FILE, replay:FILE, anthropic:NAME, openai:NAME, gemini:NAME, compatible:URL#NAME
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Write what the model answers into a cassette, to be played with --model replay:FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Ask the model and hold what it answers against this cassette; the session fails where something is different
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) verify: Option<PathBuf>,
    /// With --model replay:FILE, and never in CI: a request that is not recorded gets the answer of the row that stands next,
    /// to see what comes of it; the session fails at its end
    #[arg(long, conflicts_with_all = ["record", "verify"])]
    pub(crate) lenient: bool,
    /// A policy file, instead of the task's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Send nothing: print what the first request holds, and what the session would cost at least, as expected and at most
    #[arg(long)]
    pub(crate) dry: bool,
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
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: Option<String>,
    /// What is not what it was (tools, instructions, looser rules) counts from here on. What is stricter counts anyway
    #[arg(long)]
    pub(crate) accept_changes: bool,
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
    /// Everything, however long
    #[arg(long)]
    pub(crate) full: bool,
    /// Why one call (such as c3-1) was decided as it was: each effect, each rule, what was found out, who said yes
    #[arg(long, value_name = "CALL", conflicts_with = "full")]
    pub(crate) why: Option<String>,
    /// How much of each request the one before had too, and what moved the rest
    #[arg(long, conflicts_with_all = ["full", "why"])]
    pub(crate) prefix: bool,
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

/// The fork is a session of its own: what comes next is decided, asked about and recorded there. Its workspace is a fresh copy
/// of the task folder where nothing had been changed by then, else a copy of what that session has now; a session that works in
/// a folder itself has it in common with its fork.
#[derive(Debug, Args)]
pub(crate) struct ForkArguments {
    /// The session, or the beginning of its id, and the last event that counts (default: all of them)
    #[arg(value_name = "SESSION[@N]")]
    pub(crate) session: String,
    /// What you say to the model first of all
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Another model: script:FILE
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Another policy, instead of the task's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Who forks (default: the name you are logged in with)
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Nothing runs and no model is asked: requests, proposals, decisions and refusals are made again from what was recorded.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The session, or the beginning of its id (default: all)
    #[arg(value_name = "SESSION", conflicts_with = "file")]
    pub(crate) session: Option<String>,
    /// An exported journal instead
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The first decision that would be another one, were this the policy of the project. Exit code 0 none, 10 stricter,
    /// 11 looser
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List the requests, and the yeses that are remembered
    List(ListApprovals),
    /// Show one request, or one remembered yes, whole
    Show(OneApproval),
    /// Say yes to exactly one call; with --remember, to others like it in its session
    Approve(Approve),
    /// Say no
    Deny(Deny),
    /// Take a yes back, also a remembered one
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
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: Option<String>,
    /// How long the yes holds: 30m, 1h, 2d
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// The session it is meant for; another one is refused
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Let the yes count as a rule for the rest of the session; shows the rule and what it would have changed, and asks
    #[arg(long)]
    pub(crate) remember: bool,
    /// With --remember: do not ask, the rule was read
    #[arg(long, requires = "remember")]
    pub(crate) yes: bool,
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
    #[arg(long, value_name = "NAME", value_parser = person)]
    pub(crate) by: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools
    List(ToolsList),
    /// Print the page docs/tools.md
    Catalog,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsList {
    /// A task folder: its tools, and which of them its sessions only name until they are looked up (default: the tools that
    /// ship)
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// One JSON value a line
    #[arg(long)]
    pub(crate) json: bool,
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
    #[arg(long, value_name = "NAME", value_parser = person)]
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
