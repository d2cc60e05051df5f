//! Ways to write the same deed in other words of the shell. Part of what shows R13, R14.

/// What a way of writing needs of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Any text that bash reads.
    Text,
    /// One command of plain words, whose first is a name.
    Plain,
    /// The same, and the name is no word of the shell itself, so a file with that name runs.
    File,
}

/// One way to write a deed.
pub(crate) struct Wrap {
    pub(crate) name: &'static str,
    pub(crate) needs: Needs,
    pub(crate) write: fn(&str) -> String,
}

/// Ways that are looked through: a deny stays a deny.
pub(crate) const WRAPS: &[Wrap] = &[
    Wrap { name: "bash -c", needs: Needs::Text, write: |it| format!("bash -c {}", quoted(it)) },
    Wrap {
        name: "sh -c in bash -c",
        needs: Needs::Plain,
        write: |it| format!("bash -c {}", quoted(&format!("sh -c {}", quoted(it)))),
    },
    Wrap { name: "eval", needs: Needs::Text, write: |it| format!("eval {}", quoted(it)) },
    Wrap { name: "subshell", needs: Needs::Text, write: |it| format!("( {it}{})", end(it)) },
    Wrap { name: "group", needs: Needs::Text, write: |it| format!("{{ {it}{}}}", stop(it)) },
    Wrap { name: "true &&", needs: Needs::Text, write: |it| format!("true && {it}") },
    Wrap { name: "; true", needs: Needs::Text, write: |it| format!("{it}{}true", stop(it)) },
    Wrap { name: "if", needs: Needs::Text, write: |it| format!("if true; then {it}{}fi", stop(it)) },
    Wrap { name: "function", needs: Needs::Text, write: |it| format!("f() {{ {it}{}}}; f", stop(it)) },
    Wrap { name: "substitution", needs: Needs::Text, write: |it| format!("echo \"$({it}{})\"", end(it)) },
    Wrap { name: "negation", needs: Needs::Plain, write: |it| format!("! {it}") },
    Wrap { name: "env", needs: Needs::File, write: |it| format!("env {it}") },
    Wrap { name: "timeout", needs: Needs::File, write: |it| format!("timeout 5 {it}") },
    Wrap { name: "blanks", needs: Needs::Plain, write: |it| format!("  {} ", it.replace(' ', " \t ")) },
    Wrap { name: "line continuation", needs: Needs::Plain, write: |it| it.replace(' ', " \\\n ") },
    Wrap { name: "backslash", needs: Needs::Plain, write: |it| format!("\\{it}") },
    Wrap { name: "double quotes", needs: Needs::Plain, write: |it| around(it, |name| format!("\"{name}\"")) },
    Wrap { name: "single quotes", needs: Needs::Plain, write: |it| around(it, |name| format!("'{name}'")) },
    Wrap { name: "quotes inside", needs: Needs::Plain, write: |it| around(it, inside) },
    Wrap { name: "absolute path", needs: Needs::File, write: |it| format!("/usr/bin/{it}") },
    Wrap { name: "variable", needs: Needs::Plain, write: |it| around(it, |name| format!("x={name}; $x")) },
];

/// More of them, which are looked through as well.
pub(crate) const MORE: &[Wrap] = &[
    Wrap {
        name: "case",
        needs: Needs::Text,
        write: |it| format!("case x in x) {it}{}esac", if stop(it) == "; " { ";; " } else { "\n;; " }),
    },
    Wrap { name: "for", needs: Needs::Text, write: |it| format!("for i in 1; do {it}{}done", stop(it)) },
    Wrap { name: "while", needs: Needs::Text, write: |it| format!("while true; do {it}{}break; done", stop(it)) },
    Wrap { name: "else", needs: Needs::Text, write: |it| format!("if false; then :; else {it}{}fi", stop(it)) },
    Wrap { name: "false ||", needs: Needs::Text, write: |it| format!("false || {{ {it}{}}}", stop(it)) },
    Wrap { name: "true ||", needs: Needs::Text, write: |it| format!("true || {{ {it}{}}}", stop(it)) },
    Wrap { name: "&", needs: Needs::Plain, write: |it| format!("{it} &") },
    Wrap { name: "pipe", needs: Needs::Plain, write: |it| format!("{it} | cat") },
    Wrap { name: "pipe2", needs: Needs::Plain, write: |it| format!("true | {it}") },
    Wrap { name: "echo|bash", needs: Needs::Text, write: |it| format!("echo {} | bash", quoted(it)) },
    Wrap { name: "printf|sh", needs: Needs::Text, write: |it| format!("printf %s {} | sh", quoted(it)) },
    Wrap { name: "<<<", needs: Needs::Text, write: |it| format!("bash <<< {}", quoted(it)) },
    Wrap { name: "heredoc", needs: Needs::Text, write: |it| format!("bash <<'{0}'\n{it}\n{0}\n", mark(it)) },
    Wrap { name: "trap", needs: Needs::Text, write: |it| format!("trap {} EXIT", quoted(it)) },
    Wrap { name: "coproc", needs: Needs::Plain, write: |it| format!("coproc {it}") },
    Wrap { name: "time", needs: Needs::Plain, write: |it| format!("time {it}") },
    Wrap { name: "exec", needs: Needs::File, write: |it| format!("exec {it}") },
    Wrap { name: "command", needs: Needs::Plain, write: |it| format!("command {it}") },
    Wrap { name: "nohup", needs: Needs::File, write: |it| format!("nohup {it}") },
    Wrap { name: "nice", needs: Needs::File, write: |it| format!("nice -n 5 {it}") },
    Wrap { name: "setsid", needs: Needs::File, write: |it| format!("setsid {it}") },
    Wrap { name: "stdbuf", needs: Needs::File, write: |it| format!("stdbuf -oL {it}") },
    Wrap { name: "xargs", needs: Needs::File, write: |it| format!("echo | xargs {it}") },
    Wrap { name: "xargs2", needs: Needs::File, write: |it| format!("echo {it} | xargs env") },
    Wrap { name: "find", needs: Needs::File, write: |it| format!("find . -maxdepth 0 -exec {it} ';'") },
    Wrap { name: "env -S", needs: Needs::File, write: |it| format!("env -S {}", quoted(it)) },
    Wrap { name: "env -i", needs: Needs::File, write: |it| format!("env -i A=b {it}") },
    Wrap {
        name: "ansi",
        needs: Needs::Plain,
        write: |it| around(it, |n| format!("$'{}'", n.bytes().map(|b| format!("\\x{b:02x}")).collect::<String>())),
    },
    Wrap {
        name: "braces",
        needs: Needs::Plain,
        write: |it| {
            if it.contains(' ') && !it.contains(',') {
                format!("{{{}}}", it.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(","))
            } else {
                it.to_owned()
            }
        },
    },
    Wrap { name: "set", needs: Needs::Plain, write: |it| format!("set -- {it}; \"$@\"") },
    Wrap { name: "default", needs: Needs::Text, write: |it| format!("echo \"${{x:-$({it}{})}}\"", end(it)) },
    Wrap { name: "arith", needs: Needs::Text, write: |it| format!("echo $((1 + $({it}{})))", end(it)) },
    Wrap { name: "backtick", needs: Needs::Plain, write: |it| format!("echo `{it}`") },
    Wrap { name: "procsub", needs: Needs::Text, write: |it| format!("cat <({it}{})", end(it)) },
    Wrap {
        name: "heredoc subst",
        needs: Needs::Text,
        write: |it| format!("cat <<{0}\n$({it}{1})\n{0}\n", mark(it), end(it)),
    },
    Wrap { name: "assign", needs: Needs::Text, write: |it| format!("x=$({it}{})", end(it)) },
    Wrap { name: "[[", needs: Needs::Text, write: |it| format!("[[ -n $({it}{}) ]]", end(it)) },
    Wrap { name: "script", needs: Needs::Text, write: |it| format!("script -c {} /dev/null", quoted(it)) },
    Wrap { name: "watch", needs: Needs::Text, write: |it| format!("watch {}", quoted(it)) },
    Wrap { name: "dash", needs: Needs::Text, write: |it| format!("dash -c {}", quoted(it)) },
    Wrap { name: "zsh", needs: Needs::Text, write: |it| format!("zsh -c {}", quoted(it)) },
    Wrap { name: "bash -xec", needs: Needs::Text, write: |it| format!("bash -xec {} a b", quoted(it)) },
    Wrap { name: "bash -O", needs: Needs::Text, write: |it| format!("/bin/bash -O extglob --norc -c {}", quoted(it)) },
    Wrap { name: "busybox", needs: Needs::Text, write: |it| format!("busybox sh -c {}", quoted(it)) },
    Wrap { name: "var text", needs: Needs::Text, write: |it| format!("x={}; eval \"$x\"", quoted(it)) },
    Wrap { name: "var split", needs: Needs::Plain, write: |it| format!("x={}; $x", quoted(it)) },
    Wrap { name: "bash var", needs: Needs::Text, write: |it| format!("x={}; bash -c \"$x\"", quoted(it)) },
    Wrap { name: "positional", needs: Needs::Plain, write: |it| format!("bash -c '\"$@\"' _ {it}") },
    Wrap { name: "fn args", needs: Needs::Plain, write: |it| format!("f() {{ \"$@\"; }}; f {it}") },
    Wrap { name: "redirect", needs: Needs::Plain, write: |it| format!("{it} >/dev/null 2>&1") },
    Wrap { name: "redirect first", needs: Needs::Plain, write: |it| format!("</dev/null {it}") },
    Wrap { name: "assignment first", needs: Needs::Plain, write: |it| format!("A=b {it}") },
    Wrap { name: "comment", needs: Needs::Plain, write: |it| format!("{it} # --help") },
    Wrap { name: "select", needs: Needs::Text, write: |it| format!("select i in 1; do {it}{}done", stop(it)) },
    Wrap { name: "DEBUG", needs: Needs::Text, write: |it| format!("trap {} DEBUG; true", quoted(it)) },
    Wrap {
        name: "lastpipe",
        needs: Needs::Text,
        write: |it| format!("echo x | while read -r y; do {it}{}done", stop(it)),
    },
    Wrap { name: "mapfile2", needs: Needs::Text, write: |it| format!("printf -v x %s {}; eval \"$x\"", quoted(it)) },
    Wrap { name: "read", needs: Needs::Text, write: |it| format!("read -r x <<< {}; eval \"$x\"", quoted(it)) },
    Wrap { name: "catsub", needs: Needs::Text, write: |it| format!("eval \"$(echo {})\"", quoted(it)) },
    Wrap { name: "catsub2", needs: Needs::Text, write: |it| format!("eval \"$(cat <<'{0}'\n{it}\n{0}\n)\"", mark(it)) },
    Wrap { name: "if cond", needs: Needs::Text, write: |it| format!("if {it}{}then :; fi", stop(it)) },
    Wrap { name: "until cond", needs: Needs::Text, write: |it| format!("until {it}{}do :; done", stop(it)) },
    Wrap { name: "indirect fn", needs: Needs::Text, write: |it| format!("f() ( {it}{}); g() {{ f; }}; g", end(it)) },
    Wrap { name: "exit trap fn", needs: Needs::Text, write: |it| format!("f() {{ {it}{}}}; trap f EXIT", stop(it)) },
    Wrap {
        name: "export fn",
        needs: Needs::Text,
        write: |it| format!("f() {{ {it}{}}}; export -f f; bash -c f", stop(it)),
    },
    Wrap { name: "declare", needs: Needs::Text, write: |it| format!("declare x=$({it}{})", end(it)) },
    Wrap { name: "for list", needs: Needs::Text, write: |it| format!("for i in $({it}{}); do :; done", end(it)) },
    Wrap { name: "case word", needs: Needs::Text, write: |it| format!("case $({it}{}) in *) ;; esac", end(it)) },
    Wrap { name: "arr sub", needs: Needs::Text, write: |it| format!("a[$({it}{})]=1", end(it)) },
    Wrap { name: "flock", needs: Needs::Text, write: |it| format!("flock /tmp/l -c {}", quoted(it)) },
];

/// Ways after which what runs is not known, or not looked for: a deny may become an ask, and never more.
pub(crate) const HIDES: &[Wrap] = &[
    Wrap { name: "source", needs: Needs::Text, write: |it| format!("source <(echo {})", quoted(it)) },
    Wrap { name: "array", needs: Needs::Plain, write: |it| format!("a=({it}); \"${{a[@]}}\"") },
    Wrap {
        name: "alias",
        needs: Needs::Plain,
        write: |it| format!("shopt -s expand_aliases\nalias q={}\nq", quoted(it)),
    },
    Wrap { name: "mapfile", needs: Needs::Text, write: |it| format!("mapfile -C {} -c 1 a < notes.txt", quoted(it)) },
    Wrap { name: "dot stdin", needs: Needs::Text, write: |it| format!(". /dev/stdin <<< {}", quoted(it)) },
    Wrap { name: "BASH_ENV", needs: Needs::Text, write: |it| format!("BASH_ENV=<(echo {}) bash -c true", quoted(it)) },
    Wrap { name: "test -v", needs: Needs::Text, write: |it| format!("test -v 'a[$({it}{})]'", end(it)) },
    Wrap { name: "printf -v", needs: Needs::Text, write: |it| format!("printf -v 'a[$({it}{})]' x", end(it)) },
    Wrap { name: "PS4", needs: Needs::Text, write: |it| format!("PS4='$({it}{})'; set -x; true", end(it)) },
    Wrap { name: "@P", needs: Needs::Text, write: |it| format!("x='$({it}{})'; echo \"${{x@P}}\"", end(it)) },
    Wrap { name: "parallel", needs: Needs::File, write: |it| format!("parallel {it} ::: a") },
    Wrap { name: "strace", needs: Needs::File, write: |it| format!("strace {it}") },
    Wrap { name: "ssh", needs: Needs::Text, write: |it| format!("ssh localhost {}", quoted(it)) },
    Wrap {
        name: "git alias",
        needs: Needs::Text,
        write: |it| format!("git -c alias.x={} x", quoted(&format!("!{it}"))),
    },
    Wrap { name: "awk", needs: Needs::Plain, write: |it| format!("awk 'BEGIN {{ system(\"{it}\") }}'") },
    Wrap { name: "sed e", needs: Needs::Plain, write: |it| format!("sed '1e {it}' notes.txt") },
    Wrap { name: "perl", needs: Needs::Plain, write: |it| format!("perl -e 'system(\"{it}\")'") },
    Wrap {
        name: "tar",
        needs: Needs::Plain,
        write: |it| format!("tar -cf x.tar --checkpoint=1 --checkpoint-action=exec='{it}' src"),
    },
    Wrap { name: "make", needs: Needs::Plain, write: |it| format!("make --eval='x:\n\t{it}' x") },
];

impl Wrap {
    /// The command in other words, where this way fits it.
    pub(crate) fn of(&self, command: &str) -> Option<String> {
        let fits = match self.needs {
            Needs::Text => !command.ends_with('\\'),
            Needs::Plain => is_plain(command),
            Needs::File => is_plain(command) && !SHELL_WORDS.contains(&name(command)) && !name(command).contains('/'),
        };
        fits.then(|| (self.write)(command))
    }
}

/// One word for bash, whatever is in it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Words that bash runs itself, or that are part of its grammar: no file runs.
const SHELL_WORDS: [&str; 44] = [
    ":", ".", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "continue", "declare", "dirs",
    "disown", "echo", "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "help", "history", "jobs",
    "let", "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "source", "test",
    "trap", "type", "unset", "wait",
];
const GRAMMAR: [&str; 14] =
    ["case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select", "time", "while"];

fn name(command: &str) -> &str {
    command.split(' ').next().unwrap_or_default()
}

/// Words without anything that bash would read otherwise.
fn is_plain(command: &str) -> bool {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ':' | ',' | '@' | '+' | '=');
    let first = name(command);
    command.chars().all(plain)
        && first.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !first.contains('=')
        && !GRAMMAR.contains(&first)
}

fn around(command: &str, with: impl Fn(&str) -> String) -> String {
    let first = name(command);
    format!("{}{}", with(first), command.get(first.len()..).unwrap_or_default())
}

fn inside(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{first}''{rest}")
}

/// What ends a here-document: no line of the text.
fn mark(command: &str) -> String {
    format!("END-{}", command.len())
}

/// A line's end where what comes after would otherwise be part of a comment or a here-document.
fn end(command: &str) -> &'static str {
    if command.contains(['\n', '#']) || command.contains("<<") { "\n" } else { " " }
}

/// What ends a command.
fn stop(command: &str) -> &'static str {
    match end(command) {
        " " if command.trim_end().ends_with(['&', ';']) => " ",
        " " => "; ",
        _ => "\n",
    }
}
