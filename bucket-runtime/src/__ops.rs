//! What `bucket-ops` needs besides `bucket-core`. Not part of the public interface: it changes
//! without notice.

use bucket_core::{error::Result, schema::open_index::OpenIndex, server::Server};

use crate::{
    Bucket,
    open::{OpenSettings, open_buckets},
};
pub use crate::{
    open::{check_indexes, indexes::create as create_indexes, stored::parts},
    outlier::{
        collections::OutlierCollections,
        command::{ParentScope, array_length},
        extra::ExtraItem,
        open::open_both,
        parent_handle::{ParentHandle, held, number},
        read::unreadable::{array, replace_field, sift},
        write::ITEMS_PER_COMPARISON,
    },
    read::{
        stored_bucket::{StoredBucket, next_bucket},
        watch::event::{AppendMarks, appended, bucket},
    },
    write::{
        engine::{Batch, COMMAND_BYTES, Engine, TRIES},
        item::{Entry, UntypedItem, is_single, stored_element},
    },
};

/// Opens a collection, with the capacity that it has, for items that are not appended one by one. A
/// dry run creates nothing: where nobody has opened the collection, no call has begun either.
pub async fn open<T: Bucket>(server: Server, is_dry: bool) -> Result<Engine> {
    let settings = OpenSettings {
        creates_nothing: is_dry,
        takes_capacity: true,
        ..OpenSettings::default()
    };
    match open_buckets::<T>(server.clone(), settings).await {
        Err(error) if is_dry && error.is_index_missing() => {
            let open = OpenIndex::first(T::SPEC.capacity);
            Ok(Engine::new(server, open))
        }
        opened => Ok(opened?.engine()),
    }
}
