//! Private keys in PEM form, first line to last.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::redact::Detector;

pub(crate) const DETECTOR: Detector = Detector { name: "private-key", find };

fn find(text: &str) -> Vec<Range<usize>> {
    static SHAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\z)")
            .ok()
    });
    if !text.contains("-----BEGIN ") {
        return Vec::new();
    }
    SHAPE.as_ref().map(|shape| shape.find_iter(text).map(|found| found.range()).collect()).unwrap_or_default()
}
