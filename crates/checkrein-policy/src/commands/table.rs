//! One table of a model file, read into what the rest works with.

use std::collections::BTreeMap;

use checkrein_contract::Deed;
use serde::Deserialize;

use super::role::Role;

/// A table as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFile {
    #[serde(default)]
    pub(super) about: String,
    pub(super) like: Option<String>,
    #[serde(default)]
    pub(super) include: Vec<String>,
    pub(super) flags: Option<String>,
    pub(super) options: Option<String>,
    pub(super) operands: Option<String>,
    pub(super) default: Option<String>,
    pub(super) drop_first: Option<String>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, ChangeFile>,
    #[serde(default)]
    pub(super) also: BTreeMap<String, String>,
    pub(super) does: Option<String>,
    pub(super) code_files: Option<Vec<String>>,
    pub(super) chosen_by: Option<Vec<String>>,
    pub(super) effects: Option<Vec<String>>,
    pub(super) caches: Option<OneOrMore>,
    pub(super) own: Option<Vec<String>>,
    pub(super) starts: Option<String>,
    pub(super) names: Option<String>,
    pub(super) makes: Option<String>,
    pub(super) neutral: Option<bool>,
    pub(super) stops: Option<bool>,
    pub(super) abbreviates: Option<bool>,
    pub(super) bundles: Option<bool>,
    pub(super) single_dash: Option<bool>,
    pub(super) numbers: Option<bool>,
    pub(super) plus: Option<String>,
    pub(super) anywhere: Option<bool>,
    pub(super) words: Option<bool>,
    pub(super) key_values: Option<String>,
    pub(super) stdin: Option<String>,
    pub(super) informational: Option<bool>,
    pub(super) port: Option<u16>,
    pub(super) host: Option<String>,
    pub(super) settings: Option<String>,
    pub(super) inside: Option<String>,
    pub(super) profile: Option<Vec<String>>,
    pub(super) registry: Option<String>,
    pub(super) registry_by: Option<String>,
    pub(super) registry_in: Option<Vec<String>>,
    pub(super) offline: Option<String>,
    pub(super) many: Option<usize>,
    pub(super) beyond: Option<ChangeFile>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// `when` and `beyond` as written: known keys, and roles that become others.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ChangeFile {
    operands: Option<String>,
    default: Option<String>,
    does: Option<String>,
    effects: Option<Vec<String>>,
    unknown: Option<String>,
    profile: Option<Vec<String>>,
    many: Option<usize>,
    #[serde(flatten)]
    roles: BTreeMap<String, String>,
}

/// An option of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    /// The spelling that rules and traces show.
    pub(crate) name: String,
    /// The roles of its values; none for a flag.
    pub(crate) values: Vec<Role>,
    /// The value may be absent, and is attached where it is not.
    pub(crate) optional: bool,
}

/// What an option changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) operands: Option<Vec<Operand>>,
    pub(crate) default: Option<String>,
    pub(crate) deeds: Vec<Deed>,
    /// The table's own deeds do not happen (`does = ""`, `does = "only code"`).
    pub(crate) only: bool,
    /// Nor do its own effects (`effects = []`).
    pub(crate) only_effects: bool,
    pub(crate) effects: Vec<Fixed>,
    pub(crate) unknown: Option<String>,
    /// Files of the person that it runs as well; an empty list: none at all.
    pub(crate) profile: Option<Vec<String>>,
    pub(crate) many: Option<usize>,
    pub(crate) roles: Vec<(Role, Role)>,
}

/// A place among the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) role: Role,
    /// Any number of them.
    pub(crate) many: bool,
}

/// An effect that does not depend on the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) what: FixedKind,
    pub(crate) target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FixedKind {
    Read,
    List,
    Tree,
    Write,
    WriteTree,
    Prefix,
    Delete,
    DeleteBelow,
    Connect,
}

/// What standard input is to a program that no operand gives a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    Shell,
    Code,
}

/// A table, ready to be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) about: String,
    pub(crate) options: Vec<Opt>,
    /// Every spelling with the number of its option, sorted.
    spellings: Vec<(String, usize)>,
    pub(crate) operands: Option<Vec<Operand>>,
    pub(crate) default: Option<String>,
    pub(crate) drop_first: Vec<String>,
    pub(crate) when: Vec<(String, Change)>,
    pub(crate) also: Vec<(String, Vec<String>)>,
    pub(crate) deeds: Vec<Deed>,
    pub(crate) code_files: Vec<String>,
    pub(crate) chosen_by: Vec<String>,
    pub(crate) effects: Vec<Fixed>,
    pub(crate) caches: Vec<String>,
    /// What it works on by being what it is: `read` or `write`, and where.
    pub(crate) own: Vec<Fixed>,
    /// Programs that are parts of it.
    pub(crate) starts: Vec<String>,
    /// Names of the files that it looks at in folders; none: all.
    pub(crate) names: Vec<String>,
    /// Names of the files that it makes in folders; none: as it looks at.
    pub(crate) makes: Vec<String>,
    pub(crate) neutral: bool,
    pub(crate) stops: bool,
    pub(crate) abbreviates: bool,
    pub(crate) bundles: bool,
    pub(crate) single_dash: bool,
    pub(crate) numbers: bool,
    pub(crate) plus: Option<Role>,
    pub(crate) anywhere: bool,
    pub(crate) words: bool,
    pub(crate) key_values: Vec<(String, Role)>,
    pub(crate) stdin: Option<Stdin>,
    pub(crate) informational: bool,
    /// The port of hosts that name none.
    pub(crate) port: Option<u16>,
    /// Where it connects when no word names a host.
    pub(crate) host: Option<String>,
    /// What stands in words of the role `setting`: lower-case names with the roles of their values.
    pub(crate) settings: Vec<(String, Role)>,
    /// Options whose paths start at the last operand.
    pub(crate) inside: Vec<String>,
    /// Registries that it turns to, as `HOST:PORT`.
    pub(crate) registry: Vec<String>,
    /// Options that name another one.
    pub(crate) registry_by: Vec<String>,
    /// Settings files that may name another one.
    pub(crate) registry_in: Option<Vec<String>>,
    /// Options with which it turns to none.
    pub(crate) offline: Vec<String>,
    /// Files of the person that it runs before anything else.
    pub(crate) profile: Vec<String>,
    pub(crate) many: Option<usize>,
    pub(crate) beyond: Option<Change>,
    /// Some option of it does more than look.
    pub(crate) acts: bool,
}

impl TableFile {
    /// What is not given here is as it is there (`like`).
    pub(super) fn over(self, base: Self) -> Self {
        macro_rules! or {
            ($($key:ident)*) => { Self { $($key: self.$key.or(base.$key),)*
                about: if self.about.is_empty() { base.about } else { self.about },
                like: None,
                include: if self.include.is_empty() { base.include } else { self.include },
                when: if self.when.is_empty() { base.when } else { self.when },
                also: if self.also.is_empty() { base.also } else { self.also },
            } };
        }
        or!(flags options operands default drop_first does code_files chosen_by effects caches own starts names makes neutral stops abbreviates
            bundles single_dash numbers plus anywhere words key_values stdin informational many beyond port host settings inside profile
            registry registry_by registry_in offline)
    }

    /// Adds the options of another table (`include`).
    pub(super) fn with(mut self, part: &Self) -> Self {
        for (mine, theirs) in [(&mut self.flags, &part.flags), (&mut self.options, &part.options)] {
            if let Some(theirs) = theirs {
                let mine = mine.get_or_insert_default();
                mine.push(' ');
                mine.push_str(theirs);
            }
        }
        for (option, change) in &part.when {
            self.when.entry(option.clone()).or_insert_with(|| change.clone());
        }
        for (option, also) in &part.also {
            self.also.entry(option.clone()).or_insert_with(|| also.clone());
        }
        self
    }
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(super) fn build(file: &TableFile) -> Result<Self, String> {
        let mut table = Self {
            about: file.about.clone(),
            operands: file.operands.as_deref().map(operands).transpose()?,
            default: file.default.clone(),
            drop_first: words(file.drop_first.as_deref()),
            deeds: deeds(file.does.as_deref())?,
            code_files: file.code_files.clone().unwrap_or_default(),
            chosen_by: file.chosen_by.clone().unwrap_or_default(),
            effects: fixed(file.effects.as_deref())?,
            caches: match &file.caches {
                None => Vec::new(),
                Some(OneOrMore::One(one)) => vec![one.clone()],
                Some(OneOrMore::More(more)) => more.clone(),
            },
            own: own(file.own.as_deref())?,
            starts: words(file.starts.as_deref()),
            names: words(file.names.as_deref()),
            makes: words(file.makes.as_deref()),
            neutral: file.neutral.unwrap_or(false),
            stops: file.stops.unwrap_or(false),
            abbreviates: file.abbreviates.unwrap_or(false),
            single_dash: file.single_dash.unwrap_or(false),
            bundles: file.bundles.unwrap_or(true) && !file.single_dash.unwrap_or(false),
            numbers: file.numbers.unwrap_or(false),
            plus: file.plus.as_deref().map(role).transpose()?,
            anywhere: file.anywhere.unwrap_or(false),
            words: file.words.unwrap_or(false),
            stdin: file.stdin.as_deref().map(stdin).transpose()?,
            informational: file.informational.unwrap_or(true),
            port: file.port,
            host: file.host.clone(),
            settings: pairs("settings", file.settings.as_deref())?,
            profile: file.profile.clone().unwrap_or_default(),
            registry: words(file.registry.as_deref()),
            registry_in: file.registry_in.clone(),
            registry_by: words(file.registry_by.as_deref()),
            offline: words(file.offline.as_deref()),
            many: file.many,
            beyond: file.beyond.as_ref().map(change).transpose()?,
            ..Self::default()
        };
        for flag in words(file.flags.as_deref()) {
            table.add_option(&flag, Vec::new(), false)?;
        }
        for option in words(file.options.as_deref()) {
            let (names, roles) = option.rsplit_once('=').ok_or_else(|| format!("`{option}` has no `=ROLE`"))?;
            let roles = roles.split(',').map(role).collect::<Result<Vec<_>, _>>()?;
            let bare = names.strip_suffix('?');
            table.add_option(bare.unwrap_or(names), roles, bare.is_some())?;
        }
        table.spellings.sort();
        if let Some([(twice, _), _]) = table.spellings.array_windows().find(|[(a, _), (b, _)]| a == b) {
            return Err(format!("`{twice}` is given twice"));
        }
        table.key_values = pairs("key_values", file.key_values.as_deref())?;
        table.add_changes(file)?;
        Ok(table)
    }

    /// What its options change, and which of them other keys name.
    fn add_changes(&mut self, file: &TableFile) -> Result<(), String> {
        for (option, file) in &file.when {
            let name = self.canonical(option)?;
            self.when.push((name, change(file)?));
        }
        for (option, others) in &file.also {
            let others = words(Some(others)).iter().map(|other| self.canonical(other)).collect::<Result<_, _>>()?;
            self.also.push((self.canonical(option)?, others));
        }
        let drop_first = self.drop_first.iter().map(|option| self.canonical(option)).collect::<Result<_, _>>()?;
        self.drop_first = drop_first;
        let inside = words(file.inside.as_deref());
        self.inside = inside.iter().map(|option| self.canonical(option)).collect::<Result<_, _>>()?;
        self.acts = self.options.iter().any(|option| option.values.iter().any(|role| role.acts()))
            || self.when.iter().any(|(_, change)| {
                !change.deeds.is_empty()
                    || change.unknown.is_some()
                    || !change.effects.is_empty()
                    || change.roles.iter().any(|(_, to)| to.acts())
            });
        Ok(())
    }

    fn add_option(&mut self, names: &str, values: Vec<Role>, optional: bool) -> Result<(), String> {
        let name = names.rsplit('|').next().unwrap_or_default().to_owned();
        for spelling in names.split('|') {
            if !spelling.starts_with(['-', '+']) || spelling.len() < 2 {
                return Err(format!("`{spelling}` is no option"));
            }
            self.spellings.push((spelling.to_owned(), self.options.len()));
        }
        self.options.push(Opt { name, values, optional });
        Ok(())
    }

    /// The option behind one of its spellings.
    pub(crate) fn option(&self, spelling: &str) -> Option<&Opt> {
        let at = self.spellings.binary_search_by(|(known, _)| known.as_str().cmp(spelling)).ok()?;
        self.options.get(self.spellings.get(at)?.1)
    }

    /// The one option whose long name begins like this.
    pub(crate) fn abbreviated(&self, beginning: &str) -> Option<&Opt> {
        let from = self.spellings.partition_point(|(known, _)| known.as_str() < beginning);
        let mut found = None;
        for (_, index) in self.spellings.get(from..)?.iter().take_while(|(known, _)| known.starts_with(beginning)) {
            match found {
                None => found = Some(*index),
                Some(other) if other == *index => {}
                Some(_) => return None,
            }
        }
        self.options.get(found?)
    }

    /// Whether an option changes what the program does to files, programs and hosts, beyond what it prints.
    pub(super) fn changes_effects(&self, option: &Opt) -> bool {
        let changes = |name: &str| {
            self.when.iter().any(|(of, _)| of == name)
                || self.option(name).is_some_and(|option| option.values.iter().any(|role| *role != Role::Data))
        };
        let also = self.also.iter().filter(|(of, _)| *of == option.name).flat_map(|(_, others)| others);
        changes(&option.name) || also.into_iter().any(|other| changes(other))
    }

    fn canonical(&self, spelling: &str) -> Result<String, String> {
        let option = self.option(spelling).ok_or_else(|| format!("`{spelling}` is none of its options"))?;
        Ok(option.name.clone())
    }
}

fn words(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// `NAME=ROLE` words.
fn pairs(key: &str, text: Option<&str>) -> Result<Vec<(String, Role)>, String> {
    let one = |pair: String| {
        let (name, of) = pair.split_once('=').ok_or_else(|| format!("`{key}`: `{pair}` has no `=ROLE`"))?;
        Ok((name.to_owned(), role(of)?))
    };
    words(text).into_iter().map(one).collect()
}

fn stdin(word: &str) -> Result<Stdin, String> {
    match word {
        "shell" => Ok(Stdin::Shell),
        "code" => Ok(Stdin::Code),
        other => Err(format!("`stdin = \"{other}\"` is neither `shell` nor `code`")),
    }
}

fn role(name: &str) -> Result<Role, String> {
    Role::named(name).ok_or_else(|| format!("`{name}` is no role"))
}

fn operands(text: &str) -> Result<Vec<Operand>, String> {
    let operands: Vec<Operand> = text
        .split_whitespace()
        .map(|word| {
            let bare = word.strip_suffix('*');
            Ok(Operand { role: role(bare.unwrap_or(word))?, many: bare.is_some() })
        })
        .collect::<Result<_, String>>()?;
    if operands.iter().filter(|operand| operand.many).count() > 2 {
        return Err(format!("`{text}`: at most two places may take any number"));
    }
    Ok(operands)
}

fn deeds(text: Option<&str>) -> Result<Vec<Deed>, String> {
    let named = |word: String| {
        Deed::ALL.into_iter().find(|deed| deed.as_str() == word).ok_or_else(|| format!("`does`: `{word}` is no deed"))
    };
    words(text).into_iter().map(named).collect()
}

fn fixed(effects: Option<&[String]>) -> Result<Vec<Fixed>, String> {
    let one = |text: &String| {
        let (what, target) = text.split_once(' ').ok_or_else(|| format!("`{text}` has no target"))?;
        let what = match what {
            "read" => FixedKind::Read,
            "list" => FixedKind::List,
            "tree" => FixedKind::Tree,
            "write" => FixedKind::Write,
            "write-tree" => FixedKind::WriteTree,
            "prefix" => FixedKind::Prefix,
            "delete" => FixedKind::Delete,
            "delete-below" => FixedKind::DeleteBelow,
            "connect" => FixedKind::Connect,
            other => return Err(format!("`{other}` is no effect")),
        };
        Ok(Fixed { what, target: target.to_owned() })
    };
    effects.unwrap_or_default().iter().map(one).collect()
}

fn own(places: Option<&[String]>) -> Result<Vec<Fixed>, String> {
    let places = fixed(places)?;
    match places.iter().find(|place| !matches!(place.what, FixedKind::Read | FixedKind::Write)) {
        Some(place) => Err(format!("`own`: `{}` is neither read nor written", place.target)),
        None => Ok(places),
    }
}

fn change(file: &ChangeFile) -> Result<Change, String> {
    let roles = file.roles.iter().map(|(from, to)| Ok((role(from)?, role(to)?))).collect::<Result<_, String>>()?;
    Ok(Change {
        operands: file.operands.as_deref().map(operands).transpose()?,
        default: file.default.clone(),
        deeds: deeds(file.does.as_deref().map(|does| does.strip_prefix("only ").unwrap_or(does)))?,
        only: file.does.as_deref().is_some_and(|does| does.is_empty() || does.starts_with("only ")),
        effects: fixed(file.effects.as_deref())?,
        only_effects: file.effects.as_ref().is_some_and(Vec::is_empty),
        unknown: file.unknown.clone(),
        profile: file.profile.clone(),
        many: file.many,
        roles,
    })
}
