//! Ways through a system that together take each of its steps, for the replay.

use std::collections::{HashMap, HashSet, VecDeque, hash_map::Entry};

use crate::{
    search::hash,
    system::{Config, System},
};

/// The steps of a system: in each state, each writer's next command.
pub(crate) struct Cover {
    /// The writers that can go on in a state, and the states after their commands.
    steps: HashMap<u64, Vec<(usize, u64)>>,
    taken: HashSet<(u64, usize)>,
}

impl Cover {
    pub(crate) fn new(config: &Config) -> Self {
        let start = System::new(config);
        let mut steps = HashMap::from([(hash(&start), Vec::new())]);
        let mut waiting = vec![start];
        while let Some(state) = waiting.pop() {
            let mut from_here = Vec::new();
            for n in (0..state.writers.len()).filter(|n| !state.writers[*n].is_over()) {
                let next = state.after_command(n, config);
                from_here.push((n, hash(&next)));
                if let Entry::Vacant(new) = steps.entry(hash(&next)) {
                    new.insert(Vec::new());
                    waiting.push(next);
                }
            }
            steps.insert(hash(&state), from_here);
        }
        Self {
            steps,
            taken: HashSet::new(),
        }
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.steps.values().map(Vec::len).sum()
    }

    /// How many of them were taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken.len()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.taken() == self.len()
    }

    /// Takes a step on the shortest way to one that was not taken yet; returns the writer, or `None` at the end.
    pub(crate) fn step(&mut self, state: &System) -> Option<usize> {
        let here = hash(state);
        let n = (self.way_to_new(here)).or_else(|| Some(self.steps[&here].first()?.0))?;
        self.taken.insert((here, n));
        Some(n)
    }

    /// The first step of the shortest way to one that was not taken yet.
    fn way_to_new(&self, here: u64) -> Option<usize> {
        let mut seen = HashSet::from([here]);
        let mut ends = VecDeque::from([(here, None)]);
        while let Some((state, first)) = ends.pop_front() {
            for (n, next) in &self.steps[&state] {
                let first = first.unwrap_or(*n);
                if !self.taken.contains(&(state, *n)) {
                    return Some(first);
                }
                if seen.insert(*next) {
                    ends.push_back((*next, Some(first)));
                }
            }
        }
        None
    }
}
