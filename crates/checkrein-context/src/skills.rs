//! Skill files: from the text of a `SKILL.md` to a skill, and from skills to the menu in the system prompt. It must not
//! read files, and nothing here gives a skill any permission: a skill reveals tools, the policy decides about calls.

use checkrein_contract::{Listed, Skill, list_within};
use checkrein_toml::{FileError, nearest};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{Error, MessageFormatter as _, Spanned, UserMessageFormatter};

/// A mistake in a `SKILL.md`, with file, line and near miss, as in every other file that people write.
pub type SkillError = FileError;

/// The line that opens and closes the front matter.
const FENCE: &str = "---";

/// Longest name, in characters, as the public `SKILL.md` format has it.
const NAME_CHARACTERS: usize = 64;

/// Longest description, in characters, as the public `SKILL.md` format has it.
const DESCRIPTION_CHARACTERS: usize = 1024;

/// Tokens of the menu, with as much of each description as there is room for.
const MENU_TOKENS: u64 = 1_600;

/// The front matter. The last three keys are part of the public format and mean nothing here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: Spanned<String>,
    description: Spanned<String>,
    #[serde(default)]
    tools: Vec<Spanned<String>>,
    #[serde(default, rename = "license")]
    _license: IgnoredAny,
    #[serde(default, rename = "version")]
    _version: IgnoredAny,
    #[serde(default, rename = "metadata")]
    _metadata: IgnoredAny,
}

/// Reads a `SKILL.md`: YAML front matter between two lines `---`, then the instructions, which are taken without the
/// white space around them. `source_name` is the file's name for errors, `folder_name` the name of the folder it lies
/// in.
///
/// # Errors
/// The first mistake, with its line: no front matter, broken YAML, an unknown or missing key, a name that is not the
/// folder's or not 1 to 64 of `a-z`, `0-9`, `-`, `_`, an empty description or one of more than 1,024 characters, an
/// empty or repeated tool. Whether the tools exist is for the caller to check.
pub fn parse_skill(source_name: &str, folder_name: &str, text: &str) -> Result<Skill, SkillError> {
    let error = |line: usize, message: String| FileError { file: source_name.to_owned(), line, message, near: None };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (yaml, body) = split(text).map_err(|(line, message)| error(line, message.to_owned()))?;
    let matter: FrontMatter = serde_saphyr::from_str(yaml).map_err(|found| explain(source_name, yaml, &found))?;
    check(&matter, folder_name).map_err(|(line, message)| error(line, message))?;
    Ok(Skill {
        name: matter.name.value,
        description: matter.description.value.trim().to_owned(),
        tools: matter.tools.into_iter().map(|tool| tool.value).collect(),
        body: body.trim().to_owned(),
    })
}

/// The front matter and the body. The front matter keeps its opening fence, which YAML reads as the start of a
/// document, so that its lines have the numbers they have in the file.
fn split(text: &str) -> Result<(&str, &str), (usize, &'static str)> {
    let mut lines = text.split_inclusive('\n');
    let Some(opening) = lines.next().filter(|line| line.trim_end() == FENCE) else {
        return Err((1, "a skill begins with a line `---` and its front matter"));
    };
    let mut end = opening.len();
    for line in lines {
        let (matter, rest) = text.split_at(end);
        if line.trim_end() == FENCE {
            return Ok((matter, rest.strip_prefix(line).unwrap_or_default()));
        }
        end += line.len();
    }
    Err((1, "the front matter is not closed by a line `---`"))
}

fn explain(source_name: &str, yaml: &str, found: &Error) -> SkillError {
    let found = found.without_snippet();
    let line = found.location().map_or(1, |location| line_of(location.line()));
    let (message, near) = match found {
        Error::SerdeUnknownField { field, expected, .. } => {
            let near = nearest(field, expected.iter().copied());
            let known =
                if near.is_none() { format!(", expected one of `{}`", expected.join("`, `")) } else { String::new() };
            (format!("unknown field `{field}`{known}"), near)
        }
        Error::SerdeMissingField { field, .. } => (format!("missing field `{field}`"), None),
        Error::DuplicateMappingKey { key: Some(key), .. } => (format!("duplicate field `{key}`"), None),
        other => {
            let message = UserMessageFormatter.format_message(other);
            let quotes =
                if message.starts_with("mapping values") { "; a text with `: ` in it needs quotes" } else { "" };
            (format!("{message}{}{quotes}", within(yaml, line)), None)
        }
    };
    FileError { file: source_name.to_owned(), line, message, near }
}

/// The key whose value begins on this line, which YAML's own errors do not name.
fn within(yaml: &str, line: usize) -> String {
    let key = yaml.lines().nth(line.saturating_sub(1)).and_then(|text| text.split_once(':')).map(|(key, _)| key);
    match key.filter(|key| key.bytes().all(|byte| byte.is_ascii_lowercase())) {
        Some(key) => format!(" in `{key}`"),
        None => String::new(),
    }
}

fn line_of(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).max(1)
}

/// What YAML can not check; the line and what is wrong.
fn check(matter: &FrontMatter, folder_name: &str) -> Result<(), (usize, String)> {
    let fault = |at: &Spanned<String>, message: String| Err((line_of(at.referenced.line()), message));
    let name = &matter.name.value;
    let letters = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
    if !letters || !(1..=NAME_CHARACTERS).contains(&name.len()) {
        return fault(&matter.name, format!("`name` is 1 to {NAME_CHARACTERS} of a-z, 0-9, `-` and `_`, not {name:?}"));
    }
    if name != folder_name {
        return fault(
            &matter.name,
            format!("`name` is `{name}`, but the folder is `{folder_name}`; they must be equal"),
        );
    }
    let description = matter.description.value.trim();
    if description.is_empty() {
        return fault(&matter.description, "`description` is empty; the model chooses by it".to_owned());
    }
    let characters = description.chars().count();
    if characters > DESCRIPTION_CHARACTERS {
        let message =
            format!("`description` has {characters} characters; at most {DESCRIPTION_CHARACTERS} are allowed");
        return fault(&matter.description, message);
    }
    for (index, tool) in matter.tools.iter().enumerate() {
        if tool.value.trim().is_empty() {
            return fault(tool, "`tools` holds an empty name".to_owned());
        }
        if matter.tools.iter().take(index).any(|earlier| earlier.value == tool.value) {
            return fault(tool, format!("`tools` names `{}` twice", tool.value));
        }
    }
    Ok(())
}

/// The part of the system prompt that offers skills: how to load one, then one line for each, as far as there is room.
/// Empty without skills.
pub fn menu(skills: &[Skill]) -> Listed {
    if skills.is_empty() {
        return Listed::default();
    }
    let entries: Vec<(&str, &str)> =
        skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect();
    let listed = list_within(&entries, "- ", MENU_TOKENS);
    let mut text =
        "Skills are instructions for one kind of task. When one fits, load it before you begin, by calling the tool \
                    `load_skill` with its name"
            .to_owned();
    text.push_str(if listed.cut { ". What is cut here, `find_tools` says in full:" } else { ":" });
    text.push_str(&listed.text);
    if listed.left_out > 0 {
        text.push_str(&format!(", and {} more, which `find_tools` finds", listed.left_out));
    }
    Listed { text, ..listed }
}

#[cfg(test)]
mod tests {
    use checkrein_contract::estimate_text;
    use insta::assert_snapshot;

    use super::*;

    fn parse(text: &str) -> Result<Skill, SkillError> {
        parse_skill("skills/refunds/SKILL.md", "refunds", text)
    }

    /// The error of a front matter with these lines.
    fn error(lines: &str) -> String {
        parse(&format!("---\n{lines}\n---\nBody.\n")).unwrap_err().to_string()
    }

    #[test]
    fn a_skill_is_its_front_matter_and_the_rest() {
        let text = "---\nname: refunds\ndescription: How to refund an order.\ntools: [find_order, issue_refund]\n---\n\n# Refunds\n\n---\nLook first.\n\n";
        let expected = Skill {
            name: "refunds".to_owned(),
            description: "How to refund an order.".to_owned(),
            tools: vec!["find_order".to_owned(), "issue_refund".to_owned()],
            body: "# Refunds\n\n---\nLook first.".to_owned(),
        };
        assert_eq!(parse(text).unwrap(), expected);
        assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap().tools, expected.tools);
        assert_eq!(parse(&format!("\u{feff}{text}")).unwrap(), expected);
    }

    #[test]
    fn keys_of_the_public_format_are_accepted_and_tools_may_be_absent() {
        let text = "---\nname: refunds\ndescription: >\n  Two\n  lines: here.\nlicense: MIT\nversion: 1.2\nmetadata:\n  author: sam\n  tags: [a]\n---";
        let skill = parse(text).unwrap();
        assert_eq!((skill.description.as_str(), skill.tools.len(), skill.body.as_str()), ("Two lines: here.", 0, ""));
    }

    #[test]
    fn front_matter_must_be_there() {
        assert_snapshot!(parse("").unwrap_err(), @"skills/refunds/SKILL.md:1: a skill begins with a line `---` and its front matter");
        assert_snapshot!(parse("# Refunds\n---\nname: refunds\n---\n").unwrap_err(), @"skills/refunds/SKILL.md:1: a skill begins with a line `---` and its front matter");
        assert_snapshot!(parse("---\nname: refunds\ndescription: x\n").unwrap_err(), @"skills/refunds/SKILL.md:1: the front matter is not closed by a line `---`");
        assert_snapshot!(parse("---\n---\nBody").unwrap_err(), @"skills/refunds/SKILL.md:1: expected mapping start");
    }

    #[test]
    fn mistakes_in_the_keys_name_file_line_and_near_miss() {
        assert_snapshot!(error("name: refunds\ndescription: x\ntool: [a]"), @"skills/refunds/SKILL.md:4: unknown field `tool` (did you mean `tools`?)");
        assert_snapshot!(error("name: refunds\ndescription: x\n\nallowed-tools: [a]"), @"skills/refunds/SKILL.md:5: unknown field `allowed-tools`, expected one of `name`, `description`, `tools`, `license`, `version`, `metadata`");
        assert_snapshot!(error("name: refunds"), @"skills/refunds/SKILL.md:2: missing field `description`");
        assert_snapshot!(error("name: refunds\ndescription: x\ntools: find"), @"skills/refunds/SKILL.md:4: expected sequence start in `tools`");
        assert_snapshot!(error("name: refunds\nname: other\ndescription: x"), @"skills/refunds/SKILL.md:3: duplicate field `name`");
        assert_snapshot!(error("name: refunds\ndescription: [a"), @"skills/refunds/SKILL.md:3: expected string scalar in `description`");
        assert_snapshot!(error("name: refunds\ndescription:"), @"skills/refunds/SKILL.md:3: null is not allowed here in `description`");
        assert_snapshot!(error("name: refunds\ndescription: x\ntools:"), @"skills/refunds/SKILL.md:4: expected sequence start in `tools`");
        assert_snapshot!(error("name: refunds\ndescription: refunds: how to"), @"skills/refunds/SKILL.md:3: mapping values are not allowed in this context in `description`; a text with `: ` in it needs quotes");
    }

    #[test]
    fn names_and_descriptions_are_checked() {
        assert_snapshot!(error("# a comment\nname: refund\ndescription: x"), @"skills/refunds/SKILL.md:3: `name` is `refund`, but the folder is `refunds`; they must be equal");
        assert_snapshot!(error("name: Refunds\ndescription: x"), @r#"skills/refunds/SKILL.md:2: `name` is 1 to 64 of a-z, 0-9, `-` and `_`, not "Refunds""#);
        assert_snapshot!(error("name: ''\ndescription: x"), @r#"skills/refunds/SKILL.md:2: `name` is 1 to 64 of a-z, 0-9, `-` and `_`, not """#);
        assert_snapshot!(error("name: refunds\ndescription: '  '"), @"skills/refunds/SKILL.md:3: `description` is empty; the model chooses by it");
        assert_snapshot!(error(&format!("name: refunds\ndescription: {}", "ü".repeat(1025))), @"skills/refunds/SKILL.md:3: `description` has 1025 characters; at most 1024 are allowed");
        assert_snapshot!(error("name: refunds\ndescription: x\ntools:\n- a\n- ''"), @"skills/refunds/SKILL.md:6: `tools` holds an empty name");
        assert_snapshot!(error("name: refunds\ndescription: x\ntools:\n- a\n- a"), @"skills/refunds/SKILL.md:6: `tools` names `a` twice");
        let name = "a".repeat(65);
        let text = format!("---\nname: {name}\ndescription: x\n---");
        assert!(parse_skill("s", &name, &text).unwrap_err().message.starts_with("`name` is 1 to 64"));
        assert!(parse(&format!("---\nname: refunds\ndescription: {}\n---", "ü".repeat(1024))).is_ok());
    }

    #[test]
    fn the_menu_has_one_line_for_each_skill() {
        let skill = |name: &str, description: &str| Skill {
            name: name.to_owned(),
            description: description.to_owned(),
            tools: vec!["hidden".to_owned()],
            body: "hidden".to_owned(),
        };
        assert_eq!(menu(&[]), Listed::default());
        assert_snapshot!(
            menu(&[skill("refunds", "How to\nrefund."), skill("returns", "How to return.")]).text,
            @r"
        Skills are instructions for one kind of task. When one fits, load it before you begin, by calling the tool `load_skill` with its name:
        - refunds: How to refund.
        - returns: How to return.
        "
        );
    }

    /// Shows R39, R86: a menu of very many skills has a bound, and every one of them is named, or found by what it is for.
    #[test]
    fn a_menu_of_two_hundred_skills_has_a_bound() {
        let skills = |count: usize, said: usize| -> Vec<Skill> {
            let skill = |n: usize| Skill {
                name: format!("close-account-{n:03}"),
                description: format!("How to close an account of kind {n}. {}", "And what to tell. ".repeat(said)),
                tools: Vec::new(),
                body: String::new(),
            };
            (0..count).map(skill).collect()
        };
        for (count, said, left_out) in [(200, 1, false), (200, 50, false), (2_000, 1, true)] {
            let listed = menu(&skills(count, said));
            assert!(estimate_text(&listed.text) < 2_000 && listed.cut, "{count}");
            assert_eq!(listed.left_out > 0, left_out, "{count}");
            assert_eq!(listed, menu(&skills(count, said)));
            let named = (0..count).filter(|n| listed.text.contains(&format!("close-account-{n:03}"))).count();
            assert_eq!(named + listed.left_out, count);
        }
        assert!(!menu(&skills(20, 1)).cut);
    }
}
