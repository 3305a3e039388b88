//! What to run.

use std::env;

/// What was asked for on the command line, after `cargo bench --`.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Fewer rounds and less data; nothing is written.
    pub quick: bool,
    words: Vec<String>,
}

impl Options {
    /// Reads the command line; `None` if it is not `cargo bench` that started this program, as when
    /// `cargo test --benches` does.
    #[must_use]
    pub fn from_arguments() -> Option<Self> {
        let mut arguments: Vec<String> = env::args().skip(1).collect();
        let before = arguments.len();
        arguments.retain(|argument| argument != "--bench");
        let benched = arguments.len() < before;
        let quick = arguments.iter().any(|argument| argument == "--quick");
        arguments.retain(|argument| !argument.starts_with('-'));
        benched.then_some(Self {
            quick,
            words: arguments,
        })
    }

    /// Whether a figure of this name is asked for.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Whether all figures are asked for, at full length.
    #[must_use]
    pub fn is_full(&self) -> bool {
        !self.quick && self.words.is_empty()
    }

    /// The one or the other number of rounds, items or calls.
    #[must_use]
    pub fn pick(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}
