//! What a session would begin with: everything that can be wrong with a task is found here, and nothing is done yet.

use std::sync::Arc;

use checkrein_contract::{
    ContextPolicy, Layer, OnAsk, PolicySource, SessionId, SessionOpened, estimate_spec, estimate_text,
};
use checkrein_gate::{DETECTORS, Redactor, Registry, Sandbox};
use checkrein_policy::Policy;
use serde_json::Value;

use super::{Harness, RunOptions, load_policy, money_can_be_held, shown, system};
use crate::HarnessError;
use crate::deferral::Offer;
use crate::policies::check_tool_names;
use crate::task::{Task, by_window, read};

/// Ceiling of one reply, tokens. Room for a whole file in one `write`, small enough that a runaway reply ends.
const MAX_OUTPUT_TOKENS: u32 = 8_192;

/// What a session would begin with, and what stands around it.
pub(crate) struct Prepared {
    pub(crate) opened: SessionOpened,
    pub(crate) registry: Registry,
    pub(crate) policy: Arc<Policy>,
    pub(crate) context: Box<dyn ContextPolicy>,
    pub(crate) redactor: Redactor,
    pub(crate) sandbox: Arc<dyn Sandbox>,
}

impl Harness {
    /// Prepares a session of this task with this model.
    pub(crate) fn prepare(
        &self,
        task: &Task,
        options: &RunOptions,
        session: &SessionId,
        model: String,
    ) -> Result<Prepared, HarnessError> {
        says_something(task)?;
        let (registry, control) = (self.registry(task)?, self.control(task));
        let sources = self.policies.with_task(&task_policy(task, options)?, control.len());
        let place = self.place(task, session)?;
        let variables = self.policies.own.named(self.variables(session, control), &place);
        let policy = load_policy(&sources, &place, &task.identity, &variables)?;
        fits(&policy, task, &registry)?;
        let known = self.models.of(&model);
        let max_output = known.max_output.unwrap_or(MAX_OUTPUT_TOKENS).min(MAX_OUTPUT_TOKENS);
        let price = self.models.priced(&model, task.price.as_ref());
        let (system, Offer { tools, deferred }) = (system(task), self.offer(task, &registry)?);
        let declared = tools.iter().filter(|spec| !deferred.contains(&spec.name));
        let frame = estimate_text(&system) + declared.map(estimate_spec).sum::<u64>();
        let numbers = numbers(task, &model, known.window, frame + u64::from(max_output))?;
        let context = checkrein_context::policy(&task.context.0, &numbers)
            .map_err(|error| HarnessError::Task(error.to_string()))?;
        let unconfined_by = options.unconfined.then(|| "--unconfined".to_owned());
        let (redactor, sandbox) = self.around(task, unconfined_by.is_some())?;
        let opened = SessionOpened {
            session: session.clone(),
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            task: task.name.clone(),
            parent: None,
            forked: None,
            folder: task.folder.as_ref().map(|folder| shown(folder)),
            prompt: redactor.text(&task.prompt).into_owned(),
            system,
            tools,
            deferred,
            skills: task.skills.clone(),
            model,
            cassette: None,
            max_output,
            context: serde_json::json!({ "policy": task.context.0, "parameters": context.parameters() }),
            instructions: task.instructions.clone(),
            policy: sources,
            policy_digest: policy.digest().clone(),
            identity: task.identity.clone(),
            budget: task.budget.clone(),
            price,
            on_ask: options.on_ask.or(task.on_ask).unwrap_or(OnAsk::Pause),
            stop_on: task.stop_on.clone(),
            verify: task.verify.clone(),
            place,
            confinement: sandbox.enforcement().words,
            confined: sandbox.enforcement().confines,
            unconfined_by,
            confinement_required: task.confinement_required,
            detectors: DETECTORS.to_owned(),
            variables,
        };
        money_can_be_held(&opened, &opened.budget)?;
        Ok(Prepared { opened, registry, policy, context, redactor, sandbox })
    }
}

/// The numbers of the context policy. `compact` that is told no `tokens` takes two thirds of what the model's window leaves
/// beside instructions, tools and a reply: estimates may be a third too low.
fn numbers(task: &Task, model: &str, window: Option<u64>, beside: u64) -> Result<Value, HarnessError> {
    let (name, mut numbers) = task.context.clone();
    if !by_window(&name, &numbers) {
        return Ok(numbers);
    }
    let Some(room) = window.and_then(|window| window.checked_sub(beside)) else {
        return Err(HarnessError::Task(format!(
            "the context policy `compact` has no `tokens`, and the window of `{model}` is not known, or too small: name either, in \
             `[context]` of task.toml or in models.toml"
        )));
    };
    if let Some(numbers) = numbers.as_object_mut() {
        numbers.insert("tokens".to_owned(), Value::from(room / 3 * 2));
    }
    Ok(numbers)
}

fn says_something(task: &Task) -> Result<(), HarnessError> {
    let empty = || HarnessError::Task("the task is empty: say what to do, or name a task folder".to_owned());
    if task.prompt.trim().is_empty() { Err(empty()) } else { Ok(()) }
}

/// Whether a policy can be meant for this task: its rules name tools that there are, and whoever may not say yes is known
/// before anybody is asked.
fn fits(policy: &Policy, task: &Task, registry: &Registry) -> Result<(), HarnessError> {
    let mut known: Vec<String> = registry.names().map(str::to_owned).collect();
    known.extend(task.manifests.iter().flat_map(|manifest| manifest.acts_as()));
    known.push(crate::notify::NAME.to_owned());
    check_tool_names(policy, Layer::Project, &known)?;
    if policy.wants_four_eyes() && task.identity.get("person").is_none() {
        let message =
            "the policy wants four eyes, so it has to know for whom the session acts: give `--as person=NAME`";
        return Err(HarnessError::Task(message.to_owned()));
    }
    Ok(())
}

/// The task's policy, or the one that a person named instead.
fn task_policy(task: &Task, options: &RunOptions) -> Result<Vec<PolicySource>, HarnessError> {
    let Some(path) = &options.policy else { return Ok(task.policy.clone()) };
    Ok(vec![PolicySource {
        layer: Layer::Project,
        file: path.display().to_string(),
        text: read(path)?,
        only_tightens: false,
    }])
}
