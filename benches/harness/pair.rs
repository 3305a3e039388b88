//! Measures contestants in turn.

use std::time::Instant;

use futures_util::future::BoxFuture;

use crate::Result;

/// Measured values, in the figure's unit.
pub type Samples = Vec<f64>;

/// Our call, or a peer's, which can be run any number of times.
pub struct Contestant(Box<dyn FnMut(usize) -> BoxFuture<'static, Result<Samples>> + Send>);

impl Contestant {
    /// `run` gets the number of its round, from 0, which does not count.
    pub fn new<F>(mut run: impl FnMut(usize) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Samples>> + Send + 'static,
    {
        Self(Box::new(move |round| Box::pin(run(round))))
    }

    /// A contestant that calls `call` once for each input of a round, and measures the time; see
    /// [`Laps`] for `each`.
    pub fn calls<I, C>(
        each: u32,
        mut inputs: impl FnMut(usize) -> Vec<I> + Send + 'static,
        call: impl Fn(I) -> C + Clone + Send + Sync + 'static,
    ) -> Self
    where
        I: Send + 'static,
        C: Future<Output = Result<()>> + Send + 'static,
    {
        Self::new(move |round| {
            let (inputs, call) = (inputs(round), call.clone());
            async move {
                let mut laps = Laps::of(each);
                for input in inputs {
                    call(input).await?;
                    laps.lap();
                }
                Ok(laps.samples())
            }
        })
    }
}

/// Runs each contestant once to warm up, then all of them in each round, and returns the samples of
/// each. The order rotates from round to round, so that no contestant always follows the same one.
///
/// # Errors
///
/// The first error of a contestant.
pub async fn in_turn<const N: usize>(
    rounds: usize,
    mut contestants: [Contestant; N],
) -> Result<[Samples; N]> {
    let mut samples = [const { Samples::new() }; N];
    for round in 0..=rounds {
        for place in 0..N {
            let place = if round % 2 == 0 { place } else { N - 1 - place };
            let at = (place + round / 2) % N;
            let measured = (contestants[at].0)(round).await?;
            if round > 0 {
                samples[at].extend(measured);
            }
        }
    }
    Ok(samples)
}

/// The middle sample; NaN if there is none.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (lower, upper) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(lower), sorted.get(upper)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => f64::NAN,
    }
}

/// The samples of a contestant whose rounds return several measures each, by measure.
#[must_use]
pub fn split<const N: usize>(samples: &Samples) -> [Samples; N] {
    std::array::from_fn(|nth| samples.iter().skip(nth).step_by(N).copied().collect())
}

/// A single sample: items per second since `started`.
#[must_use]
pub fn rate(items: usize, started: Instant) -> Samples {
    vec![items as f64 / started.elapsed().as_secs_f64()]
}

/// Measures calls in a row, in microseconds per call.
///
/// A sample is the mean of `each` calls. Where one call in ten costs more, because it opens a
/// bucket, ten calls make a sample; otherwise the median would ignore that call.
pub struct Laps {
    each: u32,
    calls: u32,
    started: Instant,
    samples: Samples,
}

impl Laps {
    /// Starts the time of the first call.
    #[must_use]
    pub fn of(each: u32) -> Self {
        Self {
            each,
            calls: 0,
            started: Instant::now(),
            samples: Vec::new(),
        }
    }

    /// Ends a call and begins the next one.
    pub fn lap(&mut self) {
        self.calls += 1;
        if self.calls == self.each {
            let micros = self.started.elapsed().as_secs_f64() * 1e6;
            self.samples.push(micros / f64::from(self.each));
            self.calls = 0;
            self.started = Instant::now();
        }
    }

    /// All samples so far.
    #[must_use]
    pub fn samples(self) -> Samples {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_one_in_the_middle_or_between_the_two_there() {
        assert_eq!(median(&[3.0, 1.0, 100.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median(&[]).is_nan());
    }
}
