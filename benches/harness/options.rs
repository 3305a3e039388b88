//! The figures to run.

use std::{env, time::Duration};

/// The command line after `cargo bench --`.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Run fewer rounds with less data, and write nothing.
    pub quick: bool,
    /// How much longer each round trip is to take, and write nothing.
    pub delay: Option<Duration>,
    /// Run figures that take minutes each, too.
    pub long: bool,
    words: Vec<String>,
}

impl Options {
    /// Reads the command line. `None` if `cargo bench` did not start this program, but for example
    /// `cargo test --benches`.
    #[must_use]
    pub fn from_arguments() -> Option<Self> {
        let mut arguments: Vec<String> = env::args().skip(1).collect();
        let before = arguments.len();
        arguments.retain(|argument| argument != "--bench");
        let benched = arguments.len() < before;
        let quick = arguments.iter().any(|argument| argument == "--quick");
        let long = arguments.iter().any(|argument| argument == "--long");
        let millis = (arguments.iter()).find_map(|argument| argument.strip_prefix("--delay="));
        let delay = millis.and_then(|millis| millis.parse().ok());
        arguments.retain(|argument| !argument.starts_with('-'));
        benched.then_some(Self {
            quick,
            delay: delay.map(Duration::from_millis),
            long,
            words: arguments,
        })
    }

    /// Whether the command line asks for a figure with this name.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Whether the command line asks for all figures, at full length.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_at_full_length() && self.words.is_empty()
    }

    /// Whether the command line asks for all figures of this theme, at full length.
    #[must_use]
    pub fn is_whole(&self, theme: &str) -> bool {
        let is_named = self.words.is_empty() || self.words.iter().any(|word| word == theme);
        self.is_at_full_length() && is_named
    }

    fn is_at_full_length(&self) -> bool {
        !self.quick && self.delay.is_none()
    }

    /// Chooses the number of rounds, items or calls for a full or a quick run.
    #[must_use]
    pub fn pick(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}
