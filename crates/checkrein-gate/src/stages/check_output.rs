//! check output: secrets out, then the value against the generated output schema.

use checkrein_contract::Code;
use serde_json::Value;

use crate::ports::Failure;
use crate::redact::redact_value;
use crate::registry::Entry;

pub(crate) fn check_output(value: Value, entry: &Entry) -> Result<Value, Failure> {
    let value = redact_value(value);
    let violations = entry.output.violations(&value);
    if violations.is_empty() {
        return Ok(value);
    }
    let list = violations.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    Err(Failure::new(Code::InvalidToolOutput, format!("the tool's result does not fit its own schema: {list}")))
}
