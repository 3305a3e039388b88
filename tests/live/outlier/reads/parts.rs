//! Parts of a parent's items: the fields of the same items in the same order, and the server sends no others.

use bucket_runtime::{
    Fields, Outlier, Outliers, Part,
    action::ParentItems,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::{Live, Recorded, first_batch};

type Time = chrono::DateTime<chrono::Utc>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "users",
    reference = "user_id",
    threshold = 5,
    extras_capacity = 4
)]
pub(super) struct User {
    pub(super) _id: i64,
    name: String,
    #[outlier(items)]
    pub(super) followers: Vec<Follower>,
}

/// Fields under each kind of attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(rename_all = "camelCase")]
pub(super) struct Follower {
    #[serde(alias = "login")]
    pub(super) user_name: String,
    pub(super) since: i64,
    #[serde(default = "one")]
    weight: i32,
    #[serde(with = "bucket_runtime::bson_date")]
    last_seen: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    pub(super) tags: Vec<String>,
    long_text: String,
}

fn one() -> i32 {
    1
}

#[derive(Debug, Clone, PartialEq, Part)]
#[part(of = Follower)]
struct Summary {
    last_seen: Time,
    note: Option<String>,
    user_name: String,
    weight: i32,
}

impl From<Follower> for Summary {
    fn from(whole: Follower) -> Self {
        Self {
            last_seen: whole.last_seen,
            note: whole.note,
            user_name: whole.user_name,
            weight: whole.weight,
        }
    }
}

const SENT: [&str; 5] = ["lastSeen", "login", "note", "userName", "weight"];

pub(super) fn follower(n: i64) -> Follower {
    Follower {
        user_name: format!("user{n}"),
        since: n,
        weight: 2,
        last_seen: chrono::DateTime::from_timestamp_millis(1_700_000_000_000 + n).unwrap(),
        note: (n % 3 == 0).then(|| format!("note {n}")),
        tags: vec![format!("t{}", n % 3), "all".to_owned()],
        long_text: "x".repeat(200),
    }
}

/// A user without followers, one with three, and one with twenty in the parent and its extras.
pub(super) async fn inserted(db: &Database) -> Outliers<User> {
    let users = User::outliers(db).await.unwrap();
    for (id, followers) in [(1, 0), (2, 3), (3, 20)] {
        let user = User {
            _id: id,
            name: format!("name {id}"),
            followers: (0..followers).map(follower).collect(),
        };
        users.insert(&user).await.unwrap();
    }
    users
}

/// These users. Among the followers of the third are some as another program wrote them.
async fn users(db: &Database) -> Outliers<User> {
    let users = inserted(db).await;
    let element = |n: i64| {
        let last_seen = DateTime::from_millis(n);
        doc! { "login": format!("manual{n}"), "since": n, "lastSeen": last_seen, "tags": [], "longText": "" }
    };
    let parents = users.collection().clone_with_type::<Document>();
    let other = doc! { "$set": { "followers.1": element(60) } };
    parents.update_one(doc! { "_id": 3 }, other).await.unwrap();
    let other = doc! { "$set": { "followers_extra.1": element(50) } };
    let extras = users.extras_collection();
    extras.update_one(doc! {}, other).await.unwrap();
    users
}

/// Every kind of read, by whole documents and by single items.
fn reads(users: &Outliers<User>) -> Vec<ParentItems<'static, User>> {
    let since = User::FIELDS.followers.item().since;
    let mut reads = Vec::new();
    for id in [1, 2, 3] {
        let of = || users.items(&id);
        reads.extend([
            of(),
            of().newest_first(),
            of().limit(9),
            of().limit(4).newest_first(),
            of().skip(2),
            of().skip(7).newest_first(),
            of().skip(12).limit(5),
            of().filter(since.gte(2)),
            of().filter(since.lt(55)).newest_first().skip(1).limit(10),
        ]);
    }
    reads
}

#[bucket_testkit::test]
async fn parts_are_the_fields_of_the_items(db: Live) {
    let users = users(&db).await;
    let mut read = 0;
    for (whole, parts) in reads(&users).into_iter().zip(reads(&users)) {
        let whole: Vec<Follower> = whole.await.unwrap().try_collect().await.unwrap();
        let parts = parts.parts::<Summary>().await.unwrap();
        let parts: Vec<Summary> = parts.try_collect().await.unwrap();
        read += parts.len();
        assert_eq!(parts, Vec::from_iter(whole.into_iter().map(Summary::from)));
    }
    assert!(read > 100, "{read}");
    let later = users.items(&3).parts::<Summary>().newest_first().skip(1);
    let since = User::FIELDS.followers.item().since;
    let later = later.limit(3).filter(since.lt(17)).await.unwrap();
    let later: Vec<Summary> = later.try_collect().await.unwrap();
    let expected = [15, 14, 13].map(|n| Summary::from(follower(n)));
    assert_eq!(later, expected, "settings after the call");
}

#[bucket_testkit::test]
async fn pages_of_parts_lead_to_one_another(db: Live) {
    let users = users(&db).await;
    for newest_first in [false, true] {
        let list = || match newest_first {
            false => users.items(&3),
            true => users.items(&3).newest_first(),
        };
        let whole: Vec<Follower> = list().await.unwrap().try_collect().await.unwrap();
        let whole = Vec::from_iter(whole.into_iter().map(Summary::from));
        let mut page = list().parts::<Summary>().page_of_items(3).await.unwrap();
        let mut read = page.items.clone();
        while let Some(next) = page.next {
            let back = page.items;
            let list = || list().parts::<Summary>().page_of_items(3);
            page = list().after(&next).await.unwrap();
            read.extend(page.items.clone());
            let previous = page.previous.clone().unwrap();
            assert_eq!(list().before(&previous).await.unwrap().items, back);
        }
        assert_eq!(read, whole);
    }
    // A token is of a list of the same parts.
    let page = users.items(&3).page_of_items(3).await.unwrap();
    let parts = users.items(&3).parts::<Summary>().page_of_items(3);
    let error = parts.after(&page.next.unwrap()).await.unwrap_err();
    assert!(error.is_token_mismatch(), "{error}");
}

/// The items in a row, in whichever array.
fn items_of(row: &Document) -> impl Iterator<Item = &Document> {
    let arrays = row.values().filter_map(Bson::as_array);
    arrays.flatten().filter_map(Bson::as_document)
}

#[bucket_testkit::test]
async fn the_server_sends_the_fields_of_a_part_and_no_others(Recorded(db, record): Recorded) {
    let users = users(&db).await;
    let mut sent = 0;
    for read in reads(&users) {
        record.take();
        let parts = read.parts::<Summary>().await.unwrap();
        parts.try_collect::<Vec<_>>().await.unwrap();
        let commands = record.take();
        assert!(!commands.is_empty());
        for command in commands {
            for row in first_batch(&db, command).await {
                assert!(!row.contains_key("name"), "{row}");
                for item in items_of(&row) {
                    let mut names = item.keys().map(String::as_str);
                    assert!(names.all(|name| SENT.contains(&name)), "{item}");
                    sent += usize::from(!item.is_empty());
                }
            }
        }
    }
    assert!(sent > 100, "{sent}");
}

#[bucket_testkit::test]
async fn a_part_reports_what_it_cannot_read_and_needs_nothing_else(db: Live) {
    let users = users(&db).await;
    let parents = users.collection().clone_with_type::<Document>();
    // The name of the parent and a field outside of the part: the whole cannot be read, the part can.
    let damage = doc! {
        "$set": { "followers.0.lastSeen": 5, "followers.2.since": "text" },
        "$unset": { "name": 1 },
    };
    parents.update_one(doc! { "_id": 2 }, damage).await.unwrap();
    let whole = users.items(&2).await.map(|_| ()).unwrap_err();
    assert!(whole.is_deserialize(), "{whole}");
    for read in [|id| id, |id: ParentItems<'static, User>| id.limit(9)] {
        let read = || read(users.items(&2)).parts::<Summary>();
        let error = match read().await {
            Ok(parts) => parts.try_collect::<Vec<_>>().await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.is_deserialize(), "{error}");
        assert!(error.to_string().contains("followers.0"), "{error}");
        let mut skipped = Vec::new();
        let parts = read().skip_unreadable(|error| skipped.push(error.to_string()));
        let parts: Vec<Summary> = parts.await.unwrap().try_collect().await.unwrap();
        assert_eq!(parts, [1, 2].map(|n| Summary::from(follower(n))));
        assert_eq!(skipped.len(), 1, "{skipped:?}");
        assert!(skipped[0].contains("followers.0"), "{skipped:?}");
    }
    // No such parent, and one without the array.
    let unset = doc! { "$unset": { "followers": 1 } };
    parents.update_one(doc! { "_id": 1 }, unset).await.unwrap();
    for id in [1, 9] {
        let parts = users.items(&id).parts::<Summary>().await.unwrap();
        assert_eq!(parts.try_collect::<Vec<_>>().await.unwrap(), []);
    }
}
