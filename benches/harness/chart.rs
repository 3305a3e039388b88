//! Charts as SVG, readable on light and on dark pages.

mod bars;
mod curves;

pub use self::{bars::Bars, curves::Curves};

/// The chart of a theme.
#[derive(Debug, Clone)]
pub enum Chart {
    /// Groups of bars.
    Bars(Bars),
    /// Curves over a length.
    Curves(Curves),
}

impl Chart {
    pub(crate) fn svg(&self) -> String {
        match self {
            Self::Bars(bars) => bars.svg(),
            Self::Curves(curves) => curves.svg(),
        }
    }
}

const WIDTH: f64 = 720.0;

/// The first color is ours. All differ from each other on white and on black.
const COLORS: [&str; 5] = ["#13a05a", "#8b93a1", "#c9822b", "#4f86c6", "#a368b8"];

/// The SVG around the drawing. Text has the page's color if the viewer reports its color scheme,
/// and otherwise a grey that is readable on both.
fn frame(height: f64, title: &str, drawing: &str) -> String {
    let title = escape(title);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}" role="img" aria-label="{title}">
<style>
text {{ font: 13px system-ui, sans-serif; fill: #6e7681; }}
.title {{ font-size: 16px; font-weight: 600; }}
.end {{ text-anchor: end; }}
.middle {{ text-anchor: middle; }}
.grid {{ stroke: #8b93a1; stroke-opacity: 0.3; }}
@media (prefers-color-scheme: light) {{ text {{ fill: #24292f; }} }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #d0d7de; }} }}
</style>
<text class="title" x="16" y="28">{title}</text>
{drawing}</svg>
"#
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Bars, Chart, Curves};
    use crate::Unit;

    #[test]
    fn names_of_curves_that_end_close_together_find_their_places() {
        // At all heights of the chart.
        let ends = [vec![1.0], vec![1.0], vec![10_000.0]];
        for value in (20..4000).step_by(20) {
            let close = [1.0, 1.001, 1.002].map(|by| vec![f64::from(value) * by]);
            let mut curves = Curves::new("Time", Unit::Micros, "buckets", ["a", "b", "c"]);
            curves.point(0, &ends);
            curves.point(1, &close);
            assert!(Chart::Curves(curves).svg().contains(">c "));
        }
    }

    #[test]
    fn a_chart_holds_its_names_and_values() {
        let (ours, peer) = (vec![100.0], vec![20_000.0]);
        let bars = Bars::new("Appends <fast>", Unit::ItemsPerSecond)
            .group("one key", [("append", &peer), ("flat", &ours)]);
        let mut curves = Curves::new("Time", Unit::Micros, "buckets", ["append", "upsert"]);
        curves.point(0, [&ours, &ours]);
        curves.point(50_000, [&ours, &peer]);
        for (chart, texts) in [
            (
                Chart::Bars(bars),
                ["Appends &lt;fast&gt;", "20,000 items/s"],
            ),
            (
                Chart::Curves(curves),
                ["50,000</text>", "upsert 20,000</text>"],
            ),
        ] {
            let svg = chart.svg();
            for text in texts {
                assert!(svg.contains(text), "{text} is not in {svg}");
            }
        }
    }
}
