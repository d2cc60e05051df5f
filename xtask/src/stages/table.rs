//! The stages, and the text that takes each out. A text must stand exactly once in its file; when the gate is rewritten,
//! this table is rewritten with it.

/// How one stage is taken out.
pub(super) struct Removal {
    /// Its name, as people say it.
    pub(super) stage: &'static str,
    /// The file, below `crates/checkrein-gate/src`.
    pub(super) file: &'static str,
    /// What stands there.
    pub(super) find: &'static str,
    /// What stands there without the stage.
    pub(super) replace: &'static str,
}

pub(super) const REMOVALS: &[Removal] = &[
    // Arguments are taken as they came: secrets stay in, and what is not JSON is no longer marked.
    Removal {
        stage: "parse",
        file: "stages/parse.rs",
        find: "            Ok(value) => (redact_value(value), false),
            Err(_) => (Value::String(redact_text(&call.arguments).into_owned()), true),
",
        replace: "            Ok(value) => (value, false),
            Err(_) => (Value::String(call.arguments.clone()), false),
",
    },
    Removal {
        stage: "visible",
        file: "stages/visible.rs",
        find: "if scene.by_harness { true }",
        replace: "if scene.by_harness || true { true }",
    },
    Removal {
        stage: "validate",
        file: "stages/validate.rs",
        find: "    check(&proposed.id, &proposed.tool, &entry, &args)?;\n",
        replace: "",
    },
    Removal {
        stage: "hooks",
        file: "stages/hooks.rs",
        find: "    for hook in hooks {\n",
        replace: "    for hook in hooks.iter().take(0) {\n",
    },
    // Answers are asked for and dropped: the decision rests on nothing.
    Removal {
        stage: "foresee",
        file: "stages/foresee.rs",
        find: "rounds.answer(question, answer);",
        replace: "drop((question, answer));",
    },
    Removal {
        stage: "decide",
        file: "stages/decide.rs",
        find: "let mut decision = checkrein_policy::decide(policy, &would, &facts);",
        replace: "let mut decision = Decision { verdict: Verdict::Allow, ..checkrein_policy::decide(policy, &would, &facts) };",
    },
    // One loop serves both times that guards are asked.
    Removal {
        stage: "guards",
        file: "stages/decide.rs",
        find: "    for guard in guards {\n",
        replace: "    for guard in guards.iter().take(0) {\n",
    },
    Removal {
        stage: "admit",
        file: "stages/admit.rs",
        find: "Verdict::Ask => Some(self.covering(approval, now)?),",
        replace: "Verdict::Ask => None,",
    },
    Removal {
        stage: "start",
        file: "stages/start.rs",
        find: "    for approved in &group {\n",
        replace: "    for approved in group.iter().take(0) {\n",
    },
    Removal {
        stage: "run limit",
        file: "stages/run.rs",
        find: "() = tokio::time::sleep(Duration::from_millis(limit_ms)) => {",
        replace: "() = std::future::pending::<()>() => {",
    },
    Removal {
        stage: "check output",
        file: "stages/check_output.rs",
        find: "    let value = redactor.value(value);
    let value = if approved.grant.reads_secrets() { redactor.strict(value) } else { value };
    let violations = approved.entry.output.violations(&value);
    if violations.is_empty() {
",
        replace: "    _ = redactor;
    let violations = approved.entry.output.violations(&value);
    if violations.is_empty() || true {
",
    },
    Removal {
        stage: "render bound",
        file: "stages/render.rs",
        find: "    if text.len() <= most {\n",
        replace: "    if text.len() <= most || true {\n",
    },
];

impl Removal {
    /// The file, from the root.
    pub(super) fn path(&self) -> String {
        format!("crates/checkrein-gate/src/{}", self.file)
    }

    /// The text without the stage.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(self.find).count() {
            1 => Ok(text.replacen(self.find, self.replace, 1)),
            times => Err(format!(
                "the text that is stage `{}` stands {times} times in {}, not once: mend xtask/src/stages/table.rs",
                self.stage,
                self.path()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    /// Every stage that the gate names is taken out by one entry.
    #[test]
    fn the_table_holds_every_stage() {
        let stages: Vec<_> = REMOVALS.iter().map(|removal| removal.stage).collect();
        assert_eq!(
            stages.join(", "),
            "parse, visible, validate, hooks, foresee, decide, guards, admit, start, run limit, check output, render bound"
        );
    }

    #[test]
    fn every_text_stands_once_in_the_gate() {
        let workspace = Workspace::find().unwrap();
        for removal in REMOVALS {
            let text = workspace.read(&removal.path()).unwrap();
            assert_ne!(removal.apply(&text).unwrap(), text);
        }
    }

    #[test]
    fn a_text_that_is_gone_or_doubled_is_an_error_that_names_the_stage() {
        let removal = Removal { stage: "parse", file: "x.rs", find: "a()", replace: "" };
        assert_eq!(removal.apply("a();").unwrap(), ";");
        for text in ["", "a(); a();"] {
            assert!(removal.apply(text).unwrap_err().contains("stage `parse`"));
        }
    }
}
