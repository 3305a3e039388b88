//! MongoDB's bucket pattern and outlier pattern, derived.
//!
//! - The [bucket pattern]: a long series (a customer's trades) is stored as documents of at most
//!   `capacity` items, each a ready page of the application. Annotate a struct with
//!   [`#[derive(Bucket)]`](macro@Bucket), and [`Buckets`] appends, pages and streams.
//! - The [outlier pattern]: a few documents with a huge array (a bestseller's buyers) must not slow
//!   down all the others: past a threshold the document is flagged, and its further values go to a
//!   second collection. Annotate a struct with [`#[derive(Outlier)]`](macro@Outlier), and
//!   [`Outliers`] inserts, pushes and reads.
//!
//! The compiler checks the key format, the limits and the types; the runtime is safe under any
//! number of writers.
//!
//! ```no_run
//! use bucket_runtime::{Bucket, bson::DateTime, mongodb::Client};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
//! #[serde(rename_all = "lowercase")]
//! enum Side {
//!     Buy,
//!     Sell,
//! }
//!
//! #[derive(Debug, Clone, PartialEq, Bucket)]
//! #[serde(rename_all = "camelCase")]
//! #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10, items = "history")]
//! struct Trade {
//!     customer_id: i64,
//!     date: DateTime,
//!     ticker: String,
//!     #[serde(rename = "type")]
//!     side: Side,
//!     #[serde(rename = "qty", alias = "quantity")]
//!     quantity: i32,
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Client::with_uri_str("mongodb://localhost").await?.database("shop");
//! let trades = Trade::buckets(&db).await?;
//!
//! trades.append(&Trade {
//!     customer_id: 123,
//!     date: DateTime::now(),
//!     ticker: "MDB".into(),
//!     side: Side::Buy,
//!     quantity: 419,
//! }).await?;
//!
//! if let Some(page) = trades.page(&123, 1).await? {
//!     for trade in &page.items {
//!         println!("{trade:?}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//!
//! - **G1** An acknowledged item is stored exactly once; a failed call says whether it may have
//!   been stored ([`Error::is_maybe_stored`]).
//! - **G2** `count` = length of the items array ≤ capacity, in every bucket at every moment.
//! - **G3** At most one open bucket per key at every moment: n items of a key make
//!   ceil(n / capacity) buckets, whatever the concurrency. With time windows: per key and window.
//!   (What [`Buckets::remove_item`] takes out of a full bucket leaves it shorter.)
//! - **G4** A read for one key never returns another key's item, for any two keys.
//! - **G5** The order of a key's bucket ids is the order of their ordinals; with `{#}` it is the
//!   order of creation.
//! - **G6** Dropping a call's future at any point, or killing the process, breaks none of G2 to G5.
//!
//! And for outliers:
//!
//! - **O1** As G1, for the values pushed to a parent.
//! - **O2** The parent's array never exceeds the threshold.
//! - **O3** Extras exist only where the flag is set.
//! - **O4** Extras documents obey G2, G3 and G5.
//! - **O5** [`Outliers::items`] yields the parent's values, then the extras in the order in which
//!   one writer's were acknowledged.
//!
//! They hold for writers that use this library, and G2 to G4 for the manual's own upsert beside it.
//! They stand on the unique index `bucket_open`, which [`Bucket::buckets`] and
//! [`Outlier::outliers`] make. G1 and O1 are as strong as the write concern: with less than a
//! majority, a failover can lose what was acknowledged.
//!
//! # Without tokio
//!
//! With the feature `sync`, every call can be carried out by `.run()` in place of `.await`, which
//! blocks the thread; the module `sync` shows how.
//!
//! # Which bson
//!
//! The driver comes with bson 2 or bson 3; this crate works with both. Its default feature `bson-2`
//! is the driver's own default, `bson-3` is yours to turn on. [`mongodb`] and its [`bson`] are
//! re-exported, so that you need no dependency of your own to name their types.
//!
//! [bucket pattern]: https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/bucket-pattern/
//! [outlier pattern]: https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/outlier-pattern/

mod append;
mod bucket;
mod buckets;
mod bulk;
mod bytes;
mod combine;
mod command;
mod create;
mod edit;
mod element;
mod engine;
mod error;
pub mod field;
mod filter;
pub mod guide;
mod id;
mod indexes;
mod item;
mod items;
mod key;
mod open;
mod open_index;
mod outlier;
mod page;
mod pages;
mod query;
mod read;
mod recapacity;
mod regroup;
mod remove;
mod rollup;
mod rows;
mod seek;
mod server;
mod size;
mod span;
mod spec;
mod stored;
#[cfg(feature = "sync")]
pub mod sync;
mod time;
mod transaction;
mod unreadable;
mod validator;
mod verify;
mod view;
mod watch;

#[doc(hidden)]
pub mod __private;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;

pub use mongodb;
pub use mongodb::bson;

pub use crate::{
    append::Appended,
    bucket::{Bucket, KeyRef, Windowed},
    buckets::Buckets,
    bulk::{AppendManyError, FailedItem},
    error::{Error, Result},
    field::Field,
    filter::Filter,
    items::ItemStream,
    key::{Key, KeyField, KeyPart},
    outlier::{
        Advice, Candidate, ExtrasPage, ExtrasStream, FindStream, IdRef, Outlier, Outliers, Parent,
        ParentFilter, Problem, PushManyError, SplitProgress, ValueStream,
    },
    page::{InvalidToken, Page, PageToken},
    pages::PageStream,
    recapacity::RecapacityProgress,
    regroup::RegroupProgress,
    rollup::{
        DecimalSum, FieldRollup, Kept, Marked, Rollup, RollupField, RollupFields, RollupReader,
        SumField,
    },
    size::{BsonSize, LenField, MAX_BYTES, TooLong, array_size, document_size, string_size},
    spec::{
        BucketSpec, DEFAULT_MAX_BYTES, IdFormat, KeyName, MAX_CAPACITY, Ordinal, OutlierSpec,
        RollupName,
    },
    time::{DateField, TimeField, bson_date},
    verify::BucketProblem,
    watch::{WatchStream, WatchToken},
};

/// Derives [`trait@Bucket`] for a struct with named fields.
///
/// ```
/// use bucket_runtime::{Bucket, mongodb::bson::DateTime};
///
/// #[derive(Bucket)]
/// #[serde(rename_all = "camelCase")]
/// #[bucket(collection = "readings", id = "{site}/{sensor}_{measured_at}", capacity = 60)]
/// struct Reading {
///     site: String,
///     sensor: i32,
///     measured_at: DateTime,
///     celsius: f64,
/// }
/// ```
///
/// A bucket of these is stored as
///
/// ```js
/// { _id: "Oslo/7_1698335223", site: "Oslo", sensor: Long(7), count: 2,
///   items: [ { measuredAt: ISODate("2023-10-26T15:47:03.434Z"), celsius: 3.5 }, … ] }
/// ```
///
/// | `#[bucket(…)]` | value | default | |
/// | --- | --- | --- | --- |
/// | [`collection`](#collection) | string | required | the collection that `buckets(&db)` opens |
/// | [`id`](#id) | format string | required | how `_id` is written; it names the key fields |
/// | [`capacity`](#capacity) | integer or const path | required | items per bucket at most |
/// | [`max_bytes`](#max_bytes) | integer or const path | 4 MiB | bytes per bucket at most |
/// | [`items`](#items-and-count) | string | `"items"` | the array of elements |
/// | [`count`](#items-and-count) | string | `"count"` | the field with the array's length |
/// | [`window`](#time-windows) | string | `"window"` | the field with the start of the bucket's time window |
/// | [`rollup`](#rollups) | string | `"rollup"` | the field with what the bucket keeps about its items |
/// | [`expire_after`](#expire_after) | string | never | how long after its newest item the server removes a bucket |
/// | [`crate`](#crate) | path | `::bucket_runtime` | where this crate is found |
///
/// | `#[bucket(…)]` on a field | |
/// | --- | --- |
/// | [`index`](#index) | an index over the field |
/// | [`sum`](#rollups) | each bucket keeps the sum of the values, of a number |
/// | [`min`](#rollups), [`max`](#rollups) | each bucket keeps the least, the greatest value, of a number or a time |
/// | [`max_len = …`](#max_len) | how many bytes a text, or bytes, may have |
///
/// # collection
///
/// The name alone; the database is that of the handle. [`Bucket::buckets_in`] opens another one.
///
/// # id
///
/// Literals and placeholders. The placeholders name fields of the struct; the last one is the
/// *ordinal*, which ends the format and names the bucket within its key. Those before it are the
/// *key*, in order, up to six.
///
/// | ordinal | a new bucket's id ends in | order of a key's buckets | |
/// | --- | --- | --- | --- |
/// | `{date}` | epoch seconds of the item that opened it, ten digits | time of the first item | an append is one round trip |
/// | `{date:millis}` | epoch milliseconds, thirteen digits | time of the first item | an append is one round trip |
/// | `{date/1h}` | epoch seconds at which the [window](#time-windows) starts, ten digits | time window | an append is one round trip; each further bucket of a window costs two more |
/// | `{#}` | 0, 1, 2 …, ten digits | creation | page n is read by its id at any depth; each new bucket costs two more round trips |
///
/// A literal that follows a key placeholder begins with ASCII punctuation other than `%`. In the
/// key's text that character, `%` and control characters are percent-encoded, so the ids of two keys
/// never meet: `12` and `12_3` are different keys, as are `a.b` and `axb`.
///
/// A time before 1970 is written as `-` and its complement, which sorts before every digit. A
/// further bucket of the same moment gets `_000001` appended, and so on.
///
/// Key fields may have the types of [`KeyField`], the field of a time ordinal those of
/// [`TimeField`].
///
/// # Time windows
///
/// With `{date/1h}` there is a bucket for each key and hour: late and early items find the hour that
/// they belong to, in whichever order they come. The length is a number of `s`, `m`, `h` or `d`, from
/// a second to 49,710 days. Windows start at the multiples of their length since 1970, in UTC: `1d`
/// at midnight, `7d` on Thursdays. When a window's bucket is full, the next one of that window gets
/// `_000001` appended to its id, and so on, so a capacity that holds what a window usually brings
/// makes it one document.
///
/// ```
/// # use bucket_runtime::{Bucket, mongodb::bson::DateTime};
/// #[derive(Bucket)]
/// #[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 3600)]
/// struct Reading {
///     sensor: i64,
///     at: DateTime,
///     celsius: f64,
/// }
/// ```
///
/// ```js
/// { _id: "7_1698332400", sensor: Long(7), window: ISODate("2023-10-26T15:00:00Z"), count: 2,
///   items: [ { at: ISODate("2023-10-26T15:47:03.434Z"), celsius: 3.5 }, … ] }
/// ```
///
/// The start of the window stands in the bucket, under the name that `window = "…"` gives it, and
/// belongs to the index `bucket_open`: there is at most one open bucket for each key and window. A
/// window bounds the times of its items, so a [filter](crate::action::Items::filter) on that field
/// visits the buckets of its windows alone. The length belongs to the collection: opening it with
/// another one is an [error](Error::is_window_mismatch).
///
/// # Rollups
///
/// What is marked with `sum`, `min` or `max` each bucket keeps up to date by the very update that
/// appends, so it costs no round trip and always equals what the items say:
///
/// ```
/// # use bucket_runtime::{Bucket, mongodb::bson::DateTime};
/// #[derive(Bucket)]
/// #[bucket(collection = "trades", id = "{customer}_{date}", capacity = 100)]
/// struct Trade {
///     customer: i64,
///     #[bucket(max)]
///     date: DateTime,
///     #[bucket(sum, min, max)]
///     quantity: i32,
/// }
/// ```
///
/// ```js
/// { _id: "123_1698335223", customer: Long(123), count: 2, items: [ … ],
///   rollup: { date: { count: 2, max: ISODate("2023-10-26T15:47:03.434Z") },
///             quantity: { count: 2, sum: Long(839), min: Long(419), max: Long(420) } } }
/// ```
///
/// [`Page::rollup`] reads it, and [`Buckets::rollup`] adds it up on the server: over a key, over some
/// of its time windows, or over all keys. `count` is the number of items, and `missing`, where it
/// stands, that of those whose value is `None`.
///
/// Sums are of [`SumField`]s, the others of [`RollupField`]s. Integers are never wrong: an item with
/// which the sum of a bucket would exceed 64 bits is [refused](Error::is_sum_overflow), and sums over
/// buckets are read as `i128`. [`FieldRollup`] says what holds for floats. Values are those of the
/// struct's fields, whatever a `#[serde(with)]` writes.
///
/// Mark fields before there are items: buckets of earlier times do not keep what is asked for, which
/// is an [error](Error::is_incomplete_rollup) when it is added up. (Of a field that was marked
/// already, a word that is added later cannot be noticed in a bucket that was open then.) Who changes
/// items by hand has to keep their rollup true, too.
///
/// # capacity
///
/// From 1 to [`MAX_CAPACITY`]. It belongs to the collection as well, since the index `bucket_open`
/// is made for it: opening a collection that was written with another capacity is an error, and
/// [`recapacity`](Bucket::recapacity) moves the collection. Choose the number of items that your
/// application shows at a time, and keep capacity × size of an item below [`max_bytes`](#max_bytes), so that buckets become full.
///
/// # max_bytes
///
/// From 1,024 to [`MAX_BYTES`], unless given [`DEFAULT_MAX_BYTES`]. A bucket that has room by count, but
/// not for the next item, is sealed (`sealed` holds its own `_id`), and the item opens the next one.
/// An item that no bucket could hold is [refused](Error::is_too_large) with its size, before it is
/// sent. Who appends need not know how large a bucket is: each item has a share of it set aside, of a
/// quarter of the bytes in all, and what large items take beyond theirs is added up in the field
/// `oversize`, which other buckets do not have. So a bucket is sealed with a quarter of its bytes free
/// at most, beside what the next item takes. Buckets from before, and what other programs push, are
/// not counted. An edit that lets an item grow is refused if the bucket has no room for that.
///
/// Where the sizes of all fields are known the compiler proves that a full bucket fits, and nothing is
/// checked when items are appended. If none fits, it names the capacity that would. Sizes are known of
/// the types that are [`BsonSize`], and of texts and bytes with a `max_len`, in structs without type
/// parameters, `flatten`, and fields with a `with` of their own:
///
/// ```compile_fail
/// # use bucket_runtime::{Bucket, mongodb::bson::DateTime};
/// #[derive(Bucket)]
/// // error: a full bucket can take … bytes, and `max_bytes` is 4194304
/// // help: capacity = …
/// #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 100_000)]
/// struct Trade {
///     customer_id: i64,
///     date: DateTime,
///     #[bucket(max_len = 12)]
///     ticker: String,
///     quantity: i32,
/// }
/// ```
///
/// # max_len
///
/// On a field of the key or of the items that is a [`LenField`]: a `String`, a `Vec<u8>`, a `Binary`, or
/// an `Option` of these. How many bytes its value has at most, text in UTF-8, as an integer or the path
/// of a constant. An item with a longer one is [refused](Error::is_too_long) before it is sent.
///
/// # items and count
///
/// The names of these two fields in the stored document. `_id`, `sealed` and `oversize` have
/// their names once and for all.
///
/// # expire_after
///
/// A number of seconds, minutes, hours or days: `"30s"`, `"15m"`, `"36h"`, `"90d"`. Once the newest
/// item of a bucket is older than that, the server removes the bucket, all of its items together; it
/// looks about once a minute. So an item lives that long at least, and the older ones of its bucket
/// live as long as it does.
///
/// The time of the newest item stands in the bucket as `newest`, and every append keeps it in the
/// same update. (A time index over the items' own field would remove a bucket when its *oldest* item
/// is too old.) It takes a time ordinal: numbered buckets have no time, and after the last one of a
/// key was removed, their numbers would begin again.
///
/// The span belongs to the collection as the capacity does, in the index `bucket_expiry`: opening it
/// with another span, or with none, is an error that says what to do. All writers have to use the
/// same struct, since one that does not keep `newest` lets the server remove items too early; the
/// manual's own upsert is such a writer. Buckets from before have no `newest`, and stay. To have
/// them expire, too, give it to them in the shell (`history` and `date` stand for your names):
///
/// ```js
/// db.trades.updateMany({ newest: { $exists: false } }, [{ $set: { newest: { $max: "$history.date" } } }])
/// ```
///
/// # index
///
/// On any field that is stored under a name of its own, of the key or of the items: opening the
/// collection makes sure that there is an index that begins with it (`{ "history.ticker": 1 }`), with
/// which a filter on it visits only the buckets that hold a match. An index of your own that begins
/// with the field serves as well, and none is ever dropped.
///
/// ```
/// # use bucket_runtime::{Bucket, mongodb::bson::DateTime};
/// #[derive(Bucket)]
/// #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10, expire_after = "90d")]
/// struct Trade {
///     customer_id: i64,
///     date: DateTime,
///     #[bucket(index)]
///     ticker: String,
/// }
/// ```
///
/// # unique
///
/// On one field of the items, which tells those of a key apart: an order number, an id that the
/// sender chooses. An item with a value that the key has already is not stored again, whoever sends
/// it: [`append`](Buckets::append) gives [`Appended::AlreadyThere`], and
/// [`append_many`](Buckets::append_many) leaves it out. So a call that may have failed is simply
/// repeated.
///
/// The field has a type of [`KeyField`], and two items of different keys may have the same value.
/// The index `bucket_unique` guards it, over the key and the field, where `count > 0`; of two items in
/// one bucket the filter of each append takes care. An item that is there costs a round trip more.
///
/// ```
/// # use bucket_runtime::{Bucket, mongodb::bson::DateTime};
/// #[derive(Bucket)]
/// #[bucket(collection = "orders", id = "{customer_id}_{date}", capacity = 10)]
/// struct Order {
///     customer_id: i64,
///     date: DateTime,
///     #[bucket(unique)]
///     number: String,
/// }
/// ```
///
/// # crate
///
/// For a crate that re-exports this one: `#[bucket(crate = my_framework::buckets)]`. One that is renamed
/// in the manifest of your crate is found; where the workspace renames it, give its name here.
///
/// A crate of edition 2015 needs `extern crate bucket_runtime;` in its root, as for every crate that it
/// uses. After `extern crate bucket_runtime as buckets;` give that name: `crate = ::buckets`.
///
/// # serde attributes
///
/// The struct needs neither `Serialize` nor `Deserialize`, but takes `#[serde(…)]` attributes: they
/// are handed to serde for the elements, which understands them as always (`rename`, `rename_all`,
/// `alias`, `with`, `default`, `skip_serializing_if`, `flatten` …). On key fields there are `rename`
/// and `alias` (which on a [cluster](crate::guide::sharding) makes each read of a key ask all shards); how a
/// key is stored is its type's business. The field of a time ordinal is stored
/// as a BSON date ([`bson_date`]) unless it has a `with` of its own.
///
/// What could be written and not read back does not compile. A field that is left out at times
/// (`skip_serializing_if`, `skip_serializing`) needs a `default`, unless it is an `Option`, which is
/// read as `None`; with a `with` an `Option` needs it, too. A field that is written under another name
/// than it is read from needs an `alias`, or a `default` that stands in for it.
///
/// # Type parameters
///
/// A generic struct is stored in buckets for those of its parameters for which its fields can be
/// written and read: `T: Serialize + DeserializeOwned` where serde stores a `T`, `T: Default` where
/// `default` or `skip` makes one up, [`KeyField`] or [`TimeField`] where it is a key or a time,
/// [`RollupField`] or [`SumField`] where it is kept, and always `T: Send + Sync + 'static`. The derive
/// requires these by itself; the struct may require more, `DeserializeOwned` included.
///
/// ```
/// # use bucket_runtime::{Bucket, mongodb::bson::DateTime};
/// # use serde::{Serialize, de::DeserializeOwned};
/// #[derive(Bucket)]
/// #[bucket(collection = "events", id = "{source}_{at}", capacity = 100)]
/// struct Event<T> {
///     source: i64,
///     at: DateTime,
///     payload: T,
/// }
///
/// fn is_stored<T: Serialize + DeserializeOwned + Send + Sync + 'static>() -> u32 {
///     Event::<T>::SPEC.capacity
/// }
/// assert_eq!(is_stored::<Vec<String>>(), 100);
/// ```
///
/// # Typed fields
///
/// [`FIELDS`](Bucket::FIELDS) has a [`Field`] for each field of the struct, under the same name and
/// with the same visibility, that knows the stored name and the type:
///
/// ```
/// # use bucket_runtime::{Bucket, Filter, mongodb::bson::DateTime};
/// # #[derive(Bucket)]
/// # #[bucket(collection = "readings", id = "{sensor}_{measured_at}", capacity = 60)]
/// # struct Reading { sensor: i32, measured_at: DateTime, celsius: f64 }
/// let frost: Filter<Reading> = Reading::FIELDS.celsius.lt(0.0);
/// ```
///
/// Values are compared as the field stores them. A field with a `with` of its own has no order, as
/// nobody knows what it writes, unless its module is called `bson_date`.
pub use bucket_derive::Bucket;

/// Derives [`trait@Outlier`] for a struct with an id and one array that may grow without bound.
///
/// ```
/// use bucket_runtime::Outlier;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Outlier)]
/// #[outlier(collection = "sales", extras = "extra_sales", reference = "book_id", threshold = 50)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: i64,
///     title: String,
///     #[outlier(items)]
///     customers_purchased: Vec<String>,
/// }
/// ```
///
/// Up to the threshold a book is stored as serde writes the struct. Beyond it, as
///
/// ```js
/// // sales
/// { _id: 2, title: …, customers_purchased: [ "user00" … "user49" ], has_extras: true }
/// // extra_sales
/// { _id: "2_0000000000", book_id: 2, count: 950, customers_purchased_extra: [ "user50" … ] }
/// ```
///
/// | `#[outlier(…)]` | value | default | |
/// | --- | --- | --- | --- |
/// | `collection` | string | required | the collection of the parents |
/// | `reference` | string | required | the field of an extras document that holds its parent's `_id` |
/// | [`threshold`](#threshold) | integer or const path | required | how many items a parent holds at most |
/// | `extras` | string | `extra_` and the collection | the collection of the extras |
/// | [`extras_capacity`](#extras_capacity) | integer or const path | `1000` | how many items an extras document holds at most |
/// | [`max_bytes`](macro@Bucket#max_bytes) | integer or const path | 4 MiB | how many bytes an extras document takes at most |
/// | `extra_items` | string | the array's name and `_extra` | the array in an extras document |
/// | `flag` | string | `"has_extras"` | the field that says that there are extras |
/// | [`crate`](macro@Bucket#crate) | path | `::bucket_runtime` | where this crate is found |
///
/// | `#[outlier(…)]` on a field | |
/// | --- | --- |
/// | [`items`](#items) | the array, a `Vec`; exactly one field |
/// | [`flag`](#flag) | a `bool` of your own that carries the flag; at most one field |
/// | [`index`](#index) | an index over the field in the parents' collection |
///
/// # threshold
///
/// The number of items that your application shows, or that typical documents have:
/// [`Outlier::advise`] looks at the data that you have. It may be changed later: after raising it,
/// parents that are no outliers yet hold more; after lowering it, [`Outliers::split_existing`] moves
/// what exceeds it.
///
/// # extras_capacity
///
/// It belongs to the collection of the extras as a bucket's capacity does: opening it with another
/// one is an error that names the old one. It cannot be changed while there are extras.
///
/// # items
///
/// The items may have any type that serde can write and read.
///
/// # flag
///
/// Only if you want to see the flag in the struct; [`Outliers::get`] tells it anyhow. Typical
/// documents may lack the field, so it needs `#[serde(default)]`.
///
/// # index
///
/// On any field but the id: opening the collections makes sure that there is an index over it. One
/// over the array knows what the parents themselves hold.
///
/// # The id
///
/// The id is the field whose serde name is `_id`. It may have the types of [`KeyField`].
pub use bucket_derive::Outlier;

/// The calls of [`Buckets`] as builders: they take a session, and are carried out when awaited.
pub mod action {
    pub use crate::{
        append::Append,
        bulk::AppendMany,
        create::CreateCollections,
        edit::{RemoveItem, RemoveStored, UpdateItem},
        items::Items,
        open::OpenBuckets,
        outlier::{
            Advise, CountValues, Delete, Extras, Find, Get, GetAll, Insert, OpenOutliers, Push,
            PushMany, Remove, Repair, SplitExisting, Values, Verify,
        },
        pages::Pages,
        read::{Count, FindPage},
        recapacity::Recapacity,
        regroup::Regroup,
        remove::RemoveKey,
        rollup::RollUp,
        verify::{RepairBuckets, VerifyBuckets},
        view::CreateView,
        watch::Watch,
    };
}
