//! Rules of other agents, carried over.

use std::path::Path;

use checkrein::hook::Caller;
use checkrein::import::import;
use insta::assert_snapshot;

const CLAUDE: &str = r#"{
  "model": "opus",
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash(git status)", "Bash(ls *)", "Read(src/**)", "Edit(/docs/**)",
      "WebFetch(domain:docs.rs)", "mcp__tracker__get_issue", "Bash(git * main)", "Bash(make && make test)"],
    "ask": ["Bash(git push:*)", "WebFetch"],
    "deny": ["Read(./.env)", "Read(~/.ssh/**)", "Read(//etc/passwd)", "Edit(conf/*.toml)", "mcp__shell", "Task(explore)", "Write(src/**)", 3],
    "additionalDirectories": ["../other"],
    "defaultMode": "acceptEdits"
  }
}"#;

const CODEX: &str = r#"
# Rules of a team.
prefix_rule(pattern = ["git", ["push", "fetch"]], decision = "prompt", match = ["git push origin"], justification = "seen by others")
prefix_rule(pattern=["rm", "-rf"], decision="forbidden",)
prefix_rule(pattern=["ls"])
network_rule(host="api.example.org", protocol="https", decision="allow")
network_rule(host="example.org", protocol="socks5_tcp", decision="deny")
host_executable(name="git", paths=["/usr/bin/git"])
for tool in ["a", "b"]:
    prefix_rule(pattern=[tool])
if False:
    prefix_rule(pattern=["sudo"])
NOTE = '''
prefix_rule(pattern=["never"])
'''
prefix_rule(pattern=["two"]) if False else None
"#;

/// What becomes of each rule, and what is listed because it has no counterpart.
#[test]
fn rules_of_claude_code() {
    let imported = import(Caller::Claude, Path::new("/p/.claude/settings.json"), CLAUDE).unwrap();
    assert_eq!((imported.rules, imported.left.len()), (14, 7), "{:#?}", imported.left);
    assert_snapshot!(imported.policy);
}

/// The same for the literal part of Codex's language; what is computed is listed.
#[test]
fn rules_of_codex() {
    let imported = import(Caller::Codex, Path::new("/h/.codex/rules/team.rules"), CODEX).unwrap();
    assert_eq!(imported.rules, 5, "nothing that is not run there: {}", imported.policy);
    assert_snapshot!(imported.policy);
}

/// A file that is something else is an error, and nothing is made of it.
#[test]
fn what_is_no_file_of_rules() {
    assert!(import(Caller::Claude, Path::new("settings.json"), "{ nonsense").is_err());
    assert!(import(Caller::Claude, Path::new("settings.json"), r#"{"permissions": {"allow": "all"}}"#).is_err());
    assert_eq!(import(Caller::Claude, Path::new("settings.json"), "{}").unwrap().rules, 0);
    for text in ["prefix_rule(", "prefix_rule(pattern=[\"a\"", "prefix_rule(pattern=[\"a\n\"])", "\u{1f600}"] {
        let imported = import(Caller::Codex, Path::new("x.rules"), text).unwrap();
        assert_eq!((imported.rules, imported.left.is_empty()), (0, false), "{text}");
    }
}
