//! No repair loses an item: whatever is damaged by hand, the raw driver finds the same items before and after.

use std::collections::BTreeMap;

use bucket_ops::{OutlierOps, Problem, ProblemKind as Kind};
use bucket_runtime::{
    Fields, Outlier,
    mongodb::bson::{Bson, Document, doc},
};
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, documents},
    problems::{assert_found, expected, kinds},
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

fn user(_id: i64, followers: i64) -> User {
    User {
        _id,
        name: format!("user {_id}"),
        followers: (0..followers).map(|user| Follower { user }).collect(),
        all: 0,
    }
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

async fn found(db: &Live) -> Vec<Problem> {
    let verified = OutlierOps::<User>::of(db).verify().await;
    verified.unwrap().problems
}

/// The kinds that `verify` finds, each once, in their order.
async fn found_kinds(db: &Live) -> Vec<Kind> {
    kinds(&found(db).await)
}

/// Sound users, then this damage: `verify` finds these kinds; a repair leaves those of the second list, and all
/// items at their places.
async fn is_mended(db: &Live, by_hand: Vec<ByHand>, found: &[Kind], left: &[Kind]) {
    for name in ["users", "extra_users"] {
        db.collection::<Document>(name).drop().await.unwrap();
    }
    let users = User::outliers(db).await.unwrap();
    for (id, n) in [(DAMAGED, 9), (2, 3), (3, 4), (4, 0)] {
        users.insert(&user(id, n)).await.unwrap();
    }
    assert_eq!(found_kinds(db).await, []);
    for command in by_hand {
        command.carry_out(db).await;
    }
    let before = stored(db).await;
    assert_eq!(found_kinds(db).await, found);

    let repair = async || OutlierOps::<User>::of(db).repair().await.unwrap();
    let repaired = repair().await;
    let kinds_left = kinds(&repaired.left);
    assert_eq!(kinds_left, left, "after {found:?}: {:?}", repaired.left);
    assert_eq!(stored(db).await, before, "after {found:?}");
    assert_eq!(repair().await.repaired, [].into());
}

/// As [`is_mended`], but for all that `verify` finds.
async fn stays(db: &Live, by_hand: Vec<ByHand>, found: &[Kind]) {
    is_mended(db, by_hand, found, found).await;
}

/// As [`is_mended`], and then the parent reads as a whole, and takes further items at its end.
async fn is_whole_again(db: &Live, by_hand: Vec<ByHand>, found: &[Kind]) {
    is_mended(db, by_hand, found, &[]).await;
    let users = User::outliers(db).await.unwrap();
    let mut expected = stored(db).await.remove(&DAMAGED).unwrap();
    let next = 100..105;
    let pushed = users.push_many(&DAMAGED, next.clone().map(|user| Follower { user }));
    assert_eq!(pushed.await.unwrap(), 5);
    expected.extend(next.map(|user| Bson::from(doc! { "user": user })));
    assert_eq!(stored(db).await[&DAMAGED], expected, "after {found:?}");
    let read = users.get_all(&DAMAGED).await.unwrap().unwrap();
    let read = read.followers.iter();
    let read = read.map(|follower| Bson::from(doc! { "user": follower.user }));
    assert_eq!(Vec::from_iter(read), expected, "after {found:?}");
    assert_eq!(found_kinds(db).await, [], "after {found:?}");
}

#[bucket_testkit::test]
async fn o1_flags_and_totals_are_set_and_no_item_is_lost(db: Live) {
    for flag in [
        doc! { "$unset": { "has_extras": 1 } },
        doc! { "$set": { "has_extras": false } },
        doc! { "$set": { "has_extras": Bson::Null } },
        doc! { "$set": { "has_extras": 1 } },
    ] {
        is_whole_again(&db, vec![Parents(flag)], &[Kind::NoFlag]).await;
    }
    for total in [
        doc! { "$unset": { "all": 1 } },
        doc! { "$set": { "all": "nine" } },
        doc! { "$inc": { "all": -4 } },
    ] {
        is_whole_again(&db, vec![Parents(total)], &[Kind::WrongTotal]).await;
    }
    let grown =
        doc! { "$push": { "followers": { "$each": followers(&[20, 21]), "$position": 0 } } };
    let kinds = [Kind::TooLarge, Kind::WrongTotal];
    is_mended(&db, vec![Parents(grown)], &kinds, &[]).await;
}

#[bucket_testkit::test]
async fn o4_extras_are_put_in_order_and_no_item_is_lost(db: Live) {
    let set = |update: Document| doc! { "$set": update };
    let total = || Parents(doc! { "$inc": { "all": 2 } });
    // Counts and seals that are none.
    let count = |n, count: i32| vec![Extras(n, set(doc! { "count": count }))];
    is_whole_again(&db, count(2, 9), &[Kind::WrongCount]).await;
    is_whole_again(&db, count(0, 1), &[Kind::WrongCount]).await;
    let sealed = vec![Extras(1, set(doc! { "sealed": "x" }))];
    is_whole_again(&db, sealed, &[Kind::WrongSeal]).await;
    // Two open ones: the index that refuses them was dropped.
    let two = vec![
        DropIndex("bucket_open"),
        Insert(page(3, &[20])),
        Insert(page(4, &[21])),
        total(),
    ];
    is_whole_again(&db, two, &[Kind::SeveralOpen]).await;
    // An item was taken out by hand, and the next one would come before those of the later documents.
    let taken = |n| {
        let taken = doc! { "$pop": { "followers_extra": 1 }, "$inc": { "count": -1 } };
        vec![Extras(n, taken), Parents(doc! { "$inc": { "all": -1 } })]
    };
    is_whole_again(&db, taken(0), &[Kind::OpenBeforeLast]).await;
    is_whole_again(&db, taken(1), &[Kind::OpenBeforeLast]).await;
    is_whole_again(&db, taken(2), &[]).await;
    // One that is open, and that looks empty or full.
    for wrong in [0, 2] {
        let open = taken(2).into_iter().chain(count(2, wrong)).collect();
        is_whole_again(&db, open, &[Kind::WrongCount]).await;
    }
    // Both at once: one repair solves what the other leaves.
    let both = taken(0).into_iter();
    let both = both.chain([DropIndex("bucket_open")]).chain(taken(1));
    let kinds = [Kind::OpenBeforeLast, Kind::SeveralOpen];
    is_whole_again(&db, both.collect(), &kinds).await;
    // Numbers that are missing stay so, and nothing comes before what is there.
    let gap = vec![Insert(page(7, &[20, 21])), total()];
    stays(&db, gap, &[Kind::Gap]).await;
}

#[bucket_testkit::test]
async fn o1_what_nobody_can_guess_stays_as_it_is(db: Live) {
    let push = |user: i32| Parents(doc! { "$push": { "followers": { "user": user } } });
    let count = |by: i32| Parents(doc! { "$inc": { "all": by } });
    let shorter = || Parents(doc! { "$pop": { "followers": 1 } });
    for by_hand in [
        // Within the array, and there and in the extras.
        vec![shorter(), push(1)],
        vec![shorter(), push(7)],
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
        stays(&db, by_hand, &[Kind::Twins]).await;
    }
    let problems = found(&db).await;
    let twins = |identity: i64, own: &str, pages: [i64; 2]| {
        let [first, second] = pages.map(|n| format!("extras document {:?}", page_id(n)));
        let text = format!("identity Long(\"{identity}\"): {own}{first}, {second};");
        expected(Kind::Twins, [DAMAGED], &*DAMAGED.to_string(), text)
    };
    let twins = [twins(1, "item 1 (from 0), ", [3, 4]), twins(8, "", [2, 3])];
    assert_found(&problems, &twins);

    // In two extras documents, of which the index does not see one.
    let foreign = doc! { "user_id": DAMAGED, "followers_extra": followers(&[8, 20]) };
    let both = [Kind::ForeignId, Kind::Twins];
    stays(&db, vec![Insert(foreign), count(2)], &both).await;

    // Within one extras document.
    let set = |twins: Vec<Document>| doc! { "$set": { "followers_extra": twins } };
    let within = Extras(2, set(followers(&[7, 7])));
    stays(&db, vec![within], &[Kind::Twins]).await;
    let key = DAMAGED.to_string();
    let twins = expected(Kind::Twins, [page_id(2)], &*key, "in the extras");
    assert_found(&found(&db).await, &[twins]);

    let nameless = Parents(doc! { "$unset": { "name": 1 } });
    stays(&db, vec![nameless], &[Kind::UnreadableParent]).await;
    let item = Parents(doc! { "$set": { "followers.1": 5 } });
    stays(&db, vec![item], &[Kind::Unreadable]).await;
    let extra = Extras(1, doc! { "$set": { "followers_extra.1": 5 } });
    stays(&db, vec![extra], &[Kind::Unreadable]).await;
    stays(&db, vec![DeleteParent], &[Kind::NoParent]).await;

    // What can be mended of an unreadable parent is.
    let unset = doc! { "$unset": { "name": 1, "has_extras": 1, "all": 1 } };
    let kinds = [Kind::NoFlag, Kind::UnreadableParent, Kind::WrongTotal];
    is_mended(&db, vec![Parents(unset)], &kinds, &[Kind::UnreadableParent]).await;
}
