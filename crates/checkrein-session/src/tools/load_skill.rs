//! `load_skill`: shows a skill's instructions and puts its tools on offer. It changes the menu and no permission.

use checkrein_contract::{CallId, Code, SessionChange, Skill, nearest_first};
use checkrein_gate::input_schema;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{SessionReply, SessionTool, Wanted};
use crate::State;

pub(super) const NAME: &str = "load_skill";

/// A longer menu is not told again to whoever mistyped a name.
const TOLD: usize = 24;
/// So many names are offered instead, the nearest.
const NEAREST: usize = 5;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Name of the skill, as the menu lists it.
    name: String,
}

pub(super) struct LoadSkill;

impl SessionTool for LoadSkill {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "Load a skill from the menu: shows its instructions and puts its tools on offer from the next request on."
    }

    fn parameters(&self) -> Value {
        input_schema::<Input>()
    }

    fn wanted(&self) -> Wanted {
        Wanted::WithSkills
    }

    fn answer(&self, _call: &CallId, args: &Value, state: &State) -> SessionReply {
        let Ok(input) = Input::deserialize(args) else {
            return SessionReply::Failed { code: Code::InvalidArgs, message: "`name` is required".to_owned() };
        };
        let skills = &state.opened().skills;
        let Some(skill) = skills.iter().find(|skill| skill.name == input.name) else {
            return SessionReply::Failed { code: Code::InvalidArgs, message: unknown(&input.name, skills) };
        };
        let tools = if skill.tools.is_empty() {
            "It brings no tools of its own.".to_owned()
        } else {
            let through = if skill.tools.iter().any(|tool| state.defers(tool)) {
                " What is not described to you, `find_tools` describes, and `call_tool` calls."
            } else {
                ""
            };
            format!("On offer from now on: {}.{through}", skill.tools.join(", "))
        };
        SessionReply::Result {
            text: format!("# Skill {}\n\n{}\n\n{tools}", skill.name, skill.body),
            change: Some(SessionChange::SkillLoaded { skill: skill.name.clone() }),
        }
    }
}

fn unknown(name: &str, skills: &[Skill]) -> String {
    let names = || skills.iter().map(|skill| skill.name.as_str());
    if skills.len() <= TOLD {
        let menu: Vec<&str> = names().collect();
        return format!("there is no skill `{name}`; on the menu: {}", menu.join(", "));
    }
    let near = nearest_first(name, names(), NEAREST);
    let near = if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
    let name: String = name.chars().take(64).collect();
    format!("there is no skill `{name}`{near}; `find_tools` finds others by what they are for")
}
