//! Scripts for the oracle: nestings of everything bash has, soups of its tokens, and small damage to both.

mod tokens;

use tokens::TOKENS;

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    /// A new sequence.
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.get(self.below(from.len())).copied().unwrap_or_default()
    }
}

/// A script.
pub(crate) fn script(dice: &mut Dice) -> String {
    let mut text = match dice.below(3) {
        0 => soup(dice),
        _ => Grammar { dice }.whole(),
    };
    while dice.one_in(3) {
        damage(dice, &mut text);
    }
    // Much longer ones only take time.
    let end = (0..=text.len().min(1500)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text.truncate(end);
    text
}

/// Puts something in, or takes something out, at any place.
pub(crate) fn damage(dice: &mut Dice, text: &mut String) {
    let mut at = dice.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    match dice.below(5) {
        0 | 1 => text.insert_str(at, "\\\n"),
        2 => text.insert_str(at, dice.pick(TOKENS)),
        _ if at < text.len() => {
            text.remove(at);
        }
        _ => {}
    }
}

/// Tokens, one after the other.
fn soup(dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..2 + dice.below(16) {
        if dice.below(100) < 42 {
            text.push_str(&format!("c{}", 1 + dice.below(9)));
        } else {
            text.push_str(dice.pick(TOKENS));
        }
        if dice.one_in(4) {
            text.push(' ');
        }
    }
    text
}

/// Grows scripts by the grammar of bash.
struct Grammar<'d> {
    dice: &'d mut Dice,
}

impl Grammar<'_> {
    fn whole(&mut self) -> String {
        let depth = 1 + self.dice.below(3);
        let mut text = self.list(depth);
        // Some of the documents that begin in the middle end here.
        for end in ["F", "G"] {
            if text.contains(&format!("<<{end}")) {
                text.push_str(&format!("\nt $(c8)\n{end}\n"));
            }
        }
        text
    }

    fn name(&mut self) -> String {
        format!("c{}", 1 + self.dice.below(99))
    }

    fn any(&mut self, choices: &[fn(&mut Self, usize) -> String], depth: usize) -> String {
        let choice = choices.get(self.dice.below(choices.len()));
        choice.map(|choice| choice(self, depth)).unwrap_or_default()
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = self.command(depth);
        for _ in 0..self.dice.pick(&["", "", "x", "xx"]).len() {
            text.push_str(self.dice.pick(&[
                "; ",
                " && ",
                " || ",
                " | ",
                "\n",
                " & ",
                " ; # z $(c5) \n",
                " |& ",
                " &&\n",
                " |\n\n",
            ]));
            text.push_str(&self.command(depth.saturating_sub(1)));
        }
        text
    }

    fn inner(&mut self, depth: usize) -> String {
        if depth == 0 { self.name() } else { self.list(depth - 1) }
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.below(100) < 50 {
            return self.simple(depth);
        }
        self.any(COMPOUND, depth)
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = match self.dice.below(16) {
            0 => format!("A={} ", self.word(depth)),
            1 => "! ".to_owned(),
            2 => format!("a[$({})]=1 ; ", self.name()),
            3 => format!("A=({} {}) ; ", self.word(depth), self.word(depth)),
            4 => format!("B+={} ", self.word(depth)),
            5 => format!(
                "declare -a d=([{}]={} {}) ; ",
                self.dice.pick(&["1", "1 + 1", "$(c31)"]),
                self.word(depth),
                self.word(depth)
            ),
            6 => format!("{} ", self.redirect(depth)),
            7 => "time ".to_owned(),
            _ => String::new(),
        };
        text.push_str(&match self.dice.below(30) {
            0 => "$x".to_owned(),
            1 => self.word(depth),
            2 => format!("\"{}\"", self.name()),
            3 => format!("\\{}", self.name()),
            4 => "{c1,c2}".to_owned(),
            5 => format!("! {}", self.name()),
            _ => self.name(),
        });
        for _ in 0..self.dice.below(3) {
            text.push(' ');
            text.push_str(&self.word(depth));
        }
        if self.dice.one_in(5) {
            text.push(' ');
            text.push_str(&self.redirect(depth));
        }
        text
    }

    fn redirect(&mut self, depth: usize) -> String {
        match self.dice.below(13) {
            0 => format!("> \"f$({})\"", self.name()),
            1 => "2>&1".to_owned(),
            2 => format!("<<< {}", self.word(depth)),
            3 => format!("< <({})", self.name()),
            4 => format!("> >({})", self.name()),
            5 => "&>>f1".to_owned(),
            6 => ">&f2".to_owned(),
            7 => "{v}>f3".to_owned(),
            8 => ">|f'4 5'".to_owned(),
            9 => "2>>f6 >&-".to_owned(),
            10 => "<<'G'".to_owned(),
            11 => format!(">& {}", self.word(0)),
            _ => ">f".to_owned(),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        if depth == 0 { self.any(PLAIN, 0) } else { self.any(WORDS, depth) }
    }

    /// The inside of double quotes.
    fn quoted(&mut self, depth: usize) -> String {
        (0..self.dice.below(4))
            .map(|_| if depth == 0 { self.any(&QUOTED[..10], 0) } else { self.any(QUOTED, depth) })
            .collect()
    }

    /// What stands behind an operator in `${...}`.
    fn in_brace(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .dice
                .pick(&["w", "'}'", "\"}\"", "\\}", "", "a b", "$x", "*", "$'}'", "$';c91;'", "';c92;'", "\\;c93\\;"])
                .to_owned();
        }
        let choices: &[fn(&mut Self, usize) -> String] = &[
            |_, _| "w".to_owned(),
            |g, d| format!("\"{}\"", g.quoted(d - 1)),
            |_, _| "'}'".to_owned(),
            |g, d| format!("$({})", g.list(d - 1)),
            |g, _| format!("`{}`", g.name()),
            |g, d| format!("${{y:-{}}}", g.in_brace(d - 1)),
            |g, _| format!("<({})", g.name()),
        ];
        self.any(choices, depth)
    }

    /// The same inside double quotes.
    fn in_quoted_brace(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .dice
                .pick(&["w", "''", "\\}", "", "\"q\"", "'}'", "a b", "$';c94;'", "$'}'", "\";c95;\""])
                .to_owned();
        }
        let choices: &[fn(&mut Self, usize) -> String] = &[
            |_, _| "w".to_owned(),
            |_, _| "'".to_owned(),
            |_, _| "\"q\"".to_owned(),
            |g, d| format!("$({})", g.list(d - 1)),
            |g, _| format!("'$({})'", g.name()),
            |g, d| format!("\"{}\"", g.quoted(d - 1)),
            |g, _| format!("`{} \\\"a\\\"`", g.name()),
        ];
        self.any(choices, depth)
    }

    fn number(&mut self, depth: usize) -> String {
        let choices: &[fn(&mut Self, usize) -> String] = &[
            |_, _| "1 + 2".to_owned(),
            |_, _| "x".to_owned(),
            |_, _| "(1 + (2))".to_owned(),
            |_, _| "x = 3, y".to_owned(),
            |_, _| "\"1\"".to_owned(),
            |_, _| "1 ? 2 : 3".to_owned(),
            |g, d| format!("1 + $({})", g.inner(d)),
            |g, _| format!("z[$({})]", g.name()),
            |g, d| format!("${{x:-{}}}", g.in_brace(d.saturating_sub(1))),
            |g, _| format!("1 + `{}`", g.name()),
            |_, _| "${#x} << 2".to_owned(),
        ];
        self.any(choices, depth)
    }

    fn test(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        match self.dice.below(11) {
            0 => format!("-n {}", self.word(down)),
            1 => format!("{} == {}", self.word(down), self.word(down)),
            2 => format!("w =~ ^({}|$({}))$", self.dice.pick(&["a b", "[(]x)", "<", "#", "$", "'q)'"]), self.name()),
            3 => format!("{} -eq $({})", self.dice.pick(&["1", "x"]), self.name()),
            4 if depth > 0 => format!("( {} )", self.test(down)),
            5 if depth > 0 => {
                format!("{} {} {}", self.test(down), self.dice.pick(&["&&", "||", "&&\n"]), self.test(down))
            }
            6 => format!("! {}", self.test(down)),
            7 => format!("w != @(a|$({})|'b)')", self.name()),
            8 => "w < x".to_owned(),
            9 => format!("-f f{}", self.dice.pick(&["", "\n"])),
            _ => self.word(down),
        }
    }
}

const PLAIN: &[fn(&mut Grammar<'_>, usize) -> String] = &[
    |_, _| "w".to_owned(),
    |_, _| "\"w x\"".to_owned(),
    |g, _| {
        format!(
            "'{}'",
            g.dice.pick(&["x", "$(c7)", "#", "\"", "`c8`", "<<E", "\\", "a\\\nb", "", ";c95;", "$(c96)", "\n"])
        )
    },
    |_, _| "a\\ b".to_owned(),
    |g, _| {
        g.dice
            .pick(&[
                "$x",
                "{a,b}",
                "w#x",
                "é",
                "a=b",
                "a[1]=2",
                "~",
                "\\;c97\\;",
                "\\$\\(c98\\)",
                "\"\\`c99\\`\"",
                "x{1..3}y",
                "-n",
                "if",
                "}",
                "\\\"",
                "w\\\nx",
            ])
            .to_owned()
    },
    |g, _| {
        format!(
            "$'{}'",
            g.dice.pick(&[
                "q\\'r",
                "\\x41\\102",
                "a\\nb\\t",
                "\\cB",
                "\\u0041",
                "a\\0b",
                "\\q",
                "\\\\",
                ";c91;",
                "\\';c92;\\'",
                "\\x24(c93)",
                "`c94`"
            ])
        )
    },
];

const WORDS: &[fn(&mut Grammar<'_>, usize) -> String] = &[
    |g, _| g.any(PLAIN, 0),
    |g, _| g.any(PLAIN, 0),
    |g, d| format!("\"{}\"", g.quoted(d)),
    |g, d| format!("$({})", g.list(d - 1)),
    |g, _| format!("`{}`", g.name()),
    |g, d| format!("${{x:-{}}}", g.in_brace(d - 1)),
    |g, d| format!("${{x/{}/{}}}", g.in_brace(d - 1), g.in_brace(d - 1)),
    |g, d| format!("$(({}))", g.number(d - 1)),
    |g, d| format!("<({})", g.list(d - 1)),
    |g, d| format!("<(({}) )", g.list(d - 1)),
    |g, d| format!("\"${{x:-{}}}\"", g.in_quoted_brace(d - 1)),
    |g, d| format!("\"${{x{}{}}}\"", g.dice.pick(&["#", "%%", "^", "/"]), g.in_brace(d - 1)),
    |g, _| format!("`{} \\`{}\\``", g.name(), g.name()),
    |g, _| format!("`{} '\\\\\\`' \\$x`", g.name()),
    |g, d| format!("$[{}]", g.number(d - 1)),
    |g, _| format!("\"`{} \\\"w\\\"`\"", g.name()),
    |_, _| "${#x}".to_owned(),
    |g, d| format!("${{x#$({})}}", g.list(d - 1)),
    |g, d| format!("${{x:{}:{}}}", g.number(d - 1), g.number(d - 1)),
    |g, _| format!("${{a[$({})]}}", g.name()),
    |g, d| format!("$({} ) x", g.case(d - 1)),
    |g, d| format!("$( ({}) )", g.list(d - 1)),
    |g, d| format!("$(({});({}))", g.list(d - 1), g.list(d - 1)),
    |g, _| format!("$({} # it's )\n)", g.name()),
    |g, d| format!("\"$(({}))\"", g.number(d - 1)),
    |g, d| format!("$({}_ <<E\n{}\nE\n)", g.name(), g.quoted(d - 1).replace('"', "q")),
    |g, _| format!("$({} <<E)", g.name()),
    |g, d| format!("w{}w", g.word(d - 1)),
];

const QUOTED: &[fn(&mut Grammar<'_>, usize) -> String] = &[
    |_, _| "t ".to_owned(),
    |_, _| "'".to_owned(),
    |_, _| "#".to_owned(),
    |_, _| "\\\"".to_owned(),
    |_, _| "\\\\".to_owned(),
    |_, _| "\\`".to_owned(),
    |_, _| "$x".to_owned(),
    |_, _| ")".to_owned(),
    |_, _| "}\\\n".to_owned(),
    |_, _| "$".to_owned(),
    |g, d| format!("$({})", g.list(d - 1)),
    |g, _| format!("`{}`", g.name()),
    |g, d| format!("${{x:-{}}}", g.in_quoted_brace(d - 1)),
    |g, d| format!("$(({}))", g.number(d - 1)),
];

const COMPOUND: &[fn(&mut Grammar<'_>, usize) -> String] = &[
    |g, d| format!("{{ {}; }}", g.list(d - 1)),
    |g, d| format!("( {} )", g.list(d - 1)),
    |g, d| format!("({}){}", g.list(d - 1), g.dice.pick(&["", ">f", " 2>&1"])),
    |g, d| format!("if {}; then {}; else {}; fi", g.command(d - 1), g.list(d - 1), g.command(d - 1)),
    |g, d| {
        format!(
            "if ! {}\nthen {}\nelif {}; then {}; fi",
            g.command(d - 1),
            g.list(d - 1),
            g.command(0),
            g.command(d - 1)
        )
    },
    |g, d| g.case(d),
    |g, d| format!("for i in {}; do {}; done", g.word(d - 1), g.list(d - 1)),
    |g, d| format!("for ((i = 0; i < 1; i++)){}do {}; done", g.dice.pick(&[" ", "; ", "\n"]), g.list(d - 1)),
    |g, d| format!("while {}; do {}; break; done", g.command(d - 1), g.list(d - 1)),
    |g, d| format!("[[ {} ]]", g.test(d)),
    |g, d| format!("[[ {} ]]", g.test(d)),
    |g, d| format!("(( {} ))", g.number(d - 1)),
    |g, d| format!("(({}) )", g.list(d - 1)),
    |g, d| format!("(({}); ({}))", g.list(d - 1), g.list(d - 1)),
    |g, d| format!("time {}", g.command(d - 1)),
    |g, d| format!("coproc {{ {}; }}", g.list(d - 1)),
    |g, d| format!("{} {{ {}; }}; f", g.dice.pick(&["f()", "function f", "function f ()", "f ()\n"]), g.list(d - 1)),
    |g, d| g.document(d),
    |g, d| g.document(d),
    |g, d| format!("eval '{}'", g.list(d - 1).replace('\'', "q")),
];

impl Grammar<'_> {
    fn case(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        let pattern = self.dice.pick(&["x", "\"$(c4)\"", "*", "x|y", "[!a]"]);
        let end = self.dice.pick(&[";;", ";;", ";&", ";;&", "\n;;\n"]);
        let last = self.dice.pick(&[";;", "\n", ";"]);
        let (word, first, second) = (self.word(down), self.inner(down), self.command(down));
        format!("case {word} in w) {first}{end} ({pattern}) {second}{last} esac")
    }

    fn document(&mut self, depth: usize) -> String {
        let name = self.name();
        let open = self.dice.pick(&["<<E", "<<-E", "<<'E'", "<<\\E", "<< \"E\""]);
        let rest = match self.dice.below(6) {
            0 => format!("; {} ", self.simple(0)),
            1 => format!(" | {} ", self.simple(0)),
            2 => format!(" && {} ", self.simple(0)),
            3 => " <<F ".to_owned(),
            4 => format!(" {} ", self.word(depth - 1)),
            _ => " ".to_owned(),
        };
        let body = self.quoted(depth - 1).replace('"', "q");
        let tab = self.dice.pick(&["", "\t"]);
        format!("{name} {open}{rest}\n{tab}{body}\nE\n")
    }
}
