//! `load_skill`: shows a skill's instructions and puts its tools on offer. It changes the menu and no permission.

use checkrein_contract::{CallId, Code, SessionChange};
use checkrein_gate::input_schema;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{SessionReply, SessionTool};
use crate::State;

pub(super) const NAME: &str = "load_skill";

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

    fn wanted(&self, skills: usize) -> bool {
        skills > 0
    }

    fn answer(&self, _call: &CallId, args: &Value, state: &State) -> SessionReply {
        let Ok(input) = Input::deserialize(args) else {
            return SessionReply::Failed { code: Code::InvalidArgs, message: "`name` is required".to_owned() };
        };
        let skills = &state.opened().skills;
        let Some(skill) = skills.iter().find(|skill| skill.name == input.name) else {
            let menu: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let message = format!("there is no skill `{}`; on the menu: {}", input.name, menu.join(", "));
            return SessionReply::Failed { code: Code::InvalidArgs, message };
        };
        let tools = if skill.tools.is_empty() {
            "It brings no tools of its own.".to_owned()
        } else {
            format!("On offer from now on: {}.", skill.tools.join(", "))
        };
        SessionReply::Result {
            text: format!("# Skill {}\n\n{}\n\n{tools}", skill.name, skill.body),
            change: Some(SessionChange::SkillLoaded { skill: skill.name.clone() }),
        }
    }
}
