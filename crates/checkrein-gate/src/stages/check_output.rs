//! check output: secrets out, then the value against the generated output schema.

use checkrein_contract::Code;
use serde_json::Value;

use crate::approved::Approved;
use crate::ports::Failure;
use crate::redact::Redactor;

pub(crate) fn check_output(value: Value, approved: &Approved, redactor: &Redactor) -> Result<Value, Failure> {
    let value = redactor.value(value);
    let value = if approved.grant.reads_secrets() { redactor.strict(value) } else { value };
    let violations = approved.entry.output.violations(&value);
    if violations.is_empty() {
        return Ok(value);
    }
    let list = violations.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    Err(Failure::new(Code::InvalidToolOutput, format!("the tool's result does not fit its own schema: {list}")))
}
