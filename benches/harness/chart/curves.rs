//! Curves of times over lengths.

use std::fmt::Write as _;

use super::{COLORS, WIDTH, escape, frame};
use crate::{Samples, Unit, median, number};

const HEIGHT: f64 = 400.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 56.0;
/// From one name at the end of a curve to the next one.
const LINE: f64 = 16.0;

/// A chart of curves. The lengths are at equal distances, and the values on a logarithmic axis,
/// since they differ by orders of magnitude.
#[derive(Debug, Clone)]
pub struct Curves {
    title: &'static str,
    unit: Unit,
    axis: &'static str,
    lengths: Vec<usize>,
    curves: Vec<(&'static str, Vec<f64>)>,
}

impl Curves {
    /// A chart without points, for curves with these names; the first one is ours. `axis` describes
    /// the lengths.
    #[must_use]
    pub fn new<const N: usize>(
        title: &'static str,
        unit: Unit,
        axis: &'static str,
        names: [&'static str; N],
    ) -> Self {
        Self {
            title,
            unit,
            axis,
            lengths: Vec::new(),
            curves: names.map(|name| (name, Vec::new())).into(),
        }
    }

    /// Adds a point to each curve, in order.
    pub fn point<'a>(&mut self, length: usize, samples: impl IntoIterator<Item = &'a Samples>) {
        self.lengths.push(length);
        for ((_, values), samples) in self.curves.iter_mut().zip(samples) {
            values.push(median(samples));
        }
    }

    pub(super) fn svg(&self) -> String {
        let values = || self.curves.iter().flat_map(|(_, values)| values.iter());
        let low = values().copied().fold(f64::MAX, f64::min).log10().floor();
        let high = values().copied().fold(1.0, f64::max).log10().ceil();
        let y = |value: f64| {
            TOP + (HEIGHT - TOP - BOTTOM) * (high - value.log10()) / (high - low).max(1.0)
        };
        let steps = (self.lengths.len().max(2) - 1) as f64;
        let x = |at: usize| LEFT + (WIDTH - LEFT - RIGHT) * at as f64 / steps;

        let (left, unit) = (LEFT - 10.0, self.unit.label());
        let mut drawing = format!("<text class=\"end\" x=\"{left:.0}\" y=\"48\">{unit}</text>\n");
        for power in low as i32..=high as i32 {
            let value = 10_f64.powi(power);
            let _ = writeln!(
                drawing,
                r#"<line class="grid" x1="{LEFT}" x2="{:.1}" y1="{1:.1}" y2="{1:.1}"/><text class="end" x="{left:.0}" y="{2:.1}">{3}</text>"#,
                WIDTH - RIGHT,
                y(value),
                y(value) + 4.0,
                grouped(value),
            );
        }
        for (at, length) in self.lengths.iter().enumerate() {
            let _ = writeln!(
                drawing,
                r#"<text class="middle" x="{:.1}" y="{:.0}">{}</text>"#,
                x(at),
                HEIGHT - BOTTOM + 20.0,
                grouped(*length as f64),
            );
        }
        let _ = writeln!(
            drawing,
            r#"<text class="middle" x="{:.0}" y="{:.0}">{}</text>"#,
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 12.0,
            escape(self.axis),
        );
        self.draw(&mut drawing, &x, &y);
        frame(HEIGHT, self.title, &drawing)
    }

    /// Draws the curves, ours last so that it is on top, with their names at their ends.
    fn draw(&self, drawing: &mut String, x: &dyn Fn(usize) -> f64, y: &dyn Fn(f64) -> f64) {
        let mut names = Vec::new();
        for (at, (name, values)) in self.curves.iter().enumerate().rev() {
            let color = COLORS[at % COLORS.len()];
            let points = values.iter().enumerate();
            let points: Vec<_> = points
                .map(|(at, value)| format!("{:.1},{:.1}", x(at), y(*value)))
                .collect();
            let _ = writeln!(
                drawing,
                r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2.5"/>"#,
                points.join(" "),
            );
            for point in points {
                let (x, y) = point.split_once(',').unwrap_or_default();
                let _ = writeln!(
                    drawing,
                    r#"<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>"#
                );
            }
            names.extend(
                values
                    .last()
                    .map(|last| (y(*last) + 4.0, *name, *last, color)),
            );
        }
        // Names stand in the order of the ends, a line apart, and not below the axis.
        names.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free = f64::MIN;
        for (label, ..) in &mut names {
            *label = label.max(free);
            free = *label + LINE;
        }
        free = HEIGHT - BOTTOM + 4.0;
        for (label, ..) in names.iter_mut().rev() {
            *label = label.min(free);
            free = *label - LINE;
        }
        for (label, name, last, color) in names {
            let _ = writeln!(
                drawing,
                r#"<text x="{:.1}" y="{label:.1}" style="fill: {color}">{} {}</text>"#,
                x(self.lengths.len() - 1) + 12.0,
                escape(name),
                number(last),
            );
        }
    }
}

/// A round number without decimals.
fn grouped(value: f64) -> String {
    if value < 1000.0 {
        format!("{value}")
    } else {
        number(value)
    }
}
