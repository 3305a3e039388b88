//! The mark of buckets in a collection whose open index has got another name.

use mongodb::bson::doc;

use crate::{
    Result,
    protocol::range::Range,
    schema::{
        names::{CAPACITY, SEALED},
        open_index::OpenIndex,
        spec::BucketSpec,
    },
    server::Server,
};

/// Writes the new capacity into the open buckets, so that handles that know only their ids and the old
/// capacity leave them alone; if the old index is not known, into all buckets that are unsealed. No
/// bucket is opened while there is no index.
pub(crate) async fn mark_unsealed(
    server: &Server,
    spec: &BucketSpec,
    new: OpenIndex,
    old: Option<OpenIndex>,
) -> Result<()> {
    let mut buckets = doc! { CAPACITY: { "$ne": new.mark() }, SEALED: { "$exists": false } };
    if let Some(old) = old {
        buckets.insert(spec.count, doc! { "$lt": old.bound() });
    }
    let mark = vec![doc! { "$set": { CAPACITY: new.mark() } }];
    let marked = server.target().update_many(buckets, mark, None).await;
    marked.map(drop)
}

/// Marks all open buckets, if a change of capacity has begun to do so: it was killed after it had dropped
/// the index. Buckets that were made by hand stay as they are.
pub(super) async fn finish_marks(server: &Server, spec: &BucketSpec, new: OpenIndex) -> Result<()> {
    let marked = doc! { CAPACITY: { "$exists": true }, SEALED: { "$exists": false } };
    let id = Range::unordered().project(doc! { "_id": 1 });
    let marked = server.target().find(marked, id).read_primary();
    match marked.first(None).await? {
        Some(_) => mark_unsealed(server, spec, new, None).await,
        None => Ok(()),
    }
}
