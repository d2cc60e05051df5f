//! The Landlock layer: the same view said once more, to the kernel's own access control. It holds where a mount could be
//! got around, and where there are no namespaces it holds alone. It can not take a part out of what it gives; the view
//! can.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::{Broken, raw};
use crate::plan::{Layer, NodeKind, Plan};

/// The newest version that is asked for: what later ones bring is not used.
const NEWEST: i32 = 7;

/// Restricts this process and all that come from it. Gives the version used.
pub(super) fn restrict(plan: &Plan) -> Result<i32, Broken> {
    // The library asks the kernel by itself, but does not tell.
    let version = raw::landlock_version().min(NEWEST);
    if version < 1 {
        return Err(broken("this kernel has none"));
    }
    let abi = ABI::from(version);
    let all = AccessFs::from_all(abi);
    let (read, write) = (AccessFs::from_read(abi), all);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all).map_err(broken)?;
    if version >= 4 && !plan.layers.network && !plan.layers.open_network {
        // No network namespace: no port may be connected to, nor be listened on.
        rules = rules.handle_access(AccessNet::from_all(abi)).map_err(broken)?;
    }
    if version >= 6 {
        // With a namespace of their own, signals and names can not leave it either way.
        rules = rules.scope(Scope::from_all(abi)).map_err(broken)?;
    }
    let mut rules = rules.create().map_err(broken)?;
    let mut give = |path: &str, access: BitFlags<AccessFs>| -> Result<(), Broken> {
        let Ok(opened) = PathFd::new(path) else { return Ok(()) };
        let folder = Path::new(path).is_dir();
        let access = if folder { access } else { access & AccessFs::from_file(abi) };
        (&mut rules).add_rule(PathBeneath::new(opened, access)).map_err(broken)?;
        Ok(())
    };
    for node in &plan.view {
        match &node.kind {
            NodeKind::Read | NodeKind::Mode => give(&node.at, read)?,
            // What is only removed there needs nothing to be written.
            NodeKind::Opened if !plan.named.iter().any(|path| Path::new(path).starts_with(&node.at)) => {
                give(&node.at, read | AccessFs::RemoveFile | AccessFs::RemoveDir)?;
            }
            NodeKind::Write | NodeKind::Opened | NodeKind::Private => give(&node.at, write)?,
            // Only a view can keep changes apart from the host's own.
            NodeKind::Layered => give(&node.at, if plan.layers.namespaces { write } else { read })?,
            NodeKind::List => give(&node.at, AccessFs::ReadDir.into())?,
            NodeKind::Hidden | NodeKind::Absent | NodeKind::Removed | NodeKind::Link(_) => {}
        }
    }
    if plan.layers.namespaces {
        // All that has a name in the view was given, or shows as empty.
        give("/", AccessFs::ReadDir.into())?;
    }
    give("/proc", read)?;
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"] {
        give(device, write)?;
    }
    if plan.layers.namespaces {
        // Its own, made with the view.
        give("/dev", write)?;
    }
    let status = rules.restrict_self().map_err(broken)?;
    if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
        return Err(broken("it is not enforced in full"));
    }
    Ok(version)
}

fn broken(error: impl ToString) -> Broken {
    Broken { layer: Some(Layer::Landlock), reason: format!("Landlock: {}", error.to_string()) }
}
