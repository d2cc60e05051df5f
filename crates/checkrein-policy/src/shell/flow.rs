//! What flows from one command to the next.

use super::value::Text;

/// What a command writes, or reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Flow {
    /// Nothing.
    #[default]
    Nothing,
    /// This text.
    Known(String),
    /// Names of files, one a line or behind a NUL each, which are these or lie below these.
    Names(Vec<Text>),
    /// Anything.
    Any {
        /// It may be what was downloaded in the same call.
        downloaded: bool,
    },
}

impl Flow {
    pub(crate) fn any(downloaded: bool) -> Self {
        Self::Any { downloaded }
    }

    pub(crate) fn is_downloaded(&self) -> bool {
        matches!(self, Self::Any { downloaded: true })
    }

    /// This, and then that.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Nothing, other) | (other, Self::Nothing) => other,
            (Self::Known(mut a), Self::Known(b)) => {
                a.push_str(&b);
                Self::Known(a)
            }
            (Self::Names(mut a), Self::Names(b)) => {
                a.extend(b);
                Self::Names(a)
            }
            (a, b) => Self::any(a.is_downloaded() || b.is_downloaded()),
        }
    }

    /// This, or that.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == other || other == Self::Nothing {
            self
        } else if self == Self::Nothing {
            other
        } else {
            Self::any(self.is_downloaded() || other.is_downloaded())
        }
    }

    /// The texts it may be as the value of a variable or of `$(...)`, the line breaks at its end cut off.
    pub(crate) fn as_text(&self, shown: &str) -> Text {
        match self {
            Self::Nothing => Text::default(),
            Self::Known(text) => Text::known(text.trim_end_matches('\n').to_owned()),
            Self::Names(_) => Text::any(shown),
            Self::Any { downloaded: true } => Text::downloaded(shown),
            Self::Any { downloaded: false } => Text::any(shown),
        }
    }
}
