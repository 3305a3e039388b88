//! MongoDB's [bucket pattern] and [outlier pattern] as derives. You annotate a struct; the compiler
//! checks the id format, the limits and the types, and a small runtime on the official driver (less
//! than 10,000 lines, which a test keeps) stores and reads the items, safely beside any number of
//! other writers.
//!
//! - **Buckets.** A long series, such as a customer's trades, is stored as documents of at most
//!   `capacity` items, each a ready page of the application. Annotate a struct with
//!   [`#[derive(Bucket)]`](macro@Bucket); [`Buckets`] appends, pages and streams.
//! - **Outliers.** A few documents with a huge array, such as a bestseller's buyers, must not slow down
//!   all others: past a threshold the document gets a flag, and further items go to a second
//!   collection. Annotate a struct with [`#[derive(Outlier)]`](macro@Outlier); [`Outliers`] inserts,
//!   pushes and reads.
//!
//! ```no_run
//! use bucket_runtime::{Bucket, bson::DateTime, mongodb::Client};
//!
//! #[derive(Debug, Bucket)]
//! #[serde(rename_all = "camelCase")]
//! #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10, items = "history")]
//! struct Trade {
//!     customer_id: i64,
//!     date: DateTime,
//!     ticker: String,
//!     #[serde(rename = "qty")]
//!     quantity: i32,
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Client::with_uri_str("mongodb://localhost").await?.database("shop");
//! let trades = Trade::buckets(&db).await?;
//!
//! let date = DateTime::now();
//! trades.append(&Trade { customer_id: 123, date, ticker: "MDB".into(), quantity: 419 }).await?;
//!
//! if let Some(page) = trades.page(&123, 1).await? {
//!     println!("{:?}", page.items);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The **[guide]** has a page for each task; begin with [`guide::getting_started`]. All attributes
//! are described at the derives, all calls are listed in [`guide::calls`], the guarantees (G1 to
//! G6, O1 to O5) in [`guide::how_fast_how_sure`], and the limits in [`guide::limits`]. What an operator
//! calls once in a while has [a guide of its own](https://docs.rs/bucket-ops/latest/bucket_ops/guide/).
//! For any other collection, [`guide::typed_filters`] gives conditions to the driver's own calls.
//!
//! The driver, [`mongodb`], and its [`bson`] are re-exported, in whichever of `bson` 2 and 3 the
//! driver is built with. With the feature `sync`, every call has `.run()`, which blocks the thread,
//! beside `.await`.
//!
//! [bucket pattern]: https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/bucket-pattern/
//! [outlier pattern]: https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/outlier-pattern/

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod action;
mod bucket;
mod buckets;
mod call;
pub mod guide;
mod open;
mod outlier;
mod part;
mod read;
#[cfg(feature = "sync")]
pub mod sync;
mod write;

#[doc(hidden)]
pub mod __ops;
#[doc(hidden)]
pub mod __private;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
#[cfg(test)]
mod golden;

#[doc(inline)]
pub use bucket_core::protocol::field;
pub use mongodb;
pub use mongodb::bson;

#[doc(inline)]
pub use bucket_core::{
    error::{Error, Result},
    protocol::{
        field::{Field, Fields},
        filter::Filter,
        indexes::required::RequiredIndex,
    },
    schema::{
        key::{Key, KeyField, KeyPart},
        size::{BsonSize, LenField, TooLong, array_size, document_size, string_size},
        spec::{
            BucketSpec, DEFAULT_MAX_BYTES, IdFormat, KeyName, MAX_BYTES, MAX_CAPACITY, Ordinal,
            OutlierSpec, RollupName,
        },
        time::{DateField, TimeField, bson_date, own_date},
    },
    value::rollup::{
        DecimalSum, FieldRollup, Kept, Marked, RollupField, RollupFields, RollupReader, SumField,
    },
};

pub use crate::{
    bucket::{Bucket, Identified, KeyRef, Windowed},
    buckets::Buckets,
    outlier::{
        IdRef, IdentifiedItems, Outlier, Outliers,
        read::{
            extras::ExtrasBucket, filter::ParentFilter, find_item::FoundItem, parent::Parent,
            watch::NewItem,
        },
        write::PushManyError,
    },
    part::Part,
    read::{
        items::{ItemPage, ItemStream, ItemToken},
        page::Page,
        part::{PartField, PartReader, PartSource},
        rollup::{WindowRollup, typed::Rollup},
        stream::ReadStream,
        token::InvalidToken,
        watch::{WatchStream, WatchToken},
    },
    write::{
        appended::Appended,
        bulk::{AppendManyError, FailedItem},
        edit::{
            many::{EditManyError, EditProgress},
            upsert::Upserted,
        },
    },
};

#[doc = include_str!("docs/bucket.md")]
pub use bucket_derive::Bucket;

#[doc = include_str!("docs/outlier.md")]
pub use bucket_derive::Outlier;

pub use bucket_derive::{Fields, Part};
