//! Runs a program by its model: what each of its words does.

use checkrein_contract::{Deed, Effect, Own, Question, Run};

use super::flow::Flow;
use super::places::{Spot, Touch};
use super::simple::is_dynamic;
use super::state::Folders;
use super::value::{Field, Text, escaped};
use super::walk::Walker;
use super::written::prefix;
use super::{base_name, programs};
use crate::commands::{Change, Fixed, FixedKind, Given, Reading, Role, Stdin, Table, read};
use crate::paths;

/// Files that may decide which program any name means, whatever the program (version managers).
const CHOSEN_BY: [&str; 3] = [".tool-versions", "mise.toml", ".mise.toml"];

/// A program while its words are looked at.
#[derive(Default)]
pub(super) struct Doing {
    /// Its name, without folders.
    pub(super) name: String,
    pub(super) reading: Reading,
    pub(super) deeds: Vec<Deed>,
    pub(super) rests_on: Vec<Question>,
    /// It opens a connection.
    pub(super) connects: bool,
    /// Files it writes.
    pub(super) wrote: Vec<Text>,
    /// It only starts something else, which is judged by itself.
    pub(super) neutral: bool,
    /// The roles of `when`, the first that fits.
    pub(super) roles: Vec<(Role, Role)>,
    /// What it writes to standard output.
    pub(super) output: Option<Flow>,
    /// A script or code came from a word, so standard input is data.
    pub(super) fed: bool,
    /// Folders that it makes its own.
    pub(super) kept: Vec<String>,
    /// Files of the person that it runs first.
    pub(super) profile: Vec<String>,
    /// Ports that its words give to its connections.
    pub(super) ports: Vec<u16>,
    /// Ports of the program through which it reaches other machines.
    pub(super) shell_ports: Vec<u16>,
    /// Options that something in its operands counts as.
    pub(super) implied: Vec<&'static str>,
}

impl Doing {
    /// Names of the files that it looks at in folders; none: all.
    pub(super) fn names(&self) -> Vec<String> {
        let mut tables = self.reading.tables.iter().rev();
        tables.find(|table| !table.names.is_empty()).map(|table| table.names.clone()).unwrap_or_default()
    }

    /// Names of the files that it makes in folders; none: any.
    pub(super) fn makes(&self) -> Vec<String> {
        let mut tables = self.reading.tables.iter().rev();
        let made = tables.find(|table| !table.makes.is_empty()).map(|table| table.makes.clone());
        made.unwrap_or_else(|| self.names())
    }

    pub(super) fn deed(&mut self, deed: Deed) {
        if !self.deeds.contains(&deed) {
            self.deeds.push(deed);
        }
    }
}

impl Walker<'_> {
    /// Runs a program that is neither function nor built-in.
    pub(super) fn program(&mut self, written: &str, arguments: &[Field]) {
        let name = paths::program_name(base_name(written), self.scene.place.paths);
        // Where case does not count, `RM` finds the same file.
        let name = if self.scene.facts.folds_case() { name.to_lowercase() } else { name };
        let bare = self.bare_name(written);
        let mut fields = vec![Field::from(written)];
        fields.extend_from_slice(arguments);
        if let Some(bare) = &bare
            && self.informational(bare, &fields, arguments)
        {
            return;
        }
        let words = programs::prepared(&name, arguments);
        let Some(reading) = read(self.scene.models, &name, words.as_deref().unwrap_or(arguments)) else {
            return self.unmodelled(written, bare.as_deref(), &fields);
        };
        let mark = self.mark();
        let part = self.current_part();
        let folders = self.state.folders.clone();
        let folder = self.folder();
        let exported = self.state.exported.len();
        let canonical = reading.words();
        let mut doing = Doing { name, reading, ..Doing::default() };
        self.perform(&mut doing);
        let own = self.own(&doing);
        self.state.folders = folders;
        let env = self.state.exported.clone();
        self.state.exported.truncate(exported);
        if bare.is_none() {
            // Some other file of that name: a model says what such a program does, not what this one does.
            doing.deed(Deed::Code);
            doing.neutral = false;
            if self.is_downloaded(&Text::from(written)) {
                doing.deed(Deed::Downloaded);
            }
        }
        let connects = doing.connects;
        if connects {
            doing.wrote.iter().for_each(|text| self.remember_download(text));
        }
        self.rests_on_written(mark, &doing);
        if !doing.neutral {
            let run = Run {
                program: bare.clone().unwrap_or_else(|| written.to_owned()),
                argv: fields.iter().map(|field| field.text.shown()).collect(),
                words: with_implied(canonical, &doing.implied),
                modelled: bare.is_some(),
                steered_by: steering(&doing.reading, &doing.deeds),
                deeds: doing.deeds,
                folder,
                env,
                input: self.input.clone(),
                dynamic: is_dynamic(&fields),
                informational: false,
                rests_on: doing.rests_on,
                own,
            };
            self.note_at(mark, part, Effect::Run(run));
            let fed = self.stdin.is_downloaded();
            self.output = doing.output.unwrap_or_else(|| Flow::any(connects || fed));
        }
    }

    /// What is found out about files holds for them as they were before the call. Where the call itself wrote one of them
    /// first, nobody knows what the program does with it.
    fn rests_on_written(&mut self, mark: usize, doing: &Doing) {
        let before: Vec<Effect> = self.effects_before(mark).filter(|effect| changes(effect)).cloned().collect();
        if before.is_empty() {
            return;
        }
        let written = doing.rests_on.iter().find_map(|question| {
            let hit = before.iter().find(|effect| match question {
                Question::Changed { path } | Question::Kind { path } => touches(effect, path),
                Question::GitHelpers { .. } => of_git(effect),
                _ => false,
            });
            hit.and_then(Effect::path)
        });
        if let Some(path) = written {
            let path = path.to_owned();
            self.unknown(format!("`{}` goes by `{path}`, which the same call writes first", doing.name));
        }
    }

    /// A program without a model: a name and its words.
    fn unmodelled(&mut self, written: &str, bare: Option<&str>, fields: &[Field]) {
        let downloaded = bare.is_none() && self.is_downloaded(&Text::from(written));
        let program = bare.unwrap_or(written).to_owned();
        self.ran(&program, fields, |run| {
            if downloaded {
                run.deeds = vec![Deed::Code, Deed::Downloaded];
            }
        });
        for field in fields.iter().skip(1) {
            if field.text.is_pattern() {
                // What a pattern names is given to it.
                self.touch(Touch::Read, &field.text);
            } else {
                self.named_file(&field.text);
            }
        }
        let fed = self.stdin.is_downloaded();
        self.output = Flow::any(fed);
    }

    /// `NAME --version`, `NAME --help`, and nothing else.
    fn informational(&mut self, bare: &str, fields: &[Field], arguments: &[Field]) -> bool {
        let [only] = arguments else { return false };
        let Some(word) = only.text.as_known().filter(|word| word.starts_with('-')) else { return false };
        let table = self.scene.models.table(bare);
        // `node -v`: as its model spells it out.
        let spelled = table.as_ref().and_then(|table| table.option(word)).map_or(word, |option| option.name.as_str());
        if !matches!(spelled, "--version" | "--help") {
            return false;
        }
        if table.as_ref().is_some_and(|table| table.words || !table.informational) {
            return false;
        }
        let chosen = table.as_ref().map(|table| table.chosen_by.clone()).unwrap_or_default();
        let mut files: Vec<&str> = chosen.iter().map(String::as_str).collect();
        files.extend(CHOSEN_BY);
        let rests_on = self.absent(&files);
        let reading = Reading { tables: table.iter().cloned().collect(), ..Reading::default() };
        let asked = Doing { name: bare.to_owned(), rests_on: rests_on.clone(), reading, ..Doing::default() };
        self.rests_on_written(self.mark(), &asked);
        let own = self.own(&asked);
        self.ran(bare, fields, |run| {
            run.modelled = table.is_some();
            run.informational = true;
            run.own = own;
            run.rests_on = rests_on;
        });
        self.output = Flow::any(false);
        true
    }

    /// That these files are not there. Version managers look upward from the working directory; the project is as far as
    /// a repository can reach.
    fn absent(&mut self, files: &[&str]) -> Vec<Question> {
        let root = self.scene.place.root.clone();
        let folders = self.state.folders.known.iter().cloned().chain(std::iter::once(root));
        let mut questions: Vec<Question> = Vec::new();
        for folder in folders {
            for file in files {
                let question = Question::Kind { path: paths::normalise(&format!("{folder}/{file}")) };
                if !questions.contains(&question) {
                    questions.push(question);
                }
            }
        }
        questions
    }

    fn perform(&mut self, doing: &mut Doing) {
        let tables = doing.reading.tables.clone();
        let Some(table) = tables.last() else { return };
        doing.neutral = table.neutral;
        let unread = std::mem::take(&mut doing.reading.unknown);
        if !unread.is_empty() {
            // What it does with its words is not known; it may read what they name.
            for field in doing.reading.operands.clone() {
                self.named_file(&field.text);
            }
        }
        for reason in unread {
            self.unknown(reason);
        }
        self.untested(doing);
        let changes: Vec<&Change> = active(&tables, &doing.reading);
        let many = changes.iter().find_map(|change| change.many).or(table.many);
        let beyond = table.beyond.iter().filter(|_| many.is_some_and(|many| doing.reading.operands.len() > many));
        let changes: Vec<&Change> = changes.into_iter().chain(beyond).collect();
        let base = table.deeds.iter().filter(|_| !changes.iter().any(|change| change.only));
        for deed in base.chain(changes.iter().flat_map(|change| &change.deeds)) {
            doing.deed(*deed);
        }
        doing.fed |= changes.iter().any(|change| change.only);
        doing.roles = changes.iter().flat_map(|change| change.roles.iter().copied()).collect();
        for reason in changes.iter().filter_map(|change| change.unknown.as_ref()) {
            self.unknown(format!("`{}` {reason}", doing.reading.path.join(" ")));
        }
        let quiet = changes.iter().any(|change| change.only_effects);
        self.runs_profile(table, &changes, doing);
        programs::find_ports(self, doing);
        // `tar` takes the names of its archive and lists from where it starts, and `-C` counts for the members behind it.
        let start = self.state.folders.clone();
        let is_tar = matches!(doing.name.as_str(), "tar" | "bsdtar" | "gtar");
        for given in doing.reading.given.clone() {
            self.folder_of(&given.values);
            let inside = is_tar.then(|| std::mem::replace(&mut self.state.folders, start.clone()));
            let values = programs::placed(self, &given, doing);
            self.values(&values, doing);
            if let Some(inside) = inside {
                self.state.folders = inside;
            }
        }
        if is_tar && !doing.reading.has("--extract") {
            self.state.folders.merge(&start);
        }
        let effects = table.effects.iter().chain(changes.iter().flat_map(|change| &change.effects));
        for fixed in effects.filter(|_| !quiet) {
            self.fixed(fixed, doing);
        }
        self.operands(table, &changes, doing);
        programs::usual_host(self, doing);
        programs::registry(self, doing);
        self.standing(table, doing);
        programs::after(self, doing);
    }

    /// The start files of a login shell, and their like. They are the person's own; what runs after them rests on it that
    /// nobody changed them in this session.
    fn runs_profile(&self, table: &Table, changes: &[&Change], doing: &mut Doing) {
        let mut files: Vec<&String> = table.profile.iter().collect();
        for more in changes.iter().filter_map(|change| change.profile.as_ref()) {
            files.extend(more);
        }
        if changes.iter().any(|change| change.profile.as_ref().is_some_and(Vec::is_empty)) {
            files.clear();
        }
        doing.profile = files.into_iter().map(|file| self.in_home(file)).collect();
        doing.rests_on.extend(doing.profile.iter().map(|path| Question::Changed { path: path.clone() }));
    }

    /// Options of which only a manual says what they do.
    fn untested(&mut self, doing: &Doing) {
        for given in &doing.reading.given {
            let path = doing.reading.path.get(..=given.table).unwrap_or_default();
            if self.scene.models.is_untested(&path.join("."), &given.name) {
                let (option, program) = (&given.name, path.join(" "));
                self.unknown(format!("what `{option}` of `{program}` does was never seen at work"));
            }
        }
    }

    /// `-C DIR`: the rest happens there.
    fn folder_of(&mut self, values: &[(Role, Text)]) {
        for (_, text) in values.iter().filter(|(role, _)| *role == Role::Dir) {
            self.touch(Touch::List, text);
            let mut folders = Folders::default();
            for spot in self.spots(text) {
                match spot {
                    Spot::At(path) => folders.merge(&Folders::one(path)),
                    _ => folders.unknown = true,
                }
            }
            self.state.folders = folders;
        }
    }

    fn fixed(&mut self, fixed: &Fixed, doing: &mut Doing) {
        let target = Text::known(self.in_home(&fixed.target));
        match fixed.what {
            FixedKind::Read => self.touch(Touch::Read, &target),
            FixedKind::List => self.touch(Touch::List, &target),
            FixedKind::Tree => self.touch(Touch::Tree, &target),
            FixedKind::Write => self.touch(Touch::Write, &target),
            FixedKind::Prefix => self.written_like(&target, prefix),
            FixedKind::WriteTree => self.written_below(&target, &doing.makes()),
            FixedKind::Delete => self.touch(Touch::DeleteTree, &target),
            FixedKind::DeleteBelow => self.deleted_below(&target),
            FixedKind::Connect => {
                doing.connects = true;
                self.address(&target);
            }
        }
    }

    /// `~/x` of a model: below the person's home.
    pub(super) fn in_home(&self, path: &str) -> String {
        path.strip_prefix("~/").map_or_else(|| path.to_owned(), |rest| format!("{}/{rest}", self.scene.place.home))
    }

    /// What a program works on by being what it is. A place that is named without a folder is looked for where the program
    /// starts, and at the top of the project.
    fn own(&self, doing: &Doing) -> Own {
        let mut own = Own::default();
        for place in doing.reading.tables.iter().flat_map(|table| &table.own) {
            let into = if place.what == FixedKind::Write { &mut own.writes } else { &mut own.reads };
            let path = self.in_home(&place.target);
            let here = self.state.folders.known.iter().chain(std::iter::once(&self.scene.place.root));
            for folder in here {
                let path = if path.starts_with('/') { path.clone() } else { format!("{folder}/{path}") };
                let path = paths::normalise(&path);
                if !into.contains(&path) {
                    into.push(path);
                }
            }
        }
        own.writes.extend(doing.kept.iter().cloned());
        own
    }

    fn values(&mut self, values: &[(Role, Text)], doing: &mut Doing) {
        let command: Vec<Field> = values
            .iter()
            .filter(|(role, _)| *role == Role::Command)
            .map(|(_, text)| Field::one(text.clone()))
            .collect();
        if !command.is_empty() {
            doing.deed(Deed::Code);
            self.run(&command);
        }
        for (role, text) in values.iter().filter(|(role, _)| *role != Role::Command) {
            self.give(*role, text, doing);
        }
    }

    /// What a modelled program reads from standard input, and what its *allow* rests on.
    fn standing(&mut self, table: &Table, doing: &mut Doing) {
        let files: Vec<&str> = table.code_files.iter().map(String::as_str).collect();
        for file in files {
            doing.rests_on.extend(self.unchanged(&Text::from(file)));
        }
        // What chooses the program chooses it for its subcommands too.
        let tables = doing.reading.tables.clone();
        for file in tables.iter().flat_map(|table| &table.chosen_by) {
            doing.rests_on.extend(self.unchanged(&Text::from(file.as_str())));
        }
        for cache in tables.iter().flat_map(|table| &table.caches) {
            for spot in self.spots(&Text::known(self.in_home(cache))) {
                if let Spot::At(path) = spot {
                    self.note(Effect::Write { path, incidental: true, glob: false });
                }
            }
        }
        let Some(stdin) = table.stdin.filter(|_| !doing.fed && !doing.neutral) else { return };
        doing.deed(Deed::Code);
        match (stdin, self.stdin.clone()) {
            (Stdin::Shell, Flow::Known(text)) => {
                let before = self.state.clone();
                self.stdin = Flow::Nothing;
                self.text(&text);
                self.state = before;
            }
            (_, Flow::Any { downloaded: true }) => doing.deed(Deed::Downloaded),
            _ => {}
        }
    }

    /// That these files are what they were when the session began.
    pub(super) fn unchanged(&self, text: &Text) -> Vec<Question> {
        let spots = self.spots(text).into_iter();
        spots
            .filter_map(|spot| match spot {
                Spot::At(path) => Some(Question::Changed { path }),
                _ => None,
            })
            .collect()
    }
}

/// Whether an effect leaves something else behind than was there.
fn changes(effect: &Effect) -> bool {
    matches!(effect, Effect::Write { incidental: false, .. } | Effect::Delete { .. } | Effect::Metadata { .. })
}

/// Whether it is on this path, on something below it, or on a folder around it.
fn touches(effect: &Effect, path: &str) -> bool {
    let Some(written) = effect.path() else { return false };
    if effect.is_glob() {
        return crate::patterns::overlap(written, &(escaped(path) + "/**"));
    }
    paths::is_within(written, path)
        || matches!(effect, Effect::Delete { recursive: true, .. }) && paths::is_within(path, written)
}

/// Whether it may change what git goes by: a repository's own files, or the names of which one consists.
fn of_git(effect: &Effect) -> bool {
    let Some(path) = effect.path() else { return false };
    if effect.is_glob() {
        return ["/**/.git/**", "/**/.git", "/**/.gitattributes"].iter().any(|own| crate::patterns::overlap(path, own));
    }
    let own = [".git", ".gitattributes", ".gitmodules", ".gitconfig"];
    // A folder with these two in it is a repository.
    let bare = matches!(path.rsplit('/').next(), Some("HEAD" | "config"));
    bare || path.split('/').any(|name| own.iter().any(|own| name.eq_ignore_ascii_case(own)))
}

/// Of a program that runs code: the options that lead it elsewhere than the words of a rule say.
fn steering(reading: &Reading, deeds: &[Deed]) -> Vec<String> {
    if !deeds.contains(&Deed::Code) {
        return Vec::new();
    }
    // Where the program runs code whatever its options say, none of them leads it there.
    let starts = |given: &Given| {
        let table = reading.tables.get(given.table).filter(|table| !table.deeds.contains(&Deed::Code));
        let mut changes = table.iter().flat_map(|table| &table.when).filter(|(name, _)| *name == given.name);
        changes.any(|(_, change)| change.deeds.contains(&Deed::Code))
    };
    let steers =
        reading.given.iter().filter(|given| given.values.iter().any(|(role, _)| *role != Role::Data) || starts(given));
    steers.map(|given| given.name.clone()).collect()
}

/// The words with further options in front of the operands.
fn with_implied(mut words: Vec<String>, implied: &[&str]) -> Vec<String> {
    if let Some(at) = words.iter().position(|word| word == "--") {
        words.splice(at..at, implied.iter().map(|option| (*option).to_owned()));
    }
    words
}

/// The changes of all options that were given.
fn active<'t>(tables: &'t [std::sync::Arc<Table>], reading: &Reading) -> Vec<&'t Change> {
    tables
        .iter()
        .enumerate()
        .flat_map(|(level, table)| table.when.iter().map(move |(option, change)| (level, option, change)))
        .filter(|(level, option, _)| reading.given.iter().any(|given| given.table == *level && given.name == **option))
        .map(|(.., change)| change)
        .collect()
}
