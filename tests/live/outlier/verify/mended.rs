//! No repair loses an item: whatever is damaged by hand, the raw driver finds the same items before and after.

use std::collections::BTreeMap;

use bucket_runtime::{
    BucketProblem, Fields, Outlier, OutlierProblem,
    mongodb::bson::{Bson, Document, doc},
};
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, documents},
    outliers::remove,
    tasks::JoinSet,
};

/// Counts its followers, who have an identity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "users",
    reference = "user_id",
    threshold = 3,
    extras_capacity = 2
)]
struct User {
    _id: i64,
    name: String,
    #[outlier(items, unique = user)]
    followers: Vec<Follower>,
    #[outlier(total)]
    all: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Follower {
    user: i64,
}

/// Three followers of their own and six in three extras documents, of which the last is full.
const DAMAGED: i64 = 1;

/// The followers of each user as they are stored: its own, then those of its extras by the ids of these.
async fn stored(db: &Live) -> BTreeMap<i64, Vec<Bson>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for (collection, id, items) in [
        ("users", "_id", "followers"),
        ("extra_users", "user_id", "followers_extra"),
    ] {
        for document in documents(&db.collection::<Document>(collection)).await {
            let items = document.get_array(items).into_iter().flatten();
            let of = all.entry(document.get_i64(id).unwrap()).or_default();
            of.extend(items.cloned());
        }
    }
    all
}

/// A command by hand, on one of the collections.
enum ByHand {
    Parents(Document),
    /// The update of the extras document with this number.
    Extras(i64, Document),
    Insert(Document),
    DropIndex(&'static str),
    DeleteParent,
}

use ByHand::{DeleteParent, DropIndex, Extras, Insert, Parents};

impl ByHand {
    async fn carry_out(self, db: &Live) {
        let parents = db.collection::<Document>("users");
        let extras = db.collection::<Document>("extra_users");
        let updated = match self {
            Parents(update) => parents.update_one(doc! { "_id": DAMAGED }, update).await,
            Extras(n, update) => extras.update_one(doc! { "_id": page_id(n) }, update).await,
            Insert(document) => {
                extras.insert_one(document).await.unwrap();
                return;
            }
            DropIndex(name) => return extras.drop_index(name).await.unwrap(),
            DeleteParent => {
                let deleted = parents.delete_one(doc! { "_id": DAMAGED }).await;
                assert_eq!(deleted.unwrap().deleted_count, 1);
                return;
            }
        };
        assert_eq!(updated.unwrap().modified_count, 1);
    }
}

fn page_id(n: i64) -> String {
    format!("{DAMAGED}_{n:010}")
}

fn followers(of: &[i64]) -> Vec<Document> {
    of.iter().map(|user| doc! { "user": user }).collect()
}

/// An extras document as a program without this library may write it.
fn page(n: i64, of: &[i64]) -> Document {
    let count = of.len() as i32;
    doc! { "_id": page_id(n), "user_id": DAMAGED, "count": count, "followers_extra": followers(of) }
}

/// The kinds that `verify` finds, each once, in their order as words.
async fn kinds(db: &Live) -> Vec<&'static str> {
    let problems = User::verify(db).await.unwrap().problems;
    let mut kinds: Vec<_> = problems.iter().map(OutlierProblem::kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Sound users, then this damage: `verify` finds these kinds; a repair leaves those of the second list, and all
/// items at their places.
async fn is_mended(db: &Live, by_hand: Vec<ByHand>, found: &[&str], left: &[&str]) {
    for name in ["users", "extra_users"] {
        db.collection::<Document>(name).drop().await.unwrap();
    }
    let users = User::outliers(db).await.unwrap();
    for (_id, n) in [(DAMAGED, 9), (2, 3), (3, 4), (4, 0)] {
        let user = User {
            _id,
            name: format!("user {_id}"),
            followers: (0..n).map(|user| Follower { user }).collect(),
            all: 0,
        };
        users.insert(&user).await.unwrap();
    }
    assert_eq!(kinds(db).await, [""; 0]);
    for command in by_hand {
        command.carry_out(db).await;
    }
    let before = stored(db).await;
    assert_eq!(kinds(db).await, found);

    let repaired = User::repair(db).await.unwrap();
    let mut kinds_left: Vec<_> = repaired.left.iter().map(OutlierProblem::kind).collect();
    kinds_left.sort_unstable();
    kinds_left.dedup();
    assert_eq!(kinds_left, left, "after {found:?}: {:?}", repaired.left);
    assert_eq!(stored(db).await, before, "after {found:?}");
    assert_eq!(User::repair(db).await.unwrap().repaired, [].into());
}

/// As [`is_mended`], and then the parent reads as a whole, and takes further items at its end.
async fn is_whole_again(db: &Live, by_hand: Vec<ByHand>, found: &[&str]) {
    is_mended(db, by_hand, found, &[]).await;
    let users = User::outliers(db).await.unwrap();
    let mut expected: Vec<_> = stored(db).await.remove(&DAMAGED).unwrap();
    let next = 100..105;
    let pushed = users.push_many(&DAMAGED, next.clone().map(|user| Follower { user }));
    assert_eq!(pushed.await.unwrap(), 5);
    expected.extend(next.map(|user| Bson::from(doc! { "user": user })));
    assert_eq!(stored(db).await[&DAMAGED], expected, "after {found:?}");
    let read = users.get_all(&DAMAGED).await.unwrap().unwrap();
    let read = read
        .followers
        .iter()
        .map(|follower| doc! { "user": follower.user });
    let read: Vec<Bson> = read.map(Bson::from).collect();
    assert_eq!((read, kinds(db).await), (expected, vec![]));
}

#[bucket_testkit::test]
async fn o1_flags_and_totals_are_set_and_no_item_is_lost(db: Live) {
    for flag in [
        doc! { "$unset": { "has_extras": 1 } },
        doc! { "$set": { "has_extras": false } },
        doc! { "$set": { "has_extras": Bson::Null } },
    ] {
        is_whole_again(&db, vec![Parents(flag)], &["NoFlag"]).await;
    }
    for total in [
        doc! { "$unset": { "all": 1 } },
        doc! { "$set": { "all": "nine" } },
        doc! { "$inc": { "all": -4 } },
    ] {
        is_whole_again(&db, vec![Parents(total)], &["WrongTotal"]).await;
    }
    let grown =
        doc! { "$push": { "followers": { "$each": followers(&[20, 21]), "$position": 0 } } };
    is_mended(&db, vec![Parents(grown)], &["TooLarge", "WrongTotal"], &[]).await;
}

#[bucket_testkit::test]
async fn o4_extras_are_put_in_order_and_no_item_is_lost(db: Live) {
    let set = |update: Document| doc! { "$set": update };
    let total = || Parents(doc! { "$inc": { "all": 2 } });
    // Counts and seals that are none.
    let count = |n, count: i32| vec![Extras(n, set(doc! { "count": count }))];
    is_whole_again(&db, count(2, 9), &["WrongCount"]).await;
    is_whole_again(&db, count(0, 1), &["WrongCount"]).await;
    let sealed = vec![Extras(1, set(doc! { "sealed": "x" }))];
    is_whole_again(&db, sealed, &["WrongSeal"]).await;
    // Two open ones: the index that refuses them was dropped.
    let two = vec![
        DropIndex("bucket_open"),
        Insert(page(3, &[20])),
        Insert(page(4, &[21])),
        total(),
    ];
    is_whole_again(&db, two, &["SeveralOpen"]).await;
    // An item was taken out by hand, and the next one would come before those of the later documents.
    let taken = |n| {
        let taken = doc! { "$pop": { "followers_extra": 1 }, "$inc": { "count": -1 } };
        vec![Extras(n, taken), Parents(doc! { "$inc": { "all": -1 } })]
    };
    is_whole_again(&db, taken(0), &["OpenBeforeLast"]).await;
    is_whole_again(&db, taken(1), &["OpenBeforeLast"]).await;
    is_whole_again(&db, taken(2), &[]).await;
    // Both at once: one repair solves what the other leaves.
    let both = taken(0).into_iter();
    let both = both.chain([DropIndex("bucket_open")]).chain(taken(1));
    is_whole_again(&db, both.collect(), &["OpenBeforeLast", "SeveralOpen"]).await;
    // Numbers that are missing stay so, and nothing comes before what is there.
    let gap = vec![Insert(page(7, &[20, 21])), total()];
    is_mended(&db, gap, &["Gap"], &["Gap"]).await;
}

#[bucket_testkit::test]
async fn o1_what_nobody_can_guess_stays_as_it_is(db: Live) {
    let double = || Parents(doc! { "$push": { "followers": { "user": 1 } } });
    let count = |by: i32| Parents(doc! { "$inc": { "all": by } });
    let shorter = || Parents(doc! { "$pop": { "followers": 1 } });
    for by_hand in [
        // Within the array, and there and in the extras.
        vec![shorter(), double()],
        vec![
            shorter(),
            Parents(doc! { "$push": { "followers": { "user": 7 } } }),
        ],
        // In two extras documents: the index that refuses them was dropped.
        vec![
            DropIndex("bucket_unique"),
            Insert(page(3, &[8, 20])),
            count(2),
        ],
        // In the array and in two extras documents it is one problem.
        vec![
            DropIndex("bucket_unique"),
            Insert(page(3, &[1, 8])),
            Insert(page(4, &[1, 20])),
            count(4),
        ],
    ] {
        is_mended(&db, by_hand, &["Twins"], &["Twins"]).await;
    }
    let problems = User::verify(&db).await.unwrap().problems;
    let twins = |identity: i64, places: &[u64], pages: [i64; 2]| OutlierProblem::Twins {
        parent: DAMAGED.into(),
        identity: identity.into(),
        places: places.to_vec(),
        extras: pages.map(|n| page_id(n).into()).to_vec(),
    };
    assert_eq!(problems, [twins(1, &[1], [3, 4]), twins(8, &[], [2, 3])]);

    // In two extras documents, of which the index does not see one.
    let foreign = doc! { "user_id": DAMAGED, "followers_extra": followers(&[8, 20]) };
    let both = ["ForeignId", "Twins"];
    is_mended(&db, vec![Insert(foreign), count(2)], &both, &both).await;

    // Within one extras document.
    let within = Extras(
        2,
        doc! { "$set": { "followers_extra": followers(&[7, 7]) } },
    );
    is_mended(&db, vec![within], &["Twins"], &["Twins"]).await;
    let problems = User::verify(&db).await.unwrap().problems;
    let is_within = |problem: &OutlierProblem| {
        matches!(problem, OutlierProblem::Extras(BucketProblem::Twins { .. }))
    };
    assert!(
        problems.len() == 1 && is_within(&problems[0]),
        "{problems:?}"
    );

    let nameless = || vec![Parents(doc! { "$unset": { "name": 1 } })];
    is_mended(
        &db,
        nameless(),
        &["UnreadableParent"],
        &["UnreadableParent"],
    )
    .await;
    let item = Parents(doc! { "$set": { "followers.1": 5 } });
    is_mended(&db, vec![item], &["UnreadableItem"], &["UnreadableItem"]).await;
    let extra = Extras(1, doc! { "$set": { "followers_extra.1": 5 } });
    is_mended(&db, vec![extra], &["Unreadable"], &["Unreadable"]).await;
    is_mended(&db, vec![DeleteParent], &["NoParent"], &["NoParent"]).await;

    // What can be mended of an unreadable parent is.
    let unset = doc! { "$unset": { "name": 1, "has_extras": 1, "all": 1 } };
    let found = ["NoFlag", "UnreadableParent", "WrongTotal"];
    is_mended(&db, vec![Parents(unset)], &found, &["UnreadableParent"]).await;
}

/// Pages fill, open and lose items while they are read.
#[bucket_testkit::test(multi_thread)]
async fn o4_nothing_is_found_while_writers_push_and_remove(db: Live) {
    let users = User::outliers(&db).await.unwrap();
    let user = User {
        _id: DAMAGED,
        name: "user 1".to_owned(),
        followers: vec![],
        all: 0,
    };
    users.insert(&user).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let users = users.clone();
        writers.spawn(async move {
            for user in (writer * 100)..(writer * 100 + 30) {
                users.push(&DAMAGED, Follower { user }).await.unwrap();
                if user % 3 == 0 {
                    assert!(remove(&users, &DAMAGED, Follower { user }).await.unwrap());
                }
            }
        });
    }
    let mut writing = true;
    while writing {
        writing = !writers.is_empty();
        assert_eq!(User::verify(&db).await.unwrap().problems, []);
        while let Some(joined) = writers.try_join_next() {
            joined.unwrap();
        }
    }
    assert_eq!(stored(&db).await[&DAMAGED].len(), 80);
}
