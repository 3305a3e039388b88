//! Random histories of a correct list: nothing is reported, and whatever is then spoiled is found.

use rand::{Rng, SeedableRng, rngs::StdRng};

use super::{ReadOrder::*, Rule::*, *};
use crate::history::{Call, Item};

#[test]
fn a_correct_list_is_never_reported() {
    for seed in 0..400 {
        for order in [AsStored, ByTime] {
            let of_model = model::history(seed, order, 120, seed % 3 > 0);
            let found = history(&of_model, order);
            assert!(found.is_empty(), "seed {seed}, {order:?}: {}", found[0]);
        }
    }
}

/// Changes the last read of a correct history.
fn spoiled(seed: u64, spoil: impl Fn(&mut Vec<Item>, &mut StdRng)) -> Vec<Rule> {
    let mut of_model = model::history(seed, AsStored, 120, false);
    let Some(Call::Read(read)) = of_model.operations.last_mut().map(|last| &mut last.call) else {
        panic!("the last call is a read");
    };
    assert!(read.items.len() > 2, "seed {seed}");
    spoil(&mut read.items, &mut StdRng::seed_from_u64(seed));
    history(&of_model, AsStored)
        .iter()
        .map(|found| found.rule)
        .collect()
}

#[test]
fn what_is_spoiled_in_the_history_of_a_correct_list_is_found() {
    for seed in 0..100 {
        let deleted = spoiled(seed, |items, rng| {
            items.remove(rng.random_range(0..items.len()));
        });
        assert!(
            deleted.contains(&Lost) || deleted.contains(&Unseen),
            "seed {seed}: {deleted:?}"
        );
        let swapped = spoiled(seed, |items, rng| {
            let at = rng.random_range(1..items.len());
            items.swap(at - 1, at);
        });
        assert!(swapped.contains(&NotABeginning), "seed {seed}: {swapped:?}");
        let doubled = spoiled(seed, |items, rng| {
            let again = items[rng.random_range(0..items.len())];
            items.push(again);
        });
        assert!(doubled.contains(&Doubled), "seed {seed}: {doubled:?}");
        let foreign = spoiled(seed, |items, _| {
            let (n, value) = (1_000_000, 1_000_000);
            items.push(Item { n, value });
        });
        assert!(foreign.contains(&NeverSent), "seed {seed}: {foreign:?}");
        let edited = spoiled(seed, |items, _| items[0].value = 1_000_000);
        assert!(edited.contains(&UnknownValue), "seed {seed}: {edited:?}");
    }
}
