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

    /// The place of each name at the end of its curve, from the top.
    fn places<'svg>(svg: &'svg str) -> Vec<(f64, &'svg str)> {
        let names = svg.lines().filter(|line| line.contains("style=\"fill"));
        let place = |line: &'svg str| {
            let (_, y) = line.split_once(" y=\"")?;
            let (y, rest) = y.split_once('"')?;
            let (_, text) = rest.split_once('>')?;
            Some((y.parse().ok()?, text.split(' ').next()?))
        };
        names.filter_map(place).collect()
    }

    #[test]
    fn names_of_curves_stand_in_the_order_of_their_ends() {
        // At all heights of the chart.
        let ends = [vec![1.0], vec![1.0], vec![10_000.0]];
        for value in (20..4000).step_by(20) {
            let close = [1.0, 1.002, 1.001].map(|by| vec![f64::from(value) * by]);
            let mut curves = Curves::new("Time", Unit::Micros, "buckets", ["a", "b", "c"]);
            curves.point(0, &ends);
            curves.point(1, &close);
            let svg = Chart::Curves(curves).svg();
            let places = places(&svg);
            assert!(
                places.iter().map(|(_, name)| *name).eq(["b", "c", "a"]),
                "{svg}"
            );
            let apart = places.windows(2).all(|pair| pair[1].0 - pair[0].0 > 15.5);
            assert!(apart && places[2].0 <= 348.0, "{svg}");
        }
    }

    #[test]
    fn a_unit_stands_once_at_its_axis() {
        let many = vec![123_456.0];
        let mut curves = Curves::new("Rate", Unit::ItemsPerSecond, "minutes", ["append"]);
        curves.point(1, [&many]);
        let svg = Chart::Curves(curves).svg();
        assert_eq!(svg.matches("items/s").count(), 1, "{svg}");
        assert!(svg.contains(">1,000,000</text>"), "{svg}");
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
