//! Each call has one span, which counts what the call sends.

mod calls;
#[path = "../../sources.rs"]
#[allow(dead_code, reason = "the other tests of sources use the rest")]
mod sources;

use std::{collections::BTreeSet, convert::Infallible, fs, time::Duration};

use bucket_runtime::{
    Bucket, Fields, Outlier, Part,
    mongodb::bson::{Bson, DateTime, doc},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use self::{
    calls::{of_buckets, of_outliers},
    sources::{of_package, sources},
};
use super::support::{Spans, Told};
use crate::support::{
    database::{Record, Recorded},
    ops,
    visits::{Visit, visit},
};

#[derive(Debug, Part)]
#[part(of = Visit)]
#[allow(dead_code, reason = "the fields are only read from the server")]
struct Visitor {
    visitor: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "books", reference = "book", threshold = 2)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    #[outlier(items)]
    buyers: Vec<String>,
}

#[derive(Debug, Part)]
#[part(of = Book)]
#[allow(dead_code, reason = "the fields are only read from the server")]
struct Title {
    title: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "users", reference = "user", threshold = 2)]
struct User {
    _id: i64,
    #[outlier(items)]
    followers: Vec<Follower>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Follower {
    name: String,
    since: i64,
}

#[derive(Debug, Part)]
#[part(of = Follower)]
#[allow(dead_code, reason = "the fields are only read from the server")]
struct FollowerName {
    name: String,
}

fn user(_id: i64, followers: i64) -> User {
    let follower = |since| Follower {
        name: format!("user{since}"),
        since,
    };
    let followers = (0..followers).map(follower).collect();
    User { _id, followers }
}

fn book(id: i64, buyers: usize) -> Book {
    Book {
        id,
        title: "Invisible Cities".to_owned(),
        buyers: (0..buyers).map(|n| format!("user{n}")).collect(),
    }
}

/// Looks at the span of the call that was just made.
struct Look {
    spans: Spans,
    record: Record,
    names: Vec<&'static str>,
}

impl Look {
    /// The call had this name, and its span counts the commands that were sent.
    async fn at(&mut self, collection: &str, name: &'static str) -> Told {
        // A task that worked for the call may end a moment after it.
        while self.spans.is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
        let told = self.spans.one();
        // The driver closes cursors by itself.
        let sent = self.record.names().into_iter();
        let sent: Vec<_> = sent.filter(|name| name != "killCursors").collect();
        assert_eq!(told.name, name);
        let trips = told.number("bucket.round_trips");
        assert_eq!(trips, sent.len(), "{name}: {sent:?} {told:?}");
        // A handle that knows no bucket of a key asks for the open one first, and then reads the last one.
        let tries = told.number("bucket.tries");
        assert!(tries == 1 || tries < sent.len(), "{told:?}");
        assert_eq!(told.fields["db.collection.name"], collection, "{told:?}");
        assert!(!told.fields.contains_key("error.type"), "{told:?}");
        assert!(!told.fields.contains_key("bucket.key"), "{told:?}");
        self.names.push(name);
        told
    }
}

/// The names of all calls: those in the table of `action.rs`, and those that begin a span themselves.
fn all_names() -> BTreeSet<String> {
    let packages = ["bucket-runtime", "bucket-ops"].map(|package| sources(&of_package(package)));
    let texts = packages.iter().flatten().map(fs::read_to_string);
    let all = texts.map(Result::unwrap).collect::<String>();
    let rows = (all.lines()).filter(|line| line.contains("] ") && line.contains(" => "));
    let rows = rows.filter_map(|row| Some(row.trim().split_once(": '")?.0));
    let spans = all.split("span!(").skip(1);
    let spans = spans.filter_map(|rest| Some(rest.split_once(')')?.0));
    let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let names = rows.chain(spans).filter(is_name);
    names.map(str::to_owned).collect()
}

#[bucket_testkit::test]
async fn each_call_has_a_span_that_counts_its_commands(Recorded(db, record): Recorded) {
    let (spans, _guard) = Spans::collect();
    let mut look = Look {
        spans,
        record,
        names: Vec::new(),
    };
    of_buckets(&db, &mut look).await;
    of_outliers(&db, &mut look).await;
    let names = all_names();
    assert!(names.len() > 35, "{names:?}");
    let seen = look.names.into_iter().map(str::to_owned).collect();
    assert_eq!(Vec::from_iter(names.difference(&seen)), [""; 0]);
}

#[bucket_testkit::test]
async fn keys_are_named_by_choice(Recorded(db, _): Recorded) {
    let (spans, _guard) = Spans::collect();
    let visits = Visit::buckets(&db).trace_keys(true).await.unwrap();
    visits.append(&visit(1)).await.unwrap();
    visits.items(&1).await.unwrap().count().await;
    visits.all_items().await.unwrap().count().await;
    let first = Visit::FIELDS.visitor.eq(1);
    let longer = |visit: &mut Visit| visit.seconds = 20;
    visits.update_all_items(first, longer).await.unwrap();
    // The items of a load may be of many keys, and so may the lines of an archive.
    visits.append_many([visit(2)]).await.unwrap();
    let lines = ops(&visits).export_all().await.unwrap();
    let lines: Vec<String> = lines.try_collect().await.unwrap();
    let empty = Visit::buckets_in(db.collection::<Visit>("empty"));
    let empty = empty.trace_keys(true).await.unwrap();
    let lines = stream::iter(lines).map(Ok::<_, Infallible>);
    assert_eq!(ops(&empty).import(lines).await.unwrap().items, 2);
    let books = Book::outliers(&db).trace_keys(true).await.unwrap();
    books.insert(&book(7, 3)).await.unwrap();
    books.push(&7, "a").await.unwrap();
    let spans = spans.take().into_iter();
    let keys = spans.map(|told| told.fields.get("bucket.key").cloned());
    let expected = [(None, 1), (Some("1"), 2), (None, 7), (Some("7"), 2)];
    let expected = expected.map(|(key, times)| vec![key.map(|key| format!("{key:?}")); times]);
    assert_eq!(Vec::from_iter(keys), expected.concat());
}

#[bucket_testkit::test]
async fn a_failed_call_names_its_error(Recorded(db, _): Recorded) {
    let (spans, _guard) = Spans::collect();
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&book(1, 0)).await.unwrap();
    spans.take();
    books.insert(&book(1, 0)).await.unwrap_err();
    let told = spans.one();
    assert_eq!(told.fields["error.type"], "ParentThere");
    assert_eq!(told.fields["db.response.status_code"], "11000");
    assert!(told.texts.contains("db.response.status_code"), "{told:?}");
    assert_eq!(told.fields["otel.status_code"], "ERROR");
    assert_eq!(told.fields["otel.name"], "insert books");
    // Before anything is sent.
    let visits = Visit::buckets(&db).await.unwrap();
    spans.take();
    let far = Visit {
        at: DateTime::MAX,
        ..visit(1)
    };
    visits.append(&far).await.unwrap_err();
    let told = spans.one();
    assert_eq!(told.fields["otel.name"], "append visits");
    assert_eq!(told.fields["db.collection.name"], "visits");
    assert_eq!(told.fields["db.namespace"], db.name());
    assert!(visits.page(&1, 0).await.unwrap().is_none());
    assert_eq!(spans.one().fields["otel.name"], "page visits");
    books.push(&2, "a").await.unwrap_err();
    assert_eq!(spans.one().fields["error.type"], "NoParent");
    let nonsense = doc! { "$nonsense": Bson::Null };
    assert!(books.find(nonsense).await.is_err());
    let told = spans.one();
    assert_eq!(told.fields["error.type"], "Command");
    assert_eq!(told.fields["db.response.status_code"], "2");
}

/// The span of a stream lasts as long as the stream, and a dropped call ends its own.
#[bucket_testkit::test]
async fn a_span_ends_with_its_stream_or_its_future(Recorded(db, record): Recorded) {
    let visits = Visit::buckets(&db).await.unwrap();
    visits.append_many((0..500).map(visit)).await.unwrap();
    let (spans, _guard) = Spans::collect();
    record.take();
    let mut items = visits.items(&1).await.unwrap();
    for _ in 0..10 {
        items.try_next().await.unwrap();
    }
    assert!(spans.take().is_empty());
    drop(items);
    assert_eq!(spans.one().number("bucket.round_trips"), 1);

    let append = visits.append(&visit(600));
    drop(append);
    assert!(spans.take().is_empty());
    let visit = visit(600);
    let mut append = Box::pin(visits.append(&visit).into_future());
    assert!(futures_util::poll!(&mut append).is_pending());
    assert!(spans.take().is_empty());
    drop(append);
    assert_eq!(spans.one().name, "append");
}
