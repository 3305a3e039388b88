use crate::errors::{Errors, did_you_mean};

#[test]
fn slips_are_recognised() {
    let keys = ["collection", "id", "capacity", "items", "count", "crate"];
    assert_eq!(did_you_mean("colection", keys), Some("collection"));
    assert_eq!(did_you_mean("capacty", keys), Some("capacity"));
    assert_eq!(did_you_mean("Items", keys), Some("items"));
    assert_eq!(did_you_mean("conut", keys), Some("count"));
    assert_eq!(did_you_mean("ids", keys), Some("id"));
}

#[test]
fn other_words_are_not() {
    let keys = ["collection", "id", "capacity", "items"];
    assert_eq!(did_you_mean("expires", keys), None);
    assert_eq!(did_you_mean("ttl", keys), None);
    assert_eq!(did_you_mean("", keys), None);
    assert_eq!(did_you_mean("id", []), None);
}

#[test]
fn the_nearest_candidate_is_taken() {
    assert_eq!(
        did_you_mean("customer", ["customers_of", "customer_"]),
        Some("customer_")
    );
}

#[test]
#[should_panic(expected = "dropped unread")]
fn errors_cannot_be_forgotten() {
    drop(Errors::new());
}
