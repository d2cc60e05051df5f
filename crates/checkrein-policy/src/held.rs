//! `while`: how the world has to be for a remembered yes to hold. Only rules that a person's yes added to a session have it, and
//! each of those has: what such a rule allows, it allows in the folder, environment and over the files of the call it was
//! given for.

use std::collections::{BTreeMap, BTreeSet};

use checkrein_contract::{Effect, EffectWord, Facts, PolicySource, Question, Run, Verdict};
use checkrein_toml::{FileError, Source, Spanned};

use crate::file::RuleFile;
use crate::paths;

/// Characters of the commands that a reason names, at most.
const MOST_NAMED: usize = 120;

/// What has to hold.
#[derive(Debug)]
pub(crate) struct Held {
    /// Where a program is run.
    folder: Option<String>,
    /// The variables that it is run with, neither more nor less.
    env: Vec<String>,
    /// The programs that the call runs, in order, each word by word. Not said by rules of journals from before this was part of
    /// a yes: those count as they were agreed to.
    commands: Option<Vec<Vec<String>>>,
    /// What the call reads.
    reads: BTreeSet<String>,
    /// What the command line itself gives the program to read.
    input: Option<String>,
    /// What files hold, by path: `sha256:...`, or `none` where nothing is there.
    files: BTreeMap<String, String>,
    /// The arguments of a tool: no others are given.
    arguments: Option<Vec<String>>,
}

impl Held {
    /// Reads the key.
    pub(crate) fn of(
        source: Source<'_>,
        from: &PolicySource,
        rule: &Spanned<RuleFile>,
        verdict: Verdict,
        word: EffectWord,
    ) -> Result<Option<Self>, FileError> {
        let (id, at) = (rule.get_ref().id.get_ref(), rule.span().start);
        let error = |what: &str| Err(source.error(at, format!("rule `{id}`: {what}")));
        let Some(held) = &rule.get_ref().held else {
            if from.is_remembered() {
                return error("a remembered yes says with `while` what it holds for");
            }
            return Ok(None);
        };
        if !from.is_remembered() || verdict != Verdict::Allow {
            return error("`while` is for a yes that a person gave in a session");
        }
        let held = held.get_ref();
        if word == EffectWord::Run && held.folder.is_none() {
            return error("a remembered yes to a program names its folder: `while.folder`");
        }
        if word == EffectWord::Tool && held.arguments.is_none() {
            return error("a remembered yes to a tool names its arguments: `while.arguments`");
        }
        let (commands, reads) = (held.commands.clone(), held.reads.iter().cloned().collect());
        let (folder, env, input) = (held.folder.clone(), held.env.clone(), held.input.clone());
        let (files, arguments) = (held.files.clone(), held.arguments.clone());
        Ok(Some(Self { folder, env, commands, reads, input, files, arguments }))
    }

    /// What must be known to tell whether it holds.
    pub(crate) fn questions(&self) -> impl Iterator<Item = Question> {
        self.files.keys().map(|path| Question::Digest { path: path.clone() })
    }

    /// Why it does not hold for this effect of a call that does all of `whole`, where it does not; in words without paths
    /// outside of the project.
    pub(crate) fn fails(&self, effect: &Effect, whole: &[Effect], facts: &Facts, root: &str) -> Option<String> {
        let named = |path: &str| match paths::is_within(path, root) {
            true => path.strip_prefix(root).unwrap_or_default().trim_start_matches('/').to_owned(),
            false => path.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        // A program is what it is given by others: the same words behind another pipe are another matter.
        if let Some(given) = &self.commands
            && !commands(whole).eq(given.iter())
        {
            return Some(given_for(given));
        }
        if let Effect::Run(run) = effect {
            if self.folder.as_deref() != Some(&run.folder) {
                let folder = self.folder.as_deref().map(named).filter(|folder| !folder.is_empty());
                return Some(match folder {
                    Some(folder) => format!("it was given for the folder `{folder}`"),
                    None => "it was given for another folder".to_owned(),
                });
            }
            if self.env != run.env {
                return Some("it was given for another environment".to_owned());
            }
            if self.commands.is_some() && (self.input != run.input || run.input.as_deref() == Some(Run::UNKNOWN)) {
                return Some("it was given for another text to read".to_owned());
            }
        }
        if self.commands.as_ref().is_some_and(|given| !given.is_empty()) && reads(whole) != self.reads {
            return Some("it was given for a call that reads other files".to_owned());
        }
        if let (Effect::Tool { args, .. }, Some(known)) = (effect, &self.arguments) {
            let mut given = args.as_object().into_iter().flat_map(|args| args.keys());
            if let Some(other) = given.find(|name| !known.contains(name)) {
                return Some(format!("it was given without the argument `{other}`"));
            }
        }
        self.files.iter().find_map(|(path, was)| match facts.text(&Question::Digest { path: path.clone() }) {
            Some(is) if is == was => None,
            Some(_) => Some(format!("`{}` is not what it was when the yes was given", named(path))),
            None => Some(format!("what `{}` holds could not be found out", named(path))),
        })
    }
}

/// The commands that it was given for, short enough for a reason.
fn given_for(commands: &[Vec<String>]) -> String {
    let named: Vec<String> = commands.iter().map(|argv| argv.join(" ")).collect();
    match named.join(", ") {
        none if none.is_empty() => "it was given for a call that runs no program".to_owned(),
        long if long.chars().count() > MOST_NAMED => "it was given for other commands".to_owned(),
        named => format!("it was given for `{named}`"),
    }
}

/// The programs of a call, word by word.
pub(crate) fn commands(whole: &[Effect]) -> impl Iterator<Item = &Vec<String>> {
    whole.iter().filter_map(|effect| match effect {
        Effect::Run(run) => Some(&run.argv),
        _ => None,
    })
}

/// What a call reads, as written in its effects.
pub(crate) fn reads(whole: &[Effect]) -> BTreeSet<String> {
    let paths = whole.iter().filter(|effect| effect.word() == EffectWord::Read).filter_map(Effect::path);
    paths.map(str::to_owned).collect()
}
