//! Operands: which place each word takes, and what stands in for one that was left out.

use super::perform::Doing;
use super::programs;
use super::value::{Field, Text};
use super::walk::Walker;
use crate::commands::{Change, Operand, Role, Table};

impl Walker<'_> {
    /// Gives each operand its role.
    pub(super) fn operands(&mut self, table: &Table, changes: &[&Change], doing: &mut Doing) {
        let operands = doing.reading.operands.clone();
        if !table.key_values.is_empty() {
            return self.pairs(table, &operands, doing);
        }
        let mut places = changes.iter().find_map(|change| change.operands.clone()).or(table.operands.clone());
        if let Some(places) = &mut places
            && doing.reading.given.iter().any(|given| table.drop_first.contains(&given.name))
            && !places.is_empty()
        {
            places.remove(0);
        }
        let Some(places) = places else {
            if operands.is_empty() {
                return;
            }
            if doing.reading.tables.len() > 1 || !self.scene.models.has_subcommands(&doing.name) {
                let shown = operands.iter().map(|field| field.text.shown()).collect::<Vec<_>>().join(" ");
                self.unknown(format!("`{}` is not known to take `{shown}`", doing.reading.path.join(" ")));
            }
            return;
        };
        let given = self.distribute(&places, &operands, doing);
        for field in given.iter().filter(|(role, _)| *role == Role::Port).flat_map(|(_, fields)| fields) {
            let port = programs::port(self, &field.text);
            doing.ports.push(port);
        }
        for (role, fields) in &given {
            self.expression_or_give(*role, fields, doing);
        }
        // What stands in for the operand that was left out.
        let default = changes.iter().find_map(|change| change.default.as_ref()).or(table.default.as_ref());
        let place = places.iter().find(|place| place.many).or(places.last());
        if let (Some(default), Some(place)) = (default, place)
            && given.iter().all(|(role, _)| *role != place.role)
        {
            self.expression_or_give(place.role, &[Field::from(default.as_str())], doing);
        }
    }

    /// Which operands each place takes.
    fn distribute(&mut self, places: &[Operand], operands: &[Field], doing: &Doing) -> Vec<(Role, Vec<Field>)> {
        // `NAME=VALUE ... COMMAND`: told apart by their looks.
        if let [Operand { role: Role::Assignment, .. }, Operand { role, .. }] = places {
            let assignment = |field: &&Field| {
                field.text.prefix().split_once('=').is_some_and(|(name, _)| super::simple::is_name(name))
            };
            let count = operands.iter().take_while(assignment).count();
            let (assignments, command) = operands.split_at(count);
            let mut roles: Vec<(Role, Vec<Field>)> =
                assignments.iter().map(|field| (Role::Assignment, vec![field.clone()])).collect();
            if !command.is_empty() {
                roles.push((*role, command.to_vec()));
            }
            return roles;
        }
        let star = places.iter().position(|place| place.many);
        let whole =
            |role: Role| matches!(role, Role::Command | Role::ShellWords | Role::FindExpression | Role::TestExpression);
        let (before, after) = match star {
            Some(at) => (at, places.len() - at - 1),
            None => (places.len(), 0),
        };
        // A field that stands for any number of words moves all that follow it.
        let moves =
            operands.iter().enumerate().any(|(at, field)| field.many && (at < before || at + after >= operands.len()));
        if moves && places.iter().any(|place| place.role != places.first().map_or(Role::Data, |place| place.role)) {
            self.unknown(format!("how many words `{}` gets is not known before it runs", doing.reading.path.join(" ")));
        }
        let mut roles = Vec::new();
        let last = operands.len().saturating_sub(after).max(before.min(operands.len()));
        for (at, field) in operands.iter().enumerate() {
            let place = if at < before {
                places.get(at)
            } else if at >= last {
                places.get(places.len() - (operands.len() - at))
            } else {
                star.and_then(|star| places.get(star))
            };
            let Some(place) = place else {
                self.unknown(format!(
                    "`{}` is not known to take `{}` as well",
                    doing.reading.path.join(" "),
                    field.text.shown()
                ));
                continue;
            };
            if whole(place.role) {
                roles.push((place.role, operands.get(at..last).unwrap_or_default().to_vec()));
                if last < operands.len() {
                    continue;
                }
                break;
            }
            roles.push((place.role, vec![field.clone()]));
        }
        roles
    }

    fn pairs(&mut self, table: &Table, operands: &[Field], doing: &mut Doing) {
        for field in operands {
            let prefix = field.text.prefix().to_owned();
            let pair = prefix.split_once('=').and_then(|(key, _)| {
                let role = table.key_values.iter().find(|(known, _)| known == key)?.1;
                Some((role, field.text.skip(key.len() + 1)))
            });
            match pair {
                Some((role, text)) => self.give(role, &text, doing),
                None => self.unknown(format!("`{}` is not known to take `{}`", doing.name, field.text.shown())),
            }
        }
    }

    pub(super) fn expression_or_give(&mut self, role: Role, fields: &[Field], doing: &mut Doing) {
        let role = self.changed(role, doing);
        match role {
            Role::Command => programs::command(self, fields, doing),
            Role::ShellWords => {
                let mut text = Text::default();
                for (index, field) in fields.iter().enumerate() {
                    text.push_str(if index > 0 { " " } else { "" });
                    text.append(field.text.clone());
                }
                self.give(Role::Shell, &text, doing);
            }
            Role::FindExpression => super::scripts::find::look(self, fields, doing),
            Role::TestExpression => super::scripts::test::look(self, fields),
            _ => {
                for field in fields {
                    self.give(role, &field.text, doing);
                }
            }
        }
    }
}
