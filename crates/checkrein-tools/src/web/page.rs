//! A page as text: decoded as the server or the page says, HTML as Markdown. Pure.

use std::rc::Rc;

use checkrein_contract::Code;
use checkrein_gate::{Failure, redact_text};
use encoding_rs::{Encoding, UTF_8};
use htmd::{HtmlToMarkdown, Node};
use html5ever::tendril::TendrilSink as _;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::RcDom;
use tokio_util::sync::CancellationToken;

use crate::off_thread::go_on;

/// Elements within elements that are shown. Pages that people write stay below 100; what is deeper was made to break
/// those who read it.
const DEEPEST: usize = 512;
/// Room to walk that deep, bytes.
const STACK_BYTES: usize = 64 << 20;
/// How much of a page is read before it is looked at how deep it is, bytes.
const PIECE_BYTES: usize = 4_096;
/// How much of a page is looked at for what it says of its own encoding, bytes; browsers do the same.
const LOOKED_AT: usize = 1_024;
/// Elements of which nobody reads anything.
const SKIPPED: &[&str] = &["script", "style", "template", "svg", "iframe", "canvas", "object", "embed"];

/// A page as it is shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// It was HTML.
    pub(crate) converted: bool,
    /// Some bytes meant nothing in the encoding.
    pub(crate) lossy: bool,
    /// Something is nested too deeply, and left out.
    pub(crate) too_deep: bool,
}

/// Reads a body; `None` when it is no text.
///
/// # Errors
/// When nobody waits for it any more.
pub(crate) fn page(content_type: &str, body: &[u8], stop: &CancellationToken) -> Result<Option<Page>, Failure> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let html = matches!(essence.as_str(), "text/html" | "application/xhtml+xml");
    if !html && !essence.is_empty() && !is_text(&essence) {
        return Ok(None);
    }
    let said = parameter(content_type).or_else(|| if html { meta(body) } else { None });
    let encoding = said.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
    // A mark at the beginning counts over everything that is said.
    let (text, _, lossy) = encoding.decode(body);
    if text.contains('\0') {
        return Ok(None);
    }
    if !html {
        return Ok(Some(Page { text: text.into_owned(), lossy, ..Page::default() }));
    }
    // Markdown puts backslashes into what looks like its own, and a token is none any more then.
    let (text, too_deep) = on_a_large_stack(&redact_text(&text), stop)?;
    Ok(Some(Page { text, converted: true, lossy, too_deep }))
}

/// Types that are written for people to read, besides HTML.
fn is_text(essence: &str) -> bool {
    let Some((kind, name)) = essence.split_once('/') else { return false };
    let known = ["json", "xml", "javascript", "ecmascript", "yaml", "toml", "sql", "graphql", "x-ndjson", "x-sh"];
    let plain = name.trim_start_matches("x-");
    kind == "text"
        || kind == "application"
            && (known.contains(&name)
                || known.contains(&plain)
                || ["+json", "+xml", "+yaml"].iter().any(|end| name.ends_with(end)))
}

/// `charset=...` of a content type.
fn parameter(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    Some(charsets.next()?.1.trim().trim_matches('"').to_owned())
}

/// What a page says of its own encoding. An encoding that is not close to ASCII can not be named in it.
fn meta(body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(body.get(..LOOKED_AT).unwrap_or(body)).to_ascii_lowercase();
    let rest = head.split("<meta").skip(1).find_map(|rest| rest.split('>').next()?.split_once("charset="))?.1;
    let label = rest.trim_start_matches(['"', '\'', ' ']).split(['"', '\'', ' ', ';', '/']).next()?.to_owned();
    if label.starts_with("utf-16") { Some("utf-8".to_owned()) } else { Some(label) }
}

/// The converter walks a page by calling itself: it gets a stack that is deep enough, and a page that is not deeper.
fn on_a_large_stack(html: &str, stop: &CancellationToken) -> Result<(String, bool), Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || markdown(html, stop));
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(Failure::new(Code::ToolPanicked, "the page could not be read")),
            Err(error) => Err(Failure::new(Code::ToolFailed, "the page could not be read").because(error)),
        }
    })
}

fn markdown(html: &str, stop: &CancellationToken) -> Result<(String, bool), Failure> {
    let (tree, unread) = tree(html, stop)?;
    let too_deep = prune(&tree) || unread;
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    Ok((converter.tree_to_markdown(&tree), too_deep))
}

/// The page as a tree, and whether the rest of it was not read. The parser looks through all open elements at each tag,
/// so a page is read piece by piece: it ends where it is too deep, and where nobody waits for it any more.
fn tree(html: &str, stop: &CancellationToken) -> Result<(Rc<Node>, bool), Failure> {
    // Without scripts, since none is run here: what a page says to those without is text.
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let mut parser = parse_document(RcDom::default(), ParseOpts { tree_builder, ..ParseOpts::default() });
    let mut rest = html;
    while !rest.is_empty() {
        go_on(stop)?;
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(PIECE_BYTES));
        parser.process(piece.into());
        rest = behind;
        if open(&parser.tokenizer.sink.sink.document) > DEEPEST {
            break;
        }
    }
    Ok((parser.finish().document, !rest.is_empty()))
}

/// How deep the end of a page lies, so far.
fn open(document: &Rc<Node>) -> usize {
    let mut depth = 0;
    let mut node = Rc::clone(document);
    loop {
        let Some(last) = node.children.borrow().last().map(Rc::clone) else { return depth };
        (node, depth) = (last, depth + 1);
    }
}

/// Takes out what lies too deep, without calling itself. Whether there was something.
fn prune(tree: &Rc<Node>) -> bool {
    let mut cut = false;
    let mut todo = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = todo.pop() {
        let mut children = node.children.borrow_mut();
        if depth == DEEPEST && !children.is_empty() {
            cut = true;
            children.clear();
        }
        todo.extend(children.iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(content_type: &str, body: &[u8]) -> Option<Page> {
        super::page(content_type, body, &CancellationToken::new()).unwrap()
    }

    fn text(content_type: &str, body: &[u8]) -> Option<String> {
        page(content_type, body).map(|page| page.text)
    }

    #[test]
    fn html_is_shown_as_markdown() {
        let html = b"<!doctype html><title>T</title><style>p{}</style><script>evil()</script><h1>Head</h1>\
            <p>A <a href='/x'>link</a> and <code>code</code>.</p><ul><li>one<li>two</ul>\
            <noscript><p>without scripts</p></noscript>\
            <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre><code>x\n  y</code></pre>";
        insta::assert_snapshot!(text("text/html; charset=utf-8", html).unwrap());
    }

    #[test]
    fn text_is_what_people_can_read() {
        for kind in [
            "",
            "text/plain",
            "text/x-rust",
            "application/json",
            "application/problem+json; charset=utf-8",
            "application/atom+xml",
            "application/x-yaml",
            "TEXT/MARKDOWN",
        ] {
            assert_eq!(text(kind, b"a < b").as_deref(), Some("a < b"), "{kind}");
        }
        for kind in ["application/octet-stream", "image/png", "application/pdf", "nonsense"] {
            assert_eq!(text(kind, b"a"), None, "{kind}");
        }
        assert_eq!(text("text/plain", b"a\0b"), None);
    }

    #[test]
    fn it_is_decoded_as_it_says() {
        assert_eq!(text("text/plain; charset=iso-8859-1", b"caf\xe9").as_deref(), Some("caf\u{e9}"));
        assert_eq!(text("text/plain; Charset=\"Shift_JIS\"", b"\x82\xa0").as_deref(), Some("\u{3042}"));
        assert_eq!(text("text/html", b"<meta charset='latin1'>caf\xe9").as_deref(), Some("caf\u{e9}"));
        let old = b"<meta http-equiv=content-type content='text/html; charset=windows-1251'>\xcf";
        assert_eq!(text("text/html", old).as_deref(), Some("\u{41f}"));
        // The mark counts over what is said.
        assert_eq!(text("text/plain; charset=utf-8", b"\xff\xfea\0b\0").as_deref(), Some("ab"));
        assert!(page("text/plain", b"a\xff").unwrap().lossy);
    }

    /// A page that is nested without end breaks nobody, and says that something is missing.
    #[test]
    fn depth_is_bounded() {
        let deep = format!("before{}inside", "<div>".repeat(200_000));
        let page = page("text/html", deep.as_bytes()).unwrap();
        assert_eq!((page.text.as_str(), page.too_deep), ("before", true));
        let formats: String = (0..2_000).map(|n| format!("<b id={n}>")).collect();
        let html = format!("a{formats}<p>b<p>c<p>d");
        assert!(super::page("text/html", html.as_bytes(), &CancellationToken::new()).unwrap().unwrap().too_deep);
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(super::page("text/html", b"a", &stop).unwrap_err().code, Code::Cancelled);
    }
}
