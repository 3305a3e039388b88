//! The driver's spans are below those of the calls.

use std::collections::HashSet;

use bucket_ops::Ops;
use bucket_runtime::{Bucket, mongodb::Database};
use futures_util::{TryStreamExt, future::try_join_all};
use opentelemetry::trace::{SpanId, SpanKind, Status};
use opentelemetry_sdk::trace::SpanData;

use crate::support::{Mark, OBSERVED, ObservedDatabase, attribute};

fn is_ours(span: &SpanData) -> bool {
    span.instrumentation_scope.name() == "bucket_runtime"
}

fn id(span: &SpanData) -> SpanId {
    span.span_context.span_id()
}

/// The spans of the calls on this database that have ended, and those of the driver, which also begins
/// transactions and asks about the server.
fn spans_of(db: &Database) -> (Vec<SpanData>, Vec<SpanData>) {
    let all = OBSERVED.spans.get_finished_spans().unwrap();
    let is_of_db =
        |span: &SpanData| attribute(&span.attributes, "db.namespace").as_deref() == Some(db.name());
    let traces = all.iter().filter(|span| is_ours(span) && is_of_db(span));
    let traces: HashSet<_> = traces.map(|span| span.span_context.trace_id()).collect();
    all.into_iter()
        .filter(|span| is_of_db(span) || traces.contains(&span.span_context.trace_id()))
        // The driver closes cursors in a task of its own.
        .filter(|span| !span.name.starts_with("killCursors"))
        .partition(is_ours)
}

/// The driver has a span for an operation, and below it one for each of its commands.
fn assert_below_calls(ours: &[SpanData], drivers: &[SpanData]) {
    for span in drivers {
        let mut parents = ours.iter().chain(drivers);
        let parent = parents.find(|parent| id(parent) == span.parent_span_id);
        let parent = parent.unwrap_or_else(|| panic!("no parent: {span:?}"));
        assert_eq!(
            parent.span_context.trace_id(),
            span.span_context.trace_id(),
            "{span:?}"
        );
    }
}

#[bucket_testkit::test]
async fn each_command_is_below_its_call(db: ObservedDatabase) {
    let marks = Mark::buckets(&db).await.unwrap();
    let all = (0..2500).map(|n| Mark { key: n % 2, n });
    marks.append_many(all).await.unwrap();
    marks.append(&Mark { key: 1, n: 3000 }).await.unwrap();
    // Several batches, read when the call has returned.
    let items = marks.items(&1).await.unwrap();
    assert_eq!(items.try_collect::<Vec<_>>().await.unwrap().len(), 1251);
    marks.page(&1, 1).await.unwrap();
    // A transaction, in a task of its own.
    let copy = db.collection::<Mark>("copy");
    let flat = db.collection::<Mark>("flat");
    flat.insert_one(Mark { key: 1, n: 1 }).await.unwrap();
    let ops = Ops::<Mark>::in_collection(copy);
    ops.import_flat(&flat).await.unwrap();

    let (ours, mut drivers) = spans_of(&db);
    // The test's own.
    let inserted = drivers
        .iter()
        .position(|span| span.name.starts_with("insert ") && span.name.ends_with(".flat"));
    let inserted = id(&drivers.remove(inserted.unwrap()));
    drivers.retain(|span| span.parent_span_id != inserted);
    assert_below_calls(&ours, &drivers);

    let names: HashSet<&str> = drivers.iter().map(|span| &*span.name).collect();
    for name in ["getMore", "commitTransaction", "aggregate"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    let one = |name: &str| {
        let named: Vec<_> = ours.iter().filter(|span| span.name == name).collect();
        assert_eq!(named.len(), 1, "{name}: {named:?}");
        named[0]
    };
    let trips = attribute(&one("page marks").attributes, "bucket.round_trips");
    assert_eq!(trips.as_deref(), Some("1"));
    assert_eq!(one("append marks").span_kind, SpanKind::Client);
    assert_eq!(one("append marks").status, Status::Unset);
    // The driver names the server that a command was sent to.
    let command = drivers.iter().find(|span| span.name == "getMore").unwrap();
    assert!(attribute(&command.attributes, "server.address").is_some());
}

/// A command is below the first of the appends that share it, and the others have links to that one.
#[bucket_testkit::test]
async fn a_shared_command_is_below_one_call_and_the_others_link_to_it(db: ObservedDatabase) {
    let marks = Mark::buckets(&db).await.unwrap();
    let open: Vec<_> = (0..30).map(|key| Mark { key, n: 0 }).collect();
    marks.append_many(open).await.unwrap();
    let waiting: Vec<_> = (0..90).map(|n| Mark { key: n % 30, n }).collect();
    let appends = waiting.iter().map(|mark| marks.append(mark).into_future());
    try_join_all(appends).await.unwrap();

    let (ours, drivers) = spans_of(&db);
    assert_below_calls(&ours, &drivers);
    let is_append = |span: &&SpanData| span.name == "append marks";
    let appends: Vec<_> = ours.iter().filter(is_append).collect();
    assert_eq!(appends.len(), 90);
    let parents: HashSet<_> = drivers.iter().map(|span| span.parent_span_id).collect();
    let has_command = |span: &SpanData| parents.contains(&id(span));
    assert!(appends.iter().any(|span| has_command(span)));
    for append in &appends {
        let mut links = append.links.iter();
        let is_linked = links.any(|link| parents.contains(&link.span_context.span_id()));
        assert!(has_command(append) || is_linked, "{append:?}");
    }
    assert!(appends.iter().any(|append| !has_command(append)));
}
