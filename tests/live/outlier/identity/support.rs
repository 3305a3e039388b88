//! Users with followers, and what the raw driver finds of them.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_runtime::{
    Appended, Fields, IdentifiedItems, Outlier, Outliers,
    mongodb::bson::{Bson, Document, doc},
};
use serde::{Deserialize, Serialize};

use crate::support::database::{documents, number};

/// An item with a field that tells it apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Follower {
    pub(crate) user_id: i64,
    pub(crate) since: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
}

/// A parent whose items have an identity, which is a number.
pub(crate) trait Followed:
    IdentifiedItems + Outlier<Id = i64, Item: Debug> + Clone + Debug
{
    fn new(id: i64, followers: impl IntoIterator<Item = i64>) -> Self;

    /// An item with this identity. `since` is the rest of it, if there is any.
    fn follower(user: i64, since: i64) -> Self::Item;
}

macro_rules! followed {
    ($($name:ident(
        $collection:literal, $threshold:literal, $capacity:literal $(, max_bytes = $bytes:literal)?
    ) {
        $item:ty, $($unique:tt)+
    } $follower:expr $(, $total:ident)?;)+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
        #[outlier(
            collection = $collection,
            reference = "user_id",
            threshold = $threshold,
            extras_capacity = $capacity
            $(, max_bytes = $bytes)?
        )]
        pub(crate) struct $name {
            #[serde(rename = "_id")]
            pub(crate) id: i64,
            #[outlier(items, $($unique)+)]
            pub(crate) followers: Vec<$item>,
            $(#[serde(default)]
            #[outlier(total)]
            pub(crate) $total: u64,)?
        }

        impl Followed for $name {
            fn new(id: i64, followers: impl IntoIterator<Item = i64>) -> Self {
                let followers = followers.into_iter().map(|user| Self::follower(user, 0));
                Self { id, followers: followers.collect(), $($total: 0)? }
            }

            fn follower(user: i64, since: i64) -> $item {
                $follower(user, since)
            }
        }
    )+};
}

pub(crate) fn follower(user_id: i64, since: i64) -> Follower {
    Follower {
        user_id,
        since,
        note: String::new(),
    }
}

followed! {
    User20("users", 20, 7) { Follower, unique = user_id } follower;
    User5("users", 5, 4, max_bytes = 2000) { Follower, unique = user_id } follower;
    User3("users", 3, 2) { Follower, unique = user_id } follower;
    Plain20("plain", 20, 7) { i64, unique } |user, _| user;
    Text3("texts", 3, 2) { String, unique } |user: i64, _| format!("user {user}");
    Counted20("counted", 20, 7) { Follower, unique = user_id } follower, total;
    Counted5("counted", 5, 4, max_bytes = 2000) { Follower, unique = user_id } follower, total;
    CountedPlain3("counted_plain", 3, 2) { i64, unique } |user, _| user, total;
}

/// How often each identity is stored under a parent, as text, in its array and in its extras. It checks O2, O3, the
/// counts and the total first.
pub(crate) async fn stored<T: Outlier>(
    users: &Outliers<T>,
    id: i64,
) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let spec = T::SPEC;
    let (mut own, mut extras) = (BTreeMap::new(), BTreeMap::new());
    let parent = users.collection().find_one(doc! { "_id": id });
    let parent = parent.await.unwrap().unwrap();
    count(&parent, spec.items, spec.unique, &mut own);
    assert!(own.values().sum::<usize>() <= spec.threshold as usize, "O2");
    for bucket in documents(users.extras_collection()).await {
        if number(bucket.get(spec.reference)) != id {
            continue;
        }
        assert_eq!(parent.get(spec.flag), Some(&Bson::Boolean(true)), "O3");
        let length = bucket.get_array(spec.extra_items).unwrap().len() as i64;
        assert!(length == number(bucket.get("count")) && length <= spec.extras_capacity.into());
        count(&bucket, spec.extra_items, spec.unique, &mut extras);
    }
    if let Some(total) = spec.total {
        let items = own.values().chain(extras.values()).sum::<usize>();
        assert_eq!(number(parent.get(total)), items as i64, "the total");
    }
    (own, extras)
}

fn count(of: &Document, array: &str, field: Option<&str>, found: &mut BTreeMap<String, usize>) {
    for item in of.get_array(array).unwrap() {
        let identity = match field.filter(|field| !field.is_empty()) {
            Some(field) => item.as_document().unwrap().get(field).unwrap(),
            None => item,
        };
        *found.entry(identity.to_string()).or_default() += 1;
    }
}

/// Asserts that a parent has exactly these items, each once.
pub(crate) async fn assert_each_once<T: Followed>(
    users: &Outliers<T>,
    id: i64,
    followers: impl IntoIterator<Item = i64>,
) {
    let (mut all, extras) = stored(users, id).await;
    for (identity, n) in extras {
        *all.entry(identity).or_default() += n;
    }
    let expected = followers.into_iter();
    let expected = expected.map(|user| (identity::<T>(user).to_string(), 1));
    assert_eq!(all, expected.collect(), "O1: each item once");
}

/// The identity of an item, as it is stored.
fn identity<T: Followed>(user: i64) -> Bson {
    use bucket_runtime::mongodb::bson::Serializer;
    let item = T::follower(user, 0).serialize(Serializer::new()).unwrap();
    match T::SPEC.unique.filter(|field| !field.is_empty()) {
        Some(field) => item.as_document().unwrap().get(field).unwrap().clone(),
        None => item,
    }
}

/// Pushes one item; whether this call stored it.
pub(crate) async fn push<T: Followed>(users: &Outliers<T>, id: i64, user: i64) -> bool {
    let pushed = users.push(&id, T::follower(user, 1)).await.unwrap();
    pushed == Appended::Stored
}
