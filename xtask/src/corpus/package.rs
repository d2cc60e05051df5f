//! The sources of a published package, by name and version, through cargo itself: a throwaway package outside the workspace
//! depends on it, so that neither our lock file nor our tree knows of it.

use std::fs;
use std::path::PathBuf;

use cargo_metadata::MetadataCommand;

/// Where cargo keeps the sources of this version; downloaded where they are missing.
pub(super) fn fetch(name: &str, version: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("checkrein-corpus-{}", std::process::id()));
    let found = fetch_in(&folder, name, version);
    // What is left behind in a temporary folder harms nobody.
    let _ = fs::remove_dir_all(&folder);
    found
}

fn fetch_in(folder: &std::path::Path, name: &str, version: &str) -> Result<PathBuf, String> {
    let manifest = format!(
        "[package]\nname = \"throwaway\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         {name} = {{ version = \"={version}\", default-features = false }}\n"
    );
    fs::create_dir_all(folder.join("src"))
        .and_then(|()| fs::write(folder.join("Cargo.toml"), manifest))
        .and_then(|()| fs::write(folder.join("src/lib.rs"), ""))
        .map_err(|e| format!("{} can not be written: {e}", folder.display()))?;
    let metadata = MetadataCommand::new()
        .manifest_path(folder.join("Cargo.toml"))
        .exec()
        .map_err(|e| format!("{name} {version} can not be had from the registry: {}", e.to_string().trim()))?;
    let package = metadata.packages.iter().find(|package| package.name.as_str() == name);
    let manifest = package.map(|package| package.manifest_path.as_std_path());
    manifest
        .and_then(|path| path.parent())
        .map(PathBuf::from)
        .ok_or_else(|| format!("cargo does not say where the sources of {name} are"))
}
