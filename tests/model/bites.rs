//! The search finds broken guarantees: without each of the rules that they depend on, there is a
//! counterexample.

use crate::{
    search::search,
    system::Config,
    systems::{appends, config, item},
    writer::Call,
};

/// The guarantee that the search finds broken.
fn broken(config: &Config) -> &'static str {
    let found = search(config);
    let (property, way) = found.counterexample.expect("a counterexample");
    println!("{property}: {way:?}");
    property.split(':').next().unwrap_or_default()
}

#[test]
fn an_open_index_that_is_not_unique() {
    let writers = vec![appends(0, &[1]), appends(1, &[1, 1])];
    let mut config = config("not unique", 3, writers);
    config.by_time = true;
    config.rules.unique = false;
    assert_eq!(broken(&config), "G3");
}

#[test]
fn a_server_that_forgets_what_it_has_carried_out() {
    let mut config = config("forgetful", 2, vec![appends(0, &[1])]);
    config.rules.remembers = false;
    assert_eq!(broken(&config), "G1");
}

/// The command is killed after its statement was carried out.
#[test]
fn a_writer_that_takes_what_was_broken_off_for_refused() {
    let mut config = config("trustful", 2, vec![appends(0, &[2])]);
    config.rules.doubts = false;
    assert_eq!(broken(&config), "G1");
}

/// A removal has made room in the bucket that a writer knows, and full buckets follow.
#[test]
fn a_known_bucket_that_is_not_full_then() {
    let removes = vec![Call::Remove(item(0, 0))];
    let mut config = config("unfilled", 3, vec![appends(0, &[2, 5]), removes]);
    config.rules.fills_exactly = false;
    assert_eq!(broken(&config), "G5");
}

/// Another writer opens a bucket before the full ones, and the next items go into that one.
#[test]
fn full_buckets_before_the_open_one() {
    let writers = vec![appends(0, &[3, 1]), appends(1, &[1])];
    let mut config = config("opened last", 2, writers);
    config.by_time = true;
    (config.unordered, config.has_later) = (true, true);
    config.rules.opens_first = false;
    assert_eq!(broken(&config), "G5");
}

/// A full bucket gets the number after one that is still open.
#[test]
fn a_last_bucket_that_is_taken_for_full() {
    let writers = vec![appends(0, &[1]), appends(1, &[3])];
    let mut config = config("blind", 2, writers);
    config.rules.sees_open = false;
    assert_eq!(broken(&config), "G5");
}

/// A writer that has read the last number reuses the number of the deleted page, although others have
/// assigned higher ones by then. So `Outliers::remove` leaves emptied pages.
#[test]
fn emptied_pages_that_are_deleted() {
    let removes = vec![Call::Remove(item(0, 0))];
    let writers = vec![appends(0, &[1, 2]), appends(1, &[2]), removes];
    let mut config = config("deleted", 1, writers);
    config.rules.deletes_emptied = true;
    assert_eq!(broken(&config), "G5");
}

#[test]
fn an_append_to_an_empty_bucket() {
    let mut config = config("empty", 2, vec![appends(0, &[1])]);
    config.has_empty = true;
    config.rules.seals_empty = false;
    assert_eq!(broken(&config), "Watch");
}
