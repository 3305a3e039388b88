//! Each rule, broken once by a history written by hand, in which nothing else is wrong.

use std::time::Duration;

use super::{ReadOrder::*, Rule::*, *};
use crate::{
    check::linear::contradictions,
    history::{
        Answer::{self, *},
        Call, Change, Item, Operation, Read, Watched,
    },
};

/// A short history: calls for one key, each by a client of its own.
#[derive(Default)]
struct Story(History);

impl Story {
    fn call(mut self, begin: u64, end: u64, call: Call) -> Self {
        let client = self.0.operations.len();
        self.0.operations.push(Operation {
            client,
            key: 7,
            begin: Duration::from_millis(begin),
            end: Duration::from_millis(end),
            call,
        });
        self
    }

    /// One call adds these items, in order.
    fn add(self, begin: u64, end: u64, numbers: &[i64], answer: Answer) -> Self {
        let items = numbers.iter().map(|n| (item(*n), answer));
        self.call(begin, end, Call::Add(items.collect()))
    }

    fn added(self, begin: u64, end: u64, numbers: &[i64]) -> Self {
        self.add(begin, end, numbers, Acknowledged)
    }

    fn edited(self, begin: u64, end: u64, n: i64, value: i64) -> Self {
        self.call(begin, end, Call::Edit(change(n, Acknowledged, 1), value))
    }

    fn removed(self, begin: u64, end: u64, n: i64) -> Self {
        self.call(begin, end, Call::Remove(change(n, Acknowledged, 1)))
    }

    fn read(self, begin: u64, end: u64, numbers: &[i64]) -> Self {
        let items = Vec::from_iter(numbers.iter().map(|n| item(*n)));
        self.read_values(begin, end, &items)
    }

    fn read_values(self, begin: u64, end: u64, items: &[Item]) -> Self {
        self.read_by(Way::AtOnce, begin, end, items)
    }

    fn read_by(self, way: Way, begin: u64, end: u64, items: &[Item]) -> Self {
        let read = Read {
            way,
            complete_since: Some(Duration::from_millis(begin)),
            items: items.to_vec(),
        };
        self.call(begin, end, Call::Read(read))
    }

    /// A watch that gave each item at this time.
    fn watched(self, complete_since: u64, given: &[(u64, i64)]) -> Self {
        let given = given.iter();
        let given = given.map(|(at, n)| (Duration::from_millis(*at), item(*n)));
        let watched = Watched {
            complete_since: Duration::from_millis(complete_since),
            given: given.collect(),
        };
        self.call(0, 1000, Call::Watch(watched))
    }

    /// The broken rules, each once, with the way of the read that shows it.
    fn broken(&self, order: ReadOrder) -> Vec<(Rule, Option<Way>)> {
        let anomalies = history(&self.0, order);
        let broken = anomalies.iter().map(|found| (found.rule, found.way));
        let mut broken = Vec::from_iter(broken);
        broken.dedup();
        broken
    }

    /// Both judges see it.
    #[track_caller]
    fn breaks(&self, rule: Rule, way: impl Into<Option<Way>>) {
        assert_eq!(self.broken(AsStored), [(rule, way.into())]);
        assert_ne!(contradictions(&self.0, AsStored), []);
    }

    /// The search knows neither watches nor what a call says of several items at once.
    #[track_caller]
    fn breaks_for_the_rules_alone(&self, rule: Rule, way: impl Into<Option<Way>>) {
        assert_eq!(self.broken(AsStored), [(rule, way.into())]);
        assert_eq!(contradictions(&self.0, AsStored), []);
    }

    #[track_caller]
    fn breaks_nothing(&self, order: ReadOrder) {
        assert_eq!(self.broken(order), []);
        assert_eq!(contradictions(&self.0, order), []);
    }
}

fn item(n: i64) -> Item {
    valued(n, n)
}

fn valued(n: i64, value: i64) -> Item {
    Item { n, value }
}

fn change(n: i64, answer: Answer, found: usize) -> Change {
    Change {
        numbers: vec![n],
        answer,
        found,
    }
}

/// Items 1, 2 and 3, one after the other.
fn three() -> Story {
    Story::default()
        .added(0, 10, &[1])
        .added(20, 30, &[2])
        .added(40, 50, &[3])
}

/// Items 1, 2 and 3, all at once until this time.
fn at_once(end: u64) -> Story {
    Story::default()
        .added(0, end, &[1])
        .added(0, end, &[2])
        .added(0, end, &[3])
}

#[test]
fn an_acknowledged_item_is_in_every_later_read() {
    three().read(60, 70, &[1, 2]).breaks(Lost, Way::AtOnce);
    // Not if the read began before the answer, or somebody may have removed the item.
    three().read(45, 70, &[1, 2]).breaks_nothing(AsStored);
    let removal = Call::Remove(change(3, InDoubt, 0));
    let story = three().call(55, 58, removal).read(60, 70, &[1, 2]);
    story.breaks_nothing(AsStored);
}

#[test]
fn an_item_that_was_seen_is_seen_until_it_is_removed() {
    let story = || {
        three()
            .add(60, 70, &[4], InDoubt)
            .read(80, 90, &[1, 2, 3, 4])
    };
    story().read(95, 99, &[1, 2, 3]).breaks(Unseen, Way::AtOnce);
    story()
        .removed(85, 110, 4)
        .read(95, 99, &[1, 2, 3])
        .breaks_nothing(AsStored);
}

#[test]
fn an_item_comes_from_somebody() {
    three()
        .read(60, 70, &[1, 2, 3, 9])
        .breaks(NeverSent, Way::AtOnce);
    let too_early = three().read(60, 70, &[1, 2, 3, 4]).added(80, 90, &[4]);
    too_early.breaks(NeverSent, Way::AtOnce);
}

#[test]
fn a_refused_item_is_never_seen() {
    let refused = three().add(60, 70, &[4], Refused);
    refused
        .read(80, 90, &[1, 2, 3, 4])
        .breaks(RefusedButStored, Way::AtOnce);
}

#[test]
fn an_item_is_seen_once() {
    three()
        .read(60, 70, &[1, 2, 3, 3])
        .breaks(Doubled, Way::AtOnce);
    let in_doubt = || three().add(60, 70, &[4], InDoubt);
    in_doubt()
        .read(80, 90, &[1, 2, 3, 4, 4])
        .breaks(Doubled, Way::AtOnce);
    in_doubt()
        .read(80, 90, &[1, 2, 3, 4])
        .breaks_nothing(AsStored);
    in_doubt().read(80, 90, &[1, 2, 3]).breaks_nothing(AsStored);
}

#[test]
fn a_removed_item_is_gone() {
    let removed = three().removed(60, 70, 2);
    removed
        .read(80, 90, &[1, 2, 3])
        .breaks(RemovedButSeen, Way::AtOnce);
}

#[test]
fn an_item_does_not_come_back() {
    let removal = Call::Remove(change(2, InDoubt, 0));
    let story = three().call(60, 70, removal).read(80, 90, &[1, 3]);
    story.read(95, 99, &[1, 2, 3]).breaks(CameBack, Way::AtOnce);
}

#[test]
fn reads_agree_on_the_order() {
    // A removal, so that no read needs to be the beginning of another one.
    let story = || at_once(50).removed(60, 70, 3).read(80, 90, &[1, 2]);
    story().read(80, 90, &[2, 1]).breaks(OrdersDiffer, None);
    assert_eq!(
        story().read(80, 90, &[2, 1]).broken(ByTime),
        [(OrdersDiffer, None)]
    );
    story().read(80, 90, &[1, 2]).breaks_nothing(ByTime);
}

#[test]
fn reads_agree_on_the_order_also_in_a_round() {
    let pages = at_once(50)
        .removed(60, 200, 1)
        .removed(60, 200, 2)
        .removed(60, 200, 3);
    let pages = pages.read(80, 90, &[1, 2]).read(80, 90, &[2, 3]);
    pages.read(80, 90, &[3, 1]).breaks(OrdersDiffer, None);
}

#[test]
fn a_read_is_the_beginning_of_a_longer_one() {
    let gap = || at_once(100).read(10, 20, &[1, 3]).read(10, 90, &[1, 2, 3]);
    gap().breaks(NotABeginning, Way::AtOnce);
    // Not where buckets are in the order of their times.
    gap().breaks_nothing(ByTime);
}

#[test]
fn the_order_of_calls_is_the_order_of_reading() {
    three()
        .read(60, 70, &[1, 3, 2])
        .breaks(OutOfOrder, Way::AtOnce);
    three().read(60, 70, &[1, 3, 2]).breaks_nothing(ByTime);
    let at_once = Story::default().added(0, 10, &[1, 2]);
    at_once
        .read(60, 70, &[2, 1])
        .breaks_for_the_rules_alone(OutOfOrder, Way::AtOnce);
}

#[test]
fn a_value_comes_from_somebody() {
    let story = three().read_values(60, 70, &[item(1), valued(2, 9), item(3)]);
    story.breaks(UnknownValue, Way::AtOnce);
    let refused = three().call(52, 54, Call::Edit(change(2, Refused, 0), 9));
    let story = refused.read_values(60, 70, &[item(1), valued(2, 9), item(3)]);
    story.breaks(UnknownValue, Way::AtOnce);
}

#[test]
fn an_acknowledged_edit_is_in_every_later_read() {
    let edited = three().edited(60, 70, 2, 9);
    edited
        .read(80, 90, &[1, 2, 3])
        .breaks(EditLost, Way::AtOnce);
    let upserted = three().call(60, 70, Call::Upsert(valued(2, 9), Acknowledged));
    upserted
        .read(80, 90, &[1, 2, 3])
        .breaks(EditLost, Way::AtOnce);
    let in_doubt = || three().call(60, 70, Call::Edit(change(2, InDoubt, 0), 9));
    in_doubt().read(80, 90, &[1, 2, 3]).breaks_nothing(AsStored);
}

#[test]
fn a_replaced_value_does_not_come_back() {
    let edit = Call::Edit(change(2, InDoubt, 0), 9);
    let new = [item(1), valued(2, 9), item(3)];
    let story = three()
        .call(60, 70, edit)
        .read(61, 65, &[1, 2, 3])
        .read_values(80, 90, &new);
    story
        .read(95, 99, &[1, 2, 3])
        .breaks(ValueCameBack, Way::AtOnce);
}

#[test]
fn an_item_that_is_there_is_found() {
    let edit = Call::Edit(change(2, Acknowledged, 0), 9);
    three().call(60, 70, edit).breaks(NotFound, None);
    let removal = || Call::Remove(change(2, Acknowledged, 0));
    three().call(60, 70, removal()).breaks(NotFound, None);
    three()
        .removed(60, 100, 2)
        .call(80, 90, removal())
        .breaks_nothing(AsStored);
    let of_three = Change {
        numbers: vec![1, 2, 3],
        answer: Acknowledged,
        found: 2,
    };
    three()
        .call(60, 70, Call::Remove(of_three))
        .breaks_for_the_rules_alone(NotFound, None);
}

#[test]
fn only_one_removal_takes_an_item() {
    three()
        .removed(60, 70, 2)
        .removed(80, 90, 2)
        .breaks(RemovedTwice, None);
}

#[test]
fn a_read_that_goes_on_by_token_gives_the_difference() {
    let walk = |numbers: &[i64]| {
        let items: Vec<_> = numbers.iter().map(|n| item(*n)).collect();
        three()
            .read(60, 70, &[1, 2, 3])
            .read_by(Way::ByToken, 60, 90, &items)
    };
    walk(&[1, 2, 3]).breaks_nothing(AsStored);
    walk(&[1, 2, 2, 3]).breaks_for_the_rules_alone(Doubled, Way::ByToken);
    assert!(
        walk(&[1, 3])
            .broken(AsStored)
            .contains(&(Lost, Some(Way::ByToken)))
    );
    assert_eq!(walk(&[1, 3]).broken(ByTime), [(Lost, Some(Way::ByToken))]);
    assert!(
        walk(&[2, 1, 3])
            .broken(AsStored)
            .contains(&(OutOfOrder, Some(Way::ByToken)))
    );
}

#[test]
fn a_watch_gives_what_reads_give() {
    let given = [(11, 1), (31, 2), (51, 3)];
    three()
        .read(60, 70, &[1, 2, 3])
        .watched(60, &given)
        .breaks_nothing(AsStored);
    three()
        .watched(60, &given[..2])
        .breaks_for_the_rules_alone(Lost, Way::Watch);
    three()
        .watched(60, &[given[0], given[1], given[1], given[2]])
        .breaks_for_the_rules_alone(Doubled, Way::Watch);
    three()
        .watched(60, &[given[0], given[2], given[1]])
        .breaks_for_the_rules_alone(OutOfOrder, Way::Watch);
    let in_doubt = || three().add(60, 70, &[4], InDoubt);
    in_doubt()
        .watched(60, &given)
        .read(80, 90, &[1, 2, 3, 4])
        .breaks_nothing(AsStored);
    in_doubt()
        .watched(95, &given)
        .read(80, 90, &[1, 2, 3, 4])
        .breaks_for_the_rules_alone(Unseen, Way::Watch);
    let refused = three().add(60, 70, &[4], Refused);
    refused
        .watched(60, &[given[0], given[1], given[2], (80, 4)])
        .breaks_for_the_rules_alone(RefusedButStored, Way::Watch);
    // A read lacks what the watch had given before.
    let fourth = [given[0], given[1], given[2], (75, 4)];
    in_doubt()
        .watched(60, &fourth)
        .read(80, 90, &[1, 2, 3])
        .breaks_for_the_rules_alone(Unseen, Way::AtOnce);
    // A watch also gives what was removed later.
    three()
        .removed(60, 70, 2)
        .watched(75, &given)
        .breaks_nothing(AsStored);
    three()
        .removed(60, 70, 2)
        .watched(75, &[given[0], given[2]])
        .breaks_for_the_rules_alone(Lost, Way::Watch);
}
