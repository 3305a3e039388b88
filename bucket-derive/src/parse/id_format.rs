//! The grammar of id formats: `literal {key} literal … {ordinal}`.
//!
//! This module reads the shape; `check` says which shapes are right.

use std::ops::Range;

/// The most fields that the runtime implements `Key` for.
pub(crate) const MAX_KEYS: usize = 6;

/// The unit of a time ordinal that is not in seconds.
pub(crate) const MILLIS: &str = "millis";

/// An id format as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IdFormat {
    pub(crate) parts: Vec<Part>,
}

/// A literal or a placeholder, and its place in the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) at: Range<usize>,
    pub(crate) kind: PartKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Literal(String),
    /// `{field}`, `{field:unit}` or `{field/window}`
    Field {
        name: String,
        suffix: Option<Suffix>,
    },
    /// `{#}`
    Number,
}

/// The unit or window that follows the field's name in a placeholder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Suffix {
    /// `:unit`
    Unit(String),
    /// `/window`
    Window(String),
}

/// A piece of the text that no format can have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The last placeholder, which orders the buckets of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordinal<'a> {
    Number,
    Time {
        field: &'a str,
        suffix: Option<&'a Suffix>,
    },
}

impl IdFormat {
    /// Reads a format; a part that cannot be read is reported and left out.
    pub(crate) fn parse(text: &str) -> (Self, Vec<SyntaxError>) {
        let mut parser = Parser {
            text,
            parts: Vec::new(),
            errors: Vec::new(),
        };
        parser.run();
        (
            Self {
                parts: parser.parts,
            },
            parser.errors,
        )
    }

    /// The ordinal: the last placeholder, if the format ends in it and something stands before it.
    pub(crate) fn ordinal(&self) -> Option<Ordinal<'_>> {
        match &self.parts.last()?.kind {
            PartKind::Literal(_) => None,
            PartKind::Number => Some(Ordinal::Number),
            PartKind::Field { name, suffix } => Some(Ordinal::Time {
                field: name,
                suffix: suffix.as_ref(),
            }),
        }
    }

    /// The names of the key fields, in order: the placeholders before the ordinal.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let before = match self.ordinal() {
            Some(_) => self.parts.len() - 1,
            None => self.parts.len(),
        };
        self.parts[..before]
            .iter()
            .filter_map(|part| match &part.kind {
                PartKind::Field { name, .. } => Some(name.as_str()),
                _ => None,
            })
    }

    /// The literal before the first key placeholder.
    pub(crate) fn head(&self) -> &str {
        match self.parts.first().map(|part| &part.kind) {
            Some(PartKind::Literal(text)) => text,
            _ => "",
        }
    }

    /// The literal after each key placeholder.
    pub(crate) fn after_key(&self) -> Vec<&str> {
        let after_placeholder = |pair: &'_ [Part]| !matches!(pair[0].kind, PartKind::Literal(_));
        self.parts
            .windows(2)
            .filter(|pair| after_placeholder(pair))
            .map(|pair| match &pair[1].kind {
                PartKind::Literal(text) => text.as_str(),
                _ => "",
            })
            .collect()
    }
}

struct Parser<'a> {
    text: &'a str,
    parts: Vec<Part>,
    errors: Vec<SyntaxError>,
}

impl Parser<'_> {
    fn run(&mut self) {
        let text = self.text;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                let message = format!(
                    "`{}` is not an escape: an id format cannot hold braces",
                    &rest[..2]
                );
                self.error(
                    at..at + 2,
                    message,
                    "use other punctuation, such as `_` or `:`",
                );
                at += 2;
            } else if rest.starts_with('{') {
                at = self.placeholder(at);
            } else if rest.starts_with('}') {
                self.error(
                    at..at + 1,
                    "`}` without `{` in the id format",
                    "remove it, or put `{` before the name of a field",
                );
                at += 1;
            } else {
                let end = at + rest.find(['{', '}']).unwrap_or(rest.len());
                let literal = PartKind::Literal(text[at..end].to_owned());
                self.parts.push(Part {
                    at: at..end,
                    kind: literal,
                });
                at = end;
            }
        }
    }

    /// Reads the placeholder that begins at `start`, and returns where it ends.
    fn placeholder(&mut self, start: usize) -> usize {
        let inside = start + 1;
        let rest = &self.text[inside..];
        let Some(length) = rest
            .find(['{', '}'])
            .filter(|end| rest[*end..].starts_with('}'))
        else {
            let end = inside + rest.find('{').unwrap_or(rest.len());
            let written = &self.text[start..end];
            let name = written.trim_end_matches(['_', ' ']);
            let help = format!("close it: `{name}}}{}`", written[name.len()..].trim_end());
            let message = format!("`{written}` in the id format is not closed");
            self.error(start..end, message, help);
            return end;
        };
        let end = inside + length + 1;
        if let Some(kind) = self.inside(&rest[..length], start..end) {
            self.parts.push(Part {
                at: start..end,
                kind,
            });
        }
        end
    }

    fn inside(&mut self, text: &str, at: Range<usize>) -> Option<PartKind> {
        let cut = text.find([':', '/']).unwrap_or(text.len());
        let (name, suffix) = text.split_at(cut);
        if text == "#" {
            return Some(PartKind::Number);
        }
        if name == "#" {
            self.error(
                at,
                format!("`{{{text}}}`: a number has no unit and no window"),
                "write `{#}`",
            );
            return None;
        }
        if name.trim().is_empty() {
            let message = format!("`{{{text}}}` in the id format names no field");
            self.error(at, message, "name a field of the struct, or write `{#}`");
            return None;
        }
        let suffix = match suffix.split_at_checked(1) {
            Some((":", unit)) => Some(Suffix::Unit(unit.to_owned())),
            Some((_, window)) => Some(Suffix::Window(window.to_owned())),
            None => None,
        };
        // The database knows a raw identifier by its plain name.
        let name = name.strip_prefix("r#").unwrap_or(name).to_owned();
        Some(PartKind::Field { name, suffix })
    }

    fn error(&mut self, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.errors.push(SyntaxError {
            at,
            message: message.into(),
            help: help.into(),
        });
    }
}
