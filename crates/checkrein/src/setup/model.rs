//! Which model a session has: one that is asked, one that is asked and recorded, or a cassette in its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_contract::{CassetteMode, CassetteUse, Provider, SessionOpened};
use checkrein_gate::{Redactor, Registry};
use checkrein_providers::{Cassette, CassettePlayer, CassetteWriter, KindOf, Live, Recorder, Verifier};
use checkrein_session::tools::behind;
use serde_json::Value;

use super::{Harness, RunOptions, shown};
use crate::cassette::{Origin, load, scrub_of};
use crate::keys::KeyCommands;
use crate::task::Task;
use crate::{HarnessError, defaults};

/// How a cassette is named as a model.
const REPLAY: &str = "replay:";
/// What is set where nobody looks at what a program says.
const CI: &str = "CI";

/// Where a session's answers come from, before anything is known of the session.
pub(super) enum Source {
    /// A model that is asked.
    Live(String, Live),
    /// What was recorded of one.
    Recorded(Arc<Cassette>, CassetteUse),
    /// A model that is asked, beside what was recorded.
    Verified(String, Live, Arc<Cassette>, CassetteUse),
}

/// A model that a host named: one that is asked is opened once, for all sessions.
#[derive(Clone)]
pub struct HostModel {
    name: String,
    /// `None` of a cassette, which each session plays for itself.
    live: Option<Live>,
}

impl HostModel {
    /// The model of this name; a script or cassette is looked for in `folder`. A cassette that can not be read is found now.
    pub(crate) fn open(
        name: &str,
        folder: &Path,
        environment: &[(String, String)],
        keys: &KeyCommands,
    ) -> Result<Self, HarnessError> {
        if let Some(file) = name.strip_prefix(REPLAY) {
            load(&folder.join(file))?;
            return Ok(Self { name: absolute_file(name, Some(folder)), live: None });
        }
        let key = keys.of(name, &[folder.to_path_buf()], environment)?;
        let environment: Vec<_> = environment.iter().cloned().chain(key).collect();
        let live = defaults::live(name, folder, &environment)?;
        Ok(Self { name: name.to_owned(), live: Some(live) })
    }
}

impl Source {
    /// The model, as the session records it; of a cassette the one that was recorded.
    pub(super) fn model(&self) -> &str {
        match self {
            Self::Live(model, _) | Self::Verified(model, ..) => model,
            Self::Recorded(cassette, _) => &cassette.header().model,
        }
    }
}

impl Harness {
    /// The model that a person, the task or the host names, as sessions record it.
    pub(crate) fn model_named(&self, task: &Task, options: &RunOptions) -> Result<String, HarnessError> {
        let named = self.named(task, options)?;
        match named.strip_prefix(REPLAY).filter(|_| self.extensions.provider.is_none()) {
            Some(file) => Ok(load(&self.looked_for(task, options).join(file))?.header().model.clone()),
            None => Ok(named),
        }
    }

    /// The model as it is written.
    fn named(&self, task: &Task, options: &RunOptions) -> Result<String, HarnessError> {
        let custom = self.extensions.provider.as_ref().map(|provider| provider.model().to_owned());
        let custom = custom.or_else(|| self.extensions.model.as_ref().map(|model| model.name.clone()));
        let model = custom.or_else(|| options.model.clone()).or_else(|| task.model.clone()).ok_or_else(|| {
            HarnessError::Task(
                "no model is named: give `--model script:FILE` or `--model anthropic:NAME`, `script` in task.toml, or, in code, \
                 `model` or `provider` of the builder"
                    .to_owned(),
            )
        })?;
        Ok(absolute_file(&model, options.model.is_some().then_some(self.folder.as_path())))
    }

    /// Where a script or cassette is looked for.
    fn looked_for<'a>(&'a self, task: &'a Task, options: &RunOptions) -> &'a Path {
        task.folder.as_deref().filter(|_| options.model.is_none()).unwrap_or(&self.folder)
    }

    pub(super) fn source(&self, task: &Task, options: &RunOptions) -> Result<Source, HarnessError> {
        let fail = |message: &str| Err(HarnessError::Task(message.to_owned()));
        let (named, folder) = (self.named(task, options)?, self.looked_for(task, options));
        let Some(file) = named.strip_prefix(REPLAY).filter(|_| self.extensions.provider.is_none()) else {
            let project = task.folder.as_deref().unwrap_or(&self.folder);
            let live = self.live(&named, folder, &[project.to_path_buf()])?;
            if options.lenient {
                return fail("only a cassette is played leniently: name one, `--model replay:FILE`");
            }
            let Some(file) = &options.verify else { return Ok(Source::Live(named, live)) };
            if options.record.is_some() {
                return fail("what is held against a cassette is not recorded into another one at the same time");
            }
            let file = self.folder.join(file);
            let (mode, cassette) = (CassetteMode::Verify, Arc::new(load(&file)?));
            return Ok(Source::Verified(named, live, cassette, CassetteUse { mode, file: shown(&file) }));
        };
        if options.record.is_some() || options.verify.is_some() {
            return fail("a cassette is played, and what is played is not recorded: name the model to be asked");
        }
        if options.lenient && self.environment.iter().any(|(name, value)| name == CI && !value.is_empty()) {
            return fail(
                "a cassette is played leniently by a person who looks for what changed, and never where `CI` is set",
            );
        }
        let cassette = Arc::new(load(&folder.join(file))?);
        let mode = if options.lenient { CassetteMode::Lenient } else { CassetteMode::Replay };
        Ok(Source::Recorded(cassette, CassetteUse { mode, file: file.to_owned() }))
    }

    /// Who answers a session that begins with this; what it has to do with a cassette is put in there.
    pub(super) fn provider_of(
        &self,
        source: Source,
        task: &Task,
        options: &RunOptions,
        opened: &mut SessionOpened,
        registry: &Registry,
        redactor: &Redactor,
    ) -> Result<Arc<dyn Provider>, HarnessError> {
        match (source, &options.record) {
            (Source::Recorded(recorded, cassette), _) => {
                let provider = player(recorded, &cassette, opened, redactor);
                opened.cassette = Some(cassette);
                Ok(provider)
            }
            (Source::Verified(model, live, recorded, cassette), _) => {
                let provider = verifier(live, &model, recorded, &cassette, opened, redactor);
                opened.cassette = Some(cassette);
                Ok(provider)
            }
            (Source::Live(_, live), None) => Ok(live.provider()),
            (Source::Live(_, live), Some(file)) => {
                let file = self.folder.join(file);
                let opened_so_far = opened.clone();
                opened.cassette = Some(CassetteUse { mode: CassetteMode::Record, file: shown(&file) });
                let (file, opened, goes_on) = (file.as_path(), &opened_so_far, false);
                self.recorder(Recording { file, live, task, opened, registry, redactor, goes_on })
            }
        }
    }

    /// Where the answers come from in a session that is taken up again. Like [`Self::source`] it comes before the redactor is made:
    /// a key that a program prints only now is to be known to it.
    pub(super) fn source_again(&self, opened: &SessionOpened) -> Result<Source, HarnessError> {
        let (model, folder) = (&opened.model, self.folder_of(opened));
        let live = || self.live(model, &folder, &project_of(opened));
        let Some(cassette) = &opened.cassette else { return Ok(Source::Live(model.clone(), live()?)) };
        let recorded = || Ok::<_, HarnessError>(Arc::new(load(&folder.join(&cassette.file))?));
        Ok(match cassette.mode {
            CassetteMode::Replay | CassetteMode::Lenient => Source::Recorded(recorded()?, cassette.clone()),
            CassetteMode::Verify => Source::Verified(model.clone(), live()?, recorded()?, cassette.clone()),
            CassetteMode::Record => Source::Live(model.clone(), live()?),
        })
    }

    fn folder_of(&self, opened: &SessionOpened) -> PathBuf {
        opened.folder.clone().map_or_else(|| self.folder.clone(), PathBuf::from)
    }

    /// Who answers a session that is taken up again.
    pub(super) fn provider_again(
        &self,
        source: Source,
        task: &Task,
        opened: &SessionOpened,
        registry: &Registry,
        redactor: &Redactor,
    ) -> Result<Arc<dyn Provider>, HarnessError> {
        match (source, &opened.cassette) {
            (Source::Recorded(recorded, cassette), _) => Ok(player(recorded, &cassette, opened, redactor)),
            (Source::Verified(model, live, recorded, cassette), _) => {
                Ok(verifier(live, &model, recorded, &cassette, opened, redactor))
            }
            (Source::Live(_, live), None) => Ok(live.provider()),
            (Source::Live(_, live), Some(cassette)) => self.recorder(Recording {
                file: Path::new(&cassette.file),
                live,
                task,
                opened,
                registry,
                redactor,
                goes_on: true,
            }),
        }
    }

    /// A model that can be asked. A script is looked for in `folder`, a program that prints a key not in the `project`.
    pub(super) fn live(&self, model: &str, folder: &Path, project: &[PathBuf]) -> Result<Live, HarnessError> {
        if model.starts_with(REPLAY) {
            let message = "a cassette is played from its beginning, by `checkrein run`, and by nothing else";
            return Err(HarnessError::Task(message.to_owned()));
        }
        let of_host = self.extensions.model.as_ref().and_then(|model| model.live.clone());
        match (&self.extensions.provider, of_host) {
            (Some(provider), _) => Ok(Live::Other(Arc::clone(provider))),
            (None, Some(live)) => Ok(live),
            (None, None) => {
                let key = self.extensions.keys.of(model, project, &self.environment)?;
                let environment: Vec<_> = self.environment.iter().cloned().chain(key).collect();
                defaults::live(model, folder, &environment)
            }
        }
    }

    fn recorder(&self, recording: Recording<'_>) -> Result<Arc<dyn Provider>, HarnessError> {
        let Recording { file, live, task, opened, registry, redactor, goes_on } = recording;
        let now_ms = self.machine().clock(false).now_ms();
        let header = Origin { task, opened, server: live.server(), now_ms }.header(file)?;
        let (scrub, kinds) = (scrub_of(opened, redactor), kinds_of(registry));
        let writer = if goes_on {
            CassetteWriter::resume(file, header, scrub, kinds)
        } else {
            CassetteWriter::begin(file, header, scrub, kinds)
        };
        Ok(Arc::new(Recorder::new(live, writer.map_err(HarnessError::Task)?)))
    }
}

/// What answers from a cassette.
fn player(
    recorded: Arc<Cassette>,
    cassette: &CassetteUse,
    opened: &SessionOpened,
    redactor: &Redactor,
) -> Arc<dyn Provider> {
    let player = CassettePlayer::new(recorded, &format!("{REPLAY}{}", name_of(cassette)), scrub_of(opened, redactor));
    Arc::new(if cassette.mode == CassetteMode::Lenient { player.lenient() } else { player })
}

/// What is asked, and held against a cassette.
fn verifier(
    live: Live,
    model: &str,
    recorded: Arc<Cassette>,
    cassette: &CassetteUse,
    opened: &SessionOpened,
    redactor: &Redactor,
) -> Arc<dyn Provider> {
    Arc::new(Verifier::new(live, model, recorded, &name_of(cassette), scrub_of(opened, redactor)))
}

/// The folders that a session's project is in: where it works, and where its task came from.
pub(crate) fn project_of(opened: &SessionOpened) -> Vec<PathBuf> {
    std::iter::once(&opened.place.root).chain(&opened.folder).map(PathBuf::from).collect()
}

/// How errors call a cassette.
fn name_of(cassette: &CassetteUse) -> String {
    Path::new(&cassette.file).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What is needed to record.
struct Recording<'a> {
    file: &'a Path,
    live: Live,
    task: &'a Task,
    opened: &'a SessionOpened,
    registry: &'a Registry,
    redactor: &'a Redactor,
    /// Another process began it.
    goes_on: bool,
}

/// What kind of calls these tools make.
pub(crate) fn kinds_of(registry: &Registry) -> KindOf {
    let registry = registry.scoped(|_| true);
    let kind = move |tool: &str, args: &Value| registry.get(tool).map(|tool| tool.kind(args));
    Arc::new(move |tool, args| match behind(tool, args) {
        Some((tool, args)) => kind(&tool, &args),
        None => kind(tool, args),
    })
}

/// A script or cassette that a person named is looked for where they stand, now and on resume.
pub(super) fn absolute_file(model: &str, folder: Option<&Path>) -> String {
    match (model.split_once(':'), folder) {
        (Some((kind @ ("script" | "replay"), file)), Some(folder)) if !Path::new(file).is_absolute() => {
            format!("{kind}:{}", shown(&folder.join(file)))
        }
        _ => model.to_owned(),
    }
}
