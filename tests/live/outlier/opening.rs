//! What opening the collections of an outlier notices, by the indexes that it reads anyway.

use bucket_ops::OutlierOps;
use bucket_runtime::{
    Outlier,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use serde::{Deserialize, Serialize};

use crate::support::database::{Recorded, is_cluster, number};

/// The structs of one collection: with a total, whose name is also that of a field of extras, with another, and
/// without one.
macro_rules! polls {
    ($($name:ident($($total:ident)?))+) => {$(
        #[derive(Debug, Serialize, Deserialize, Outlier)]
        #[outlier(collection = "polls", reference = "poll", threshold = 1, extras_capacity = 2)]
        struct $name {
            #[serde(rename = "_id")]
            id: i64,
            #[outlier(items)]
            votes: Vec<i64>,
            $(
                #[outlier(total)]
                #[serde(default)]
                $total: u64,
            )?
        }
    )+};
}

polls! {
    Counted(count)
    CountedElsewhere(cast)
    Uncounted()
}

/// The number of entries of the index by which a total is known.
async fn entries(db: &Database) -> i64 {
    let validate = doc! { "validate": "extra_polls" };
    let validated = db.run_command(validate).await.unwrap();
    let per_index = validated.get_document("keysPerIndex").unwrap();
    number(per_index.get("outlier_total"))
}

/// Its writers would leave the total behind.
#[bucket_testkit::test]
async fn a_struct_without_the_total_of_its_parents_is_refused(Recorded(db, record): Recorded) {
    Uncounted::outliers(&db).await.unwrap();
    record.take();
    let uncounted = Uncounted::outliers(&db).await.unwrap();
    let without_total = record.names();
    let polls = Counted::outliers(&db).await.unwrap();
    let poll = Counted {
        id: 1,
        votes: vec![5; 9],
        count: 0,
    };
    polls.insert(&poll).await.unwrap();
    record.take();
    Counted::outliers(&db).await.unwrap();
    assert_eq!(record.names(), without_total);
    if !is_cluster().await {
        assert_eq!(entries(&db).await, 0);
    }

    for error in [
        Uncounted::outliers(&db).await.unwrap_err(),
        CountedElsewhere::outliers(&db).await.unwrap_err(),
        Uncounted::outliers(&db)
            .create_indexes(false)
            .await
            .unwrap_err(),
        OutlierOps::<Uncounted>::of(&db).repair().await.unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(error.is_index_conflict(), "{text}");
        for part in [
            "keeps the number of each parent's items, in `count`, and this struct would not",
            "mark that field `total`",
            "db.getCollection(\"extra_polls\").dropIndex(\"outlier_total\")",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
    // A handle that is open goes on.
    uncounted.push(&1, 5).await.unwrap();

    // What the text says helps.
    let extras = polls.extras_collection().clone_with_type::<Document>();
    extras.drop_index("outlier_total").await.unwrap();
    Uncounted::outliers(&db).await.unwrap();
    let lacking = Counted::outliers(&db)
        .create_indexes(false)
        .await
        .unwrap_err();
    assert_eq!(lacking.missing_indexes().len(), 1, "{lacking}");
    CountedElsewhere::outliers(&db).await.unwrap();
}
