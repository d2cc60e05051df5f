//! Roles: what becomes of one word, as its model says.

use checkrein_contract::{Deed, Question};

use super::perform::Doing;
use super::places::{Spot, Touch};
use super::programs;
use super::value::{Field, Text};
use super::walk::Walker;
use crate::commands::Role;

impl Walker<'_> {
    pub(super) fn changed(&self, role: Role, doing: &Doing) -> Role {
        doing.roles.iter().find(|(from, _)| *from == role).map_or(role, |(_, to)| *to)
    }

    /// What one word does.
    pub(super) fn give(&mut self, role: Role, text: &Text, doing: &mut Doing) {
        let role = self.changed(role, doing);
        let dash = text.as_known() == Some("-");
        match role {
            Role::Data | Role::Link | Role::Variable | Role::Dir | Role::Port => {}
            Role::Read | Role::Tree | Role::Write | Role::Edit | Role::Pack if dash => {}
            // What is copied may lie on another machine as well.
            Role::Read | Role::Tree if programs::connect_remote(self, text, doing) => {}
            Role::Read => {
                doing.fed = true;
                programs::named(self, text, doing);
            }
            Role::Tree => programs::tree(self, text, doing),
            Role::Url | Role::Host | Role::Address | Role::Via => {
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
            // A URL, or a file or folder of this machine.
            Role::Place if text.prefix().contains("://") => self.give(Role::Url, text, doing),
            Role::Place => programs::tree(self, text, doing),
            Role::Package => programs::package(self, text, doing),
            Role::Database => programs::database(self, text, doing),
            Role::Setting => programs::setting(self, text, doing),
            Role::RemoteShell => self.shell(text, doing),
            Role::AtFile => programs::at_file(self, text),
            Role::NameAtFile => programs::name_at_file(self, text),
            Role::Form => programs::form(self, text),
            Role::Pass => programs::pass(self, text),
            Role::Cert => programs::cert(self, text),
            Role::Newkey => programs::newkey(self, text),
            Role::ReadList => programs::read_list(self, text),
            Role::Assignment => self.given_variable(text),
            Role::SedScript => super::scripts::sed::look(self, text, doing),
            Role::AwkScript => super::scripts::awk::look(self, text, doing),
            Role::JqFilter => super::scripts::jq::look(self, text),
            Role::Command | Role::ShellWords | Role::FindExpression | Role::TestExpression => {
                self.expression_or_give(role, &[Field::one(text.clone())], doing);
            }
            _ => self.give_path(role, text, doing),
        }
    }

    /// A word that is a file, where it is one: whoever is given its name may read it.
    pub(super) fn named_file(&mut self, text: &Text) {
        let Some(known) = text.as_known() else { return };
        // `--name=VALUE`, `@FILE`.
        let value = known.strip_prefix('-').and_then(|option| option.split_once('=')).map_or(known, |(_, value)| value);
        let value = value.trim_start_matches('@');
        if value.starts_with('-') || value.contains(['\n', '\0']) {
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
        let profile = std::mem::take(&mut doing.profile);
        self.in_child(|walker| {
            walker.state.profile.extend(profile);
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
}
