//! `glob`: finds files by name. It opens none of them, and shows none that the policy withholds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use checkrein_contract::{BoxFuture, CallKind, Effect, Facts, Foreseen, Place, Tree};
use checkrein_gate::{Approved, Failure, Rendered, RunContext, Tool};
use checkrein_policy::paths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::next_call::{count, next_call};
use crate::pattern::Pattern;
use crate::printable::one_line;
use crate::target::Target;
use crate::walk::{MAX_ENTRIES, Search, Unseen, below, files};

/// Paths in one result.
const MAX_PATHS: usize = 100;
/// Bytes of one result, as `read` has them.
const MAX_BYTES: usize = 51_200;
/// Folders that a cut result names as places to look on.
const MAX_FOLDERS: usize = 5;
/// Time for one search, seconds.
const MAX_SECONDS: u64 = 20;

/// The tool.
pub(crate) struct Glob;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Such as `*.rs` (in any folder), `src/*.rs` (in this folder) or `src/**/*.rs` (below it).
    #[schemars(length(min = 1))]
    pattern: String,
    /// The folder to search, relative to the project or absolute.
    #[serde(default = "here")]
    path: String,
}

fn here() -> String {
    ".".to_owned()
}

/// A folder with matches that are not shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Folder {
    path: String,
    more: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Output {
    paths: Vec<String>,
    more: u64,
    more_in: Vec<Folder>,
    folders_with_more: u64,
    unseen: Unseen,
}

impl Tool for Glob {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "glob";
    const LOOKS: bool = true;
    const DESCRIPTION: &'static str = "\
        Find files by name, sorted by path. Hidden and ignored files are not listed, so no result does not mean that \
        nothing is there. To search in files, use `grep`.";

    fn kind(&self, _input: &Input) -> CallKind {
        CallKind::Pure
    }

    fn effects(&self, input: &Input, place: &Place, _facts: &Facts) -> Foreseen {
        let root = paths::absolute(&input.path, place);
        Foreseen::of(vec![Effect::ReadTree(Tree { root, asks_each: true, ..Tree::default() })])
    }

    fn run<'a>(
        &'a self,
        approved: &'a Approved,
        input: Input,
        context: RunContext<'a>,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let target = Target::of(&input.path, approved, &context);
            let search = Search {
                root: target.real.clone(),
                project: context.place.root.clone(),
                shown: target.shown.clone(),
                pattern: Some(Pattern::parse(&input.pattern)?),
                file_is_fine: false,
                until: Instant::now() + Duration::from_secs(MAX_SECONDS),
                most: MAX_ENTRIES,
            };
            let (found, unseen) = files(search, approved.grant(), &context).await?;
            Ok(bounded(&found, &target, context.place, unseen))
        })
    }

    fn render(&self, input: &Input, output: &Output) -> Rendered {
        let mut text: String = output.paths.iter().map(|path| format!("{}\n", one_line(path))).collect();
        let mut facts = output.unseen.facts();
        let shown = output.paths.len() as u64;
        if output.more > 0 {
            facts.insert(
                0,
                format!(
                    "cut: {shown} of {} files shown, {} more; {}",
                    shown + output.more,
                    output.more,
                    narrower(input, output)
                ),
            );
        } else if shown == 0 {
            facts.insert(0, "no file matches; hidden and ignored files are not searched".to_owned());
        } else {
            facts.insert(0, format!("end: {}", count(shown, "file", "files")));
        }
        text.push_str(&facts.iter().map(|fact| format!("[{fact}]")).collect::<Vec<_>>().join("\n"));
        Rendered { text, cut: output.more > 0 || output.unseen.stopped.is_some(), failed: None }
    }

    fn examples() -> Vec<Value> {
        vec![json!({"pattern": "*.rs"}), json!({"pattern": "**/*.toml", "path": "crates"})]
    }
}

fn bounded(found: &[String], target: &Target, place: &Place, unseen: Unseen) -> Output {
    let shown = |real: &String| target.shown_within(real, place);
    let mut left = MAX_BYTES;
    let mut shown_paths = Vec::new();
    for path in found.iter().take(MAX_PATHS).map(shown) {
        match left.checked_sub(path.len() + 1) {
            Some(rest) => left = rest,
            None => break,
        }
        shown_paths.push(path);
    }
    let rest = found.get(shown_paths.len()..).unwrap_or_default();
    // Below the folder that holds every match, so that each of these searches finds less than this one.
    let common = common_folder(found, &target.real);
    let mut folders: BTreeMap<String, u64> = BTreeMap::new();
    for real in rest {
        if let Some((folder, _)) = below(real, &common).split_once('/') {
            *folders.entry(shown(&format!("{common}/{folder}"))).or_default() += 1;
        }
    }
    let folders_with_more = folders.len() as u64;
    let mut more_in: Vec<_> = folders.into_iter().map(|(path, more)| Folder { path, more }).collect();
    more_in.sort_by_key(|folder| std::cmp::Reverse(folder.more));
    more_in.truncate(MAX_FOLDERS);
    Output { paths: shown_paths, more: rest.len() as u64, more_in, folders_with_more, unseen }
}

/// The deepest folder that holds all of these files.
fn common_folder(found: &[String], root: &str) -> String {
    let folder = |path: &str| path.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned());
    let mut common = found.first().map_or_else(|| root.to_owned(), |first| folder(first));
    for path in found {
        while !paths::is_within(path, &common) && common.len() > root.len() {
            common = folder(&common);
        }
    }
    common
}

/// How to see the rest: the folders that hold it, where the pattern means the same there.
fn narrower(input: &Input, output: &Output) -> String {
    let same = Pattern::parse(&input.pattern).is_ok_and(|pattern| pattern.same_everywhere);
    match output.more_in.first() {
        Some(first) if same => {
            let call = next_call(Glob::NAME, &json!({ "pattern": input.pattern, "path": first.path }));
            let mut folders: Vec<_> = output.more_in.iter().map(|f| format!("{} in `{}`", f.more, f.path)).collect();
            let others = output.folders_with_more.saturating_sub(folders.len() as u64);
            if others > 0 {
                folders.push(format!("and in {others} more"));
            }
            format!("search folder by folder ({}): {call}", folders.join(", "))
        }
        _ => "narrow `pattern`, such as by the first letters of the name".to_owned(),
    }
}
