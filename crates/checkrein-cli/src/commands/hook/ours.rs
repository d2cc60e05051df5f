//! The hook that `hook install` writes into another agent's settings.

/// Seconds that an agent waits for the hook: more than the hook ever takes.
pub(super) const TIMEOUT_S: u32 = 10;

/// Whether a command is one that `hook install` wrote.
pub(super) fn is_ours(command: &str) -> bool {
    command.contains("checkrein") && command.contains(" hook --for ")
}
