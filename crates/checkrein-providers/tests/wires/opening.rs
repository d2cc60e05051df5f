//! What a person is told who names a model that can not be opened.

use checkrein_providers::{Patience, WireProvider, wire_kinds};

fn refusal(model: &str, variables: &[(&str, &str)]) -> String {
    let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
    match WireProvider::open(model, variable, Patience::default()) {
        Ok(_) => format!("{model} was opened"),
        Err(why) => why,
    }
}

#[test]
fn what_is_missing_is_named() {
    let mut told = String::new();
    let key = ("ANTHROPIC_API_KEY", "k");
    let address = |address| [key, ("ANTHROPIC_BASE_URL", address)];
    for (model, variables) in [
        ("anthropic:m", &[][..]),
        ("anthropic:m", &[("ANTHROPIC_API_KEY", " \n")]),
        ("anthropic:m", &[("ANTHROPIC_API_KEY", "a\u{7}b")]),
        ("anthropic:", &[key]),
        ("anthropic:a b", &[key]),
        ("nobody:m", &[key]),
        ("anthropic:m", &address("http://models.example")),
        ("anthropic:m", &address("https://u:p@models.example")),
        ("anthropic:m", &address("models.example")),
        ("anthropic:m", &address("https://models.example/?a=b")),
        ("anthropic:m", &address("https://models.example/v1#x")),
        ("anthropic:m", &address("https://models.example/")),
        ("anthropic:m", &address("http://[::1]:8080")),
        ("anthropic:m", &[key]),
        ("compatible:m", &[]),
        ("compatible:http://127.0.0.1:8080/v1", &[]),
        ("compatible:http://models.example/v1#m", &[]),
        ("compatible:#m", &[]),
        ("compatible:http://127.0.0.1:8080/v1#m", &[]),
        ("compatible:https://models.example/v1#a/m:free", &[("COMPATIBLE_API_KEY", "k")]),
    ] {
        told.push_str(&refusal(model, variables));
        told.push('\n');
    }
    insta::assert_snapshot!(told);
}

#[test]
fn the_list_has_every_wire() {
    let kinds: Vec<String> = wire_kinds().map(|(_, form)| form).collect();
    assert_eq!(kinds, ["anthropic:NAME", "compatible:URL#NAME", "openai:NAME", "gemini:NAME"]);
}
