//! Axes and marks of inline SVG.

use std::ops::RangeInclusive;

use super::html::escape;
use crate::figures::thousands;

/// The width of a chart, which its column scales.
const WIDTH: f64 = 420.0;

/// Where each panel begins and ends from the left.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 404.0;

/// The height of a panel with its titles and the ticks below.
const ABOVE: f64 = 26.0;
const BELOW: f64 = 42.0;

/// Which values stand at which coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Scale {
    pub(super) fn linear(values: RangeInclusive<f64>) -> Self {
        Self {
            from: *values.start(),
            to: values.end().max(values.start() + 1e-9),
            is_log: false,
        }
    }

    /// A scale on which equal factors are equally far apart.
    pub(super) fn log(values: RangeInclusive<f64>) -> Self {
        Self {
            is_log: true,
            ..Self::linear(values)
        }
    }

    /// The place of a value: 0 at the begin, 1 at the end.
    fn share(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        share.clamp(0.0, 1.0)
    }

    /// Round values, about five of them.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let steps: &[f64] = match (self.to / self.from).log10() {
                decades if decades < 2.5 => &[1.0, 2.0, 5.0],
                _ => &[1.0],
            };
            let powers = (self.from.log10().floor() as i32)..=(self.to.log10().ceil() as i32);
            let every = (powers.clone().count()).div_ceil(7);
            let powers = powers.step_by(every).map(|power| 10_f64.powi(power));
            let all = powers.flat_map(|power| steps.iter().map(move |step| step * power));
            return all.filter(|tick| self.holds(*tick)).collect();
        }
        let rough = (self.to - self.from) / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(power);
        let first = (self.from / step).ceil() as i64;
        let all = (first..first + 12).map(|n| n as f64 * step);
        all.filter(|tick| self.holds(*tick)).collect()
    }

    fn holds(&self, value: f64) -> bool {
        (self.from * 0.999..=self.to * 1.001).contains(&value)
    }
}

/// An area with two axes.
#[derive(Debug)]
pub(super) struct Panel {
    x: Scale,
    y: Scale,
    top: f64,
    height: f64,
    marks: String,
}

impl Panel {
    /// A panel of this height, below whatever ends at `begin`.
    pub(super) fn new(x: Scale, y: Scale, begin: f64, height: f64) -> Self {
        Self {
            x,
            y,
            top: begin + ABOVE,
            height,
            marks: String::new(),
        }
    }

    /// The horizontal coordinate of a value.
    pub(super) fn x(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * self.x.share(value)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.share(value))
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Lines across the panel at round values, each with its text, below a title.
    pub(super) fn y_axis(&mut self, title: &str, text: impl Fn(f64) -> String) {
        self.text(0.0, self.top - 12.0, "title", title);
        for tick in self.y.ticks() {
            let y = self.y(tick);
            self.marks += &format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>\n");
            self.text(LEFT - 8.0, y + 4.0, "end", &text(tick));
        }
    }

    /// Texts beside the panel at values, below a title.
    pub(super) fn y_names(&mut self, title: &str, names: impl IntoIterator<Item = (f64, String)>) {
        self.text(0.0, self.top - 12.0, "title", title);
        for (value, name) in names {
            let y = self.y(value);
            self.text(LEFT - 8.0, y + 4.0, "end", &name);
        }
    }

    /// The base line, and texts below it.
    pub(super) fn x_axis(&mut self, title: &str, ticks: impl IntoIterator<Item = (f64, String)>) {
        let bottom = self.bottom();
        self.marks += &format!("<path class=\"base\" d=\"M{LEFT} {bottom:.1}H{RIGHT}\"/>\n");
        for (value, text) in ticks {
            let x = self.x(value);
            let end = bottom + 5.0;
            self.marks += &format!("<path class=\"base\" d=\"M{x:.1} {bottom:.1}V{end:.1}\"/>\n");
            self.text(x, bottom + 18.0, "middle", &text);
        }
        self.text(RIGHT, bottom + 36.0, "title end", title);
    }

    /// A bar between two values of each axis.
    pub(super) fn bar(&mut self, x: (f64, f64), y: (f64, f64), class: &str) {
        if y.1 <= y.0 {
            return;
        }
        let (left, right) = (self.x(x.0) + 0.75, self.x(x.1) - 0.75);
        let (low, high) = (self.y(y.0), self.y(y.1));
        // However small, something is seen.
        let high = high.min(low - 1.5);
        self.marks += &format!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{high:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
            (right - left).max(1.0),
            low - high
        );
    }

    /// A rectangle between two values of each axis, whose colour is as strong as a figure is high.
    pub(super) fn cell(&mut self, x: (f64, f64), y: (f64, f64), strength: f64, text: &str) {
        let (left, right) = (self.x(x.0), self.x(x.1));
        let (low, high) = (self.y(y.0), self.y(y.1));
        let text = escape(text);
        self.marks += &format!(
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill-opacity=\"{strength:.2}\"><title>{text}</title></rect>\n",
            high + 0.5,
            (right - left - 0.5).max(1.0),
            low - high - 1.0
        );
    }

    pub(super) fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, class: &str) {
        let points = points.into_iter();
        let points = points.map(|(x, y)| format!("{:.1} {:.1}", self.x(x), self.y(y)));
        let points = points.collect::<Vec<_>>().join("L");
        self.marks += &format!("<path class=\"{class}\" d=\"M{points}\"/>\n");
    }

    pub(super) fn dot(&mut self, x: f64, y: f64, class: &str) {
        let (x, y) = (self.x(x), self.y(y));
        self.marks += &format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n");
    }

    /// A line up the panel at a value, with a text beside its top.
    pub(super) fn upright(&mut self, x: f64, class: &str, text: &str) {
        let (share, x) = (self.x.share(x), self.x(x));
        let (top, bottom) = (self.top, self.bottom());
        self.marks += &format!("<path class=\"{class}\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>\n");
        match share > 0.6 {
            true => self.text(x - 5.0, top + 9.0, "mark end", text),
            false => self.text(x + 5.0, top + 9.0, "mark", text),
        }
    }

    /// Draws a horizontal line at a value, a recommendation or a limit, with a label below its left
    /// end.
    pub(super) fn across(&mut self, y: f64, text: &str, below: f64) {
        let y = self.y(y);
        self.marks += &format!("<path class=\"recommended\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>\n");
        self.text(LEFT + 6.0, y + below, "mark", text);
    }

    fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        if !text.is_empty() {
            let text = escape(text);
            self.marks +=
                &format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n");
        }
    }
}

/// A chart of panels one below another; `marks` cross them.
pub(super) fn chart(
    id: &str,
    title: &str,
    description: &str,
    panels: &[Panel],
    marks: &str,
) -> String {
    let height = panels.last().map_or(0.0, Panel::bottom) + BELOW;
    let body: String = panels.iter().map(|panel| &*panel.marks).collect();
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\">\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-text\">{}</desc>\n{body}{marks}</svg>\n",
        escape(title),
        escape(description)
    )
}

/// A line up all panels, which the slider moves.
pub(super) fn cursor(panels: &[Panel], x: f64) -> String {
    let top = panels.first().map_or(0.0, |panel| panel.top);
    let bottom = panels.last().map_or(0.0, Panel::bottom);
    format!(
        "<path class=\"cursor\" transform=\"translate({x:.1} 0)\" d=\"M0 {top:.1}V{bottom:.1}\"/>\n"
    )
}

/// A number at a tick: 500, 20 k, 3 M.
pub(super) fn short(number: f64) -> String {
    match number {
        number if number < 10_000.0 => thousands(number.round() as u64),
        number if number < 1e6 => format!("{} k", number / 1e3),
        number if number < 1e9 => format!("{} M", number / 1e6),
        number => format!("{} G", number / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, short};

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::linear(0.0..=87.0).ticks(), [0.0, 50.0]);
        assert_eq!(Scale::linear(0.0..=100.0).ticks(), [0.0, 50.0, 100.0]);
        assert_eq!(Scale::log(1.0..=1103.0).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::log(3.0..=40.0).ticks(), [5.0, 10.0, 20.0]);
        assert_eq!(["500", "20 k"], [500.0, 20_000.0].map(short)[..]);
    }
}
