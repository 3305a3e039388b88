//! Random histories of a correct list: nothing is reported, and whatever is then spoiled is found.

use rand::{Rng, SeedableRng, rngs::StdRng};

use super::{ReadOrder::*, Rule::*, *};
use crate::{
    check::linear::contradictions,
    history::{Call, Item},
};

#[test]
fn a_correct_list_is_never_reported() {
    for seed in 0..400 {
        for order in [AsStored, ByTime] {
            let of_model = model::history(seed, order, 120, seed % 3 > 0);
            let found = history(&of_model, order);
            assert!(found.is_empty(), "seed {seed}, {order:?}: {:?}", found[0]);
            // The search takes longer.
            if seed % 10 == 0 {
                let found = contradictions(&of_model, order);
                assert_eq!(found, [], "seed {seed}, {order:?}");
            }
        }
    }
}

/// Changes the last read of a correct history; returns what the rules find, and whether the search does.
fn spoiled(seed: u64, spoil: impl Fn(&mut Vec<Item>, &mut StdRng)) -> (Vec<Rule>, bool) {
    let mut of_model = model::history(seed, AsStored, 120, false);
    let Some(Call::Read(read)) = of_model.operations.last_mut().map(|last| &mut last.call) else {
        panic!("the last call is a read");
    };
    assert!(read.items.len() > 2, "seed {seed}");
    spoil(&mut read.items, &mut StdRng::seed_from_u64(seed));
    let rules = history(&of_model, AsStored);
    let rules = rules.iter().map(|found| found.rule).collect();
    (rules, !contradictions(&of_model, AsStored).is_empty())
}

#[test]
fn what_is_spoiled_in_the_history_of_a_correct_list_is_found() {
    for seed in 0..40 {
        let (deleted, is_found) = spoiled(seed, |items, rng| {
            items.remove(rng.random_range(0..items.len()));
        });
        let by_rules = deleted.contains(&Lost) || deleted.contains(&Unseen);
        assert!(by_rules && is_found, "seed {seed}: {deleted:?}");
        // The search may not see it, if only reads in parts gave the items in the other order.
        let (swapped, _) = spoiled(seed, |items, rng| {
            let at = rng.random_range(1..items.len());
            items.swap(at - 1, at);
        });
        assert!(swapped.contains(&NotABeginning), "seed {seed}: {swapped:?}");
        let (doubled, is_found) = spoiled(seed, |items, rng| {
            let again = items[rng.random_range(0..items.len())];
            items.push(again);
        });
        let by_rules = doubled.contains(&Doubled);
        assert!(by_rules && is_found, "seed {seed}: {doubled:?}");
        let (foreign, is_found) = spoiled(seed, |items, _| {
            let (n, value) = (1_000_000, 1_000_000);
            items.push(Item { n, value });
        });
        let by_rules = foreign.contains(&NeverSent);
        assert!(by_rules && is_found, "seed {seed}: {foreign:?}");
        let (edited, is_found) = spoiled(seed, |items, _| items[0].value = 1_000_000);
        let by_rules = edited.contains(&UnknownValue);
        assert!(by_rules && is_found, "seed {seed}: {edited:?}");
    }
}
