//! The report on a collection, for people and for programs.

use serde_json::{Value, json};

use super::code::Code;
use super::figures::thousands;
use super::picture::Picture;

/// The heading of what few documents have, and no struct reads.
pub(super) const CORRECTIONS: &str = "to correct, since the struct reads the other documents alone";

/// The findings about a collection.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) namespace: String,
    /// About how many documents there are.
    pub(super) documents: u64,
    /// How many of them were read.
    pub(super) read: u64,
    pub(super) is_all: bool,
    pub(super) kind: &'static str,
    pub(super) verdict: String,
    /// The candidates for key, time and array that were weighed.
    pub(super) weighed: Vec<String>,
    /// The corrections that let the struct read every document.
    pub(super) corrections: Vec<String>,
    pub(super) figures: Vec<String>,
    pub(super) code: Code,
    pub(super) pictures: Vec<Picture>,
    /// The code as the page shows it.
    pub(super) page_code: Code,
}

impl Findings {
    /// The report for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.namespace, self.reading())];
        lines.push(self.holds());
        lines.push(String::new());
        lines.push(format!("verdict: {}", self.verdict));
        lines.extend(section(CORRECTIONS, &self.corrections));
        lines.extend(section("weighed", &self.weighed));
        lines.extend(section("figures", &self.figures));
        if !self.code.rust.is_empty() {
            let needs = match self
                .code
                .rust
                .iter()
                .any(|line| line.starts_with("use serde::"))
            {
                true => "code (needs `bucket-runtime`, and `serde` with its feature `derive`)",
                false => "code (needs `bucket-runtime`)",
            };
            lines.extend(section(needs, &self.code.rust));
        }
        lines.extend(section("commands", &self.code.commands));
        lines
    }

    /// The kind of the collection, in a sentence.
    pub(super) fn holds(&self) -> String {
        match self.read {
            0 => format!("it is {}", self.kind),
            _ => format!("it holds {}", self.kind),
        }
    }

    pub(super) fn reading(&self) -> String {
        match self.is_all {
            _ if self.read == 0 => "its documents need not be read".to_owned(),
            true if self.read == 1 => "1 document, which was read".to_owned(),
            true => format!("{} documents, all of them read", thousands(self.read)),
            false => format!(
                "about {} documents, a sample of {} read: rarer fields and types may be missing below (`--all` reads all)",
                thousands(self.documents),
                thousands(self.read)
            ),
        }
    }

    /// The report for programs.
    pub(super) fn value(&self) -> Value {
        json!({
            "collection": self.namespace,
            "documents": self.documents,
            "read": self.read,
            "kind": self.kind,
            "verdict": self.verdict,
            "corrections": self.corrections,
            "weighed": self.weighed,
            "figures": self.figures,
            "code": self.code.rust.join("\n"),
            "commands": self.code.commands,
        })
    }
}

/// A heading and its lines; nothing if there are no lines.
fn section(name: &str, lines: &[String]) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let mut all = vec![String::new(), name.to_owned()];
    all.extend(lines.iter().map(|line| match line.is_empty() {
        true => String::new(),
        false => format!("  {line}"),
    }));
    all
}
