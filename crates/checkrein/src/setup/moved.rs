//! A session whose state folder was moved, or copied, since it paused: its workspace came along and is somewhere else now.

use std::path::Path;

use checkrein_contract::{Place, Recomposed, SessionId, SessionOpened};

use super::{Harness, policy_of, shown};
use crate::HarnessError;
use crate::home::StateFolder;

impl Harness {
    /// What follows from where the workspace of a session is now; `None` where it is where it was.
    ///
    /// # Errors
    /// [`HarnessError::NoWorkspace`] where there is none any more: found here, before anything is used up for a call that could
    /// not run.
    pub(super) fn moved(&self, opened: &SessionOpened) -> Result<Option<Recomposed>, HarnessError> {
        let (session, old) = (&opened.session, &opened.place.root);
        let here = self.home.workspace(session);
        if is_own(opened) && here.is_dir() && shown(&here) != *old {
            return moved_to(opened, &shown(&here), &self.home).map(Some);
        }
        if Path::new(old).is_dir() {
            return Ok(None);
        }
        Err(HarnessError::NoWorkspace { session: session.to_string(), path: old.into() })
    }
}

/// Whether the workspace of a session lies with the session: a copy that was made for it alone.
pub(super) fn is_own(opened: &SessionOpened) -> bool {
    opened.place.root.ends_with(&format!("/sessions/{}/workspace", opened.session))
}

/// The session in a workspace that came along from elsewhere. What was said yes to in the old one counts in the new: each name of
/// it is taken for the one it had (see [`Place::moved_from`]).
///
/// # Errors
/// A policy that does not fit the new place.
pub(crate) fn moved_to(opened: &SessionOpened, new: &str, home: &StateFolder) -> Result<Recomposed, HarnessError> {
    let change = Recomposed {
        place: Some(Place {
            moved_from: Some(opened.place.moved_from.clone().unwrap_or_else(|| opened.place.root.clone())),
            ..placed(&opened.place, new)
        }),
        variables: Some(variables(opened, home, &opened.session)),
        changes: vec![format!("the workspace is {new} now; it was {}", opened.place.root)],
        ..Recomposed::default()
    };
    let mut then = opened.clone();
    then.recompose(&change);
    // A rule may not fit another place; better now than at the next call.
    policy_of(&then)?;
    Ok(change)
}

/// The same place with its project in another folder.
pub(super) fn placed(old: &Place, root: &str) -> Place {
    let cwd = old.cwd.strip_prefix(&old.root).map_or_else(|| old.cwd.clone(), |below| format!("{root}{below}"));
    Place { root: root.to_owned(), cwd, ..old.clone() }
}

/// The values that policies may name, where the state folder is this one.
pub(super) fn variables(opened: &SessionOpened, home: &StateFolder, session: &SessionId) -> Vec<(String, String)> {
    let here = |(name, value): &(String, String)| {
        let value = match name.as_str() {
            "spill" => shown(home.spill(session).folder()),
            "state" => shown(home.path()),
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    opened.variables.iter().map(here).collect()
}
