//! The arithmetic of the compiler, against documents of the maximum size.

use mongodb::bson::{Bson, DateTime, Decimal128, Document, RawDocumentBuf, doc};
use proptest::prelude::*;

use super::*;
use crate::schema::spec::{IdFormat, KeyName, Ordinal, RollupName};

const ID: IdFormat = IdFormat::new("v:", &["_", "/"], Ordinal::Window { seconds: 60 });
const KEY: &[KeyName] = &[KeyName::new("shop"), KeyName::new("article")];
const TOTALS: RollupName = RollupName::new("price").sum().min().max();
const SPEC: BucketSpec = BucketSpec::new("sales", ID, 10, KEY)
    .items("history")
    .rollups(&[TOTALS, RollupName::new("cost").sum().min().max()])
    .expire_after(60);

const PARENTS: OutlierSpec =
    OutlierSpec::new("a", "b", "book_id", "buyers", "more_buyers", 10).extras_capacity(10);

fn size(document: &Document) -> u64 {
    let raw = RawDocumentBuf::from_document(document).unwrap();
    raw.as_bytes().len() as u64
}

/// Ten elements whose field takes this many bytes.
fn elements_of(value: u64) -> Vec<Bson> {
    let text = text(value);
    vec![doc! { "text": text }.into(); 10]
}

/// A text that takes this many bytes.
fn text(bytes: u64) -> String {
    "x".repeat(bytes as usize - 5)
}

/// The message of the panic, if there is one.
fn refused<T>(bounded: impl FnOnce() -> T + std::panic::UnwindSafe) -> Option<String> {
    let panic = std::panic::catch_unwind(bounded).err()?;
    panic.downcast_ref().cloned()
}

/// The largest document that a struct allows is the largest that its `max_bytes` takes.
fn is_largest<T>(
    bounded: fn(u32) -> T,
    is_bounded: fn(&T) -> bool,
    largest: &Document,
    what: &str,
) {
    let bytes = size(largest) as u32;
    assert!(is_bounded(&bounded(bytes)), "{what}");
    let told = refused(move || bounded(bytes - 1));
    let max = bytes - 1;
    let said = format!("{what} can take {bytes} bytes, and `max_bytes` is {max}\nhelp: ");
    assert!(
        told.as_ref()
            .is_some_and(|told| told.starts_with(&said) && told.ends_with(" = 9")),
        "{told:?}"
    );
}

/// The longest ordinal text.
const LONGEST: &str = "-9999999999999_999999";

/// The longest texts of the key's fields, escaped in the id.
const TEXTS: [u32; 2] = [20, 7];

#[test]
fn the_largest_bucket_is_the_largest_that_fits() {
    let decimal: Decimal128 = "1".parse().unwrap();
    let id = format!("v:{}_{}/{LONGEST}", "%5F".repeat(20), "%5F".repeat(7));
    let totals = doc! {
        "count": 1_i64, "missing": 1_i64, "sum": decimal, "min": decimal, "max": decimal,
    };
    let bucket = doc! {
        "_id": &id,
        "shop": text(20 + 16),
        "article": text(7 + 16),
        "window": DateTime::MAX,
        "count": 10_i64,
        "history": elements_of(200),
        "rollup": { "price": totals.clone(), "cost": totals },
        "newest": DateTime::MAX,
        "sealed": &id,
        "capacity": 10_i32,
    };
    let bounded = |max| {
        SPEC.max_bytes(max)
            .bounded(&TEXTS.map(Some), &[("text", Some(200))])
    };
    is_largest(bounded, |spec| spec.is_bounded, &bucket, "a full bucket");
}

#[test]
fn the_largest_parent_and_the_largest_extras_are_the_largest_that_fit() {
    const ITEM: Option<u64> = Some(document_size(&[("text", 200)]));

    let parent = doc! { "_id": text(36), "buyers": elements_of(200), "has_extras": true };
    let bounded = |max| PARENTS.max_bytes(max).bounded(&[("_id", Some(36))], ITEM);
    is_largest(bounded, |spec| spec.is_bounded, &parent, "a full parent");

    let id = format!("{}_{LONGEST}", "%5F".repeat(20));
    let extras = doc! {
        "_id": &id,
        "book_id": text(20 + 16),
        "count": 10_i64,
        "more_buyers": elements_of(200),
        "sealed": &id,
        "capacity": 10_i32,
    };
    let bounded = |max| PARENTS.max_bytes(max).bounded_extras(Some(20), ITEM);
    is_largest(
        bounded,
        |spec| spec.are_extras_bounded,
        &extras,
        "a full extras document",
    );
}

#[test]
fn nothing_is_proved_where_a_length_is_unknown() {
    assert!(
        !SPEC
            .bounded(&[None, Some(7)], &[("text", Some(200))])
            .is_bounded
    );
    assert!(!SPEC.bounded(&TEXTS.map(Some), &[("text", None)]).is_bounded);
    assert!(!PARENTS.bounded(&[("_id", Some(36))], None).is_bounded);
    assert!(!PARENTS.bounded_extras(None, Some(8)).are_extras_bounded);
}

#[test]
fn not_even_one_item_may_fit() {
    let told = refused(|| {
        SPEC.max_bytes(1024)
            .bounded(&TEXTS.map(Some), &[("text", Some(2000))])
    });
    assert!(told.is_some_and(|told| told.contains("not even one item is sure to fit")));
}

proptest! {
    #[test]
    fn the_capacity_that_is_named_is_the_largest_that_fits(
        head in 0_u64..1 << 10,
        element in 5_u64..1 << 16,
        max in 1_u64 << 10..1 << 24,
    ) {
        let fits = |capacity| head + elements(capacity, element) <= max;
        let named = fitting(head, element, max);
        prop_assert!(named == 0 || fits(named));
        prop_assert!(named == MAX_CAPACITY || !fits(named + 1));
    }

    #[test]
    fn no_capacity_above_the_maximum_is_named(head in 0_u64..1 << 10, element in 5_u64..1 << 16) {
        prop_assert_eq!(fitting(head, element, u64::MAX), MAX_CAPACITY);
    }

    #[test]
    fn numbers_are_spelled_as_usual(number in 0..u64::MAX, shift in 0_u32..64) {
        for number in [number >> shift, 10_u64.pow(shift % 20)] {
            let message = Text::EMPTY.push("<").number(number).push(">");
            prop_assert_eq!(message.as_str(), format!("<{number}>"));
        }
    }

    #[test]
    fn digits_are_those_of_the_last_index(len in 1_u64..1_000_000) {
        prop_assert_eq!(digits(len), (len - 1).to_string().len() as u64);
    }
}
