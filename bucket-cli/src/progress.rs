//! A progress bar on the terminal, and nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar; it is gone once this value is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A clock, while the server works for an unknown time.
    pub(crate) fn waiting(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// A number that grows, of something without a known end.
    pub(crate) fn of(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        let template = format!("{{spinner}} {{human_pos}} {what}, {{per_sec}}, {{elapsed}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Shows how much of the whole is done, as a bar.
    pub(crate) fn set_of(&self, done: u64, all: u64) {
        let template = "{bar:30} {human_pos} of {human_len}, {per_sec}, {eta} left";
        if self.0.length().is_none()
            && let Ok(style) = ProgressStyle::with_template(template)
        {
            self.0.set_style(style);
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
