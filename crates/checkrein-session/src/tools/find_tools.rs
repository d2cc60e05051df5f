//! `find_tools`: describes tools that requests only name, and skills that the menu has no room for. What it says is a result
//! like any other, so nothing changes of what requests declare.

use std::collections::BTreeSet;

use checkrein_contract::{CallId, Code, Skill, ToolSpec, list_within, nearest_first};
use checkrein_gate::input_schema;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{SessionReply, SessionTool, Wanted};
use crate::State;
use crate::state::hidden_by;

const NAME: &str = "find_tools";

const DESCRIPTION: &str =
    "Look up tools and skills that are only named to you, by words for what you need or by exact names.";

/// Tokens of all names together, with as many words as there is room for.
const NAMED_TOKENS: u64 = 1_600;
/// The most of a description that stands behind a name, characters.
const NAMED_CHARACTERS: usize = 80;
/// How many are described to whoever looks for words.
const FOUND: usize = 5;
/// Longest result, bytes; one is described in any case.
const RESULT_BYTES: usize = 16_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Words for what you need, such as `refund order`. The best five are shown.
    #[serde(default)]
    #[schemars(length(max = 300))]
    query: Option<String>,
    /// Exact names.
    #[serde(default)]
    #[schemars(length(max = 20))]
    names: Vec<String>,
}

pub(super) struct FindTools;

impl SessionTool for FindTools {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        DESCRIPTION
    }

    fn parameters(&self) -> Value {
        input_schema::<Input>()
    }

    fn wanted(&self) -> Wanted {
        Wanted::WithUndescribed
    }

    fn answer(&self, _call: &CallId, args: &Value, state: &State) -> SessionReply {
        let failed = |message: String| SessionReply::Failed { code: Code::InvalidArgs, message };
        let input = match Input::deserialize(args) {
            Ok(input) => input,
            Err(error) => return failed(error.to_string()),
        };
        let query = input.query.as_deref().unwrap_or_default();
        let words: BTreeSet<String> = words_of(query).into_iter().collect();
        if words.is_empty() && input.names.is_empty() {
            return failed("say what you need in `query`, or exact names in `names`".to_owned());
        }
        let mut answer = Answer::default();
        for name in &input.names {
            answer.named(name, state);
        }
        for thing in best(&words, state) {
            answer.add(thing);
        }
        SessionReply::Result { text: answer.text(query), change: None }
    }
}

/// Puts the names of what is deferred into the description of the tool that describes it. What a skill reveals is named by
/// the skill.
pub fn name_deferred(tools: &mut [ToolSpec], skills: &[Skill], deferred: &[String]) {
    let (hidden, deferred) = (hidden_by(skills), deferred.iter().map(String::as_str).collect::<BTreeSet<_>>());
    let named = tools.iter().filter(|spec| deferred.contains(spec.name.as_str()) && !hidden.contains_key(&spec.name));
    let named: Vec<(String, String)> = named.map(|spec| (spec.name.clone(), first_words(&spec.description))).collect();
    let entries: Vec<(&str, &str)> = named.iter().map(|(name, said)| (name.as_str(), said.as_str())).collect();
    let Some(finder) = tools.iter_mut().find(|spec| spec.name == NAME) else { return };
    DESCRIPTION.clone_into(&mut finder.description);
    if entries.is_empty() {
        return;
    }
    let listed = list_within(&entries, "", NAMED_TOKENS);
    finder.description.push_str(" These are only named:");
    finder.description.push_str(&listed.text);
    if listed.left_out > 0 {
        finder.description.push_str(&format!(", and {} more, which a query finds", listed.left_out));
    }
}

/// The first sentence of a description, or its beginning.
fn first_words(description: &str) -> String {
    let sentence = description.split_inclusive(['.', '\n']).next().unwrap_or_default();
    sentence.trim().trim_end_matches('.').chars().take(NAMED_CHARACTERS).collect()
}

/// Something that can be found.
#[derive(Clone, Copy)]
enum Thing<'a> {
    Tool(&'a ToolSpec),
    Skill(&'a Skill),
}

impl<'a> Thing<'a> {
    /// What may be found now: of what is deferred, that which is on offer; and every skill.
    fn all(state: &'a State) -> impl Iterator<Item = Self> {
        let opened = state.opened();
        let tools = opened.tools.iter().filter(|spec| state.defers(&spec.name) && state.offers(&spec.name));
        tools.map(Self::Tool).chain(opened.skills.iter().map(Self::Skill))
    }

    fn name(self) -> &'a str {
        match self {
            Self::Tool(spec) => &spec.name,
            Self::Skill(skill) => &skill.name,
        }
    }

    /// A line of JSON, the name first: no description can pass for another thing.
    fn line(self) -> String {
        let text = |text: &str| Value::from(text);
        match self {
            Self::Tool(ToolSpec { name, description, parameters }) => {
                let (name, description) = (text(name), text(description));
                format!("{{\"tool\":{name},\"description\":{description},\"args\":{parameters}}}")
            }
            Self::Skill(skill) => {
                let (name, description) = (text(&skill.name), text(&skill.description));
                format!("{{\"skill\":{name},\"description\":{description}}}")
            }
        }
    }

    /// How well it fits these words: most where they are of its name.
    fn fit(self, words: &BTreeSet<String>) -> usize {
        let (said, arguments) = match self {
            Self::Tool(spec) => (&spec.description, spec.parameters.get("properties").and_then(Value::as_object)),
            Self::Skill(skill) => (&skill.description, None),
        };
        let (name, said) = (words_of(self.name()), words_of(said));
        let begins = |known: &String, word: &String| word.len() > 2 && known.starts_with(word.as_str());
        let score = |word: &String| {
            let argument = arguments.is_some_and(|all| all.keys().any(|key| words_of(key).contains(word)));
            let of_name = if name.contains(word) {
                10
            } else if name.iter().any(|known| begins(known, word)) {
                5
            } else {
                0
            };
            let of_text = if said.contains(word) {
                4
            } else if said.iter().any(|known| begins(known, word)) {
                2
            } else {
                0
            };
            of_name + of_text + usize::from(argument)
        };
        words.iter().map(score).sum()
    }
}

/// Words in small letters: what is between whatever is neither letter nor digit.
fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// What fits best, by how well it does and then by name.
fn best<'a>(words: &BTreeSet<String>, state: &'a State) -> Vec<Thing<'a>> {
    let mut found: Vec<(usize, Thing<'a>)> = Thing::all(state).map(|thing| (thing.fit(words), thing)).collect();
    found.retain(|(fit, _)| *fit > 0);
    found.sort_by(|(a, one), (b, other)| b.cmp(a).then(one.name().cmp(other.name())));
    found.into_iter().take(FOUND).map(|(_, thing)| thing).collect()
}

/// The answer, as far as it fits.
#[derive(Default)]
struct Answer<'a> {
    lines: Vec<String>,
    shown: BTreeSet<&'a str>,
    bytes: usize,
    /// Found, but there is no room for them.
    cut: Vec<&'a str>,
    /// On offer and described in every request.
    declared: Vec<String>,
    unknown: Vec<String>,
    tools: bool,
    skills: bool,
}

impl<'a> Answer<'a> {
    fn named(&mut self, name: &str, state: &'a State) {
        if let Some(thing) = Thing::all(state).find(|thing| thing.name() == name) {
            self.add(thing);
        } else if state.opened().tools.iter().any(|spec| spec.name == name) && state.offers(name) {
            self.declared.push(format!("`{name}`"));
        } else {
            // What is hidden is answered like what there is not.
            let near = nearest_first(name, Thing::all(state).map(Thing::name), 3);
            let near = if near.is_empty() { String::new() } else { format!(" (there is {})", near.join(", ")) };
            let name: String = name.chars().take(64).collect();
            self.unknown.push(format!("`{name}`{near}"));
        }
    }

    fn add(&mut self, thing: Thing<'a>) {
        if !self.shown.insert(thing.name()) {
            return;
        }
        let line = thing.line();
        if !self.lines.is_empty() && self.bytes.saturating_add(line.len()) > RESULT_BYTES {
            self.cut.push(thing.name());
            return;
        }
        self.bytes = self.bytes.saturating_add(line.len());
        self.lines.push(line);
        match thing {
            Thing::Tool(_) => self.tools = true,
            Thing::Skill(_) => self.skills = true,
        }
    }

    fn text(self, query: &str) -> String {
        let mut lines = self.lines;
        if lines.is_empty() && !query.trim().is_empty() {
            lines.push(format!("Nothing fits {}. Try other words, or fewer.", Value::from(query.trim())));
        }
        if self.tools {
            lines.push("Call a tool of these with `call_tool`: {\"tool\": NAME, \"args\": {...}}.".to_owned());
        }
        if self.skills {
            lines.push("Load a skill of these with `load_skill`.".to_owned());
        }
        if !self.cut.is_empty() {
            lines.push(format!("Found, and not shown for length: {}. Ask for these by `names`.", self.cut.join(", ")));
        }
        if !self.declared.is_empty() {
            lines
                .push(format!("Described to you already, to be called by its own name: {}.", self.declared.join(", ")));
        }
        if !self.unknown.is_empty() {
            lines.push(format!("There is no tool or skill here that is called {}.", self.unknown.join(", or ")));
        }
        lines.join("\n")
    }
}
