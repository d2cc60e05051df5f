//! Walks a script as bash would run it, every branch of it, and notes what would happen.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use checkrein_contract::{Deed, Effect, Foreseen, Question, Run};
use checkrein_shell::{Command, Joiner, Kind, Pipeline, Script, Statement};

use super::flow::Flow;
use super::leaving::{Leaving, may_fail};
use super::links;
use super::state::{Folders, Otherwise, State};
use super::value::{Field, Text};
use crate::Scene;

/// Commands looked at in one call, those of loops and functions counted each time. 64 KiB, the longest line that is
/// followed, could hold eight times as many (`a;a;...`), but nothing that a person would approve.
const MOST_STEPS: u32 = 4_096;
/// How deep commands in commands are followed, whatever leads from one to the next: substitutions, groups, wrappers,
/// scripts. What a thread's stack holds in a debug build is about twice that.
const MOST_LEVELS: u32 = 80;
/// How deep a script in a script in a script is followed, and functions that call functions.
pub(super) const MOST_DEPTH: u32 = 12;

/// A function that the script defines.
struct Function {
    name: String,
    body: Rc<Command>,
    /// The script it stands in.
    script: u32,
    called: bool,
}

pub(crate) struct Walker<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) state: State,
    /// What the next command reads.
    pub(super) stdin: Flow,
    /// What the command line itself gives to commands to read, around the next one: see [`checkrein_contract::Run::input`].
    pub(super) input: Option<String>,
    /// What the last command wrote.
    pub(super) output: Flow,
    pub(super) depth: u32,
    level: u32,
    /// Functions that are running.
    active: Vec<usize>,
    functions: Vec<Function>,
    pub(super) leaving: Leaving,
    /// In a pipe, or in the background: what starts itself here does so without end.
    pub(super) beside: u32,
    /// Which script the commands stand in; with their position it tells them apart.
    pub(super) script: u32,
    scripts: u32,
    steps: u32,
    parts: Vec<(u32, u32)>,
    part: u32,
    effects: Vec<Effect>,
    numbers: Vec<u32>,
    /// Asked wherever paths are worked out, so that looking needs no right to change.
    questions: RefCell<BTreeSet<Question>>,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(scene: Scene<'a>) -> Self {
        let mut state = State { folders: Folders::one(scene.place.cwd.clone()), ..State::default() };
        state.arguments = Some(Rc::from([]));
        Self {
            scene,
            state,
            stdin: Flow::Nothing,
            input: None,
            output: Flow::Nothing,
            depth: 0,
            level: 0,
            active: Vec::new(),
            functions: Vec::new(),
            leaving: Leaving::default(),
            beside: 0,
            script: 0,
            scripts: 0,
            steps: 0,
            parts: Vec::new(),
            part: 0,
            effects: Vec::new(),
            numbers: Vec::new(),
            questions: RefCell::default(),
        }
    }

    /// Everything that was noted.
    pub(crate) fn finish(mut self) -> Foreseen {
        self.end();
        self.uncalled();
        let mut foreseen = Foreseen {
            effects: self.effects,
            questions: self.questions.into_inner().into_iter().collect(),
            parts: self.numbers,
        };
        foreseen.ask_about_paths();
        foreseen
    }

    /// Functions that nobody called: what they would do is judged as well, since something later may call them.
    fn uncalled(&mut self) {
        let mut next = 0;
        while let Some(function) = self.functions.get(next) {
            if !function.called {
                self.state.arguments = None;
                self.call(next);
            }
            next += 1;
        }
    }

    /// Notes an effect; through links that this call made, also the one on what they lead to.
    pub(super) fn note(&mut self, effect: Effect) {
        let through = if self.state.links.is_empty() { Vec::new() } else { links::through(&self.state.links, &effect) };
        self.note_at(self.mark(), self.part, effect);
        for effect in through {
            self.note_at(self.mark(), self.part, effect);
        }
    }

    /// Notes an effect in front of those noted since a mark.
    pub(super) fn note_at(&mut self, mark: usize, part: u32, mut effect: Effect) {
        if let Effect::Run(run) = &mut effect {
            for path in &self.state.profile {
                let question = Question::Changed { path: path.clone() };
                if !run.rests_on.contains(&question) {
                    run.rests_on.push(question);
                    run.own.reads.push(path.clone());
                }
            }
        }
        let known = self.effects.iter().zip(&self.numbers).any(|(known, number)| *number == part && *known == effect);
        if !known {
            self.effects.insert(mark.min(self.effects.len()), effect);
            self.numbers.insert(mark.min(self.numbers.len()), part);
        }
    }

    pub(super) fn current_part(&self) -> u32 {
        self.part
    }

    pub(super) fn set_part(&mut self, part: u32) {
        self.part = part;
    }

    pub(super) fn unknown(&mut self, what: impl Into<String>) {
        self.note(Effect::unknown(what));
    }

    /// Asks a question about the world. The answer is there when the script is walked again.
    pub(super) fn ask(&self, question: Question) {
        if !self.scene.facts.has(&question) {
            self.questions.borrow_mut().insert(question);
        }
    }

    /// Effects that were noted before a mark.
    pub(super) fn effects_before(&self, mark: usize) -> impl Iterator<Item = &Effect> {
        self.effects.iter().take(mark)
    }

    pub(super) fn mark(&self) -> usize {
        self.effects.len()
    }

    /// Walks a text as a script of its own.
    pub(super) fn text(&mut self, text: &str) {
        if self.depth >= MOST_DEPTH {
            return self.unknown("scripts inside scripts, too deep to follow");
        }
        self.depth += 1;
        let outer = self.script;
        self.scripts += 1;
        self.script = self.scripts;
        match checkrein_shell::parse(text) {
            Ok(script) => self.script(&script),
            Err(broken) => {
                self.script(&broken.before);
                for piece in &broken.pieces {
                    self.script(piece);
                }
                self.part(broken.at as u32);
                self.unknown(format!("this is not a script that bash would read: {}", broken.reason));
            }
        }
        self.script = outer;
        self.depth -= 1;
    }

    pub(super) fn script(&mut self, script: &Script) {
        let mut all = Flow::Nothing;
        for statement in &script.statements {
            // Whether the last `cd` of the statement before worked is not known any more.
            self.settle();
            self.statement(statement);
            all = all.then(std::mem::replace(&mut self.output, Flow::Nothing));
        }
        self.output = all;
    }

    fn statement(&mut self, statement: &Statement) {
        if statement.background {
            self.beside += 1;
            self.in_child(|walker| walker.chain(statement));
            self.beside -= 1;
        } else {
            self.chain(statement);
        }
    }

    /// Pipelines joined by `&&` and `||`.
    fn chain(&mut self, statement: &Statement) {
        self.pipeline(&statement.first);
        let mut output = std::mem::replace(&mut self.output, Flow::Nothing);
        let (mut before, mut failed) = (&statement.first, None::<State>);
        // Where the shell is if the command before failed: where a `cd` began, or where it stands.
        let mut moved = self.state.otherwise.clone();
        for (joiner, pipeline) in &statement.rest {
            if let (true, Some(otherwise)) = (before.negated, &moved) {
                // `! cd x` works where the `cd` does not.
                self.state.folders.merge(&otherwise.folders);
                moved = None;
            }
            let skipped = self.state.clone();
            match joiner {
                // It runs only where the command before worked, a `cd` included.
                Joiner::And => {
                    self.state.otherwise = None;
                    if may_fail(before) {
                        let mut ended = State { otherwise: None, ..skipped.clone() };
                        if let Some(otherwise) = moved {
                            ended.folders = otherwise.folders;
                        }
                        failed.get_or_insert_with(|| ended.clone()).merge(&ended);
                    }
                }
                Joiner::Or => {
                    self.state.otherwise = None;
                    if let Some(otherwise) = moved {
                        self.state.folders = otherwise.folders;
                    }
                    if let Some(failed) = failed.take() {
                        self.state.merge(&failed);
                    }
                }
            }
            before = pipeline;
            self.pipeline(pipeline);
            moved = self.state.otherwise.clone();
            output = output.then(std::mem::replace(&mut self.output, Flow::Nothing));
            if *joiner == Joiner::Or {
                // Either this ran, or it was not needed.
                self.settle();
                self.state.merge(&skipped);
            } else if let Some(otherwise) = skipped.otherwise {
                // Where the shell is if something in an `&&` chain failed.
                Otherwise::merge(&mut self.state.otherwise, otherwise);
            }
        }
        if let Some(failed) = failed {
            self.or_not(failed);
        }
        self.output = output;
    }

    pub(super) fn settle(&mut self) {
        if let Some(otherwise) = self.state.otherwise.take().filter(|otherwise| otherwise.likely) {
            self.state.folders.merge(&otherwise.folders);
            // Nor is where `cd -` leads, if it never left.
            self.state.previous = Some(Folders { known: Vec::new(), unknown: true });
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [only] = pipeline.stages.as_slice() {
            return self.command(only);
        }
        let stdin = self.stdin.clone();
        self.beside += 1;
        for stage in &pipeline.stages {
            self.in_child(|walker| walker.command(stage));
            self.stdin = std::mem::replace(&mut self.output, Flow::Nothing);
        }
        self.beside -= 1;
        self.output = std::mem::replace(&mut self.stdin, stdin);
    }

    /// Numbers the command that stands at this place of the script.
    pub(super) fn part(&mut self, start: u32) {
        let place = (self.script, start);
        let index = self.parts.iter().position(|known| *known == place).unwrap_or_else(|| {
            self.parts.push(place);
            self.parts.len() - 1
        });
        self.part = index as u32;
    }

    /// Goes one level down, if there is one; what is deeper is not known.
    pub(super) fn deeper(&mut self, below: impl FnOnce(&mut Self)) {
        if self.level >= MOST_LEVELS {
            return self.unknown("commands inside commands, too deep to follow");
        }
        self.level += 1;
        below(self);
        self.level -= 1;
    }

    pub(super) fn command(&mut self, command: &Command) {
        self.deeper(|walker| walker.one(command));
    }

    fn one(&mut self, command: &Command) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            if self.steps == MOST_STEPS + 1 {
                self.unknown("it has more commands than are looked at");
            }
            return;
        }
        self.output = Flow::Nothing;
        let (stdin, input) = (self.stdin.clone(), self.input.clone());
        self.part(command.span.start);
        if let Kind::Simple(simple) = &command.kind {
            self.simple(simple, &command.redirects);
        } else {
            let redirected = self.redirects(&command.redirects);
            self.compound(&command.kind);
            self.redirected(redirected);
        }
        (self.stdin, self.input) = (stdin, input);
    }

    fn compound(&mut self, kind: &Kind) {
        match kind {
            Kind::Simple(_) => {}
            Kind::Group(script) => self.script(script),
            Kind::Subshell(script) => self.subshell(script),
            Kind::If { arms, otherwise } => self.branches(arms, otherwise.as_ref()),
            Kind::While { condition, body, .. } => self.repeat(&mut |walker| {
                walker.script(condition);
                walker.settle();
                walker.script(body);
            }),
            Kind::For { name, words, body, select } => self.each(name, words.as_deref(), body, *select),
            Kind::Count { head, body } => {
                for expression in head {
                    self.arithmetic(expression);
                }
                self.repeat(&mut |walker| walker.script(body));
            }
            Kind::Case { word, arms } => self.case(word, arms),
            Kind::Arithmetic(expression) => self.arithmetic(expression),
            Kind::Test(test) => self.conditional(test),
            Kind::Function { name, body } => {
                let body = Rc::new((**body).clone());
                let function = Function { name: name.clone(), body, script: self.script, called: false };
                self.state.functions.insert(name.clone(), vec![self.functions.len()]);
                self.functions.push(function);
            }
            Kind::Coprocess(body) => {
                self.beside += 1;
                let before = self.state.clone();
                let run =
                    Run { program: "coproc".into(), argv: vec!["coproc".into()], modelled: true, ..Run::default() };
                self.note(Effect::Run(Run { deeds: vec![Deed::Code], ..run }));
                self.command(body);
                self.state = before;
                self.beside -= 1;
            }
        }
    }

    pub(super) fn subshell(&mut self, script: &Script) {
        self.in_child(|walker| walker.script(script));
    }

    /// Does something as a shell of its own would.
    pub(super) fn in_child(&mut self, run: impl FnOnce(&mut Self)) {
        let before = self.state.clone();
        run(self);
        let after = std::mem::replace(&mut self.state, before);
        self.state.keep_from_child(&after);
    }

    /// Calls a function with the arguments that are set.
    pub(super) fn call(&mut self, index: usize) {
        let Some(function) = self.functions.get_mut(index) else { return };
        function.called = true;
        let (name, body, script) = (function.name.clone(), Rc::clone(&function.body), function.script);
        if self.active.contains(&index) {
            if self.beside > 0 {
                let argv = vec![name.clone()];
                self.note(Effect::Run(Run { program: name, argv, deeds: vec![Deed::Multiplies], ..Run::default() }));
            }
            return;
        }
        if self.depth >= MOST_DEPTH {
            return self.unknown("functions that call functions, too deep to follow");
        }
        self.depth += 1;
        self.active.push(index);
        let outer = std::mem::replace(&mut self.script, script);
        self.in_function(|walker| {
            walker.command(&body);
            walker.settle();
        });
        self.script = outer;
        self.active.pop();
        self.depth -= 1;
    }

    /// `"$@"`.
    pub(super) fn arguments(&self) -> Vec<Field> {
        match &self.state.arguments {
            Some(arguments) => arguments.to_vec(),
            None => vec![Field { text: Text::any("$@"), many: true }],
        }
    }
}
