//! Groups of horizontal bars.

use std::fmt::Write as _;

use super::{COLORS, WIDTH, escape, frame};
use crate::{Samples, Unit, median, number};

const LEFT: f64 = 230.0;
const RIGHT: f64 = 140.0;
const ROW: f64 = 24.0;
const GAP: f64 = 18.0;

/// A chart of bars in groups; the bars of one group can be compared.
#[derive(Debug, Clone)]
pub struct Bars {
    title: &'static str,
    unit: Unit,
    groups: Vec<Group>,
}

#[derive(Debug, Clone)]
struct Group {
    label: String,
    bars: Vec<(String, f64)>,
}

impl Bars {
    /// A chart without bars.
    #[must_use]
    pub fn new(title: &'static str, unit: Unit) -> Self {
        Self {
            title,
            unit,
            groups: Vec::new(),
        }
    }

    /// Adds a group; its first bar is ours.
    #[must_use]
    pub fn group<'a>(
        mut self,
        label: impl Into<String>,
        bars: impl IntoIterator<Item = (&'a str, &'a Samples)>,
    ) -> Self {
        self.groups.push(Group {
            label: label.into(),
            bars: (bars.into_iter())
                .map(|(name, samples)| (name.to_owned(), median(samples)))
                .collect(),
        });
        self
    }

    pub(super) fn svg(&self) -> String {
        let mut drawing = String::new();
        let mut y = 44.0;
        for group in &self.groups {
            y += GAP;
            let _ = writeln!(
                drawing,
                r#"<text x="16" y="{y}">{}</text>"#,
                escape(&group.label)
            );
            y += 8.0;
            let most = group.bars.iter().map(|(_, value)| *value);
            let most = most.fold(f64::MIN_POSITIVE, f64::max);
            for (at, (name, value)) in group.bars.iter().enumerate() {
                // Every bar is visible, however short.
                let width = ((WIDTH - LEFT - RIGHT) * value / most).max(1.0);
                let (text, color) = (y + 16.0, COLORS[at.min(1)]);
                let _ = writeln!(
                    drawing,
                    r#"<text class="end" x="{:.0}" y="{text}">{}</text><rect x="{LEFT}" y="{:.0}" width="{width:.1}" height="16" rx="2" fill="{color}"/><text x="{:.1}" y="{text}">{} {}</text>"#,
                    LEFT - 10.0,
                    escape(name),
                    y + 3.0,
                    LEFT + width + 8.0,
                    number(*value),
                    self.unit.label(),
                );
                y += ROW;
            }
        }
        frame(y + 16.0, self.title, &drawing)
    }
}
