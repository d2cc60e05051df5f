//! Settings of git that make it run nothing: a list of what is known to be harmless, so what is not known is not. It
//! reads what git reads as plain lines, and nothing else.

/// Section and key in lower case.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "sharedrepository",
            "compression",
        ],
    ),
    ("remote", &["url", "fetch", "pushurl", "push", "tagopt", "mirror", "promisor", "partialclonefilter"]),
    ("branch", &["remote", "merge", "rebase", "description"]),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("extensions", &["objectformat", "refstorage", "partialclone", "worktreeconfig", "noop"]),
    ("submodule", &["url", "active"]),
    ("gc", &["auto"]),
    ("maintenance", &["auto"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default"]),
    ("commit", &["gpgsign"]),
    ("tag", &["gpgsign"]),
    ("advice", &["detachedhead"]),
    ("receive", &["denycurrentbranch", "denynonfastforwards"]),
];

/// Whether all of them are.
pub(crate) fn are_harmless(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut section = String::new();
    text.lines().all(|line| one(line.trim(), &mut section))
}

/// One line, under the section that the lines before it opened.
fn one(line: &str, section: &mut String) -> bool {
    // A value could go on in the next line.
    if line.ends_with('\\') || line.chars().any(|letter| letter.is_control() && letter != '\t') {
        return false;
    }
    let mut rest = line;
    if let Some(head) = line.strip_prefix('[') {
        let Some((name, behind)) = header(head) else { return false };
        *section = name;
        rest = behind.trim();
    }
    if rest.is_empty() || rest.starts_with(['#', ';']) {
        return true;
    }
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
    let known = HARMLESS.iter().any(|(name, keys)| *name == *section && keys.contains(&&*key));
    // `NAME::ADDRESS` is for a program of that name.
    known && !(key.ends_with("url") && (value.contains("::") || value.starts_with('-')))
}

/// `core]` or `remote "name"]`: the section in lower case, and what stands behind it in the line.
fn header(text: &str) -> Option<(String, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')?;
    let (name, rest) = text.split_at(end);
    let rest = match rest.trim_start().strip_prefix('"') {
        // A quote in the name would be written with a backslash.
        Some(quoted) => quoted.split_once('"').filter(|(name, _)| !name.contains('\\'))?.1,
        None => rest,
    };
    Some((name.to_ascii_lowercase(), rest.strip_prefix(']')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_by_itself_is_harmless_and_nothing_else() {
        for text in [
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"a/b\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "# mine\n; mine\n\n[CORE] bare\n[user]\r\n\tname = \"A B\"\r\n",
            "",
        ] {
            assert!(are_harmless(text.as_bytes()), "{text}");
        }
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core] hooksPath = x\n",
            "[core]\n\tbare = \\\ntrue\n",
            "[alias]\n\tst = !x\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:x\"]\n\tpath = x\n",
            "[remote \"a\"]\n\turl = ext::sh -c x\n",
            "[remote \"a\"]\n\tuploadpack = x\n",
            "[remote.a]\n\turl = x\n",
            "[remote \"a\\\"]\"]\n\turl = x\n",
            "[submodule \"a\"]\n\tupdate = !x\n",
            "[core]\n\tworktree = /\n",
            "[filter \"a\"]\n\tclean = x\n",
            "bare = true\n",
            "[user]\n\tname = a\rb\n",
            "[core\n",
        ] {
            assert!(!are_harmless(text.as_bytes()), "{text}");
        }
        assert!(!are_harmless(b"[user]\nname = \xff\n"));
    }
}
