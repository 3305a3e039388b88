//! Faults at random, by a seed.

use std::{collections::HashSet, time::Duration};

use rand::{Rng, SeedableRng, rngs::SmallRng};

use super::{Fate, message::Message};

/// The longest delay of a slow command.
const LONGEST_DELAY: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Faults {
    random: SmallRng,
    /// The share of writes that meet a fault.
    share: f64,
    /// The commands in doubt, whose repetition is to be cut off, too.
    in_doubt: HashSet<Vec<u8>>,
}

impl Faults {
    pub(super) fn new(seed: u64, share: f64) -> Self {
        Self {
            random: SmallRng::seed_from_u64(seed),
            share: share.clamp(0.0, 1.0),
            in_doubt: HashSet::new(),
        }
    }

    /// The fault that a command meets, if it does.
    pub(super) fn fate(&mut self, message: &Message) -> Option<Fate> {
        if !message.is_write() {
            return None;
        }
        let number = message.number();
        if number
            .as_ref()
            .is_some_and(|number| self.in_doubt.remove(number))
        {
            return Some(Fate::CutBefore);
        }
        if !self.random.random_bool(self.share) {
            return None;
        }
        let cut = match self.random.random_bool(0.5) {
            true => Fate::CutBefore,
            false => Fate::CutAfter,
        };
        Some(match self.random.random_range(0..3) {
            0 => Fate::Delay(self.random.random_range(Duration::ZERO..=LONGEST_DELAY)),
            1 => cut,
            _ => {
                self.in_doubt.extend(number);
                cut
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::message::tests::command, *};

    fn fates(seed: u64, share: f64) -> Vec<Option<Fate>> {
        let mut faults = Faults::new(seed, share);
        let fate = |n| faults.fate(&command("update", Some(n)));
        (0..100).map(fate).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        assert_eq!(fates(1, 0.5), fates(1, 0.5));
        assert_ne!(fates(1, 0.5), fates(2, 0.5));
        let met = fates(1, 0.5).iter().flatten().count();
        assert!((30..70).contains(&met), "{met} of 100");
        assert_eq!(fates(1, 0.0), [None; 100]);
    }

    #[test]
    fn only_writes_meet_faults() {
        let mut faults = Faults::new(1, 1.0);
        assert!((0..100).all(|_| faults.fate(&command("find", None)).is_none()));
    }

    #[test]
    fn the_repetition_of_a_command_in_doubt_is_cut_off() {
        let mut faults = Faults::new(1, 1.0);
        let mut in_doubt = 0;
        for n in 0..100 {
            let first = faults.fate(&command("update", Some(n)));
            if faults.in_doubt.is_empty() {
                continue;
            }
            in_doubt += 1;
            assert!(matches!(first, Some(Fate::CutBefore | Fate::CutAfter)));
            let again = faults.fate(&command("update", Some(n)));
            assert_eq!(again, Some(Fate::CutBefore));
            assert!(faults.in_doubt.is_empty());
        }
        assert!((20..50).contains(&in_doubt), "{in_doubt} of 100");
    }
}
