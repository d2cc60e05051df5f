//! Simple commands: which program, function or built-in it is, and with what around it.

use checkrein_contract::{Deed, Effect, Run};
use checkrein_shell::{Redirect, Simple};

use super::builtins;
use super::flow::Flow;
use super::state::{NO_FUNCTION, State, Variable};
use super::value::{Field, Text};
use super::variables::is_harmless;
use super::walk::Walker;

/// Folders whose programs are the ones that a bare name finds.
const SEARCH_PATH: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

impl Walker<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, redirects: &[Redirect]) {
        let ways = self.ways(&simple.words);
        let fields = ways.first().map(Vec::as_slice).unwrap_or_default();
        if ways.len() > 1 && !simple.assignments.is_empty() && ways.iter().any(Vec::is_empty) {
            self.unknown("whether a command stands behind the assignments is not known before it runs");
        }
        for assignment in &simple.arrays {
            let value = self.assigned(assignment);
            self.own_variable(&assignment.name);
            self.assign(&assignment.name, value);
        }
        let redirected = self.redirects(redirects);
        if ways.iter().all(Vec::is_empty) {
            self.assignments(&simple.assignments);
            // `$(<file)` and `>file` alone.
            let reads = redirects.iter().any(|redirect| matches!(redirect.to, checkrein_shell::Target::Read(_)));
            self.output = if reads { self.stdin.clone() } else { Flow::Nothing };
        } else {
            let outer = self.state.exported.len();
            let mut shadowed = Vec::new();
            for assignment in &simple.assignments {
                let value = self.assigned(assignment);
                let text = value.values.first().cloned().unwrap_or_else(|| Text::any("..."));
                let name = &assignment.name;
                // `IFS= read` concerns `read` alone.
                let own = name == "IFS" && fields.first().and_then(|field| field.text.as_known()) == Some("read");
                if !own && !is_harmless(name, &text) {
                    self.state.exported.push(format!("{name}={}", text.shown()));
                }
                shadowed.push((name.clone(), self.state.variables.insert(name.clone(), value)));
            }
            let own = outer..self.state.exported.len();
            self.one_of(&ways, |walker, fields| walker.run(fields));
            self.state.exported.drain(own);
            for (name, before) in shadowed.into_iter().rev() {
                match before {
                    Some(before) => self.state.variables.insert(name, before),
                    None => self.state.variables.remove(&name),
                };
            }
        }
        self.redirected(redirected);
    }

    /// One of several lists of fields is what is there; what holds afterwards holds for each of them.
    pub(super) fn one_of(&mut self, ways: &[Vec<Field>], mut run: impl FnMut(&mut Self, &[Field])) {
        self.either(ways, |walker, fields| run(walker, fields));
    }

    fn either<T>(&mut self, ways: &[T], mut run: impl FnMut(&mut Self, &T)) {
        if let [only] = ways {
            return run(self, only);
        }
        let (before, stdin) = (self.state.clone(), self.stdin.clone());
        let mut output = Flow::Nothing;
        let mut ends: Option<State> = None;
        for way in ways {
            (self.state, self.stdin) = (before.clone(), stdin.clone());
            run(self, way);
            output = output.or(std::mem::replace(&mut self.output, Flow::Nothing));
            match &mut ends {
                Some(ends) => ends.merge(&self.state),
                None => ends = Some(self.state.clone()),
            }
        }
        self.state = ends.unwrap_or(before);
        self.output = output;
    }

    /// Runs words as a command: the first is its name.
    pub(super) fn run(&mut self, fields: &[Field]) {
        self.deeper(|walker| walker.named(fields));
    }

    fn named(&mut self, fields: &[Field]) {
        let Some((first, arguments)) = fields.split_first() else { return };
        let Some(name) = first.text.as_known().map(str::to_owned) else {
            let shown = first.text.shown();
            if let Some(guess) = first.text.guess() {
                let mut fields = fields.to_vec();
                if let Some(first) = fields.first_mut() {
                    *first = Field::one(guess);
                }
                self.run(&fields);
            }
            if first.text.is_downloaded() {
                self.ran(&shown, fields, |run| run.deeds = vec![Deed::Code, Deed::Downloaded]);
            }
            return self.unknown(format!("which program `{shown}` is, is not known before it runs"));
        };
        if first.many {
            return self.unknown(format!("`{name}` may be the name of any program"));
        }
        if let Some(functions) = self.state.functions.get(&name).cloned().filter(|_| !name.contains('/')) {
            return self.functions(&name, &functions, arguments);
        }
        self.no_function(&name, arguments);
    }

    /// A built-in or a program.
    fn no_function(&mut self, name: &str, arguments: &[Field]) {
        match builtins::find(name) {
            Some(builtin) => builtin(self, name, arguments),
            None => self.program(name, arguments),
        }
    }

    /// One of them is what the name means.
    fn functions(&mut self, name: &str, functions: &[usize], arguments: &[Field]) {
        self.either(functions, |walker, function| {
            if *function == NO_FUNCTION {
                return walker.no_function(name, arguments);
            }
            let outer = walker.state.arguments.replace(arguments.into());
            walker.call(*function);
            walker.state.arguments = outer;
        });
    }

    /// The name that a model and an *allow* know a program by, where it is the one that a bare name finds.
    pub(super) fn bare_name(&self, name: &str) -> Option<String> {
        let bare = match name.rsplit_once('/') {
            None => name,
            Some((folder, bare)) if SEARCH_PATH.contains(&folder) => bare,
            Some(_) => return None,
        };
        Some(crate::paths::program_name(bare, self.scene.place.paths))
    }

    /// Notes that a program runs. `change` fills in what is known of it.
    pub(super) fn ran(&mut self, program: &str, fields: &[Field], change: impl FnOnce(&mut Run)) {
        let argv = fields.iter().map(|field| field.text.shown()).collect();
        let (env, folder) = (self.state.exported.clone(), self.folder());
        let (input, dynamic) = (self.input.clone(), is_dynamic(fields));
        let mut run = Run { program: program.to_owned(), argv, env, folder, input, dynamic, ..Run::default() };
        change(&mut run);
        self.note(Effect::Run(run));
    }

    /// Where a command starts; empty where that is not known.
    pub(super) fn folder(&self) -> String {
        self.state.folders.only().unwrap_or_default().to_owned()
    }

    /// Notes a built-in.
    pub(super) fn built_in(&mut self, name: &str, arguments: &[Field], deeds: &[Deed]) {
        let mut fields = vec![Field::from(name)];
        fields.extend_from_slice(arguments);
        let words = std::iter::once(name.to_owned())
            .chain(std::iter::once("--".to_owned()))
            .chain(arguments.iter().map(|field| field.text.shown()))
            .collect();
        self.ran(name, &fields, |run| {
            run.modelled = true;
            run.deeds = deeds.to_vec();
            run.words = words;
        });
    }

    /// Sets a variable whose name is a word.
    pub(super) fn assign_word(&mut self, name: &Text, value: Variable) {
        match name.as_known() {
            Some(known) if is_name(known) => self.assign(known, value),
            Some(known) if known.split('[').next().is_some_and(is_name) => {
                // The subscript is evaluated, once more.
                self.unknown(format!("the subscript in `{known}` is evaluated"));
            }
            _ => self.unknown(format!("which variable `{}` is, is not known before it runs", name.shown())),
        }
    }
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether some of the words are not known before they are there.
pub(super) fn is_dynamic(fields: &[Field]) -> bool {
    fields.iter().any(|field| field.many || !field.text.is_known())
}
