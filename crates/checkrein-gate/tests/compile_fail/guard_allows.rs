//! A guard has no way to allow.
use checkrein_gate::{Guard, GuardView};

struct Generous;

impl Guard for Generous {
    fn name(&self) -> &str {
        "generous"
    }

    fn refuse(&self, _view: &GuardView<'_>) -> Result<Option<String>, String> {
        Ok(checkrein_contract::Verdict::Allow)
    }
}

fn main() {}
