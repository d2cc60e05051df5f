//! The forms in which a value that is known may come back: as it is, and in the encodings that programs and protocols use.

/// Shortest value that is looked for in pieces of base64, bytes. What surrounds a value changes up to two letters at each of
/// its ends, and what is left of a shorter one has too few bits to be told from other base64.
const SHORTEST_IN_BASE64: usize = 12;
/// Shortest line of a value of several lines that is looked for by itself, bytes. Shorter ones are ordinary text.
const SHORTEST_LINE: usize = 16;

/// One form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Form {
    /// What to look for.
    pub(crate) bytes: Vec<u8>,
    /// The letter before it holds a part of the value too.
    pub(crate) letter_before: bool,
    /// So do the letters behind it.
    pub(crate) letters_behind: bool,
}

/// Every form of a value, each once.
pub(crate) fn forms(value: &str) -> Vec<Form> {
    let mut all = Vec::new();
    let mut whole = |bytes: Vec<u8>| all.push(Form { bytes, letter_before: false, letters_behind: false });
    whole(value.as_bytes().to_vec());
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE && *line != value);
    lines.for_each(|line| whole(line.as_bytes().to_vec()));
    for upper in [false, true] {
        whole(hex(value, "", upper));
        whole(percent(value, upper, false));
        whole(percent(value, upper, true));
    }
    let once = json(value);
    whole(json(&once).into_bytes());
    whole(once.replace('/', "\\/").into_bytes());
    whole(once.into_bytes());
    whole(html(value).into_bytes());
    whole(markdown(value).into_bytes());
    for alphabet in [STANDARD, URL_SAFE] {
        let encoded = base64(value.as_bytes(), alphabet);
        // Whole and by itself, without its padding: that may be missing.
        all.push(Form { bytes: encoded, letter_before: false, letters_behind: false });
        if value.len() >= SHORTEST_IN_BASE64 {
            all.extend((0..3).map(|shift| inside_base64(value.as_bytes(), alphabet, shift)));
        }
    }
    all.sort();
    all.dedup();
    all
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64 without padding.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..=chunk.len() {
            let index = bits >> (18 - 6 * letter) & 63;
            out.extend(usize::try_from(index).ok().and_then(|index| alphabet.get(index)));
        }
    }
    out
}

/// The letters that are the same whatever stands around the value, where it begins `shift` bytes behind a group of three.
fn inside_base64(value: &[u8], alphabet: &[u8; 64], shift: usize) -> Form {
    let shifted: Vec<u8> = std::iter::repeat_n(0, shift).chain(value.iter().copied()).collect();
    let encoded = base64(&shifted, alphabet);
    // Six bits a letter: the first that has only bits of the value, and the last.
    let from = (shift * 8).div_ceil(6);
    let to = shifted.len() * 8 / 6;
    let bytes = encoded.get(from..to).unwrap_or_default().to_vec();
    Form { bytes, letter_before: shift > 0, letters_behind: true }
}

fn hex(value: &str, before: &str, upper: bool) -> Vec<u8> {
    value
        .bytes()
        .map(|byte| if upper { format!("{before}{byte:02X}") } else { format!("{before}{byte:02x}") })
        .collect::<String>()
        .into_bytes()
}

/// Percent signs for all but what a URL leaves as it is; a blank may be a plus there.
fn percent(value: &str, upper: bool, plus: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            ' ' if plus => out.push(b'+'),
            plain if plain.is_ascii_alphanumeric() || "-._~".contains(plain) => out.push(plain as u8),
            other => out.extend(hex(other.encode_utf8(&mut [0; 4]), "%", upper)),
        }
    }
    out
}

fn json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

fn html(value: &str) -> String {
    let pairs = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    pairs.iter().fold(value.to_owned(), |text, (letter, name)| text.replace(*letter, name))
}

/// As `web_fetch` writes words of a page: with what Markdown would read as its own behind a backslash.
fn markdown(value: &str) -> String {
    let special = |letter: &char| "\\`*_[]".contains(*letter);
    let mut out = String::with_capacity(value.len());
    for letter in value.chars() {
        out.extend(Some(letter).filter(special).map(|_| '\\'));
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10, without padding.
        for (plain, encoded) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")]
        {
            assert_eq!(base64(plain.as_bytes(), STANDARD), encoded.as_bytes());
        }
        assert_eq!(base64(&[251, 255], URL_SAFE), b"-_8");
    }

    #[test]
    fn forms_of_a_value() {
        let all = forms("a b/c\"12345");
        let has = |text: &str| all.iter().any(|form| form.bytes == text.as_bytes());
        for text in
            ["a b/c\"12345", "6120622f63223132333435", "6120622F63223132333435", "a%20b%2Fc%2212345", "a+b%2fc%2212345"]
        {
            assert!(has(text), "{text}");
        }
        for text in [r#"a b/c\"12345"#, r#"a b/c\\\"12345"#, r#"a b\/c\"12345"#, "a b/c&quot;12345", "YSBiL2MiMTIzNDU"]
        {
            assert!(has(text), "{text}");
        }
        assert_eq!(
            forms("line number one here\nx").iter().filter(|form| form.bytes == b"line number one here").count(),
            1
        );
    }
}
