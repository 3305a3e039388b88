//! Rollups as they are written, and read again.

use bucket_core::{
    schema::spec::BucketSpec,
    value::rollup::{DecimalSum, RollupField, SumField},
};
use mongodb::bson::{Bson, DateTime, Decimal128, Document, doc};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, Clone, Serialize, Deserialize, Bucket)]
#[bucket(crate = crate, collection = "sales", id = "{shop}_{#}", capacity = 10)]
struct Sale {
    shop: i64,
    #[bucket(sum, min, max)]
    pieces: i32,
    #[bucket(sum, min, max)]
    price: f64,
    #[bucket(sum, min, max)]
    fee: Decimal128,
    #[bucket(sum, max)]
    tip: Option<i64>,
    #[bucket(min)]
    paid: Option<DateTime>,
}

const SPEC: &BucketSpec = &Sale::SPEC;

fn sale((pieces, price, fee, tip, paid): (i32, i16, i16, Option<i64>, Option<i64>)) -> Sale {
    Sale {
        shop: 1,
        pieces,
        price: price.into(),
        fee: decimal(fee.into()),
        tip,
        paid: paid.map(DateTime::from_millis),
    }
}

fn decimal(number: i64) -> Decimal128 {
    number.to_string().parse().unwrap()
}

fn totals(sales: &[Sale]) -> Totals {
    Totals::of(SPEC, sales.iter().map(Bucket::rollup_values)).unwrap()
}

/// The rollup of one sale in a bucket, after a change to what is stored.
fn read_after(change: impl FnOnce(&mut Document)) -> Option<Rollup<Sale>> {
    let mut stored = totals(&[sale((1, 2, 3, Some(4), Some(5)))]).document(SPEC);
    change(&mut stored);
    Rollup::read(1, Totals::read(SPEC, &stored, 1)?)
}

/// The fields with what each is marked with.
const MARKS: [(&str, &[&str]); 5] = [
    ("pieces", &["sum", "min", "max"]),
    ("price", &["sum", "min", "max"]),
    ("fee", &["sum", "min", "max"]),
    ("tip", &["sum", "max"]),
    ("paid", &["min"]),
];

proptest! {
    #[test]
    fn a_rollup_is_read_as_the_items_make_it(
        sales in proptest::collection::vec(any::<(i32, i16, i16, Option<i32>, Option<i32>)>(), 0..9),
    ) {
        let widened = sales.into_iter().map(|(pieces, price, fee, tip, paid)| {
            sale((pieces, price, fee, tip.map(i64::from), paid.map(i64::from)))
        });
        let sales: Vec<_> = widened.collect();
        let totals = totals(&sales);
        let stored = Totals::read(SPEC, &totals.document(SPEC), sales.len() as u64).unwrap();
        prop_assert_eq!(&stored, &totals);
        let read = Rollup::<Sale>::read(sales.len() as u64, stored).unwrap().clone();
        let all = sales.len() as u64;
        prop_assert_eq!((read.count(), read.pieces.count(), read.price.count()), (all, all, all));

        let pieces = || sales.iter().map(|sale| sale.pieces);
        prop_assert_eq!(read.pieces.sum(), pieces().map(i128::from).sum::<i128>());
        prop_assert_eq!((read.pieces.min(), read.pieces.max()), (pieces().min(), pieces().max()));

        let prices = || sales.iter().map(|sale| sale.price);
        prop_assert_eq!(read.price.sum(), prices().sum::<f64>());
        let mean = (all > 0).then(|| prices().sum::<f64>() / all as f64);
        prop_assert_eq!(read.price.mean(), mean);
        prop_assert_eq!(read.price.min(), prices().reduce(f64::min));
        prop_assert_eq!(read.price.max(), prices().reduce(f64::max));

        let fees = || sales.iter().map(|sale| sale.fee.to_string().parse::<i64>().unwrap());
        let sum = fees().sum::<i64>();
        prop_assert_eq!(read.fee.sum(), DecimalSum(decimal(sum)));
        prop_assert_eq!(read.fee.mean(), (all > 0).then(|| sum as f64 / all as f64));
        prop_assert_eq!(read.fee.min(), fees().min().map(decimal));
        prop_assert_eq!(read.fee.max(), fees().max().map(decimal));

        let tips = || sales.iter().filter_map(|sale| sale.tip);
        let count = tips().count() as u64;
        let sum = tips().map(i128::from).sum::<i128>();
        prop_assert_eq!((read.tip.count(), read.tip.sum()), (count, sum));
        prop_assert_eq!(read.tip.mean(), (count > 0).then(|| sum as f64 / count as f64));
        prop_assert_eq!(read.tip.max(), tips().max());
        let paid = || sales.iter().filter_map(|sale| sale.paid);
        prop_assert_eq!((read.paid.count(), read.paid.min()), (paid().count() as u64, paid().min()));
    }
}

/// The update of an append.
#[test]
fn an_update_adds_what_is_there_and_counts_what_is_missing() {
    let update = |tip| {
        let mut update = doc! { "$inc": { "count": 1 } };
        totals(&[sale((1, 2, 3, tip, None))]).add_to(SPEC, &mut update);
        let of_operator =
            |operator: &str| update.get_document(operator).cloned().unwrap_or_default();
        let paths = |operator: &str| {
            let changed = of_operator(operator).into_iter();
            changed
                .filter(|(path, _)| path.contains(".tip.") || path.contains(".paid."))
                .collect::<Document>()
        };
        ["$inc", "$min", "$max"].map(paths)
    };
    let paid = doc! { "rollup.paid.count": 1_i64, "rollup.paid.missing": 1_i64 };
    let and_paid = |tip: Document| tip.into_iter().chain(paid.clone()).collect::<Document>();
    let missing = doc! { "rollup.tip.count": 1_i64, "rollup.tip.missing": 1_i64 };
    assert_eq!(update(None), [and_paid(missing), doc! {}, doc! {}]);
    let there = doc! { "rollup.tip.count": 1_i64, "rollup.tip.sum": 4_i64 };
    assert_eq!(
        update(Some(4)),
        [and_paid(there), doc! {}, doc! { "rollup.tip.max": 4_i64 }]
    );
}

#[test]
fn the_rollup_of_no_items_has_sums_and_no_ends() {
    let none = Rollup::<Sale>::empty().unwrap();
    assert_eq!(
        (none.count(), none.pieces.sum(), none.pieces.mean()),
        (0, 0, None)
    );
    assert_eq!((none.price.min(), none.tip.max()), (None, None));
    assert!(RollupReader::read::<()>(Totals::new(SPEC)).is_some());
}

#[test]
fn a_rollup_that_lacks_a_value_or_has_one_of_another_type_is_not_read() {
    assert!(read_after(|_| {}).is_some());
    for (field, marks) in MARKS {
        for mark in marks {
            let of_field = |stored: &mut Document| {
                stored
                    .get_document_mut(field)
                    .unwrap()
                    .remove(*mark)
                    .unwrap();
            };
            assert!(read_after(of_field).is_none(), "{field} without {mark}");
            let of_field = |stored: &mut Document| {
                stored
                    .get_document_mut(field)
                    .unwrap()
                    .insert(*mark, "text");
            };
            assert!(read_after(of_field).is_none(), "{field}, text as {mark}");
        }
        // The item has no value in this field, so nothing else has to be there.
        let none = |stored: &mut Document| {
            stored.insert(field, doc! { "count": 1, "missing": 1 });
        };
        assert!(read_after(none).is_some(), "{field}");
        let other_count = |stored: &mut Document| {
            stored.get_document_mut(field).unwrap().insert("count", 2);
        };
        assert!(read_after(other_count).is_none(), "{field}");
        let more_are_missing = |stored: &mut Document| {
            stored.get_document_mut(field).unwrap().insert("missing", 2);
        };
        assert!(read_after(more_are_missing).is_none(), "{field}");
    }
}

/// The server's sum of no values is the integer zero, and that of many integers may be a decimal.
#[test]
fn sums_are_read_as_the_server_makes_them() {
    let zero = Bson::Int32(0);
    assert_eq!(
        (i64::from_sum(&zero), f64::from_sum(&zero)),
        (Some(0), Some(0.0))
    );
    assert_eq!(Decimal128::from_sum(&zero), Some(DecimalSum(decimal(0))));
    assert_eq!(Option::<f64>::from_sum(&Bson::Int32(-3)), Some(-3.0));
    let beyond: Decimal128 = "9223372036854775808".parse().unwrap();
    assert_eq!(i64::from_sum(&Bson::Decimal128(beyond)), Some(1 << 63));
    assert_eq!(i64::from_rollup(&Bson::Decimal128(beyond)), None);
    assert_eq!(u64::from_rollup(&Bson::Decimal128(beyond)), Some(1 << 63));
    let text = Bson::from("1");
    assert_eq!((i64::from_sum(&text), f64::from_sum(&text)), (None, None));
    assert_eq!(Decimal128::from_sum(&text), None);
}

#[test]
fn totals_agree_but_for_the_last_digits_of_sums_of_floats() {
    let of = |stored: Document| Totals::read(SPEC, &stored, 3).unwrap();
    let stored = || {
        let field = doc! { "count": 3, "missing": 1, "sum": 2_i64, "min": 1_i64, "max": 1_i64 };
        let mut price = field.clone();
        price.extend(doc! { "sum": 0.3, "min": 0.1, "max": 0.2 });
        let fields = [
            ("pieces", &field),
            ("price", &price),
            ("fee", &field),
            ("tip", &field),
            ("paid", &field),
        ];
        Document::from_iter(fields.map(|(name, field)| (name.to_owned(), field.clone().into())))
    };
    let agrees = |field: &str, name: &str, value: Bson| {
        let mut other = stored();
        other.get_document_mut(field).unwrap().insert(name, value);
        of(stored()).agrees_with(&of(other))
    };
    assert!(agrees("price", "sum", 0.3.into()));
    assert!(agrees("price", "sum", (0.1 + 0.2).into()));
    assert!(!agrees("price", "sum", (0.3 + 1e-9).into()));
    assert!(!agrees("price", "sum", (-0.3).into()));
    for (name, other) in [("missing", 2_i64), ("sum", 3), ("min", 0), ("max", 0)] {
        assert!(!agrees("pieces", name, other.into()), "{name}");
    }
    assert!(!agrees("price", "min", (0.1 + 1e-15).into()));
    let huge = |sum: f64| {
        let mut other = stored();
        other.get_document_mut("price").unwrap().insert("sum", sum);
        of(other)
    };
    assert!(huge(1e30).agrees_with(&huge(1e30 * (1.0 + 1e-13))));
    assert!(!huge(1e30).agrees_with(&huge(1e30 * (1.0 + 1e-11))));
    assert!(huge(f64::INFINITY).agrees_with(&huge(f64::INFINITY)));
    let mut more = stored();
    for (_, field) in more.iter_mut() {
        if let Bson::Document(field) = field {
            field.insert("count", 4);
        }
    }
    let more = Totals::read(SPEC, &more, 4).unwrap();
    assert!(!of(stored()).agrees_with(&more));
}
