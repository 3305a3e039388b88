//! A value from a caller stays a value: whatever text or document it is, the commands keep their
//! shape, and another key's documents stay unchanged.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets, Fields, ItemToken, Outlier, Outliers,
    Upserted::{Appended, Replaced},
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, Regex, doc},
    },
};
use futures_util::TryStreamExt;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    security::shape::{SENTINEL, assert_same_shape},
    support::{
        database::{Record, Recorded, documents, items},
        random::for_any,
        scale::scaled,
    },
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "notes", id = "{k}_{at}", capacity = 2)]
struct Note {
    k: String,
    at: DateTime,
    #[bucket(index)]
    text: String,
    any: Bson,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "lists",
    extras = "more",
    reference = "list",
    threshold = 1
)]
struct List {
    #[serde(rename = "_id")]
    id: String,
    title: String,
    #[outlier(items)]
    all: Vec<Bson>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "labels",
    extras = "more_labels",
    reference = "label",
    threshold = 1
)]
struct Labels {
    #[serde(rename = "_id")]
    id: String,
    #[outlier(items, unique = name)]
    all: Vec<Label>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Label {
    name: String,
    any: Bson,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "tags", id = "{k}_{#}", capacity = 2)]
struct Tag {
    k: String,
    #[bucket(unique)]
    name: String,
    any: Bson,
}

struct Both {
    db: Database,
    notes: Buckets<Note>,
    lists: Outliers<List>,
    record: Record,
}

impl Both {
    async fn open(Recorded(db, record): Recorded) -> Self {
        let (notes, lists) = (Note::buckets(&db).await, List::outliers(&db).await);
        Self {
            notes: notes.unwrap(),
            lists: lists.unwrap(),
            record,
            db,
        }
    }

    /// Another key and another parent, which would change if a value were taken for a command.
    async fn plant_canary(&self) {
        let notes = vec![note("canary", "canary", &"canary".into()); 3];
        self.notes.append_many(notes).await.unwrap();
        let all = vec!["canary".into(); 3];
        let (id, title) = ("canary".into(), "canary".into());
        self.lists.insert(&List { id, title, all }).await.unwrap();
    }

    async fn all(&self) -> [Vec<Document>; 3] {
        [
            documents(self.notes.collection()).await,
            documents(self.lists.collection()).await,
            documents(self.lists.extras_collection()).await,
        ]
    }

    /// Every call that takes a value. Each must return exactly what was written; then all of it is
    /// removed. Returns the commands that were sent.
    async fn every_call(&self, text: &str, any: &Bson) -> Vec<Document> {
        // Handles that remember nothing of the key, so that all send the same commands.
        let notes = Note::buckets(&self.db).await.unwrap();
        let lists = List::outliers(&self.db).await.unwrap();
        let labels = Labels::outliers(&self.db).await.unwrap();
        let tags = Tag::buckets(&self.db).await.unwrap();
        self.record.take();
        self.of_notes(&notes, text, any).await;
        self.of_lists(&lists, text, any).await;
        of_labels(&labels, text, any).await;
        of_tags(&tags, text, any).await;
        self.record.take()
    }

    async fn of_notes(&self, notes: &Buckets<Note>, text: &str, any: &Bson) {
        let item = note(text, text, any);
        notes.append(&item).await.unwrap();
        notes.append_many(vec![item.clone(); 2]).await.unwrap();
        let page = notes.page(text, 1).await.unwrap().unwrap();
        assert_eq!(page.items, vec![item.clone(); 2]);
        let latest = notes.latest(text).await.unwrap().unwrap();
        assert_eq!(latest.items, vec![item.clone()]);
        let list = || notes.items(text).page_of_items(2);
        let page = list().await.unwrap();
        assert_eq!(page.items, vec![item.clone(); 2]);
        let next = list().after(&page.next.unwrap()).await.unwrap();
        assert_eq!(next.items, vec![item.clone()]);
        assert_eq!(notes.count(text).await.unwrap(), 3);
        let field = Note::FIELDS;
        let same = field.text.eq(text).and(field.text.is_in([text]));
        let same = same.and(field.k.eq(text)).and(field.any.eq(any.clone()));
        let found = notes.items(text).filter(same.clone()).await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        assert_eq!(found, vec![item.clone(); 3]);
        let changed = Bson::from(doc! { "in": any.clone() });
        let change = |note: &mut Note| note.any = changed.clone();
        let edited = notes.update_item(text, same.clone(), change).await.unwrap();
        assert_eq!(edited.unwrap().any, changed);
        let removed = notes.remove_item(text, same.clone()).await.unwrap();
        assert_eq!(removed, Some(item));
        assert_eq!(notes.count(text).await.unwrap(), 2);
        let others = notes.all_items().filter(!field.k.eq(text)).await.unwrap();
        let others: Vec<_> = others.try_collect().await.unwrap();
        assert_eq!(others, vec![note("canary", "canary", &"canary".into()); 3]);
        notes.remove_key(text).await.unwrap();
    }

    async fn of_lists(&self, lists: &Outliers<List>, text: &str, any: &Bson) {
        let list = |all: &[&Bson]| List {
            id: text.to_owned(),
            title: text.to_owned(),
            all: all.iter().map(|&item| item.clone()).collect(),
        };
        lists.insert(&list(&[])).await.unwrap();
        for _ in 0..2 {
            lists.push(text, any.clone()).await.unwrap();
        }
        lists.push_many(text, vec![any.clone()]).await.unwrap();
        let all = lists.get_all(text).await.unwrap();
        assert_eq!(all, Some(list(&[any, any, any])));
        let found = lists.find(List::FIELDS.title.eq(text)).await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].document, list(&[any]));
        assert_eq!(lists.count(text).await.unwrap(), 3);
        let same = || List::FIELDS.all.item().eq(any.clone());
        let first = lists.find_item(text, same()).await.unwrap().unwrap();
        assert_eq!((&first.item, first.extras_id), (any, None));
        let page = lists.items(text).filter(same()).page_of_items(2);
        let page = page.await.unwrap();
        assert_eq!(page.items, [any.clone(), any.clone()]);
        let next = lists.items(text).filter(same()).page_of_items(2);
        let next = next.after(&page.next.unwrap()).await.unwrap();
        assert_eq!(next.items, vec![any.clone()]);
        let newest = lists.items(text).filter(same()).newest_first();
        let newest: Vec<_> = newest.await.unwrap().try_collect().await.unwrap();
        assert_eq!(newest.len(), 3);
        assert_eq!(lists.count(text).filter(same()).await.unwrap(), 3);
        assert_eq!(lists.count(text).filter(!same()).await.unwrap(), 0);
        edit_list(lists, text, any).await;
        lists.push(text, any.clone()).await.unwrap();
        assert_eq!(lists.remove_items(text, same()).await.unwrap(), 1);
        assert_eq!(lists.count(text).await.unwrap(), 0);
        assert!(lists.delete(text).await.unwrap());
    }
}

/// Changes the list, of which the parent holds the first item and the extras two more, and removes its items.
async fn edit_list(lists: &Outliers<List>, text: &str, any: &Bson) {
    let same = || List::FIELDS.all.item().eq(any.clone());
    let rename = |list: &mut List| list.title = format!("{text}!");
    assert!(lists.update(text, rename).await.unwrap());
    let wrapped = Bson::from(doc! { "wrapped": any.clone() });
    let wrap = |item: &mut Bson| *item = wrapped.clone();
    let changed = lists.update_item(text, same(), wrap).await.unwrap();
    assert_eq!(changed.as_ref(), Some(&wrapped));
    let first = lists.remove_item(text, same()).await.unwrap();
    assert_eq!(first.as_ref(), Some(any));
    let changed = lists.update_items(text, same(), wrap).await.unwrap();
    assert_eq!(changed, 1);
    let wrapped = List::FIELDS.all.item().eq(wrapped);
    assert_eq!(lists.remove_items(text, wrapped).await.unwrap(), 2);
}

/// The parent holds one item, and the extras the other one.
async fn of_labels(labels: &Outliers<Labels>, text: &str, any: &Bson) {
    let named = |name: String, any: &Bson| Label {
        name,
        any: any.clone(),
    };
    let label = |any: &Bson| named(text.to_owned(), any);
    for before in [vec![], vec![named(format!("{text}!"), any)]] {
        let id = text.to_owned();
        let all = before.clone();
        labels.insert(&Labels { id, all }).await.unwrap();
        let other = Bson::from(doc! { "other": any.clone() });
        for (any, outcome) in [(&other, Appended), (any, Replaced)] {
            let stored = labels.upsert_item(text, label(any)).await.unwrap();
            assert_eq!(stored, outcome);
        }
        let all = labels.get_all(text).await.unwrap().unwrap().all;
        assert_eq!(all, [before, vec![label(any)]].concat());
        assert!(labels.delete(text).await.unwrap());
    }
}

/// The identity is the text, and the value that comes back is the first one.
async fn of_tags(tags: &Buckets<Tag>, text: &str, any: &Bson) {
    let tag = |any: Bson| Tag {
        k: text.to_owned(),
        name: text.to_owned(),
        any,
    };
    let first = tag(any.clone());
    assert_eq!(tags.append_or_get(&first).await.unwrap(), None);
    let other = tag(doc! { "other": any.clone() }.into());
    assert_eq!(tags.append_or_get(&other).await.unwrap(), Some(first));
    tags.remove_key(text).await.unwrap();
}

fn note(k: &str, text: &str, any: &Bson) -> Note {
    Note {
        k: k.to_owned(),
        at: DateTime::from_millis(1_698_335_223_434),
        text: text.to_owned(),
        any: any.clone(),
    }
}

fn regex(pattern: &str) -> Bson {
    let (pattern, options) = (pattern.try_into().unwrap(), "".try_into().unwrap());
    Bson::RegularExpression(Regex { pattern, options })
}

/// Values that would act as operators, expressions, paths or patterns if they were taken for one.
fn hostile() -> impl Strategy<Value = (String, Bson)> {
    let text = prop_oneof![
        "[$]?(where|ne|set|k|ROOT|items|text|_id|canary)",
        "[{\"'$.:}*^|\\\\ -]{0,6}",
        r#"\{"\$(ne|gt|regex)": "[a-z]?"\}"#,
        any::<String>(),
    ];
    let name = prop_oneof![
        "[$](ne|gt|in|where|expr|regex|set|each|slice|position|literal|add|ref|id|function)",
        "(k|_id|items|count|sealed|canary)(\\.[0-9])?",
        "[$]?[a-z.]{1,4}",
    ];
    let leaf = prop_oneof![
        text.prop_map(Bson::String),
        Just(regex(".*")),
        any::<i64>().prop_map(Bson::Int64),
        Just(Bson::Null),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        Just(Bson::JavaScriptCode("while (true) {}".to_owned())),
    ];
    let value = leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Bson::Array),
            proptest::collection::vec((name.clone(), inner), 1..3)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    });
    let key = prop_oneof![
        "[$]?(where|ne|set|k|ROOT|items|text|_id)",
        "[{\"'$.:}*^|\\\\ -]{1,6}",
        "can(ar|ary_)?",
        r#"\{"\$(ne|gt|regex)": "[a-z]?"\}"#,
        any::<String>(),
    ];
    (key, value)
}

#[bucket_testkit::test(multi_thread)]
async fn values_never_change_a_command_nor_reach_another_key(on: Recorded) {
    let both = Both::open(on).await;
    both.plant_canary().await;
    let sent = both.every_call(SENTINEL, &SENTINEL.into()).await;
    let before = both.all().await;
    let hostile = hostile().prop_filter("the canary's", |(text, _)| text != "canary");
    for_any(scaled(60), hostile, async |(text, any)| {
        let commands = both.every_call(&text, &any).await;
        assert_same_shape(&sent, &commands, &text, &any);
        assert_eq!(both.all().await, before, "other documents");
    });
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "open", id = "{k}_{#}", capacity = 2)]
struct Open {
    k: String,
    n: i64,
    #[serde(flatten)]
    others: BTreeMap<String, Bson>,
}

/// Names from a flattened map are names of the element's own fields, whatever they look like.
#[bucket_testkit::test]
async fn names_from_flattened_maps_stay_within_their_item(Recorded(db, _): Recorded) {
    let buckets = Open::buckets(&db).await.unwrap();
    let open = |k: &str, others: BTreeMap<_, _>| Open {
        k: k.to_owned(),
        n: 1,
        others,
    };
    let canary = open("canary", BTreeMap::new());
    buckets.append(&canary).await.unwrap();
    let before = documents(buckets.collection()).await;
    for name in [
        "$set", "$inc", "$where", "$each", "a.b", "items.0", "_id", "count", "items", "sealed",
        "$k", ".", "",
    ] {
        let others = [(name.to_owned(), Bson::from(doc! { "$ne": 1 }))];
        let item = open("open", others.into());
        buckets.append(&item).await.unwrap();
        buckets.append_many(vec![item.clone(); 3]).await.unwrap();
        let read = items(&buckets, "open").await;
        assert_eq!(read, vec![item; 4], "{name}");
        assert_eq!(buckets.count("open").await.unwrap(), 4);
        buckets.remove_key("open").await.unwrap();
        assert_eq!(documents(buckets.collection()).await, before, "{name}");
    }
}

/// Oversized values are refused, and the handle still works.
#[bucket_testkit::test]
async fn oversized_values_are_errors(on: Recorded) {
    let both = Both::open(on).await;
    both.plant_canary().await;
    let before = both.all().await;
    let large = "1".repeat(17 << 20);
    let item = note("k", &large, &Bson::Null);
    assert!(both.notes.append(&item).await.unwrap_err().is_too_large());
    assert!(both.notes.append_many([item]).await.is_err());
    let item = note(&large, "", &Bson::Null);
    assert!(both.notes.append(&item).await.is_err());
    assert!(both.notes.page(&*large, 1).await.is_err());
    assert!(both.notes.remove_key(&*large).await.is_err());
    assert!(both.lists.push("canary", large.clone()).await.is_err());
    assert!(both.lists.push(&*large, 1).await.is_err());
    assert!(large.parse::<ItemToken>().is_err());
    assert_eq!(both.all().await, before);
}
