//! The search finds broken guarantees: without each of the rules that they depend on, there is a
//! counterexample.

use crate::{
    edit::Change::{Remove, Replace},
    search::search,
    system::Config,
    systems::{appends, config, edits, identified, inserts, item, pushes},
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
    assert_eq!(broken(&config), "G3/O4");
}

#[test]
fn a_server_that_forgets_what_it_has_carried_out() {
    let mut config = config("forgetful", 2, vec![appends(0, &[1])]);
    config.rules.remembers = false;
    assert_eq!(broken(&config), "G1/O1");
}

/// The command is killed after its statement was carried out.
#[test]
fn a_writer_that_takes_what_was_broken_off_for_refused() {
    let mut config = config("trustful", 2, vec![appends(0, &[2])]);
    config.rules.doubts = false;
    assert_eq!(broken(&config), "G1/O1");
}

#[test]
fn a_flag_after_the_first_extra() {
    let writers = vec![inserts(0, 1, &[]), pushes(1, &[1])];
    let mut config = config("flag last", 2, writers);
    config.has_parent = true;
    config.rules.flag_first = false;
    assert_eq!(broken(&config), "O3");
}

/// A handle knows the parent as an outlier, and a push that was on its way has opened an extras document after the
/// deletion.
#[test]
fn a_push_that_does_not_look_at_the_parent() {
    let writers = vec![pushes(0, &[2, 1]), pushes(1, &[1]), vec![Call::Delete]];
    let mut config = config("blind push", 2, writers);
    config.has_parent = true;
    config.rules.looks = false;
    assert_eq!(broken(&config), "O1");
}

/// A removal has made room in the bucket that a writer knows, and full buckets follow.
#[test]
fn a_known_bucket_that_is_not_full_then() {
    let removes = vec![Call::Remove(item(0, 0))];
    let mut config = config("unfilled", 3, vec![appends(0, &[2, 5]), removes]);
    config.rules.fills_exactly = false;
    assert_eq!(broken(&config), "G5/O5");
}

/// Another writer opens a bucket before the full ones, and the next items go into that one.
#[test]
fn full_buckets_before_the_open_one() {
    let writers = vec![appends(0, &[3, 1]), appends(1, &[1])];
    let mut config = config("opened last", 2, writers);
    config.by_time = true;
    (config.unordered, config.has_later) = (true, true);
    config.rules.opens_first = false;
    assert_eq!(broken(&config), "G5/O5");
}

/// A full bucket gets the number after one that is still open.
#[test]
fn a_last_bucket_that_is_taken_for_full() {
    let writers = vec![appends(0, &[1]), appends(1, &[3])];
    let mut config = config("blind", 2, writers);
    config.rules.sees_open = false;
    assert_eq!(broken(&config), "G5/O5");
}

/// A writer that has read the last number reuses the number of the deleted page, although others have
/// assigned higher ones by then. So `Outliers::remove` leaves emptied pages.
#[test]
fn emptied_pages_that_are_deleted() {
    let removes = vec![Call::Remove(item(0, 0))];
    let writers = vec![appends(0, &[1, 2]), appends(1, &[2]), removes];
    let mut config = config("deleted", 1, writers);
    config.rules.deletes_emptied = true;
    assert_eq!(broken(&config), "G5/O4");
}

#[test]
fn an_append_to_an_empty_bucket() {
    let mut config = config("empty", 2, vec![appends(0, &[1])]);
    config.has_empty = true;
    config.rules.seals_empty = false;
    assert_eq!(broken(&config), "Watch");
}

/// A writer learns that the array is full and does not hold its item; then a removal makes room for another writer,
/// who pushes the same item.
#[test]
fn a_flag_that_does_not_ask_for_the_items() {
    let removes = edits(&[(0, Remove)]);
    let writers = vec![inserts(0, 1, &[1]), pushes(1, &[2]), removes];
    let mut config = identified(1, 2, writers);
    config.rules.flag_excludes = false;
    assert_eq!(broken(&config), "Identity");
}

/// The array of a parent with extras takes items again after a removal.
#[test]
fn an_array_that_is_refilled() {
    let writers = vec![inserts(0, 1, &[1]), pushes(1, &[2]), edits(&[(0, Remove)])];
    let mut config = identified(1, 2, writers);
    config.rules.flag_closes = false;
    assert_eq!(broken(&config), "Identity");
}

/// A removal finds another item in the place of the one that it has read.
#[test]
fn a_removal_by_place() {
    let writers = vec![
        inserts(0, 2, &[]),
        edits(&[(0, Remove)]),
        edits(&[(0, Remove)]),
    ];
    let mut config = identified(2, 2, writers);
    config.rules.edits_compare = false;
    assert_eq!(broken(&config), "G1/O1");
}

/// A change replaces an item that another writer has changed since it was read.
#[test]
fn a_change_by_place() {
    let writers = vec![
        inserts(0, 2, &[]),
        edits(&[(1, Replace)]),
        edits(&[(1, Replace)]),
    ];
    let mut config = identified(1, 2, writers);
    config.rules.edits_compare = false;
    assert_eq!(broken(&config), "Edits");
}
