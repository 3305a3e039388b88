//! The real engine against a simulated server, on one thread, with paused time and faults by a seed.
//!
//! A schedule is the run of one seed: two or three handles with four writers, who append to two keys one by one or load
//! many items, and remove and change items of theirs, some of them in sessions or in transactions of their own. Buckets
//! are numbered or timed, or stand in time windows and keep a rollup; or two parents take the items, and their extras,
//! with a total or without. Items may be unique, and two writers may have the same ones. Two calls may change the
//! capacity meanwhile, each to one of three, while writers go on through old handles and new ones. Or two calls import a
//! flat collection, or archived buckets, or migrate all buckets to another collection, which they follow by a change
//! stream. Or two calls split a parent that another program has let grow beyond its threshold, or take over extras that
//! it has numbered in its own way, or repair what another program has damaged, or rebuild rollups, or verify beside the
//! writers; or one deletes a parent. Beside all of these but
//! migrations a watch may have to give each item, while another program leaves empty buckets. Commands wait for random
//! times, or by priorities of their tasks that change a few times (`pace.rs`); pipelines pass some documents before others
//! change; commands and answers are lost, commands are interrupted between statements, primaries change and roll back what
//! no majority has, but half of the schedules do without some of these faults; calls are dropped, and processes end, or
//! stand still for a minute. The judge looks at G1 to G4, at rollups, and at O1 to O4 and totals after each statement, and
//! at the end at what callers were told, and at the order of each writer's items (G5, O5). After changes of the capacity,
//! whatever has become of them, another one that nothing disturbs has to succeed, and so after imports, migrations, splits
//! and repairs; what an import says it has found is the sum of what it has stored, left out and listed. Loads should wait
//! for changes; after those that do not, that last one has to bring G3 back. Faults end at some time, and then each call
//! has to.
//!
//! A schedule is a list of choices (`choices.rs`), so one that fails is shrunk to the few choices that it needs, and
//! printed as a test.
//!
//! The server is a few hundred lines (`store.rs`, `index.rs`, `transaction.rs`, `events.rs`, `filter.rs`, `update.rs`,
//! `expression.rs` and `pipeline.rs`) that know just what these calls send, and panic at anything else. `replay.rs`
//! lets a real server do the same, and compares each answer but those of change streams.

mod caller;
mod capacity;
mod choices;
mod deletion;
mod disturbances;
mod driver;
mod events;
mod expression;
mod filter;
mod handle;
mod import;
mod index;
mod judge;
mod migration;
mod network;
mod pace;
mod pipeline;
mod plans;
mod reached;
mod repair;
#[cfg(test)]
mod replay;
#[cfg(test)]
#[path = "../live/support/scale.rs"]
mod scale;
mod scenario;
mod schedule;
mod seeds;
mod split;
mod store;
#[path = "../live/support/tasks.rs"]
mod tasks;
mod transaction;
mod undone;
mod update;
mod watching;
mod wire;
mod world;
mod writer;

pub use crate::{
    choices::Choices,
    reached::Reached,
    schedule::{Keep, Outcome, Simulator},
    seeds::{Seeds, Shown},
    store::{Effect, Refusal},
    undone::Safeguard,
    world::{Answered, Recorded},
};

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, thread, time::Duration};

    use super::*;
    use crate::{
        choices::used,
        scale::{is_long, scaled},
    };

    #[test]
    fn g1_to_g5_and_o1_to_o5_hold_in_each_schedule() {
        let simulator = Simulator::new();
        for seed in 0..scaled(2000) {
            let failure = simulator.run(seed, None, Keep::Nothing).failure;
            assert_eq!(failure, None, "seed {seed}");
        }
    }

    /// CI runs it, with other seeds each time.
    #[test]
    #[ignore = "takes two minutes: `cargo test --lib -- --ignored with_new_seeds`"]
    fn g1_to_g5_and_o1_to_o5_hold_with_new_seeds() {
        let run = Seeds::run(Seeds::new_seed(), Duration::from_secs(120));
        println!("{}{run}", run.reached);
        let shown = run.failed.map(|seed| Simulator::new().show(seed).text);
        assert!(shown.is_none(), "{}", shown.unwrap_or_default());
        assert_eq!(run.reached.missed(), [""; 0], "rows of `reached.txt`");
    }

    #[test]
    fn a_seed_gives_the_same_schedule_each_time() {
        let simulator = Simulator::new();
        for seed in 0..50 {
            let traces = [(); 2].map(|()| simulator.run(seed, None, Keep::Trace).trace);
            assert!(traces[0].len() > 5);
            assert_eq!(traces[0], traces[1], "seed {seed}");
        }
    }

    #[test]
    fn a_schedule_that_fails_shrinks_to_few_choices() {
        let simulator = Simulator::new();
        for undone in [Safeguard::Numbers, Safeguard::Flag, Safeguard::EmptyBuckets] {
            let run = |choices| simulator.run(choices, Some(undone), Keep::Nothing);
            let mut all = (0..1_000).map(|seed| run(Choices::Seed(seed)));
            let failed = all.find(|outcome| outcome.failure.is_some()).unwrap();
            let least = simulator.shrink(failed.choices.clone(), Some(undone));
            let [before, after] = [&failed.choices, &least].map(|choices| used(choices).len());
            println!("{undone:?}: {before} choices, {after} of them needed");
            assert!(after <= before / 10, "{undone:?}: {after} of {before}");
            assert!(run(Choices::sparse(&used(&least))).failure.is_some());
        }
    }

    #[test]
    fn each_safeguard_that_is_undone_is_missed() {
        // The quick form takes a third of them, another one in each process.
        let third = (0..).zip(Safeguard::ALL.iter().copied());
        let third = third.filter(|(n, _)| is_long() || (n + std::process::id()).is_multiple_of(3));
        let next = Mutex::new(third.map(|(_, safeguard)| safeguard));
        let work = || {
            let simulator = Simulator::new();
            let next = || next.lock().expect("no panic").next();
            while let Some(safeguard) = next() {
                let failure = |seed| simulator.run(seed, Some(safeguard), Keep::Nothing).failure;
                let missed = (0..1_000).find_map(|seed| Some((seed, failure(seed)?)));
                let (seed, failure) =
                    missed.unwrap_or_else(|| panic!("{safeguard:?} is not missed"));
                println!("{safeguard:?}: seed {seed}, {failure}");
            }
        };
        thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
    }
}
