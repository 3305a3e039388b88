//! Collects every mistake of one pass, and guesses what was meant.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;
use syn::Error;

/// The mistakes found so far. Must be finished: a drop would lose them.
pub(crate) struct Errors {
    found: Option<Error>,
    finished: bool,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self {
            found: None,
            finished: false,
        }
    }

    /// Reports a mistake at all of `tokens`; `help` holds text to paste.
    pub(crate) fn push(
        &mut self,
        tokens: impl ToTokens,
        message: impl Display,
        help: impl Display,
    ) {
        self.add(Error::new_spanned(tokens, with_help(message, help)));
    }

    /// Reports a mistake at a part of a token.
    pub(crate) fn push_at(&mut self, span: Span, message: impl Display, help: impl Display) {
        self.add(Error::new(span, with_help(message, help)));
    }

    fn add(&mut self, error: Error) {
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// The value, unless there was a mistake.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, Error> {
        self.finished = true;
        match self.found.take() {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(
            self.finished || std::thread::panicking(),
            "bucket-derive: collected errors were dropped unread"
        );
    }
}

fn with_help(message: impl Display, help: impl Display) -> String {
    format!("{message}\nhelp: {help}")
}

/// Help for a word that is not one of those known: the one that is probably meant, or all of them.
pub(crate) fn help_for(word: &str, what: &str, known: &[&str]) -> String {
    match did_you_mean(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the {what} are `{}`", known.join("`, `")),
    }
}

/// The candidate that `word` is a likely misspelling of.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A third of the letters may be wrong: with more it is another word.
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of edits: a letter is inserted, deleted, replaced, or swapped with its neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (
        a.to_lowercase().chars().collect(),
        b.to_lowercase().chars().collect(),
    );
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
