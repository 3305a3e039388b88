//! Another struct in the collection is noticed when it is opened, and a missing index by `verify`.

use bucket_ops::{Ops, Problem, ProblemKind as Kind};
use bucket_runtime::{
    Bucket, Error, RequiredIndex,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;

use crate::support::{
    assert_refused, assert_sound,
    database::Live,
    problems::{assert_found, expected},
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "things",
    id = "{customer}_{at}",
    capacity = 3,
    expire_after = "20000d"
)]
struct Order {
    customer: i64,
    at: DateTime,
    #[bucket(index)]
    total: i64,
}

fn order(n: i64) -> Order {
    Order {
        customer: n % 2,
        at: DateTime::from_millis(1_800_000_000_000 + n * 1000),
        total: n,
    }
}

/// Other structs in the collection of the orders.
mod other {
    use super::{Bucket, DateTime};

    /// With another key.
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "things", id = "{topic}_{at}", capacity = 3)]
    pub(super) struct Note {
        topic: String,
        at: DateTime,
    }

    /// With the key of the orders, and another name of the count.
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(
        collection = "things",
        id = "{customer}_{at}",
        capacity = 3,
        count = "n"
    )]
    pub(super) struct Counted {
        customer: i64,
        at: DateTime,
    }

    /// With the key of the orders and other fields.
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(
        collection = "things",
        id = "{customer}_{at}",
        capacity = 3,
        expire_after = "20000d"
    )]
    pub(super) struct Visit {
        pub(super) customer: i64,
        pub(super) at: DateTime,
        pub(super) page: String,
    }
}

#[bucket_testkit::test]
async fn a_struct_with_another_key_is_told_to_take_its_own_collection(db: Live) {
    let orders = Order::buckets(&db).await.unwrap();
    orders.append(&order(0)).await.unwrap();
    let refusals = [
        other::Note::buckets(&db).await.unwrap_err(),
        Ops::<other::Note>::of(&db).verify().await.unwrap_err(),
        other::Counted::buckets(&db).await.unwrap_err(),
    ];
    for error in refusals {
        let text = error.to_string();
        assert!(error.is_index_conflict(), "{text}");
        let said = "another struct keeps its buckets here, by `customer`; give this struct a \
                    collection of its own";
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("drop"), "{text}");
    }
    orders.append(&order(1)).await.unwrap();
}

#[bucket_testkit::test]
async fn a_struct_with_other_fields_is_noticed_if_opening_looks(db: Live) {
    // An empty collection is everybody's.
    let open = async || Order::buckets(&db).check_items(true).await;
    let orders = open().await.unwrap();
    for n in 0..7 {
        orders.append(&order(n)).await.unwrap();
    }
    open().await.unwrap();
    let error = other::Visit::buckets(&db).check_items(true).await;
    let error = error.unwrap_err();
    assert_refused(&error, Error::is_deserialize);
    let text = error.to_string();
    for said in [
        "another struct keeps its buckets here",
        "missing field `page`",
    ] {
        assert!(text.contains(said), "{text}");
    }

    // Without it they mix, and the first struct notices when it is opened again.
    let visits = other::Visit::buckets(&db).await.unwrap();
    for n in 0..7 {
        let visit = other::Visit {
            customer: n % 2,
            at: order(n + 10).at,
            page: "/".to_owned(),
        };
        visits.append(&visit).await.unwrap();
    }
    assert!(open().await.unwrap_err().is_deserialize());
}

/// A struct, and structs that know less of the same collection.
mod sales {
    use super::{Bucket, DateTime};

    macro_rules! sales {
        ($($name:ident($($unique:ident)?; $($($rollup:ident),+)?))+) => {$(
            #[derive(Debug, Clone, PartialEq, Bucket)]
            #[bucket(collection = "sales", id = "{shop}_{at}", capacity = 3)]
            pub(super) struct $name {
                pub(super) shop: i64,
                pub(super) at: DateTime,
                $(#[bucket($unique)])?
                pub(super) number: i64,
                $(#[bucket($($rollup),+)])?
                pub(super) cents: i64,
            }
        )+};
    }

    sales! {
        Known(unique; sum, max)
        KnownBetter(unique; sum, min, max)
        WithoutUnique(; sum, max)
        WithoutRollup(unique; )
        WithoutMax(unique; sum)
    }
}

/// Its writers would store an item twice in a bucket, and leave the rollups as they are.
#[bucket_testkit::test]
async fn a_struct_that_knows_less_than_its_collection_is_refused(db: Live) {
    let sales = sales::Known::buckets(&db).await.unwrap();
    let at = DateTime::from_millis(1_800_000_000_000);
    let sale = sales::Known {
        shop: 1,
        at,
        number: 1,
        cents: 5,
    };
    let by_unique = sales::WithoutUnique::buckets(&db).await.unwrap_err();
    // An empty collection does not show its rollups.
    sales::WithoutRollup::buckets(&db).await.unwrap();
    sales.append(&sale).await.unwrap();
    let by_rollup = sales::WithoutRollup::buckets(&db).await.unwrap_err();
    let by_part = sales::WithoutMax::buckets(&db).await.unwrap_err();
    for (error, keeps, call) in [
        (
            by_unique,
            "`items.number`, and this struct would not; mark that field `unique`",
            r#"dropIndex("bucket_unique")"#,
        ),
        (
            by_rollup,
            "`rollup.cents` in each bucket, and this struct would not; mark the field with `sum`, `min` or `max`",
            r#"updateMany({}, { $unset: { "rollup.cents": "" } })"#,
        ),
        (
            by_part,
            "`rollup.cents.max`",
            r#"updateMany({}, { $unset: { "rollup.cents.max": "" } })"#,
        ),
    ] {
        let text = error.to_string();
        assert!(error.is_index_conflict(), "{text}");
        assert!(text.contains(keeps), "{text}");
        let call = format!("db.getCollection(\"sales\").{call}");
        assert!(text.contains(&call), "{text}");
    }
    sales::KnownBetter::buckets(&db).await.unwrap();
    // What the text says helps.
    let all = sales.collection().clone_with_type::<Document>();
    let unset = doc! { "$unset": { "rollup.cents.max": "" } };
    all.update_many(doc! {}, unset).await.unwrap();
    sales::WithoutMax::buckets(&db).await.unwrap();
    all.drop_index("bucket_unique").await.unwrap();
    let unset = doc! { "$unset": { "rollup.cents": "" } };
    all.update_many(doc! {}, unset).await.unwrap();
    sales::WithoutRollup::buckets(&db).await.unwrap();
}

/// As nearly every tutorial but the manual's makes them.
#[bucket_testkit::test]
async fn g4_buckets_by_hand_are_noticed_and_no_read_gives_their_items(db: Live) {
    let orders = Order::buckets(&db).await.unwrap();
    let item = doc! { "at": order(1).at, "total": 1_i64 };
    let by_hand = doc! { "customer": 1_i64, "count": 3, "items": [&item, &item, &item] };
    let all = orders.collection().clone_with_type::<Document>();
    let id = all.insert_one(by_hand).await.unwrap().inserted_id;

    let error = Order::buckets(&db).await.unwrap_err();
    let text = error.to_string();
    assert!(error.is_deserialize(), "{text}");
    assert!(text.contains(&id.to_string()), "{text}");
    assert!(text.contains("\"Importing\""), "{text}");

    orders.append(&order(3)).await.unwrap();
    let of_key = orders.items(&1).await.unwrap();
    let of_all = orders.all_items().await.unwrap();
    for items in [of_key, of_all] {
        assert_eq!(items.try_collect::<Vec<_>>().await.unwrap(), [order(3)]);
    }
    assert_eq!(orders.count(&1).await.unwrap(), 1);
    assert_eq!(orders.count_all().await.unwrap(), 1);
    let filter = Order::FIELDS.total.gte(0);
    let count = orders.count_all().filter(filter).await;
    assert_eq!(count.unwrap(), 1);
    let problems = Ops::<Order>::of(&db).verify().await.unwrap().problems;
    let is_foreign = |problem: &&Problem| problem.kind == Kind::ForeignId;
    let foreign = problems.iter().find(is_foreign).unwrap().to_string();
    assert!(foreign.contains("no read of the key finds it"), "{foreign}");
}

#[bucket_testkit::test]
async fn missing_indexes_are_listed_with_their_commands(db: Live) {
    let orders = Order::buckets(&db).await.unwrap();
    orders.append(&order(0)).await.unwrap();
    let all = Order::indexes();
    assert_eq!(all.len(), 3);
    for name in ["bucket_open", "items.total_1", "bucket_expiry"] {
        orders.collection().drop_index(name).await.unwrap();
    }
    let missing =
        |index: &RequiredIndex| expected(Kind::MissingIndex, [""; 0], None, index.to_string());
    let missing = Vec::from_iter(all.iter().map(missing));
    let verified = Ops::<Order>::of(&db).verify().await.unwrap();
    assert_found(&verified.problems, &missing);
    assert_eq!((verified.buckets, verified.items), (1, 1));
    let repaired = Ops::<Order>::of(&db).repair().await.unwrap();
    assert_found(&repaired.left, &missing);
    assert_sound(&Order::buckets(&db).await.unwrap()).await;
    let stored = orders.collection().count_documents(doc! {}).await;
    assert_eq!(stored.unwrap(), 1);
}
