//! Tokens with a shape of their own: issued by services that gave them a prefix so that they can be found.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::redact::Detector;

pub(crate) const DETECTOR: Detector = Detector { name: "token", find };

/// Prefixes as the services document them: GitHub, GitLab, Slack, AWS access key ids, Google, Stripe, npm, PyPI, OpenAI,
/// Anthropic; and JSON Web Tokens.
const SHAPES: &str = concat!(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,64}",
    r"|xox[abprs]-[A-Za-z0-9-]{10,250}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|[rs]k_live_[A-Za-z0-9]{16,250}",
    r"|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,250}|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,250}",
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
);

/// How each of them begins. A text without any needs no pattern, and building one takes longer than judging a call.
const BEGINNINGS: [&str; 16] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "k_live_",
    "npm_",
    "pypi-",
    "sk-",
    "eyJ",
];

fn find(text: &str) -> Vec<Range<usize>> {
    if !BEGINNINGS.iter().any(|beginning| text.contains(beginning)) {
        return Vec::new();
    }
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SHAPES).ok());
    SHAPE.as_ref().map(|shape| shape.find_iter(text).map(|found| found.range()).collect()).unwrap_or_default()
}
