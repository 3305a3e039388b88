//! Breadth-first search through all states that a system can reach.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
};

use crate::{
    properties::broken,
    system::{Action, Config, System},
};

/// The result of a search.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) states: usize,
    /// The broken guarantee, and a shortest way to a state that breaks it.
    pub(crate) counterexample: Option<(&'static str, Vec<Action>)>,
}

/// Visits every state once, until a state breaks a guarantee.
///
/// The search keeps only a 64-bit hash of each state. Among 10^7 states two share a hash with a
/// probability of about 10^-6, and it would then merely miss the states behind the second.
pub(crate) fn search(config: &Config) -> Found {
    let start = System::new(config);
    let mut came_from = HashMap::from([(hash(&start), None)]);
    let mut level = vec![(hash(&start), start)];
    while !level.is_empty() {
        let mut next_level = Vec::new();
        for (here, state) in level {
            if let Some(property) = broken(&state, config) {
                let way = way(&came_from, here);
                return Found {
                    states: came_from.len(),
                    counterexample: Some((property, way)),
                };
            }
            for action in state.actions(config) {
                let next = state.after(action, config);
                let there = hash(&next);
                if let Entry::Vacant(vacant) = came_from.entry(there) {
                    vacant.insert(Some((here, action)));
                    next_level.push((there, next));
                }
            }
        }
        level = next_level;
    }
    Found {
        states: came_from.len(),
        counterexample: None,
    }
}

/// What stands for a state.
pub(crate) fn hash(state: &System) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(state)
}

/// The steps that lead to a state.
fn way(came_from: &HashMap<u64, Option<(u64, Action)>>, mut hash: u64) -> Vec<Action> {
    let mut way = Vec::new();
    while let Some(Some((before, action))) = came_from.get(&hash) {
        way.push(*action);
        hash = *before;
    }
    way.reverse();
    way
}
