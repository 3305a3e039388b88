//! A progress bar on the terminal, and nothing elsewhere.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::figures::thousands;

/// A bar; it is gone once this value is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// A number that grows, of something without a known end.
    pub fn of(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        Self(bar.with_style(style(
            "{spinner} {human_pos} {msg}, {whole_per_sec}, {elapsed}",
        )))
    }

    /// A clock, while the server works for an unknown time.
    pub fn waiting(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar.with_style(style("{spinner} {msg}, {elapsed}")))
    }

    /// Shows how much is done.
    pub fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Shows how much of the whole is done, as a bar.
    pub fn set_of(&self, done: u64, all: u64) {
        if self.0.length().is_none() {
            self.0.set_style(style(
                "{bar:30} {human_pos} of {human_len}, {whole_per_sec}, {eta} left",
            ));
        }
        self.0.set_length(all);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The style of a template, in which `whole_per_sec` is the pace without digits after the point.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let pace = |state: &ProgressState, out: &mut dyn Write| {
        // There is nobody to tell if the terminal is gone.
        let _ = write!(out, "{}/s", thousands(state.per_sec() as u64));
    };
    style.with_key("whole_per_sec", pace)
}
