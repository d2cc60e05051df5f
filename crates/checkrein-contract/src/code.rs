//! The stable codes. Policy and telemetry route on these, never on the text of a message.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// A stable reason: of a decision, a refusal, a failure or a stop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The text form, as events and the model see it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

codes! {
    // Decisions that let a call go on or wait.
    /// A rule allows every effect.
    Allowed = "ALLOWED",
    /// The call touches nothing outside the session.
    NoEffect = "NO_EFFECT",
    /// A rule asks for a person's yes.
    AskRule = "ASK_RULE",
    /// No rule speaks about an effect.
    AskNoRule = "ASK_NO_RULE",
    /// A part could not be understood.
    AskNotUnderstood = "ASK_NOT_UNDERSTOOD",
    /// The rules allow it, but what that rests on does not hold.
    AskRestsOn = "ASK_RESTS_ON",
    /// The rules allow it, but nothing here can confine what runs.
    AskUnconfined = "ASK_UNCONFINED",
    /// The rules allow it, what runs can not be confined here, and the task demands that it is.
    DeniedUnconfined = "DENIED_UNCONFINED",
    /// A hook asks for a person's yes.
    AskHook = "ASK_HOOK",

    // Refusals: the call did not run.
    /// A policy rule or the policy's default denies.
    Denied = "DENIED",
    /// A pre-hook denies, or failed.
    DeniedByHook = "DENIED_BY_HOOK",
    /// A guard refuses, or failed.
    DeniedByGuard = "DENIED_BY_GUARD",
    /// A person said no.
    DeniedByPerson = "DENIED_BY_PERSON",
    /// It would have needed a person's yes, and nobody may be asked.
    DeniedUnattended = "DENIED_UNATTENDED",
    /// No such tool is on offer: unknown, hidden and not allowed here look the same.
    UnknownTool = "UNKNOWN_TOOL",
    /// The arguments do not fit the schema.
    InvalidArgs = "INVALID_ARGS",
    /// The arguments hold something shaped like a secret.
    SecretInArguments = "SECRET_IN_ARGUMENTS",
    /// The same call failed too often in a row.
    RepeatedFailure = "REPEATED_FAILURE",
    /// The reply was cut by its length limit, so none of its calls runs.
    ReplyTruncated = "REPLY_TRUNCATED",
    /// The session's budget for calls is spent.
    BudgetSpent = "BUDGET_SPENT",

    // Approvals.
    /// The approval was already used.
    ApprovalSpent = "APPROVAL_SPENT",
    /// The approval, or the request for it, is past its time.
    ApprovalExpired = "APPROVAL_EXPIRED",
    /// The approval was given in another session.
    ApprovalOtherSession = "APPROVAL_OTHER_SESSION",
    /// What was approved is not what would run now.
    ApprovalStale = "APPROVAL_STALE",
    /// The approval was taken back.
    ApprovalRevoked = "APPROVAL_REVOKED",
    /// The question was taken back by the side that asked.
    ApprovalWithdrawn = "APPROVAL_WITHDRAWN",
    /// The question was answered already; the first answer stands.
    ApprovalDecided = "APPROVAL_DECIDED",
    /// Who answers may not: the session acts for them, or they have none of the roles that the policy wants.
    ApprovalNotYours = "APPROVAL_NOT_YOURS",

    // Failures of a call that ran, or whose run is unknown.
    /// The tool's own time limit ran out.
    ToolTimeout = "TOOL_TIMEOUT",
    /// The tool ended with an error of its own.
    ToolFailed = "TOOL_FAILED",
    /// The tool panicked.
    ToolPanicked = "TOOL_PANICKED",
    /// The tool's result does not fit its output schema.
    InvalidToolOutput = "INVALID_TOOL_OUTPUT",
    /// The harness stopped before the call was started.
    ToolNotStarted = "TOOL_NOT_STARTED",
    /// The call was started, and nobody knows how it ended.
    ToolOutcomeUnknown = "TOOL_OUTCOME_UNKNOWN",
    /// The run was cancelled while the call was running.
    Cancelled = "CANCELLED",
    /// A hook failed around or after the call.
    HookFailed = "HOOK_FAILED",
    /// The program could not be started at all.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE",
    /// The record before the start could not be written, so nothing was started.
    JournalUnavailable = "JOURNAL_UNAVAILABLE",

    /// A sub-session ended without having done its part.
    TaskUnfinished = "TASK_UNFINISHED",

    // Files.
    /// No such file or folder.
    FsNotFound = "FS_NOT_FOUND",
    /// The path is no folder.
    FsNotDirectory = "FS_NOT_DIRECTORY",
    /// The path is no regular file.
    FsNotRegularFile = "FS_NOT_REGULAR_FILE",
    /// The file is not text.
    FsNotText = "FS_NOT_TEXT",
    /// The file is larger than the tool takes.
    FsTooLarge = "FS_TOO_LARGE",
    /// The operating system refused.
    FsPermissionDenied = "FS_PERMISSION_DENIED",
    /// Any other failure of the file system.
    FsIo = "FS_IO",
    /// The file was not read in this session before changing it.
    FsNotObserved = "FS_NOT_OBSERVED",
    /// The file changed since it was read.
    FsStaleVersion = "FS_STALE_VERSION",
    /// The text to replace is not in the file.
    EditNotFound = "EDIT_NOT_FOUND",
    /// The text to replace is there more than once.
    EditAmbiguous = "EDIT_AMBIGUOUS",
    /// The edit changes nothing.
    EditEmpty = "EDIT_EMPTY",
    /// The offset lies behind the end of the file.
    ReadPastEnd = "READ_PAST_END",
    /// The search pattern can not be read.
    SearchInvalidPattern = "SEARCH_INVALID_PATTERN",

    // The web.
    /// No page came: the name, the connection, the certificate or the transfer failed.
    WebUnreachable = "WEB_UNREACHABLE",
    /// The server answered that it did not go well.
    WebStatus = "WEB_STATUS",
    /// The server sends on to where this call may not go.
    WebRedirect = "WEB_REDIRECT",
    /// What came is no text.
    WebNotText = "WEB_NOT_TEXT",
    /// What comes is larger than the tool takes.
    WebTooLarge = "WEB_TOO_LARGE",

    // Stops of a session.
    /// The model gave its answer, and every check passed.
    Done = "DONE",
    /// A person's yes is awaited.
    NeedsApproval = "NEEDS_APPROVAL",
    /// A person's answer is awaited.
    NeedsInput = "NEEDS_INPUT",
    /// A refused call ended the run, as the task asked.
    StoppedOnDeny = "STOPPED_ON_DENY",
    /// A failed call ended the run, as the task asked.
    StoppedOnError = "STOPPED_ON_ERROR",
    /// A budget is spent.
    BudgetExhausted = "BUDGET_EXHAUSTED",
    /// The checks of the task did not pass.
    VerifyFailed = "VERIFY_FAILED",
    /// The model sent nothing usable several times in a row.
    MalformedReplies = "MALFORMED_REPLIES",
    /// The model could not be reached, or its answer broke off.
    ProviderFailed = "PROVIDER_FAILED",
    /// The request is longer than the model takes.
    ContextOverflow = "CONTEXT_OVERFLOW",
    /// What came as a summary is none: empty, cut, too long, or a call.
    SummaryUnusable = "SUMMARY_UNUSABLE",
    /// The script has a step that no request reached.
    ScriptUnused = "SCRIPT_UNUSED",
    /// The script has no step for this request.
    ScriptExhausted = "SCRIPT_EXHAUSTED",
    /// The cassette has nothing recorded for this request.
    CassetteMiss = "CASSETTE_MISS",
    /// The cassette has something recorded that no request reached.
    CassetteUnused = "CASSETTE_UNUSED",
    /// What the cassette holds does not read as it did when it was recorded.
    CassetteBroken = "CASSETTE_BROKEN",
    /// What the cassette holds and what happened are not the same.
    CassetteDiffers = "CASSETTE_DIFFERS",
    /// A person interrupted the run.
    Interrupted = "INTERRUPTED",
}

impl Code {
    /// Whether this code says that a call was refused before it ran. These end a run under `stop_on = ["deny"]`.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Denied
                | Self::DeniedByHook
                | Self::DeniedByGuard
                | Self::DeniedByPerson
                | Self::DeniedUnattended
                | Self::UnknownTool
                | Self::SecretInArguments
                | Self::RepeatedFailure
                | Self::BudgetSpent
                | Self::ApprovalSpent
                | Self::ApprovalExpired
                | Self::ApprovalOtherSession
                | Self::ApprovalStale
                | Self::ApprovalRevoked
                | Self::ApprovalWithdrawn
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
