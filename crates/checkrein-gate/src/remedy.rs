//! What to do about each code. Tools and providers state what happened; this map, at the edge to the model, says what
//! helps. Codes that only people meet have their remedy here too.

use checkrein_contract::{Code, visible};
use serde_json::json;

/// The next action after this code.
pub fn remedy(code: Code) -> &'static str {
    match code {
        Code::Allowed | Code::NoEffect | Code::Done => "Nothing to do.",
        Code::AskRule
        | Code::AskHook
        | Code::NeedsApproval
        | Code::AskNoRule
        | Code::AskNotUnderstood
        | Code::AskRestsOn
        | Code::AskUnconfined => ask_remedy(code),
        Code::NeedsInput => "Answer with `checkrein resume SESSION --answer TEXT`.",
        Code::Denied
        | Code::DeniedByHook
        | Code::DeniedByGuard
        | Code::DeniedByPerson
        | Code::DeniedUnattended
        | Code::DeniedUnconfined => denial_remedy(code),
        Code::UnknownTool | Code::InvalidArgs | Code::SecretInArguments => call_remedy(code),
        Code::RepeatedFailure => "Do something else: this exact call failed before and will not be run again.",
        Code::ReplyTruncated => "Send a shorter reply, with fewer calls or smaller arguments.",
        Code::BudgetSpent => "No further call is possible in this session. Give your answer from what you know.",
        Code::ApprovalSpent
        | Code::ApprovalExpired
        | Code::ApprovalRevoked
        | Code::ApprovalWithdrawn
        | Code::ApprovalDecided
        | Code::ApprovalNotYours
        | Code::ApprovalOtherSession
        | Code::ApprovalStale => approval_remedy(code),
        Code::ToolTimeout
        | Code::ToolNotStarted
        | Code::TaskUnfinished
        | Code::ToolFailed
        | Code::ToolPanicked
        | Code::InvalidToolOutput
        | Code::HookFailed
        | Code::ToolOutcomeUnknown => run_remedy(code),
        Code::Cancelled => "The run was cancelled. Do not go on by yourself.",
        Code::SandboxUnavailable => "The program could not be started. Check its name, or use another tool.",
        Code::JournalUnavailable => "Nothing runs without the journal. An operator must make room or repair it.",
        Code::FsNotFound
        | Code::FsNotDirectory
        | Code::FsNotRegularFile
        | Code::FsNotText
        | Code::FsTooLarge
        | Code::FsPermissionDenied
        | Code::FsIo
        | Code::FsNotObserved
        | Code::FsStaleVersion
        | Code::EditNotFound
        | Code::EditAmbiguous
        | Code::EditEmpty
        | Code::ReadPastEnd
        | Code::SearchInvalidPattern => file_remedy(code),
        Code::WebUnreachable | Code::WebStatus | Code::WebRedirect | Code::WebNotText | Code::WebTooLarge => {
            web_remedy(code)
        }
        Code::StoppedOnDeny
        | Code::StoppedOnError
        | Code::BudgetExhausted
        | Code::VerifyFailed
        | Code::MalformedReplies
        | Code::ProviderFailed
        | Code::ContextOverflow
        | Code::SummaryUnusable
        | Code::Interrupted => stop_remedy(code),
        Code::ScriptUnused | Code::ScriptExhausted => script_remedy(code),
        Code::CassetteMiss | Code::CassetteUnused | Code::CassetteBroken | Code::CassetteDiffers => CASSETTE_REMEDY,
    }
}

/// What a person does about a cassette that does not fit any more.
const CASSETTE_REMEDY: &str =
    "Undo what changed, or record anew with `checkrein cassette refresh FILE` and read its diff.";

/// What a person does about a script that does not fit.
fn script_remedy(code: Code) -> &'static str {
    if code == Code::ScriptUnused {
        "Remove the step, or change the task so that it is reached."
    } else {
        "Add a step for this request, or an `else` step."
    }
}

/// What a person does about a session that stopped.
fn stop_remedy(code: Code) -> &'static str {
    match code {
        Code::StoppedOnDeny | Code::StoppedOnError => {
            "The task stops on this; change the task, the policy or the input."
        }
        Code::BudgetExhausted => "Raise the limit in `[budget]` or with `--budget`, and run again.",
        Code::VerifyFailed => "Read what the checks printed; the workspace is kept as it is.",
        Code::MalformedReplies => "Try another model, or a higher reply limit.",
        Code::ContextOverflow => {
            "The model takes less than the harness thought: name a smaller `tokens` in `[context]` of the task, with `policy = \"compact\"`."
        }
        Code::SummaryUnusable => "Nothing to do: the harness lists what is not shown instead.",
        Code::ProviderFailed => "Check key, network and model name, then run again.",
        Code::Interrupted => "Go on with `checkrein resume SESSION`.",
        _ => "Read the reason, then start a new session.",
    }
}

/// What helps with files and searches.
fn file_remedy(code: Code) -> &'static str {
    match code {
        Code::FsNotFound => "Check the path with `glob`, then try again.",
        Code::FsNotDirectory => "Give a folder, or leave the path out to search the whole project.",
        Code::FsNotRegularFile => "Give a regular file.",
        Code::FsNotText => "This tool handles text only; inspect the file with a program instead.",
        Code::FsTooLarge => "Work on a smaller file, or on a part of it with a program.",
        Code::FsPermissionDenied => "The operating system refuses. Use another path, or say what is missing.",
        Code::FsIo => "Read the message; if it looks passing, try once more.",
        Code::FsNotObserved => "Read the file first, then retry.",
        Code::FsStaleVersion => "Read the file again, adapt the change, then retry.",
        Code::EditNotFound => "Read the file again and copy the text exactly, with its blanks and line breaks.",
        Code::EditAmbiguous => "Give more of the surrounding text so that it occurs once, or set `replace_all`.",
        Code::EditEmpty => "Give an `old` that is not empty and a `new` that differs from it.",
        Code::ReadPastEnd => "Use an offset within the file.",
        Code::SearchInvalidPattern => "Correct the pattern; escape special characters to search for them.",
        _ => "Read the message, correct the cause, then call again.",
    }
}

/// What a person decides, and what would answer in the person's place.
fn ask_remedy(code: Code) -> &'static str {
    match code {
        Code::AskNoRule => "A person decides; a rule in the policy would answer next time.",
        Code::AskNotUnderstood => "Say it in plain words: name programs, options and paths instead of computing them.",
        Code::AskRestsOn => "A person decides, since what this would run is not what the rule was written for.",
        Code::AskUnconfined => "A person decides; or run with `--unconfined` where you trust the programs.",
        _ => "A person decides: `checkrein approvals approve ID --by NAME`, then `checkrein resume SESSION`.",
    }
}

/// What helps with a call that is wrong in itself.
fn call_remedy(code: Code) -> &'static str {
    match code {
        Code::UnknownTool => "Call one of the tools on offer, by its exact name.",
        Code::SecretInArguments => {
            "Leave it out. In a `bash` command, `${secret:NAME}` stands for a secret that the task names; a person sets it."
        }
        _ => "Correct every listed field and call the tool again.",
    }
}

/// What helps where a yes, or an answer, does not count.
fn approval_remedy(code: Code) -> &'static str {
    match code {
        Code::ApprovalOtherSession => "Ask for approval in this session.",
        Code::ApprovalStale => "What was approved has changed. Propose the call again; a person will be asked anew.",
        Code::ApprovalWithdrawn => {
            "Whoever asked took the question back. Go on without it, and name it in your answer."
        }
        Code::ApprovalDecided => "The first answer stands; a yes can be taken back with `checkrein approvals revoke`.",
        Code::ApprovalNotYours => "Somebody else has to say yes; `checkrein approvals show ID` says who may.",
        _ => "Propose the call again if it is still needed; a person will be asked anew.",
    }
}

/// What helps after a call that ran, or may have.
fn run_remedy(code: Code) -> &'static str {
    match code {
        Code::ToolTimeout => "Do less in one call, or give the tool a longer limit if it takes one.",
        Code::ToolNotStarted => "It did not run. Call it again if it is still needed.",
        Code::TaskUnfinished => {
            "Read how far it came; do the rest yourself, or give a smaller part with more of the budget."
        }
        Code::ToolFailed => "Read the message, correct the cause, then call again.",
        Code::ToolOutcomeUnknown => {
            "It may or may not have happened. Look at the state first; do not simply repeat it."
        }
        // A defect of the tool or of a hook.
        _ => "This is a defect of the tool, not of your call. Use another tool, or say so in your answer.",
    }
}

/// What helps a model that was refused.
fn denial_remedy(code: Code) -> &'static str {
    match code {
        Code::DeniedUnconfined => "Do without the program: this machine can not hold it to what was granted.",
        Code::Denied => "Do not try it in other words. Reach the goal another way, or say what is missing.",
        Code::DeniedByPerson => {
            "Do not ask again for the same thing. Follow the person's reason, or finish without it."
        }
        Code::DeniedUnattended => "Nobody can approve it now. Go on without it, and name it in your answer.",
        _ => "Do not repeat this call. Change what the reason names, or say in your answer what is missing.",
    }
}

/// What helps with pages of the web.
fn web_remedy(code: Code) -> &'static str {
    match code {
        Code::WebUnreachable => "Check the address; if it is right, the page can not be had now. Go on without it.",
        Code::WebStatus => "Check the address, or look for the page from the site's start.",
        Code::WebRedirect => "Fetch the address that the message names; it is judged by itself.",
        Code::WebNotText => "This tool shows text only. Look for a page that says it in words.",
        // It is too large.
        _ => "Fetch a smaller part of it, such as one page or one file.",
    }
}

/// The text of a refusal or failure, as the model reads it. One shape for all of them. A message may quote what a model or a file
/// says; nothing in it is obeyed by whoever shows it.
pub fn error_text(code: Code, message: &str) -> String {
    json!({ "is_error": true, "code": code, "message": bounded(&visible(message), MAX_MESSAGE), "remedy": remedy(code) }).to_string()
}

/// Longest message, bytes: room for a dozen violations, too little to bury the remedy.
const MAX_MESSAGE: usize = 2_000;

/// A text of at most so many bytes, and how much more there was.
pub(crate) fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{} [{} more bytes left out]", text.get(..end).unwrap_or_default(), text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows R51, R54, R56: every code has a remedy, and the remedy is a sentence.
    #[test]
    fn every_code_says_what_to_do() {
        for code in Code::ALL {
            let remedy = remedy(*code);
            assert!(remedy.len() > 10 && remedy.ends_with('.'), "{code}: {remedy:?}");
        }
    }

    #[test]
    fn an_error_is_one_shape_and_bounded() {
        let text = error_text(Code::InvalidArgs, &"é".repeat(5_000));
        assert!(text.len() < 2_400, "{}", text.len());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["is_error"], true);
        assert_eq!(value["code"], "INVALID_ARGS");
        assert!(value["message"].as_str().unwrap().ends_with("[8000 more bytes left out]"));
        let text = error_text(Code::InvalidArgs, &format!("x{}", "é".repeat(5_000)));
        assert!(text.contains("é [8002 more bytes left out]"), "it is cut between characters");
    }
}
