//! Finds the nth item of a key without reading those before it.
//!
//! The open index knows the few buckets that are not full. All others hold `capacity` items, so a
//! bucket's position among the ids says how many items come before it, wherever the buckets that are not
//! full are.

use mongodb::{
    ClientSession,
    bson::{Document, doc},
};

use crate::{
    Result,
    error::Kind,
    protocol::{
        command::{IndexedScope, KeyScope, open_index_filter},
        query::{Query, QueryStart},
        range::Range,
    },
    server::{
        Server,
        current_index::{CurrentIndex, IndexDeadline},
    },
    value::element::whole,
};

/// A bucket that is not full, and how many items it has room for.
struct NotFull {
    id: String,
    room: u64,
}

/// Finds where the items of a query without conditions start, by the collection's current open index; `None`
/// if the query skips all of them.
///
/// Two round trips. The first examines a key and a document for each bucket that is not full; the second
/// examines only keys, one for each skipped bucket.
pub(crate) async fn find_start(
    server: &Server,
    scope: &KeyScope,
    index: &CurrentIndex,
    query: &Query,
    mut session: Option<&mut ClientSession>,
) -> Result<Option<QueryStart>> {
    let mut deadline = IndexDeadline::default();
    loop {
        // Another handle may have changed the capacity since this read was created.
        let indexed = scope.clone().by(index.get());
        match seek(server, &indexed, query, session.as_deref_mut()).await {
            Err(error) if error.is(&Kind::MissingIndex) => {
                let is_in_session = session.is_some();
                index
                    .wait_unless_in_session(scope.spec, &mut deadline, error, is_in_session)
                    .await?;
            }
            found => return found,
        }
    }
}

async fn seek(
    server: &Server,
    scope: &IndexedScope,
    query: &Query,
    mut session: Option<&mut ClientSession>,
) -> Result<Option<QueryStart>> {
    let target = server.target_of(scope);
    let buckets = target.pipeline(not_full(scope, query.direction()));
    let buckets = buckets.hint(scope.open.name).rows(session.as_deref_mut());
    let buckets: Vec<Document> = buckets.await?;
    let not_full = buckets
        .iter()
        .filter_map(|bucket| NotFull::of_document(bucket, scope));
    let not_full = Vec::from_iter(not_full);
    let candidates = candidates(scope, query, &not_full);
    let all = server.by_ids(scope, scope.ids());
    let buckets = target.find(all, ids(query, &candidates));
    let buckets: Vec<Document> = buckets.rows(session).await?;
    let ids = buckets
        .iter()
        .filter_map(|bucket| bucket.get_str("_id").ok());
    let ids = Vec::from_iter(ids);
    Ok(start(scope, query, &not_full, candidates.first, &ids))
}

/// The buckets of a key that are not full, in the order of the query. A sealed one that is full counts
/// like any other full bucket.
fn not_full(scope: &IndexedScope, direction: i32) -> [Document; 3] {
    let mut filter = scope.equalities();
    filter.extend(open_index_filter(scope.spec, scope.open));
    filter.extend(scope.ids());
    [
        doc! { "$match": filter },
        doc! { "$project": { scope.spec.count: 1 } },
        doc! { "$sort": { "_id": direction } },
    ]
}

impl NotFull {
    fn of_document(bucket: &Document, scope: &IndexedScope) -> Option<Self> {
        let count = bucket.get(scope.spec.count).and_then(whole).unwrap_or(0);
        let capacity = u64::from(scope.open.capacity);
        Some(Self {
            id: bucket.get_str("_id").ok()?.to_owned(),
            room: capacity.saturating_sub(u64::try_from(count).unwrap_or(0)),
        })
    }
}

/// The positions, from 0, that the first item's bucket can have among the key's ids.
struct CandidateBuckets {
    first: u64,
    number: u64,
}

/// The first position is right if no bucket before it has room; all room moves it back.
fn candidates(scope: &IndexedScope, query: &Query, not_full: &[NotFull]) -> CandidateBuckets {
    let capacity = u64::from(scope.open.capacity);
    let room: u64 = not_full.iter().map(|bucket| bucket.room).sum();
    let first = query.skip / capacity;
    CandidateBuckets {
        first,
        number: query.skip.saturating_add(room) / capacity - first + 1,
    }
}

/// The ids at these positions: only keys of the `_id` index.
fn ids(query: &Query, candidates: &CandidateBuckets) -> Range {
    Range {
        projection: Some(doc! { "_id": 1 }),
        // The server counts in signed numbers.
        skip: candidates.first.min(i64::MAX as u64),
        limit: i64::try_from(candidates.number).ok(),
        ..query.order()
    }
}

/// The last of these positions that the query's skip reaches.
fn start(
    scope: &IndexedScope,
    query: &Query,
    not_full: &[NotFull],
    first: u64,
    ids: &[&str],
) -> Option<QueryStart> {
    let capacity = u64::from(scope.open.capacity);
    let is_before = |a: &str, b: &str| if query.newest_first { a > b } else { a < b };
    let mut rooms = not_full.iter().peekable();
    let mut room_before = 0;
    let mut room_left: u64 = not_full.iter().map(|bucket| bucket.room).sum();
    let mut start = None;
    for (&id, position) in ids.iter().zip(first..) {
        while let Some(bucket) = rooms.next_if(|bucket| is_before(&bucket.id, id)) {
            room_before += bucket.room;
            room_left -= bucket.room;
        }
        let items_before = (position * capacity).saturating_sub(room_before);
        if items_before > query.skip {
            break;
        }
        let skip = query.skip - items_before;
        let wanted = query.limit.map(|limit| limit.saturating_add(skip));
        start = Some(QueryStart {
            skip,
            buckets: wanted.map(|wanted| wanted.saturating_add(room_left).div_ceil(capacity)),
            ..QueryStart::of_bucket(id.to_owned())
        });
    }
    start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{protocol::command::KeyScope, schema::open_index::OpenIndex};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_start_is_where_counting_item_by_item_comes_to(
            counts in proptest::collection::vec(prop_oneof![3 => Just(4_u64), 1 => 0..4_u64], 0..12),
            newest_first: bool,
            skip in 0..50_u64,
            limit in proptest::option::of(1..20_u64),
        ) {
            let scope = KeyScope::numbered().by(OpenIndex::first(4));
            let mut buckets: Vec<_> = counts.iter().enumerate()
                .map(|(n, count)| (format!("a_{n:010}"), *count))
                .collect();
            if newest_first {
                buckets.reverse();
            }
            let query = Query { newest_first, skip, limit, ..Query::everything() };
            let not_full = Vec::from_iter(buckets.iter().filter(|(_, count)| *count < 4)
                .map(|(id, count)| NotFull { id: id.clone(), room: 4 - count }));
            let candidates = candidates(&scope, &query, &not_full);
            let ids = Vec::from_iter(buckets.iter().map(|(id, _)| id.as_str())
                .skip(candidates.first as usize).take(candidates.number as usize));
            let start = start(&scope, &query, &not_full, candidates.first, &ids);

            let all: Vec<_> = buckets.iter()
                .flat_map(|(id, count)| (0..*count).map(move |n| (id.as_str(), n)))
                .collect();
            let expected = Vec::from_iter(all.iter().skip(skip as usize)
                .take(limit.map_or(usize::MAX, |limit| limit as usize)));
            let Some(start) = start else {
                prop_assert!(expected.is_empty());
                return Ok(());
            };
            let at = buckets.iter().position(|(id, _)| *id == start.id).unwrap();
            let read = buckets[at..].iter()
                .take(start.buckets.map_or(usize::MAX, |buckets| buckets as usize))
                .flat_map(|(id, count)| (0..*count).map(move |n| (id.as_str(), n)));
            let read: Vec<_> = read.skip(start.skip as usize)
                .take(limit.map_or(usize::MAX, |limit| limit as usize))
                .collect();
            prop_assert_eq!(read.iter().collect::<Vec<_>>(), expected);
            // At most one bucket's items are read without need.
            prop_assert!(read.is_empty() || start.skip < 4);
        }
    }
}
