//! `jq` filters: they compute, unless they bring in modules or look at the environment.

use super::super::value::Text;
use super::super::walk::Walker;

/// What a filter does besides computing.
pub(in super::super) fn look(walker: &mut Walker<'_>, text: &Text) {
    let Some(filter) = text.as_known() else {
        // A filter can not write, start or connect; what it could do is what is looked for here.
        return walker.unknown(format!("the jq filter `{}` is not known before it runs", text.shown()));
    };
    let mut in_text = false;
    let mut hidden = false;
    let mut word = String::new();
    for c in filter.chars().chain(std::iter::once(' ')) {
        if in_text {
            match c {
                _ if hidden => hidden = false,
                '\\' => hidden = true,
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_text = true,
            c if c.is_alphanumeric() || matches!(c, '_' | '$' | '.') => {
                word.push(c);
                continue;
            }
            _ => {}
        }
        if matches!(word.as_str(), "import" | "include") {
            walker.unknown("the jq filter brings in a module");
        }
        if matches!(word.as_str(), "env" | "$ENV") || word.starts_with("$ENV.") || word.starts_with("env.") {
            walker.unknown("the jq filter reads the environment");
        }
        word.clear();
    }
}
