//! Redirections: files read and written, and what flows in and out.

use checkrein_contract::{Digest, Effect, Run};
use checkrein_shell::{Descriptor, Redirect, Target, Word};

use super::flow::Flow;
use super::value::Text;
use super::walk::Walker;

/// What redirections change for one command.
#[derive(Default)]
pub(super) struct Redirected {
    /// Files its output goes to.
    into: Vec<Text>,
    /// Its standard output goes nowhere further.
    away: bool,
}

impl Walker<'_> {
    /// Notes what redirections do by themselves, and sets what the command will read.
    pub(super) fn redirects(&mut self, redirects: &[Redirect]) -> Redirected {
        let mut redirected = Redirected::default();
        for redirect in redirects {
            if let Some(Descriptor::Variable(name)) = &redirect.descriptor {
                self.assign(name, super::state::Variable::one(Text::number()));
            }
            let first = |number: u32| match &redirect.descriptor {
                None => true,
                Some(Descriptor::Number(given)) => *given == number,
                Some(Descriptor::Variable(_)) => false,
            };
            match &redirect.to {
                Target::Read(word) => {
                    let text = self.target(word, Direction::Read);
                    if first(0) {
                        self.stdin = Flow::any(self.is_downloaded(&text));
                    }
                }
                Target::Write(word) | Target::Append(word) => {
                    let text = self.target(word, Direction::Write);
                    if first(1) {
                        redirected.away = true;
                    }
                    redirected.into.push(text);
                }
                Target::WriteBoth(word) | Target::AppendBoth(word) => {
                    let text = self.target(word, Direction::Write);
                    // Behind `>&` bash expands the value once more.
                    if text.as_known().is_some_and(|known| known.contains(['$', '`'])) {
                        self.unknown(format!("the redirection to `{}` is expanded again", text.shown()));
                    }
                    redirected.away = true;
                    redirected.into.push(text);
                }
                Target::ReadWrite(word) => {
                    _ = self.target(word, Direction::Read);
                    _ = self.target(word, Direction::Write);
                }
                Target::Duplicate { output, word } => self.duplicate(*output, word),
                Target::Here(word) => {
                    let text = self.single(word);
                    self.given(&text);
                    self.stdin = flow_of(&text);
                }
                Target::HereString(word) => {
                    let text = self.single(word);
                    self.given(&text);
                    self.stdin = match flow_of(&text) {
                        Flow::Known(text) => Flow::Known(text + "\n"),
                        other => other,
                    };
                }
            }
        }
        redirected
    }

    /// A text of the command line that commands read.
    fn given(&mut self, text: &Text) {
        self.input = Some(match (self.input.take(), text.as_known()) {
            (None, Some(known)) => format!("sha256:{}", Digest::of(known.as_bytes())),
            (Some(before), Some(known)) if before != Run::UNKNOWN => {
                format!("sha256:{}", Digest::of(format!("{before}\n{known}").as_bytes()))
            }
            _ => Run::UNKNOWN.to_owned(),
        });
    }

    /// After the command: what it wrote is in those files.
    pub(super) fn redirected(&mut self, redirected: Redirected) {
        if self.output.is_downloaded() {
            for text in &redirected.into {
                self.remember_download(text);
            }
        }
        if redirected.away {
            self.output = Flow::Nothing;
        }
    }

    /// `>&2`, `2>&1`, `<&-` copy or close; `>&name` where the shell can not see a number writes a file.
    fn duplicate(&mut self, output: bool, word: &Word) {
        let text = self.single(word);
        let copies = |text: &str| {
            let digits = text.strip_suffix('-').unwrap_or(text);
            digits.is_empty() || digits.bytes().all(|b| b.is_ascii_digit())
        };
        match text.as_known() {
            Some(known) if copies(known) => {}
            Some(_) if output => self.written(&text),
            Some(_) => self.read(&text),
            None => self.unknown(format!("where the redirection `>&{}` leads is not known", text.shown())),
        }
    }

    fn target(&mut self, word: &Word, direction: Direction) -> Text {
        // A pattern in a target stands for the one name it matches.
        let mut fields = self.fields(std::slice::from_ref(word));
        let text = if fields.len() == 1 { fields.remove(0).text } else { self.single(word) };
        match direction {
            Direction::Read => self.read(&text),
            Direction::Write => self.written(&text),
        }
        if let Some(path) = text.as_known()
            && (path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/"))
        {
            self.note(Effect::read(crate::paths::normalise(path)));
        }
        text
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Read,
    Write,
}

fn flow_of(text: &Text) -> Flow {
    match text.as_known() {
        Some(known) => Flow::Known(known.to_owned()),
        None => Flow::any(text.is_downloaded()),
    }
}
