//! What is known of a text before it exists: some of it word by word, some of it not at all.

/// A stretch of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// These characters.
    Known(String),
    /// Characters nobody knows before it runs.
    Any {
        /// As it was written, for people.
        shown: String,
        /// It may be what was downloaded in the same call.
        downloaded: bool,
    },
    /// Most likely these characters; only the run will tell.
    Likely(String),
    /// What this pattern matches; a backslash makes a character literal.
    Glob(String),
    /// The path before it, or any path below that, whose last name matches one of these patterns (all where there is none).
    Below(Vec<String>),
}

/// A text, in stretches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<Piece>);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::known(text.to_owned())
    }
}

impl Text {
    pub(crate) fn known(text: String) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![Piece::Known(text)]) }
    }

    pub(crate) fn any(shown: impl Into<String>) -> Self {
        Self(vec![Piece::Any { shown: shown.into(), downloaded: false }])
    }

    pub(crate) fn downloaded(shown: impl Into<String>) -> Self {
        Self(vec![Piece::Any { shown: shown.into(), downloaded: true }])
    }

    /// The result of an arithmetic expression.
    pub(crate) fn number() -> Self {
        Self(vec![Piece::Glob(NUMBER.to_owned())])
    }

    pub(crate) fn likely(text: String) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![Piece::Likely(text)]) }
    }

    /// What it most likely is, where some of it is only likely.
    pub(crate) fn guess(&self) -> Option<Self> {
        if !self.0.iter().any(|piece| matches!(piece, Piece::Likely(_))) {
            return None;
        }
        let mut guess = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Likely(text) => guess.push_str(text),
                other => guess.push(other.clone()),
            }
        }
        Some(guess)
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The whole text, where all of it is known.
    pub(crate) fn as_known(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Known(text)] => Some(text),
            _ => None,
        }
    }

    /// Its known beginning; all of it where all is known.
    pub(crate) fn prefix(&self) -> &str {
        match self.0.first() {
            Some(Piece::Known(text)) => text,
            _ => "",
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.as_known().is_some()
    }

    /// Nothing of it is missing but names that patterns stand for.
    pub(crate) fn is_pattern(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Glob(_)))
            && !self.0.iter().any(|piece| matches!(piece, Piece::Any { .. } | Piece::Likely(_) | Piece::Below(_)))
    }

    /// The name filters of a text that stands for a tree.
    pub(crate) fn below(&self) -> Option<(&str, &[String])> {
        match self.0.as_slice() {
            [Piece::Known(root), Piece::Below(names)] => Some((root, names)),
            _ => None,
        }
    }

    pub(crate) fn is_downloaded(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Any { downloaded: true, .. }))
    }

    /// Whether it could begin with a dash, as an option does.
    pub(crate) fn may_be_option(&self) -> bool {
        match self.0.first() {
            None => false,
            Some(Piece::Known(text)) => text.starts_with('-'),
            Some(Piece::Any { .. } | Piece::Likely(_)) => true,
            Some(Piece::Glob(pattern)) => pattern.starts_with(['*', '?', '[', '-']) && pattern != NUMBER,
            // What stands before names that are walked over is a path.
            Some(Piece::Below(_)) => false,
        }
    }

    pub(crate) fn push(&mut self, piece: Piece) {
        match (self.0.last_mut(), piece) {
            (Some(Piece::Known(before)), Piece::Known(text)) => before.push_str(&text),
            (_, piece) => self.0.push(piece),
        }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Known(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Piece::Known(text.to_owned())),
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        for piece in other.0 {
            self.push(piece);
        }
        // `x=$x$x`, over and over.
        let bytes = |piece: &Piece| match piece {
            Piece::Known(text) | Piece::Likely(text) | Piece::Glob(text) => text.len(),
            // Small as they are, a thousand of them say no more than one.
            Piece::Any { .. } | Piece::Below(_) => LONGEST / 64,
        };
        if self.0.iter().map(bytes).sum::<usize>() > LONGEST {
            let downloaded = self.is_downloaded();
            self.0 = vec![Piece::Any { shown: "...".to_owned(), downloaded }];
        }
    }

    /// What stands behind the first `bytes` of its known beginning.
    pub(crate) fn skip(&self, bytes: usize) -> Self {
        let mut out = Self::default();
        let mut pieces = self.0.iter();
        if let Some(Piece::Known(text)) = self.0.first() {
            out.push_str(text.get(bytes..).unwrap_or_default());
            pieces.next();
        }
        for piece in pieces {
            out.push(piece.clone());
        }
        out
    }

    /// What a pattern would have to look like to match exactly this; `None` where something is not known at all.
    pub(crate) fn as_pattern(&self) -> Option<String> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) => out.push_str(&escaped(text)),
                Piece::Glob(pattern) => out.push_str(pattern),
                Piece::Any { .. } | Piece::Likely(_) | Piece::Below(_) => return None,
            }
        }
        Some(out)
    }

    /// For people, and for the words of a program.
    pub(crate) fn shown(&self) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) | Piece::Likely(text) => out.push_str(text),
                Piece::Any { shown, .. } => out.push_str(shown),
                Piece::Glob(pattern) => out.push_str(pattern),
                Piece::Below(_) => out.push_str("/..."),
            }
        }
        out
    }

    /// The script that it would be, each unknown stretch as an expansion of a variable that nobody knows.
    pub(crate) fn as_script(&self) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) | Piece::Likely(text) => out.push_str(text),
                Piece::Any { .. } | Piece::Glob(_) | Piece::Below(_) => out.push_str(UNKNOWN_VARIABLE),
            }
        }
        out
    }
}

/// Longest text that is followed, bytes; as long as a script may be.
const LONGEST: usize = 64 * 1024;

/// What a number matches.
const NUMBER: &str = "[0-9]*";

/// Stands in a script for text that is not known. What a script sets it to is not heeded.
pub(crate) const UNKNOWN_VARIABLE: &str = "${__unknown__}";

/// Puts a backslash before every character that means something in a pattern.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// One argument, or several of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: Text,
    /// It stands for any number of arguments, none included.
    pub(crate) many: bool,
}

impl Field {
    pub(crate) fn one(text: Text) -> Self {
        Self { text, many: false }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::one(text.into())
    }
}
