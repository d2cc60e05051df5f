//! Command models: what programs do with their arguments, as data. The format is described in `models/README.md`.
//!
//! Tables are found by their headers and read one by one, on first use: a process that judges one `git log` reads two
//! tables of the several hundred that ship.

mod read;
mod role;
mod table;
mod tested;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use checkrein_toml::{FileError, Source};

pub(crate) use read::{Given, Reading, read};
pub(crate) use role::Role;
use table::TableFile;
pub(crate) use table::{Change, Fixed, FixedKind, Operand, Stdin, Table};
pub use tested::traced_lines;

/// The families that ship, in the order of `docs/commands.md`.
pub const FAMILIES: &[(&str, &str)] = &[
    ("archive", include_str!("../models/archive.toml")),
    ("containers", include_str!("../models/containers.toml")),
    ("coreutils", include_str!("../models/coreutils.toml")),
    ("findutils", include_str!("../models/findutils.toml")),
    ("forge", include_str!("../models/forge.toml")),
    ("git", include_str!("../models/git.toml")),
    ("javascript", include_str!("../models/javascript.toml")),
    ("languages", include_str!("../models/languages.toml")),
    ("network", include_str!("../models/network.toml")),
    ("packages", include_str!("../models/packages.toml")),
    ("python", include_str!("../models/python.toml")),
    ("rust", include_str!("../models/rust.toml")),
    ("system", include_str!("../models/system.toml")),
    ("text", include_str!("../models/text.toml")),
];

/// Where a table stands.
#[derive(Clone, Debug)]
struct Spot {
    family: Text,
    text: Text,
    start: usize,
    end: usize,
    line: usize,
}

/// Text that ships, or that somebody wrote. What ships is not copied: most of it is never read.
#[derive(Clone, Debug)]
enum Text {
    Ours(&'static str),
    Theirs(Arc<str>),
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Ours(text) => text,
            Self::Theirs(text) => text,
        }
    }
}

/// What programs do with their arguments. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Models {
    tables: Arc<BTreeMap<String, Spot>>,
    read: Arc<Mutex<BTreeMap<String, Option<Arc<Table>>>>>,
}

static BUILT_IN: LazyLock<Models> = LazyLock::new(|| {
    let mut tables = BTreeMap::new();
    for (family, text) in FAMILIES {
        index(&Text::Ours(family), &Text::Ours(text), &mut tables);
    }
    Models { tables: Arc::new(tables), read: Arc::default() }
});

impl Models {
    /// Those that ship.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Those that ship, and a person's own (`commands/*.toml` beside a policy), which replace a program whole.
    ///
    /// # Errors
    /// The first mistake, with file and line.
    pub fn with(&self, files: &[Source<'_>]) -> Result<Self, FileError> {
        let mut tables = (*self.tables).clone();
        for source in files {
            let mut own = BTreeMap::new();
            index(&Text::Theirs(source.file.into()), &Text::Theirs(source.text.into()), &mut own);
            for program in own.keys().filter(|name| !name.contains('.')) {
                let below = format!("{program}.");
                tables.retain(|name, _| name != program && !name.starts_with(&below));
            }
            tables.extend(own);
        }
        let models = Self { tables: Arc::new(tables), read: Arc::default() };
        for source in files {
            models.check(source)?;
        }
        Ok(models)
    }

    fn check(&self, source: &Source<'_>) -> Result<(), FileError> {
        // Found first: a file that is no TOML at all has no headers to find.
        let _: toml::Table = source.toml()?;
        let own = self.tables.iter().filter(|(_, place)| &*place.family == source.file);
        for (name, place) in own {
            if let Err(message) = self.build(name) {
                let message = format!("[{name}]: {message}");
                return Err(FileError { line: place.line, ..source.error(place.start, message) });
            }
        }
        Ok(())
    }

    /// The table of a program (`git`) or a subcommand (`git.stash.list`).
    pub(crate) fn table(&self, name: &str) -> Option<Arc<Table>> {
        if !self.tables.contains_key(name) {
            return None;
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = read.get(name) {
            return table.clone();
        }
        // A table with a mistake models nothing. Those that ship have none: a test reads each of them.
        let table = self.build(name).ok().map(Arc::new);
        read.insert(name.to_owned(), table.clone());
        table
    }

    /// Whether a table is one of ours.
    pub(crate) fn ships(&self, name: &str) -> bool {
        self.tables.get(name).is_some_and(|spot| matches!(spot.text, Text::Ours(_)))
    }

    /// Whether anything stands below this table.
    pub(crate) fn has_subcommands(&self, name: &str) -> bool {
        let below = format!("{name}.");
        let names = self.tables.range(below.clone()..).map(|(name, _)| name);
        let mut mine = names.map_while(|name| name.strip_prefix(&below));
        mine.any(|name| !name.starts_with('-'))
    }

    /// Every table: its name, the family it belongs to, what it does, and the number of its options; or its mistake.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, Result<(String, usize), String>)> {
        self.tables.iter().map(|(name, place)| {
            let table = self.build(name).map(|table| (table.about.clone(), table.options.len()));
            (name.as_str(), &*place.family, table)
        })
    }

    fn build(&self, name: &str) -> Result<Table, String> {
        Table::build(&self.file(name, 0)?)
    }

    fn file(&self, name: &str, depth: u32) -> Result<TableFile, String> {
        let place = self.tables.get(name).ok_or_else(|| format!("there is no table `{name}`"))?;
        if depth > 4 {
            return Err("`like` leads in a circle".to_owned());
        }
        let text = place.text.get(place.start..place.end).unwrap_or_default();
        let mut file: TableFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if let Some(base) = file.like.clone() {
            file = file.over(self.file(&base, depth + 1)?);
        }
        for part in std::mem::take(&mut file.include) {
            file = file.with(&self.file(&part, depth + 1)?);
        }
        Ok(file)
    }
}

/// Finds the headers of a file.
fn index(family: &Text, text: &Text, tables: &mut BTreeMap<String, Spot>) {
    let mut open: Option<(String, usize, usize)> = None;
    let mut close = |open: Option<(String, usize, usize)>, end: usize| {
        if let Some((name, start, line)) = open {
            tables.insert(name, Spot { family: family.clone(), text: text.clone(), start, end, line });
        }
    };
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        // Cheap first: of ten thousand lines one in ten is a header.
        if line.starts_with('[')
            && let Some(header) = line.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
        {
            close(open.take(), offset);
            open = Some((header.replace('"', ""), offset + line.len(), number + 1));
        }
        offset += line.len();
    }
    close(open, offset);
}
