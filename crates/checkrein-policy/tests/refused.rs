//! Files with a mistake in them: each is refused, at its line, in words that say what to write instead.

use checkrein_contract::{Code, Identity, Layer, Place, PolicySource, Verdict};
use checkrein_policy::{Manifest, Models, Policy, Source, Variables, refuse_unreadable};

fn load(text: String) -> Result<Policy, String> {
    let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
    let source = PolicySource { layer: Layer::Project, file: "p.toml".to_owned(), text, only_tightens: false };
    Policy::load(&[source], &Variables::new(&place, &Identity::default())).map_err(|error| error.to_string())
}

/// One rule on lines 2 to 6; what the case is about begins on line 6.
fn rule(decision: &str, rest: &str) -> String {
    format!("version = 1\n[[rule]]\nid = \"r\"\nreason = \"r\"\ndecision = \"{decision}\"\n{rest}\n")
}

fn refused(text: &str, line: usize, expected: &str) {
    let error = load(text.to_owned()).map(|_| ()).expect_err(text);
    assert!(error.starts_with(&format!("p.toml:{line}:")), "{error}\n{text}");
    assert!(error.contains(expected), "{expected}\nin {error}\nof {text}");
}

#[test]
fn the_head_of_a_file() {
    for (text, line, expected) in [
        ("version = 2", 1, "version 2 is not known here; this program reads version 1"),
        ("version = 1\ndefault = \"allow\"", 2, "what no rule speaks of is never allowed"),
        ("version = 1\ndefault = \"dany\"", 2, "`default = \"dany\"` is neither `ask` nor `deny`"),
        ("version = 1\non_ask = \"pass\"", 2, "`on_ask = \"pass\"` is neither `pause` nor `deny`"),
    ] {
        refused(text, line, expected);
    }
    let twice =
        rule("ask", "effect = \"read\"") + "[[rule]]\nid = \"r\"\nreason = \"x\"\ndecision = \"ask\"\neffect = \"run\"";
    refused(&twice, 8, "a rule `r` stands above already; ids are used once");
    assert!(load("version = 1\ndefault = \"ask\"\non_ask = \"pause\"".to_owned()).is_ok());
}

#[test]
fn what_every_rule_says() {
    let plain = rule("ask", "effect = \"read\"");
    refused(&plain.replace("id = \"r\"", "id = \"\""), 3, "a rule needs an `id`");
    refused(&plain.replace("reason = \"r\"", "reason = \" \""), 2, "rule `r` needs a `reason`");
    refused(&plain.replace("\"ask\"", "\"alow\""), 5, "`decision = \"alow\"` is none of allow, ask, deny");
    refused(&plain.replace("\"read\"", "\"raed\""), 6, "rule `r`: `effect = \"raed\"` is no effect");
    refused(&rule("ask", "effect = \"read\"\nhosts = [\"a\"]"), 7, "`hosts` says nothing about `effect = \"read\"`");
    // A rule that matches everything may ask or deny; an allow says what it is about.
    for (effect, keys) in [
        ("run", "`words`, `program` or `modelled`"),
        ("tool", "`tool`, `server` or `where`"),
        ("connect", "`hosts`"),
        ("write", "`paths`"),
    ] {
        let expected = format!("this rule would allow every `{effect}`: say which ({keys})");
        refused(&rule("allow", &format!("effect = \"{effect}\"")), 6, &expected);
        assert!(load(rule("ask", &format!("effect = \"{effect}\""))).is_ok());
    }
}

#[test]
fn rules_about_paths() {
    for (decision, rest, line, expected) in [
        ("allow", "effect = \"read\"\nexcept = [\"/a\"]", 7, "`except` without `paths` says nothing"),
        ("deny", "effect = \"read\"\ncontent = true", 7, "`content` without `paths` says nothing"),
        ("allow", "effect = \"read\"\npaths = []", 7, "`paths` is empty, so this rule can never match"),
        ("allow", "effect = \"read\"\npaths = [\"/a\"]\ncontent = true", 8, "narrows rules that ask about or deny"),
        ("deny", "effect = \"write\"\npaths = [\"/a\"]\ncontent = true", 8, "narrows rules that ask about or deny"),
        ("allow", "effect = \"read\"\npaths = [\"src/**\"]", 7, "`src/**` must begin with `/`, `**/`, `{root}` or"),
        ("allow", "effect = \"read\"\npaths = [\"/a/[\"]", 7, "`/a/[` is no pattern"),
        ("allow", "effect = \"read\"\npaths = [\"/a\"]\nexcept = [\"b\"]", 8, "`b` must begin with"),
    ] {
        refused(&rule(decision, rest), line, expected);
    }
}

#[test]
fn rules_about_programs() {
    for (decision, rest, expected) in [
        ("allow", "effect = \"run\"\nprogram = \"git status\"", "`words` takes arguments"),
        ("allow", "effect = \"run\"\nprogram = [\"ls\", \"\"]", "`program` holds ``, which is no program's name"),
        ("deny", "effect = \"run\"\nprogram = \"g[\"", "`g[`: "),
        ("allow", "effect = \"run\"\ndoes = [\"chnages\"]", "`does` holds `chnages`, which is no deed"),
        ("deny", "effect = \"run\"\nprogram = [\"ls\"]\nwords = [\"ls\"]", "mixes two kinds of rule"),
        ("allow", "effect = \"run\"\nwords = []", "`words` is empty, so this rule can never match"),
        ("allow", "effect = \"run\"\nwords = [\"git status\"]", "each entry is one word"),
    ] {
        let line = if expected.starts_with("mixes") { 3 } else { 7 };
        refused(&rule(decision, rest), line, expected);
    }
}

#[test]
fn rules_about_hosts() {
    for (decision, rest, expected) in [
        ("allow", "ports = [443]", "a rule that allows connections says which: `hosts`"),
        ("ask", "hosts = [\"a.example\", \"https://a.example\"]", "`https://a.example` is no host"),
        ("ask", "hosts = [\"a.*.example\"]", "`a.*.example` is no host"),
        ("ask", "hosts = [\"*.\"]", "`*.` is no host"),
        ("deny", "addresses = [\"privat\"]", "`addresses` holds `privat`, which is no kind of address"),
    ] {
        let line = if rest.starts_with("ports") { 6 } else { 7 };
        refused(&rule(decision, &format!("effect = \"connect\"\n{rest}")), line, expected);
    }
    assert!(load(rule("deny", "effect = \"connect\"\nhosts = [\"*\", \"2001:db8::1\", \"*.a.example\"]")).is_ok());
}

#[test]
fn rules_about_tools() {
    for (decision, rest, expected) in [
        ("allow", "tool = \"\"", "an empty name, so this rule can never match"),
        ("allow", "tool = \"pay*\"", "an allow rule names its tool exactly, without `*`"),
        ("deny", "tool = \"[\"", "`[`: "),
        ("allow", "tool = \"pay\"\nwhere.amount = {}", "`where.amount`: an empty condition; give `equals`"),
        ("allow", "tool = \"pay\"\nwhere.amount = { min = 2, max = 1 }", "`min` is above `max`"),
        ("allow", "tool = \"pay\"\nwhere.amount = { one_of = [] }", "`one_of` is empty"),
        ("allow", "tool = \"pay\"\nwhere.amount = { pattern = \"(\" }", "`pattern`: "),
    ] {
        let line = if rest.contains("where") { 8 } else { 7 };
        refused(&rule(decision, &format!("effect = \"tool\"\n{rest}")), line, expected);
    }
}

#[test]
fn a_rule_is_held_against_its_own_examples() {
    let words = "effect = \"run\"\nwords = [\"git\", \"status\"]\n";
    let rest = |more: &str| rule("allow", &format!("{words}{more}"));
    refused(&rest("matches = [\"git push\"]"), 8, "does not match its own example \"git push\"");
    refused(&rest("does_not_match = [\"git status -s\"]"), 8, "matches \"git status -s\", which it must not");
    refused(&rest("matches = [7]"), 8, "7 is no example of this kind of rule");
    refused(&rule("ask", "effect = \"read\"\nmatches = [\"/a\"]"), 7, "is no example of this kind of rule");
    let ports = |example: &str| format!("effect = \"connect\"\nhosts = [\"a.example\"]\nmatches = [\"{example}\"]");
    refused(&rule("ask", &ports("a.example:https")), 8, "is no example of this kind of rule");
    refused(&rule("ask", &ports("https://a.example:x/")), 8, "does not match its own example");
    for fine in ["a.example", "a.example:8080", "https://a.example/x"] {
        assert!(load(rule("ask", &ports(fine))).is_ok(), "{fine}");
    }
}

/// A call under a policy that can not be read is denied, with the mistake as the reason.
#[test]
fn nothing_runs_under_a_file_that_can_not_be_read() {
    let place = Place { root: "/p".into(), ..Place::default() };
    let text = "version = 9".to_owned();
    let source = PolicySource { layer: Layer::Project, file: "p.toml".to_owned(), text, only_tightens: false };
    let error = Policy::load(&[source], &Variables::new(&place, &Identity::default())).expect_err("version 9");
    let decision = refuse_unreadable(&error);
    assert_eq!((decision.verdict, decision.code), (Verdict::Deny, Code::Denied));
    assert!(decision.reason.starts_with("the policy can not be read: p.toml:1:"), "{}", decision.reason);
}

/// A tool of a task, with this in it.
fn tool(rest: &str) -> String {
    format!("version = 1\nname = \"pay\"\n{rest}\n")
}

#[test]
fn manifests_of_tools() {
    let text = "params.to = { type = \"string\" }\n";
    for (file, line, expected) in [
        (tool("").replace("version = 1", "version = 2"), 1, "this program reads version 1 of tool manifests"),
        (tool("").replace("\"pay\"", "\"pay me\""), 2, "`name = \"pay me\"`: use 1 to 64 letters"),
        (tool("").replace("\"pay\"", "\"*\""), 2, "use 1 to 64 letters"),
        (tool("timeout_s = 0"), 3, "`timeout_s` must be above 0"),
        (tool("argv = []"), 3, "`argv` is empty"),
        (
            tool("argv = [\"./pay\", \"{too}\"]\nparams.to = { type = \"string\", required = true }"),
            3,
            "is no parameter",
        ),
        (tool(&format!("argv = [\"./pay\", \"{{to}}\"]\n{text}")), 3, "`argv` uses `to`, which may be absent"),
        (tool("params.to = { type = \"string\", min = 1 }"), 3, "`params.to`: `min` and `max` are for numbers"),
        (tool("params.n = { type = \"integer\", pattern = \"x\" }"), 3, "`params.n`: `pattern` is for strings"),
        (tool("params.to = { type = \"string\", pattern = \"(\" }"), 3, "`params.to.pattern`: "),
        (
            tool("params.to = { type = \"string\", required = true, default = \"x\" }"),
            3,
            "`params.to` is required, so its default is never used",
        ),
        (tool("[[effects]]\nread = \"a\"\nwrite = \"a\""), 3, "an effect has exactly one of: "),
        (tool("[[effects]]\nraed = \"a\""), 3, "an effect has exactly one of: "),
        (tool("[[effects]]\nread = 7"), 3, "`read` must be a string"),
        (tool("[[effects]]\nread = \"a\"\ncwd = \"b\""), 3, "`cwd` says nothing beside `read`"),
        (tool("[[effects]]\nurl = \"{to}\"\ncwd = \"b\""), 3, "`cwd` says nothing beside `url`"),
        (
            tool(&format!("argv = [\"./pay\"]\n{text}[[effects]]\nread = \"{{too}}\"")),
            5,
            "`{too}`, which is no parameter",
        ),
    ] {
        let error = Manifest::load(Source { file: "t.toml", text: &file }).map(|_| ()).expect_err(&file).to_string();
        assert!(error.starts_with(&format!("t.toml:{line}:")), "{error}\n{file}");
        assert!(error.contains(expected), "{expected}\nin {error}\nof {file}");
    }
}

#[test]
fn models_of_commands() {
    let about = "[frob]\nabout = \"frobs\"\n";
    for (rest, expected) in [
        ("flags = \"-a -a\"", "`-a` is given twice"),
        ("flags = \"a\"", "`a` is no option"),
        ("flags = \"-\"", "`-` is no option"),
        ("options = \"-a\"", "`-a` has no `=ROLE`"),
        ("options = \"-a=raed\"", "`raed` is no role"),
        ("key_values = \"if\"", "`if` has no `=ROLE`"),
        ("stdin = \"sehll\"", "`stdin = \"sehll\"` is neither `shell` nor `code`"),
        ("operands = \"read* read* read*\"", "at most two places may take any number"),
        ("does = \"chnages\"", "`does`: `chnages` is no deed"),
        ("effects = [\"raed a\"]", "`raed` is no effect"),
        ("effects = [\"read\"]", "`read` has no target"),
        ("own = [\"delete a\"]", "`own`: `a` is neither read nor written"),
        ("drop_first = \"-z\"", "`-z` is none of its options"),
        ("like = \"frob\"", "`like` leads in a circle"),
        ("like = \"no-such\"", "there is no table `no-such`"),
    ] {
        let text = format!("{about}{rest}\n");
        let source = Source { file: "frob.toml", text: &text };
        let error = Models::built_in().with(&[source]).map(|_| ()).expect_err(&text).to_string();
        assert!(error.starts_with("frob.toml:1:") && error.contains("[frob]: "), "{error}");
        assert!(error.contains(expected), "{expected}\nin {error}\nof {text}");
    }
}
