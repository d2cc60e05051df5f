//! A folder of policies, as `policy test --policies` reads it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use checkrein_contract::{Layer, PolicySource};
use checkrein_policy::fixtures::{Judge, World};
use checkrein_policy::{Manifest, Models, foreign_tools};
use checkrein_toml::Source;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decisions/policies")
}

fn texts(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut texts: Vec<(String, String)> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| {
            let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("the file can be read"))
        })
        .collect();
    texts.sort();
    texts
}

/// The six policies with their tools.
pub(crate) fn judge(world: World) -> Judge {
    let folder = folder();
    let policies: BTreeMap<String, Vec<PolicySource>> = texts(&folder)
        .into_iter()
        .map(|(name, text)| {
            let file = format!("{name}.toml");
            (name, vec![PolicySource { layer: Layer::Project, file, text, only_tightens: false }])
        })
        .collect();
    let mut tools: Vec<Manifest> = texts(&folder.join("tools"))
        .iter()
        .map(|(name, text)| Manifest::load(Source { file: name, text }).expect("the manifest loads"))
        .collect();
    tools.sort_by_key(|tool| (tool.name == "*", tool.server.as_deref() == Some("*")));
    tools.extend(foreign_tools().expect("the built-in manifests load"));
    Judge::new(policies, tools, Models::built_in().clone(), world)
}
