//! Which model a session has: one that is asked, one that is asked and recorded, or a cassette in its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_contract::{CassetteMode, CassetteUse, Provider, SessionOpened};
use checkrein_gate::{Redactor, Registry};
use checkrein_providers::{Cassette, CassettePlayer, CassetteWriter, KindOf, Live, Recorder};

use super::{Harness, RunOptions, shown};
use crate::cassette::{Origin, load, scrub_of};
use crate::task::Task;
use crate::{HarnessError, defaults};

/// How a cassette is named as a model.
const REPLAY: &str = "replay:";

/// Where a session's answers come from, before anything is known of the session.
pub(super) enum Source {
    /// A model that is asked.
    Live(String, Live),
    /// What was recorded of one.
    Recorded(Arc<Cassette>, CassetteUse),
}

impl Source {
    /// The model, as the session records it; of a cassette the one that was recorded.
    pub(super) fn model(&self) -> &str {
        match self {
            Self::Live(model, _) => model,
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
        let model = custom.or_else(|| options.model.clone()).or_else(|| task.model.clone()).ok_or_else(|| {
            HarnessError::Task(
                "no model is named: give `--model script:FILE` or `--model anthropic:NAME`, or `script` in task.toml"
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
        let (named, folder) = (self.named(task, options)?, self.looked_for(task, options));
        let Some(file) = named.strip_prefix(REPLAY).filter(|_| self.extensions.provider.is_none()) else {
            let live = self.live(&named, folder)?;
            return Ok(Source::Live(named, live));
        };
        if options.record.is_some() {
            let message = "a cassette is played, and what is played is not recorded: name the model to be asked";
            return Err(HarnessError::Task(message.to_owned()));
        }
        let cassette = Arc::new(load(&folder.join(file))?);
        Ok(Source::Recorded(cassette, CassetteUse { mode: CassetteMode::Replay, file: file.to_owned() }))
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

    /// The model of a session that is taken up again.
    pub(super) fn model_again(
        &self,
        task: &Task,
        opened: &SessionOpened,
        registry: &Registry,
        redactor: &Redactor,
    ) -> Result<Arc<dyn Provider>, HarnessError> {
        let folder = opened.folder.clone().map_or_else(|| self.folder.clone(), PathBuf::from);
        match &opened.cassette {
            None => Ok(self.live(&opened.model, &folder)?.provider()),
            Some(cassette) if cassette.mode == CassetteMode::Replay => {
                let recorded = Arc::new(load(&folder.join(&cassette.file))?);
                Ok(player(recorded, cassette, opened, redactor))
            }
            Some(cassette) => self.recorder(Recording {
                file: Path::new(&cassette.file),
                live: self.live(&opened.model, &folder)?,
                task,
                opened,
                registry,
                redactor,
                goes_on: true,
            }),
        }
    }

    /// A model that can be asked.
    pub(super) fn live(&self, model: &str, folder: &Path) -> Result<Live, HarnessError> {
        if model.starts_with(REPLAY) {
            let message = "a cassette is played from its beginning, by `checkrein run`, and by nothing else";
            return Err(HarnessError::Task(message.to_owned()));
        }
        match &self.extensions.provider {
            Some(provider) => Ok(Live::Other(Arc::clone(provider))),
            None => {
                let key = self.extensions.keys.of(model, &self.folder, &self.environment)?;
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
    let name = Path::new(&cassette.file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    Arc::new(CassettePlayer::new(recorded, &format!("{REPLAY}{name}"), scrub_of(opened, redactor)))
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
    Arc::new(move |tool, args| registry.get(tool).map(|tool| tool.kind(args)))
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
