//! Roles: what becomes of one word, as its model says.

use checkrein_contract::{Deed, Effect, Question};

use super::perform::Doing;
use super::places::{Spot, Touch, last_name};
use super::programs;
use super::value::{Field, Text, escaped};
use super::walk::Walker;
use crate::commands::Role;
use crate::paths;

impl Walker<'_> {
    pub(super) fn changed(&self, role: Role, doing: &Doing) -> Role {
        doing.roles.iter().find(|(from, _)| *from == role).map_or(role, |(_, to)| *to)
    }

    /// What one word does.
    pub(super) fn give(&mut self, role: Role, text: &Text, doing: &mut Doing) {
        let role = self.changed(role, doing);
        let dash = text.as_known() == Some("-");
        match role {
            Role::Data | Role::Link | Role::Variable | Role::Dir => {}
            Role::Read | Role::Tree | Role::Write | Role::Edit if dash => {}
            Role::Read => {
                doing.fed = true;
                self.read(text);
            }
            Role::List => self.touch(Touch::List, text),
            Role::Tree => programs::tree(self, text, doing),
            Role::Write | Role::Make => {
                self.written(text);
                doing.wrote.push(text.clone());
            }
            Role::Move => self.moved(text),
            Role::Edit => {
                self.read(text);
                self.written(text);
            }
            Role::Into => self.into(text, doing),
            Role::Delete => self.touch(Touch::Delete, text),
            Role::DeleteTree => self.touch(Touch::DeleteTree, text),
            Role::Metadata => self.touch(Touch::Metadata, text),
            Role::Url | Role::Host | Role::Address => {
                doing.connects = true;
                programs::connect(self, role, text, doing);
            }
            Role::Remote | Role::Revision | Role::Pathspec | Role::Range | Role::Refspec => {
                programs::git::word(self, role, text, doing);
            }
            Role::Program => {
                doing.deed(Deed::Code);
                self.nested(text);
            }
            Role::Shell => self.shell(text, doing),
            Role::Code => self.code(text, doing),
            Role::Script => self.run_script(text, doing),
            Role::Config => {
                self.named_file(text);
                self.unknown(format!("`{}` changes what `{}` does", text.shown(), doing.name));
            }
            Role::FilesFrom => {
                if !dash {
                    self.read(text);
                }
                self.unknown(format!("`{}` lists further operands of `{}`", text.shown(), doing.name));
            }
            Role::AtFile => self.at_file(text),
            Role::Assignment => self.given_variable(text),
            Role::SedScript => super::scripts::sed::look(self, text, doing),
            Role::AwkScript => super::scripts::awk::look(self, text, doing),
            Role::JqFilter => super::scripts::jq::look(self, text),
            Role::Command | Role::ShellWords | Role::FindExpression | Role::TestExpression => {
                self.expression_or_give(role, &[Field::one(text.clone())], doing);
            }
        }
    }

    /// A path that gets another name. With the project or a home inside, what moves is all of it.
    fn moved(&mut self, text: &Text) {
        self.written(text);
        for spot in self.spots(text) {
            let Spot::At(path) = spot else { continue };
            let place = self.scene.place;
            if [&place.root, &place.home].into_iter().any(|whole| paths::is_within(whole, &path)) {
                self.note(Effect::delete(path, true));
            }
        }
    }

    /// A word that is a file, where it is one: whoever is given its name may read it.
    pub(super) fn named_file(&mut self, text: &Text) {
        let Some(known) = text.as_known() else { return };
        // `--name=VALUE`, `@FILE`.
        let value = known.strip_prefix('-').and_then(|option| option.split_once('=')).map_or(known, |(_, value)| value);
        let value = value.trim_start_matches('@');
        if value.is_empty() || value.starts_with('-') || value.len() > 4_096 || value.contains(['\n', '\0']) {
            return;
        }
        for spot in self.spots(&Text::from(value)) {
            let Spot::At(path) = spot else { continue };
            let kind = Question::Kind { path: path.clone() };
            match self.scene.facts.text(&kind) {
                Some("file") => self.touch(Touch::Read, &Text::known(path)),
                Some("folder") => self.touch(Touch::List, &Text::known(path)),
                _ => {}
            }
            self.ask(kind);
        }
    }

    /// A file that is run as code.
    fn run_script(&mut self, text: &Text, doing: &mut Doing) {
        doing.deed(Deed::Code);
        if matches!(text.as_known(), Some("-" | "/dev/stdin")) {
            return;
        }
        doing.fed = true;
        self.read(text);
        doing.rests_on.extend(self.unchanged(text));
        if self.is_downloaded(text) {
            doing.deed(Deed::Downloaded);
        }
    }

    /// `NAME=VALUE` for a command.
    fn given_variable(&mut self, text: &Text) {
        let Some((name, _)) = text.prefix().split_once('=') else { return };
        if !super::variables::is_harmless(name, &text.skip(name.len() + 1)) {
            self.state.exported.push(text.shown());
        }
    }

    /// A program, perhaps with arguments, that an option names.
    pub(super) fn nested(&mut self, text: &Text) {
        if !text.is_known() {
            return self.unknown(format!("which program `{}` is, is not known before it runs", text.shown()));
        }
        let part = self.current_part();
        self.text(&text.as_script());
        self.set_part(part);
    }

    /// A word that a shell reads as a script.
    fn shell(&mut self, text: &Text, doing: &mut Doing) {
        doing.fed = true;
        let harmless = doing.reading.given.iter().all(|given| {
            matches!(
                given.name.as_str(),
                "-c" | "--login" | "-e" | "-u" | "-x" | "-f" | "-o" | "--noprofile" | "--norc"
            )
        });
        if programs::is_shell(&doing.name) && text.is_known() && harmless {
            doing.neutral = true;
        } else {
            doing.deed(Deed::Code);
        }
        if text.is_downloaded() {
            doing.deed(Deed::Downloaded);
        }
        if !text.is_known() {
            self.unknown(format!("the script `{}` is not known before it runs", text.shown()));
        }
        let part = self.current_part();
        let arguments = doing.reading.operands.iter().skip(2).cloned().collect::<Vec<_>>();
        self.in_child(|walker| {
            walker.state.arguments = Some(arguments.into());
            walker.state.functions.clear();
            walker.text(&text.as_script());
        });
        self.set_part(part);
    }

    fn code(&mut self, text: &Text, doing: &mut Doing) {
        doing.fed = true;
        doing.deed(Deed::Code);
        if text.is_downloaded() {
            doing.deed(Deed::Downloaded);
        }
    }

    /// `@FILE`, `name=@FILE`, `name@FILE`.
    fn at_file(&mut self, text: &Text) {
        let prefix = text.prefix();
        match prefix.find(['@', '<']) {
            Some(at) if at == 0 || prefix.get(..at).is_some_and(|name| !name.contains(['{', '"', ' '])) => {
                let mut file = text.skip(at + 1);
                if let Some((path, _)) = file.as_known().and_then(|known| known.split_once(';')) {
                    file = Text::from(path);
                }
                if file.as_known() != Some("-") {
                    self.read(&file);
                }
            }
            _ if !text.is_known() => {
                self.unknown(format!("`{}` may name a file that is sent", text.shown()));
            }
            _ => {}
        }
    }

    /// The destination of a copy or a move.
    fn into(&mut self, text: &Text, doing: &mut Doing) {
        let sources: Vec<Text> = match doing.reading.operands.split_last() {
            Some((last, before)) if last.text == *text => before.iter().map(|field| field.text.clone()).collect(),
            _ => doing.reading.operands.iter().map(|field| field.text.clone()).collect(),
        };
        if programs::connect_remote(self, text, doing) {
            return;
        }
        let named_folder = text.prefix().ends_with('/') && text.is_known();
        for spot in self.spots(text) {
            let Spot::At(path) = spot else {
                self.unknown(format!("`{}` is written, and which path that is, is not known", text.shown()));
                continue;
            };
            let kind = Question::Kind { path: path.clone() };
            let known = self.scene.facts.text(&kind).map(str::to_owned);
            self.ask(kind);
            if known.as_deref() != Some("folder") && !named_folder && sources.len() <= 1 {
                self.note(Effect::write(path.clone()));
                doing.wrote.push(text.clone());
                continue;
            }
            for source in &sources {
                match last_name(source).filter(|_| !(doing.name == "rsync" && source.prefix().ends_with('/'))) {
                    Some(name) => self.note(Effect::write(paths::normalise(&format!("{path}/{name}")))),
                    None => self.touch_folder(&path),
                }
            }
            if sources.is_empty() {
                self.touch_folder(&path);
            }
        }
    }

    fn touch_folder(&mut self, path: &str) {
        self.note(Effect::Write { path: escaped(path) + "/**", incidental: false, glob: true });
    }
}
