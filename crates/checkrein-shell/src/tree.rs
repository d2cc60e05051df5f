//! The tree of a script, as bash reads it: nothing is expanded and nothing is looked up.

/// Where something stands in the text: byte offsets, the end not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

/// Commands one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// In the order they run.
    pub statements: Vec<Statement>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The pipeline that always runs.
    pub first: Pipeline,
    /// The ones whose turn depends on what came before.
    pub rest: Vec<(Joiner, Pipeline)>,
    /// It ends with `&`.
    pub background: bool,
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joiner {
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// Commands joined by `|`. `a |& b` is held as `a 2>&1 | b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// `!` stands in front, an odd number of times.
    pub negated: bool,
    /// `time` stands in front.
    pub timed: bool,
    /// At least one, but for a bare `!` or `time`.
    pub stages: Vec<Command>,
}

/// One command with its redirections.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What kind it is.
    pub kind: Kind,
    /// Its redirections, in the order written.
    pub redirects: Vec<Redirect>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of command.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Assignments, then words; either may be absent.
    Simple(Simple),
    /// `{ ...; }`.
    Group(Script),
    /// `( ... )`.
    Subshell(Script),
    /// `if`, with its `elif`s as further arms (condition, body).
    If {
        /// Conditions and what they lead to.
        arms: Vec<(Script, Script)>,
        /// `else`.
        otherwise: Option<Script>,
    },
    /// `while` or `until`.
    While {
        /// `until`.
        until: bool,
        /// Runs before each round.
        condition: Script,
        /// Runs in each round.
        body: Script,
    },
    /// `for NAME in ...`, or `select NAME in ...`.
    For {
        /// The variable.
        name: String,
        /// The words; `None` stands for `"$@"`.
        words: Option<Vec<Word>>,
        /// Runs once for each.
        body: Script,
        /// It is `select`: the variable holds one of the words, `REPLY` anything.
        select: bool,
    },
    /// `for ((...;...;...))`.
    Count {
        /// The three expressions.
        head: [Arithmetic; 3],
        /// Runs in each round.
        body: Script,
    },
    /// `case WORD in ...`.
    Case {
        /// What is compared.
        word: Word,
        /// In the order written.
        arms: Vec<Arm>,
    },
    /// `((...))`.
    Arithmetic(Arithmetic),
    /// `[[ ... ]]`.
    Test(Test),
    /// `NAME() ...`. Redirections behind the body belong to the body.
    Function {
        /// Its name.
        name: String,
        /// Any compound command.
        body: Box<Command>,
    },
    /// `coproc [NAME] COMMAND`.
    Coprocess(Box<Command>),
}

/// An arm of `case`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// The patterns.
    pub patterns: Vec<Word>,
    /// What runs.
    pub body: Script,
    /// It ends with `;&` or `;;&`: what follows may run as well.
    pub falls_through: bool,
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simple {
    /// `NAME=VALUE` in front.
    pub assignments: Vec<Assignment>,
    /// The command and its arguments, before any expansion. For `declare`, `export`, `local`, `readonly` and `typeset` an
    /// array value stands in `arrays`.
    pub words: Vec<Word>,
    /// `declare -a x=(...)`: the arguments that are array assignments. They are not in `words`.
    pub arrays: Vec<Assignment>,
}

/// `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// `NAME[...]=`.
    pub subscript: Option<Word>,
    /// `+=`.
    pub append: bool,
    /// What it gets.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// What a variable is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One word; may have no parts.
    Word(Word),
    /// `( ... )`: elements, each with its `[subscript]=` if it has one.
    Array(Vec<(Option<Word>, Word)>),
}

/// A word before expansion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    /// One after the other, nothing between.
    pub parts: Vec<Part>,
    /// Where it stands.
    pub span: Span,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Bare characters: patterns, braces and a leading tilde in them mean what they mean to bash.
    Bare(String),
    /// Characters that mean themselves: `'...'`, `$'...'` (decoded), a character behind a backslash, and the plain stretches
    /// inside double quotes. An empty one stands for `''`.
    Quoted(String),
    /// `"..."` or `$"..."`: not split, no pattern. Its plain stretches are `Quoted`.
    Double(Vec<Part>),
    /// `$NAME`, `${...}`.
    Parameter(Box<Parameter>),
    /// `$(...)`, `` `...` ``, `$(<FILE)` (a script of one simple command without words and one input redirection).
    Command(Script),
    /// `$((...))`, `$[...]`.
    Arithmetic(Arithmetic),
    /// `<(...)`, or `>(...)` where `writes`.
    Process {
        /// `>(...)`.
        writes: bool,
        /// What runs.
        script: Script,
    },
}

/// An expansion of a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// A name, digits, or one of `@*#?-$!`.
    pub name: String,
    /// `${!NAME}`: the value is the name of another one. For `${!PREFIX*}` and `${!NAME[@]}` see `operation`.
    pub indirect: bool,
    /// `${NAME[...]}`.
    pub subscript: Option<Word>,
    /// What is done with the value.
    pub operation: Operation,
}

/// What an expansion does with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Nothing.
    Plain,
    /// `${#NAME}`.
    Length,
    /// `-`, `:-`: the word where there is no value.
    Default(Word),
    /// `=`, `:=`: the same, and the variable gets it.
    Assign(Word),
    /// `?`, `:?`: a message, and the shell ends, where there is no value.
    Require(Word),
    /// `+`, `:+`: the word where there is a value.
    Alternative(Word),
    /// `#`, `##`, `%`, `%%`: a pattern is cut off.
    Trim(Word),
    /// `/`, `//`, `/#`, `/%`: pattern and replacement.
    Replace(Word, Word),
    /// `:OFFSET:LENGTH`.
    Slice(Arithmetic, Option<Arithmetic>),
    /// `^`, `^^`, `,`, `,,`, `~`, `~~`, with an optional pattern.
    Case(Word),
    /// `@Q`, `@P` and the like: the letter.
    Transform(char),
    /// `${!PREFIX*}`, `${!PREFIX@}`, `${!NAME[@]}`: names or keys, not values.
    Names,
}

/// An arithmetic expression. It is not evaluated; what counts is what runs inside and which variables it looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arithmetic {
    /// The text as bash would expand it, like the inside of double quotes.
    pub parts: Vec<Part>,
    /// Names that its bare text reads (bash evaluates their values as expressions again), without duplicates.
    pub reads: Vec<String>,
    /// Names that it assigns (`=`, `+=`, `++` ...).
    pub sets: Vec<String>,
}

/// A conditional expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A word alone: true where it is not empty.
    Word(Word),
    /// `-f WORD` and the like.
    Unary(String, Word),
    /// `A == B`, `A -eq B`, `A =~ B`, `A < B` and the like. The right side of `==`, `!=` and `=~` is a pattern.
    Binary(Word, String, Word),
    /// `! A`.
    Not(Box<Test>),
    /// `A && B`.
    And(Box<Test>, Box<Test>),
    /// `A || B`.
    Or(Box<Test>, Box<Test>),
}

/// A redirection.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    /// The descriptor in front: a number, or the name of `{name}`.
    pub descriptor: Option<Descriptor>,
    /// What it does.
    pub to: Target,
    /// Where it stands.
    pub span: Span,
}

/// What stands in front of a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// `2>`.
    Number(u32),
    /// `{name}>`: the variable gets the number.
    Variable(String),
}

/// Where a redirection leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// `< WORD`.
    Read(Word),
    /// `> WORD`, `>| WORD`.
    Write(Word),
    /// `>> WORD`.
    Append(Word),
    /// `<> WORD`.
    ReadWrite(Word),
    /// `&> WORD`, `>& WORD` without a descriptor in front where the word is no number and no `-`.
    WriteBoth(Word),
    /// `&>> WORD`.
    AppendBoth(Word),
    /// `<&WORD`, `N>&WORD`, `>&2`, `<&-`: a number (perhaps with `-` behind it), `-`, or something to be expanded.
    Duplicate {
        /// `>&`.
        output: bool,
        /// The word behind.
        word: Word,
    },
    /// `<< WORD`, `<<- WORD`: the body. Its parts are one `Quoted` where the delimiter is quoted, else as inside double
    /// quotes.
    Here(Word),
    /// `<<< WORD`.
    HereString(Word),
}
