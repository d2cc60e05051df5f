//! Values that look like secrets and are none: placeholders, digests, identifiers, usual words.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

/// What people and templates write where a secret belongs. The first nine lines are gitleaks' own list.
const PLACEHOLDER: &str = concat!(
    r"(?i)\A(?:(?:true|false|null)",
    r"|a+|b+|c+|d+|e+|f+|g+|h+|i+|j+|k+|l+|m+|n+|o+|p+|q+|r+|s+|t+|u+|v+|w+|x+|y+|z+|\*+|\.+",
    r"|\$(?:\d+|\{\d+\})",
    r"|\$(?:[a-z_]+)",
    r"|\$\{(?:[a-z_]+)\}",
    r"|%(?:[a-z_]+)%",
    r"|%[+\-# 0]?[bcdefgopqstuvx]",
    r"|@(?:[a-z_]+)@",
    r"|/(?:bin|etc|home|opt|tmp|usr|var|users|run)/[\w ./-]+",
    // Ours: a variable, a field, a number or a constant of a program; words about the secret instead of it.
    r"|\$.*|(?:process|os|std|env|self|this|config|settings|secrets|vars)[.][\w.:-]+",
    r"|[a-z_.-]*(?:your|example|placeholder|changeme|change-me|redacted|dummy)[\w.-]*",
    r"|pass(?:word)?|pwd|secret|token|user|[a-z]*_?(?:token|key|password|secret)(?:_here)?",
    r"|\d+[ui](?:8|16|32|64|128|size)|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)",
    r"|.*EXAMPLE(?:KEY)?)\z"
);

pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| ascii(PLACEHOLDER));
    SHAPE.as_ref().is_some_and(|shape| shape.is_match(value))
}

/// Digests, identifiers and versions: what builds, lock files and histories are full of.
const DIGEST: &str = concat!(
    r"(?i)\A(?:[0-9a-f]{7,16}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}",
    r"|(?:md5|sha-?\d+|h1|blake\w*)[-_:=].*",
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"|[\w.-]*?[-_.]?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})",
    r"|v?\d+(?:\.\d+)+[\w.-]*",
    r"|\d{4}-\d\d-\d\d.*)\z"
);

pub(crate) fn is_digest(value: &[u8]) -> bool {
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| ascii(DIGEST));
    SHAPE.as_ref().is_some_and(|shape| shape.is_match(value))
}

/// Whether a value has one of the usual words in it that gitleaks lists, or is a name of a program (`key_attributes2`).
pub(crate) fn is_usual(value: &[u8]) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let words = include_str!("stopwords.txt").lines();
        AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
    });
    static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| ascii(r"\A[a-z]+\d{0,6}(?:_[a-z]+\d{0,4})+\z"));
    WORDS.as_ref().is_some_and(|words| words.is_match(value)) || NAME.as_ref().is_some_and(|name| name.is_match(value))
}

/// Names that hold a keyword and no secret: gitleaks' list, without what looks for file names.
const NO_SECRET: &str = concat!(
    r"(?i)(?:access(?:ibility|or)|access[_.-]?id|random[_.-]?access|api[_.-]?(?:id|name|version)|rapid|capital",
    r"|[a-z0-9-]*?api[a-z0-9-]*?:jar:|author|X-MS-Exchange-Organization-Auth|Authentication-Results",
    r"|(?:credentials?[_.-]?id|withCredentials)|(?:bucket|foreign|hot|idx|natural|primary|pub(?:lic)?|schema|sequence)[_.-]?key",
    r"|(?:turkey)|key[_.-]?(?:alias|board|code|frame|id|length|mesh|name|pair|press(?:ed)?|ring|selector|signature|size|stone|storetype|word|up|down|left|right)",
    r"|key[_.-]?vault[_.-]?(?:id|name)|keyVaultToStoreSecrets|key(?:store|tab)[_.-]?(?:file|path)|issuerkeyhash",
    r"|(?-i:[DdMm]onkey|[DM]ONKEY)|keying|(?:secret)[_.-]?(?:length|name|size)|UserSecretsId|(?:csrf)[_.-]?token",
    r"|(?:io\.jsonwebtoken[ \t]?:[ \t]?[\w-]+)|(?:api|credentials|token)[_.-]?(?:endpoint|ur[il])|public[_.-]?token",
    r"|(?:key|token)[_.-]?file)"
);

/// Whether a name, with what it is given, says that no secret follows.
pub(crate) fn is_no_secret_name(name: &[u8]) -> bool {
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| ascii(NO_SECRET));
    SHAPE.as_ref().is_some_and(|shape| shape.is_match(name))
}

fn ascii(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_secret() {
        for value in ["null", "xxxxxxxx", "${DB_PASSWORD}", "/etc/keys/a.key", "self.next2", "abcd1234EXAMPLE"] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        assert!(!is_placeholder(b"hunter2hunter2") && !is_placeholder(b"truebluesky99"));
        let sha = "0123456789abcdef0123456789abcdef01234567";
        for value in
            [sha, &format!("linux-{sha}"), "sha512-a+b/c==", "6f0c1a4e-0000-4000-8000-1234567890ab", "1.2.3-rc1"]
        {
            assert!(is_digest(value.as_bytes()), "{value}");
        }
        assert!(!is_digest(b"a8Kq2Zr9Lw4Xt7Vb"));
        assert!(is_usual(b"my-adapter-1") && !is_usual(b"9fQ2"));
        assert!(is_no_secret_name(b"primary_key: 12") && !is_no_secret_name(b"key: 12"));
    }
}
