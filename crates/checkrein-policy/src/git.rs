//! Settings of git that make it start something.

/// Whether a setting of a repository names a program that git would start, code that it would run, or another place that
/// it would turn to. `section` and `key` in lower case, without the part between them; no `value` is a bare `key`.
///
/// An alias is none: it never stands for a command of git's own, and any other command is not known.
pub fn starts_a_program(section: &str, key: &str, value: Option<&str>) -> bool {
    let truth = truth(value);
    let value = value.unwrap_or_default();
    match (section, key) {
        // A truth value turns a built-in on or off.
        ("core", "fsmonitor") | ("pager", _) => truth.is_none() && value != "cat",
        ("core", "pager") => value != "cat" && !value.is_empty(),
        ("extensions", "worktreeconfig") => truth != Some(false),
        // An empty one takes away those before it.
        ("credential", "helper") => !value.is_empty(),
        ("submodule", "update") => value.starts_with('!'),
        ("remote" | "submodule", "url" | "pushurl") => has_own_transport(value),
        ("sendemail", "smtpserver") => value.starts_with('/'),
        ("sendemail", key) => key.ends_with("cmd"),
        ("instaweb", _)
        | (
            "core",
            "editor" | "sshcommand" | "askpass" | "hookspath" | "gitproxy" | "alternaterefscommand" | "worktree",
        )
        | ("sequence", "editor")
        | ("diff", "external" | "command" | "textconv")
        | ("filter", "clean" | "smudge" | "process")
        | ("merge", "driver")
        | ("mergetool" | "difftool" | "guitool" | "browser" | "man", "cmd" | "path")
        | ("gpg", "program" | "defaultkeycommand")
        | ("uploadpack", "packobjectshook")
        | ("remote", "uploadpack" | "receivepack" | "proxy" | "vcs")
        | ("http", "proxy")
        | ("url", "insteadof" | "pushinsteadof")
        | ("protocol", "allow")
        | ("trailer", "command" | "cmd")
        | ("interactive", "difffilter")
        | ("web" | "help", "browser")
        | ("init", "templatedir")
        | ("tar" | "hook", "command")
        | ("imap", "tunnel") => true,
        _ => false,
    }
}

/// `NAME::ADDRESS` is for the program `git-remote-NAME`.
fn has_own_transport(url: &str) -> bool {
    url.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'))
    })
}

/// `../other.git`, as a submodule may be given, beside the address of the whole.
pub fn beside(base: &str, relative: &str) -> Option<String> {
    let (mut base, mut rest) = (base.trim_end_matches('/'), relative);
    loop {
        if let Some(further) = rest.strip_prefix("../") {
            base = base.get(..base.rfind(['/', ':'])?)?;
            rest = further;
        } else if let Some(further) = rest.strip_prefix("./") {
            rest = further;
        } else {
            return Some(format!("{base}/{rest}"));
        }
    }
}

/// An address without the user and the password that may stand in it.
pub fn without_user(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// The truth value, where it is one.
pub fn truth(value: Option<&str>) -> Option<bool> {
    let Some(value) = value else { return Some(true) };
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "" => Some(false),
        _ => None,
    }
}
