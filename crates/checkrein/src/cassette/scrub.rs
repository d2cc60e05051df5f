//! What a cassette must not hold: secrets, found as everywhere, and the places of one machine and one session, which have
//! names in it. A place is known by its value, never by how it looks.

use std::sync::Arc;

use checkrein_contract::SessionOpened;
use checkrein_gate::Redactor;
use checkrein_journal::Names;
use checkrein_providers::Scrub;
use serde_json::Value;

struct Scrubber {
    redactor: Redactor,
    names: Names,
    /// Name and place, as they are put back.
    places: Vec<(String, String)>,
    /// Places as tools write them that make one word of a path, and their names.
    slugs: Vec<(String, String)>,
}

/// Shortest path that is looked for as one word: a shorter one would be found in ordinary text.
const SHORTEST_SLUG: usize = 6;

/// For a session that begins with this.
pub(crate) fn scrub_of(opened: &SessionOpened, redactor: &Redactor) -> Arc<dyn Scrub> {
    let place = &opened.place;
    let mut known = vec![("root", place.root.as_str()), ("cwd", place.cwd.as_str()), ("home", place.home.as_str())];
    known.extend(opened.folder.as_deref().map(|folder| ("folder", folder)));
    known.extend(opened.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    Arc::new(Scrubber::new(&known, redactor))
}

impl Scrubber {
    /// For these places; of those that are the same the first has the name.
    fn new(known: &[(&str, &str)], redactor: &Redactor) -> Self {
        let mut places: Vec<(String, String)> = Vec::new();
        let mut slugs = Vec::new();
        for (name, path) in known {
            let path = path.trim_end_matches('/');
            if path.starts_with('/') && !places.iter().any(|(_, there)| there == path) {
                places.push((format!("[place:{name}]"), path.to_owned()));
                if path.len() >= SHORTEST_SLUG {
                    slugs.push((format!("[slug:{name}]"), path.replace('/', "-")));
                }
            }
        }
        slugs.sort_by_key(|(_, slug)| std::cmp::Reverse(slug.len()));
        let names = Names::new(places.iter().map(|(name, path)| (path.as_str(), name.as_str())));
        Self { redactor: redactor.clone(), names, places, slugs }
    }
}

impl Scrub for Scrubber {
    fn hide(&self, value: Value) -> Value {
        // A secret may hold a place, so secrets are first; and what has a name now may look like one.
        let named = self.names.rename(self.redactor.value(value));
        let named = texts(named, &|text| put(text, self.slugs.iter().map(|(name, slug)| (slug, name))));
        self.redactor.value(named)
    }

    fn show(&self, value: Value) -> Value {
        texts(value, &|text| put(text, self.places.iter().chain(&self.slugs).map(|(name, place)| (name, place))))
    }
}

fn put<'a>(text: String, pairs: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    pairs.fold(text, |text, (from, to)| if text.contains(from) { text.replace(from, to) } else { text })
}

/// The value with every text in it changed, keys of objects included.
fn texts(value: Value, change: &dyn Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.into_iter().map(|item| texts(item, change)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (change(name), texts(value, change))).collect(),
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    /// A value that no pattern finds: it is known.
    const KNOWN: &str = "correct+horse/battery staple";

    fn scrubber() -> Scrubber {
        let secrets = BTreeMap::from([("SHOP".to_owned(), KNOWN.to_owned())]);
        let redactor = Redactor::knowing(&secrets).expect("few secrets");
        let places = [("root", "/home/dev/shop/"), ("cwd", "/home/dev/shop"), ("home", "/home/dev"), ("no", "rel")];
        Scrubber::new(&places, &redactor)
    }

    /// Whatever it stands in: a header, a query, a value, base64, the text of an error, a path, a path in one word. Doing it
    /// twice changes nothing, and no secret comes back.
    #[test]
    fn nothing_planted_is_left_and_twice_is_once() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let planted = [
            json!({ "headers": [["authorization", format!("Bearer {token}")], ["x-shop", KNOWN]] }),
            json!(format!("https://a.example/x?access_token={token}&y=correct%2Bhorse%2Fbattery%20staple")),
            json!({ "api_key": "hunter2hunter2", KNOWN: KNOWN }),
            json!("Y29ycmVjdCtob3JzZS9iYXR0ZXJ5IHN0YXBsZQ=="),
            json!(format!("status 400: `{token}` is no key; {KNOWN}")),
            json!({ "path": "/home/dev/shop/a.txt", "log": "/home/dev/.cache/x", "of": "file:///home/dev" }),
            json!("~/.agent/projects/-home-dev-shop/1.jsonl and -home-dev-other"),
            json!({ "frames": format!("data: {{\"text\":\"{token} in /home/dev/shop\"}}\n\n") }),
        ];
        let scrubber = scrubber();
        for value in planted {
            let once = scrubber.hide(value.clone());
            assert_eq!(scrubber.hide(once.clone()), once, "{value}");
            let text = once.to_string();
            for gone in ["/home/dev", "-home-dev", "ghp_", "hunter2", "correct+horse", "correct%2B", "Y29ycmVjd"] {
                assert!(!text.contains(gone), "{gone} of {value} in {text}");
            }
            let back = scrubber.show(once).to_string();
            assert!(!back.contains("ghp_") && !back.contains("hunter2") && !back.contains(KNOWN), "{back}");
        }
    }

    #[test]
    fn a_place_comes_back_as_this_sessions() {
        let scrubber = scrubber();
        let longer = format!("/home/dev{}", "el");
        let said = json!({ "/home/dev/shop": ["cd /home/dev/shop && ls /home/dev/x", "-home-dev-shop", longer] });
        let hidden = scrubber.hide(said.clone());
        let expected = json!({ "[place:root]": ["cd [place:root] && ls [place:home]/x", "[slug:root]", longer] });
        assert_eq!(hidden, expected);
        assert_eq!(scrubber.show(hidden.clone()), said);
        let elsewhere = Scrubber::new(&[("root", "/srv/s-1"), ("home", "/home/ops")], &Redactor::default());
        let there = json!({ "/srv/s-1": ["cd /srv/s-1 && ls /home/ops/x", "-srv-s-1", longer] });
        assert_eq!(elsewhere.show(hidden), there);
    }
}
