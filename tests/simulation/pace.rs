//! How long commands take. In half of the schedules each takes a random time. In the others tasks have priorities, which
//! change a few times: what fails only if one call waits while others do much is found sooner (PCT: Burckhardt and
//! others, "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).

use std::{collections::HashMap, time::Duration};

use tokio::task;

use crate::choices::Chance;

/// The longest time of a command in one direction, in microseconds, if it is random.
const LONGEST: u64 = 20_000;

/// How many priorities there are at first.
const PRIORITIES: u64 = 4;

/// How many commands a short schedule has: in these, priorities change.
const COMMANDS: u64 = 96;

/// How much longer a command takes with the next lower priority, in microseconds.
const STEPS: [u64; 3] = [30_000, 5_000, 150_000];

/// The longest pause within a scan, in microseconds: in some schedules others send several commands meanwhile.
const SCANS: [u64; 2] = [2_000, 60_000];

/// The longest pause before something that happens once, in microseconds: in some schedules all happens at once, in
/// others after the writers' first commands.
const PAUSES: [u64; 3] = [150_000, 10_000, 500_000];

#[derive(Debug)]
pub(crate) struct Pace {
    /// By how much the next lower priority is slower; `None` if each command takes a random time.
    step: Option<u64>,
    priorities: HashMap<Option<task::Id>, u64>,
    /// The commands whose tasks are from then on slower than all others.
    changes: [u64; 3],
    lowest: u64,
    commands: u64,
    pub(crate) longest_scan: u64,
    pub(crate) longest_pause: u64,
}

impl Pace {
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let has_priorities = chance.below(2) == 1;
        Self {
            step: has_priorities.then(|| STEPS[chance.below(3) as usize]),
            priorities: HashMap::new(),
            changes: [(); 3].map(|()| chance.below(COMMANDS)),
            lowest: PRIORITIES,
            commands: 0,
            longest_scan: SCANS[chance.below(2) as usize],
            longest_pause: PAUSES[chance.below(3) as usize],
        }
    }

    /// Lets scans take their longest time.
    pub(crate) fn scan_slowly(&mut self) {
        self.longest_scan = SCANS[1];
    }

    /// How long this task's next command takes to the server and back, and how much later it comes if it is late.
    pub(crate) fn next(&mut self, chance: &mut Chance) -> [Duration; 3] {
        self.commands += 1;
        let task = task::try_id();
        if self.changes.contains(&self.commands) {
            self.lowest += 1;
            self.priorities.insert(task, self.lowest);
        }
        let (wait, longest) = match self.step {
            None => (0, LONGEST),
            Some(step) => {
                let new = || chance.below(PRIORITIES);
                (
                    step * *self.priorities.entry(task).or_insert_with(new),
                    1_000,
                )
            }
        };
        let [there, back, late] = [longest, longest, 10 * LONGEST].map(|most| chance.below(most));
        [wait + there, back, late].map(Duration::from_micros)
    }
}
