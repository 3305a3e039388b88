//! The ratio of two medians, and how certain it is.

use crate::pair::median;

/// How often the samples are drawn again.
const DRAWS: usize = 1000;

/// Ours to the peer's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// The interval that holds 95 % of the ratios of samples drawn again (bootstrap); `None` for so few samples that
    /// it would say nothing.
    interval: Option<(f64, f64)>,
}

impl Ratio {
    pub(crate) fn of(ours: &[f64], peer: &[f64]) -> Self {
        let value = median(ours) / median(peer);
        let interval = (ours.len().min(peer.len()) > 2).then(|| {
            // The numbers are the same in each run, so that the same samples have the same interval.
            let mut random = 0x9e37_79b9_7f4a_7c15;
            let draw = |_| drawn(ours, &mut random) / drawn(peer, &mut random);
            let mut ratios: Vec<f64> = (0..DRAWS).map(draw).collect();
            ratios.sort_unstable_by(f64::total_cmp);
            (ratios[DRAWS / 40], ratios[DRAWS - 1 - DRAWS / 40])
        });
        Self { value, interval }
    }

    /// The ratio and its interval, as `0.94 (0.90–0.99)`.
    pub(crate) fn text(self) -> String {
        match self.interval {
            Some((low, high)) => format!("{:.2} ({low:.2}–{high:.2})", self.value),
            None => format!("{:.2}", self.value),
        }
    }
}

/// The median of as many samples, each drawn from all of them.
fn drawn(samples: &[f64], random: &mut u64) -> f64 {
    let one = |_| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        samples[(*random >> 11) as usize % samples.len()]
    };
    median(&Vec::from_iter((0..samples.len()).map(one)))
}

#[cfg(test)]
mod tests {
    use super::Ratio;

    #[test]
    fn an_interval_holds_the_ratio_and_is_wider_for_samples_that_differ() {
        let close = Ratio::of(&[9.0, 10.0, 10.0, 10.0, 11.0], &[20.0; 5]);
        let wide = Ratio::of(&[2.0, 5.0, 10.0, 15.0, 20.0], &[20.0; 5]);
        assert_eq!((close.value, wide.value), (0.5, 0.5));
        let width = |ratio: Ratio| ratio.interval.map_or(0.0, |(low, high)| high - low);
        assert!(width(close) < width(wide), "{close:?} {wide:?}");
        assert_eq!(Ratio::of(&[5.0; 3], &[10.0; 3]).text(), "0.50 (0.50–0.50)");
        assert_eq!(Ratio::of(&[5.0], &[10.0]).text(), "0.50");
    }
}
