//! What decides a schedule: one choice after the other, by a seed or given. Each is a number below a bound, and zero is
//! the tamest.

use std::fmt;

/// What decides a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choices {
    /// Chance, by a seed.
    Seed(u64),
    /// These, and zeros after them.
    Given(Vec<u64>),
}

impl Choices {
    /// Zeros, but for these choices with their places.
    pub fn sparse(choices: &[(usize, u64)]) -> Self {
        let length = choices.iter().map(|(at, _)| at + 1).max();
        let mut all = vec![0; length.unwrap_or(0)];
        choices.iter().for_each(|(at, choice)| all[*at] = *choice);
        Self::Given(all)
    }
}

impl From<u64> for Choices {
    fn from(seed: u64) -> Self {
        Self::Seed(seed)
    }
}

/// The rest of the choices, and those that were made.
#[derive(Debug)]
pub(crate) struct Chance {
    choices: Choices,
    pub(crate) made: Vec<u64>,
}

impl Chance {
    pub(crate) fn new(choices: Choices) -> Self {
        let made = Vec::new();
        Self { choices, made }
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        let any = match &mut self.choices {
            Choices::Seed(state) => next(state),
            Choices::Given(given) => given.get(self.made.len()).copied().unwrap_or(0),
        };
        let choice = any % below.max(1);
        self.made.push(choice);
        choice
    }
}

/// The next random number (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The fewest and smallest choices of these that still fail: none of them can be zero, or half of what it is. Choices
/// that are not made move all later ones, so the end goes first, then blocks of halving lengths.
pub(crate) fn shrink(mut choices: Vec<u64>, fails: impl Fn(&[u64]) -> bool) -> Vec<u64> {
    loop {
        let before = choices.clone();
        let mut length = choices.len();
        while length > 0 {
            // An earlier block first: it decides what the schedule consists of.
            for from in (0..choices.len()).step_by(length) {
                let to = choices.len().min(from + length);
                try_instead(&mut choices, from..to, |_| 0, &fails);
            }
            length /= 2;
        }
        for at in 0..choices.len() {
            while try_instead(&mut choices, at..at + 1, |choice| choice / 2, &fails) {}
        }
        let used = choices.iter().rposition(|choice| *choice > 0);
        choices.truncate(used.map_or(0, |last| last + 1));
        if choices == before {
            return choices;
        }
    }
}

/// Keeps other choices in a block, if they differ and still fail.
fn try_instead(
    choices: &mut [u64],
    block: std::ops::Range<usize>,
    other: impl Fn(u64) -> u64,
    fails: impl Fn(&[u64]) -> bool,
) -> bool {
    let former = choices[block.clone()].to_vec();
    for choice in &mut choices[block.clone()] {
        *choice = other(*choice);
    }
    let is_kept = choices[block.clone()] != former && fails(choices);
    if !is_kept {
        choices[block].copy_from_slice(&former);
    }
    is_kept
}

/// The choices that are not zero, with their places.
pub(crate) fn used(choices: &[u64]) -> Vec<(usize, u64)> {
    let choices = choices.iter().copied().enumerate();
    choices.filter(|(_, choice)| *choice > 0).collect()
}

/// A test to paste into `lib.rs`, which repeats a schedule.
pub(crate) struct AsTest<'c>(pub(crate) &'c [u64]);

impl fmt::Display for AsTest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices = used(self.0);
        writeln!(f, "    #[test]\n    fn a_schedule_that_was_found() {{")?;
        writeln!(f, "        let choices = Choices::sparse(&{choices:?});")?;
        writeln!(f, "        let simulator = Simulator::new();")?;
        writeln!(
            f,
            "        let outcome = simulator.run(choices, None, Keep::Nothing);"
        )?;
        write!(f, "        assert_eq!(outcome.failure, None);\n    }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_makes_it_again() {
        let mut chance = Chance::new(7.into());
        let bounds = [48, 1, 20_000, 2, 0];
        let first = bounds.map(|below| chance.below(below));
        let mut again = Chance::new(Choices::Given(chance.made));
        assert_eq!(bounds.map(|below| again.below(below)), first);
        assert_eq!(again.below(9), 0);
    }

    #[test]
    fn only_choices_that_a_failure_needs_are_left() {
        let mut chance = Chance::new(3.into());
        let mut made = Vec::from_iter((0..200).map(|_| chance.below(100)));
        let fails = |choices: &[u64]| {
            let choice = |at: usize| choices.get(at).copied().unwrap_or(0);
            choice(17) > 3 && choice(90) > 0
        };
        (made[17], made[90]) = (60, 60);
        let mut least = vec![0; 91];
        (least[17], least[90]) = (7, 1);
        assert_eq!(shrink(made, fails), least);
    }
}
