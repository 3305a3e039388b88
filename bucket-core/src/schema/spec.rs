//! The facts that a derive states about a struct, as `const` data.

#![deny(missing_docs)]

/// Setters with the names of their fields.
macro_rules! setters {
    ($($(#[$doc:meta])+ $field:ident($($value:ident: $type:ty)?) = $stored:expr;)+) => {$(
        $(#[$doc])+
        #[must_use]
        pub const fn $field(mut self $(, $value: $type)?) -> Self {
            self.$field = $stored;
            self
        }
    )+};
}

mod id_format;
mod rollup;
#[cfg(test)]
mod tests;

pub use self::{
    id_format::{IdFormat, KeyName, Ordinal},
    rollup::RollupName,
};

/// The largest capacity of a bucket.
///
/// A document holds at most 16 MB (MongoDB manual, "MongoDB Limits and Thresholds"), and no useful
/// element takes fewer than 16 bytes, so a bucket could never reach a larger capacity.
pub const MAX_CAPACITY: u32 = 1_000_000;

/// The largest `max_bytes` of a bucket, 15 MiB: a document holds 16 MiB, and so must the command
/// that appends to it.
pub const MAX_BYTES: u32 = 15 << 20;

/// The default of `max_bytes`, the maximum size of a bucket: 4 MiB.
///
/// The server rewrites the whole document with each item appended, and a page is read as a whole.
/// On MongoDB 6.0.5 an append to a bucket of 4 MiB takes 3.5 times as long as one to 64 KiB, and
/// reading it as a page 14 times as long, 7 ms each; at 14 MiB the factors are 11 and 40, 30 and 23
/// ms. (To repeat it: `cargo bench -- size_`.) So 4 MiB are about the most that an append should
/// have to carry.
pub const DEFAULT_MAX_BYTES: u32 = 4 << 20;

/// The smallest allowed `max_bytes`: an id, a key and some items have to fit.
const MIN_BYTES: u32 = 1 << 10;

/// How one struct is stored: everything that the runtime needs to know except the values.
///
/// `#[derive(Bucket)]` writes it; by hand it is built with [`BucketSpec::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BucketSpec {
    /// The collection that `Bucket::buckets` opens.
    pub collection: &'static str,
    /// How `_id` is written.
    pub id: IdFormat,
    /// The maximum number of items in a bucket.
    pub capacity: u32,
    /// The key fields, in the order of the id format.
    pub key: &'static [KeyName],
    /// The name of the array of elements.
    pub items: &'static str,
    /// The name of the field that holds the array's length.
    pub count: &'static str,
    /// With a time ordinal, the stored name of the item's time.
    pub time: Option<&'static str>,
    /// With a window ordinal, the name of the field that holds the window's start.
    pub window: &'static str,
    /// The fields whose sums, minima and maxima each bucket keeps in its rollup.
    pub rollups: &'static [RollupName],
    /// The name of the rollup field.
    pub rollup: &'static str,
    /// The names of all fields of elements; `None` if elements may have others, too.
    pub fields: Option<&'static [&'static str]>,
    /// The stored names of the indexed fields, of the key or of the items.
    pub indexes: &'static [&'static str],
    /// The stored name of the `unique` field, which identifies an item within its key, if there is
    /// one.
    pub unique: Option<&'static str>,
    /// How many seconds after the time of its newest item a bucket is removed; `None` if never.
    pub expire_after: Option<u32>,
    /// The maximum size of a bucket in bytes.
    pub max_bytes: u32,
    /// Whether a full bucket is proved to fit into that ([`bounded`](Self::bounded)); otherwise
    /// every append checks it.
    pub is_bounded: bool,
    /// Whether these are extras of parents, which other programs also store under ids of their own.
    #[doc(hidden)]
    pub are_extras: bool,
}

impl BucketSpec {
    /// A spec with the default names `items`, `count`, `window` and `rollup`.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, unless the capacity lies between 1 and
    /// [`MAX_CAPACITY`], and the id format has as many key placeholders as there are key names.
    ///
    /// ```
    /// use bucket_runtime::{BucketSpec, IdFormat, KeyName, Ordinal};
    ///
    /// // `{customer_id}_{date}`
    /// const ID: IdFormat = IdFormat::new("", &["_"], Ordinal::Seconds);
    /// const TRADES: BucketSpec =
    ///     BucketSpec::new("trades", ID, 10, &[KeyName::new("customerId")]).items("history");
    /// assert_eq!(TRADES.count, "count");
    /// ```
    pub const fn new(
        collection: &'static str,
        id: IdFormat,
        capacity: u32,
        key: &'static [KeyName],
    ) -> Self {
        assert!(
            capacity >= 1 && capacity <= MAX_CAPACITY,
            "capacity must be between 1 and 1000000"
        );
        assert!(
            key.len() == id.after_key.len() && !key.is_empty(),
            "the id format must have one placeholder per key field, and at least one"
        );
        Self {
            collection,
            id,
            capacity,
            key,
            items: "items",
            count: "count",
            time: None,
            window: "window",
            rollups: &[],
            rollup: "rollup",
            fields: None,
            indexes: &[],
            unique: None,
            expire_after: None,
            max_bytes: DEFAULT_MAX_BYTES,
            is_bounded: false,
            are_extras: false,
        }
    }

    setters! {
        /// Sets the maximum size of a bucket in bytes.
        ///
        /// # Panics
        ///
        /// At compile time if used in a `const`, unless it lies between 1024 and
        /// [`MAX_BYTES`].
        max_bytes(bytes: u32) = checked_max_bytes(bytes);
        /// Names the array of elements.
        items(name: &'static str) = name;
        /// Names the field of an item that holds its time.
        time(name: &'static str) = Some(name);
        /// Names the field that holds the start of a bucket's window.
        window(name: &'static str) = name;
        /// Names the field that holds the array's length.
        count(name: &'static str) = name;
        /// Names the fields whose sums, minima and maxima each bucket keeps.
        rollups(fields: &'static [RollupName]) = fields;
        /// Names the rollup field.
        rollup(name: &'static str) = name;
        /// Names all fields of elements, so that `Bucket::unwind` can name them.
        fields(names: &'static [&'static str]) = Some(names);
        /// Names the indexed fields, of the key or of the items.
        indexes(names: &'static [&'static str]) = names;
        /// Names the field that identifies an item within its key, so that each item is stored
        /// once.
        unique(name: &'static str) = Some(name);
    }

    /// Makes the server remove a bucket this many seconds after the time of its newest item. Only
    /// items with a `Bucket::time` expire.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, unless it lies between 1 and 2147483647, and the
    /// ordinal is a time.
    #[must_use]
    pub const fn expire_after(mut self, seconds: u32) -> Self {
        assert!(
            seconds >= 1 && seconds <= i32::MAX as u32,
            "expire_after must be between 1 and 2147483647 seconds"
        );
        assert!(
            !matches!(self.id.ordinal, Ordinal::Number),
            "numbered buckets cannot expire"
        );
        self.expire_after = Some(seconds);
        self
    }

    /// The names of the key fields.
    #[doc(hidden)]
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.key.iter().map(|key| key.name)
    }

    /// The name of the field with the window's start, if buckets have one.
    #[doc(hidden)]
    pub const fn window_name(&self) -> Option<&'static str> {
        match self.id.ordinal {
            Ordinal::Window { .. } => Some(self.window),
            _ => None,
        }
    }

    /// Whether a bucket may hold a key field under a former name.
    #[doc(hidden)]
    pub fn has_aliases(&self) -> bool {
        self.key.iter().any(|key| !key.aliases.is_empty())
    }
}

/// How a struct that derives `Outlier` is stored.
///
/// `#[derive(Outlier)]` writes it; by hand it is built with [`OutlierSpec::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlierSpec {
    /// The collection of the parents.
    pub collection: &'static str,
    /// The collection of the extras.
    pub extras: &'static str,
    /// The field of an extras document that holds its parent's `_id`.
    pub reference: &'static str,
    /// The stored name of the parent's array.
    pub items: &'static str,
    /// The name of the array in an extras document.
    pub extra_items: &'static str,
    /// The field that says that a parent has extras.
    pub flag: &'static str,
    /// The field that keeps the number of all items of a parent, if there is one.
    pub total: Option<&'static str>,
    /// The stored name of the items' field that tells those of a parent apart, if there is one; the
    /// empty name stands for the item itself.
    pub unique: Option<&'static str>,
    /// The maximum number of items in a parent.
    pub threshold: u32,
    /// The maximum number of items in an extras document.
    pub extras_capacity: u32,
    /// The stored names of the parents' indexed fields.
    pub indexes: &'static [&'static str],
    /// The maximum size, in bytes, of a parent and of an extras document.
    pub max_bytes: u32,
    /// Whether a full parent is proved to fit into that ([`bounded`](Self::bounded)); otherwise
    /// every push checks it.
    pub is_bounded: bool,
    /// Whether a full extras document is, too ([`bounded_extras`](Self::bounded_extras)).
    pub are_extras_bounded: bool,
}

impl OutlierSpec {
    /// A spec with the flag `has_extras` and extras documents of up to 1,000 items.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, unless the threshold lies between 1 and
    /// [`MAX_CAPACITY`].
    ///
    /// ```
    /// use bucket_runtime::OutlierSpec;
    ///
    /// const BOOKS: OutlierSpec = OutlierSpec::new(
    ///     "sales",
    ///     "extra_sales",
    ///     "book_id",
    ///     "customers_purchased",
    ///     "customers_purchased_extra",
    ///     50,
    /// );
    /// assert_eq!(BOOKS.flag, "has_extras");
    /// assert_eq!(BOOKS.extras_capacity, 1000);
    /// ```
    pub const fn new(
        collection: &'static str,
        extras: &'static str,
        reference: &'static str,
        items: &'static str,
        extra_items: &'static str,
        threshold: u32,
    ) -> Self {
        assert!(
            threshold >= 1 && threshold <= MAX_CAPACITY,
            "threshold must be between 1 and 1000000"
        );
        Self {
            collection,
            extras,
            reference,
            items,
            extra_items,
            flag: "has_extras",
            total: None,
            unique: None,
            threshold,
            extras_capacity: 1000,
            indexes: &[],
            max_bytes: DEFAULT_MAX_BYTES,
            is_bounded: false,
            are_extras_bounded: false,
        }
    }

    /// The extras documents, as buckets of their parents' ids.
    #[doc(hidden)]
    pub const fn of_extras(&self, key: &'static [KeyName]) -> BucketSpec {
        let id = IdFormat::new("", &["_"], Ordinal::Number);
        let mut extras = BucketSpec::new(self.extras, id, self.extras_capacity, key);
        extras.items = self.extra_items;
        extras.unique = self.unique;
        extras.max_bytes = self.max_bytes;
        extras.is_bounded = self.are_extras_bounded;
        extras.are_extras = true;
        extras
    }

    setters! {
        /// Sets the maximum size, in bytes, of a parent and of an extras document.
        ///
        /// # Panics
        ///
        /// At compile time if used in a `const`, unless it lies between 1024 and
        /// [`MAX_BYTES`].
        max_bytes(bytes: u32) = checked_max_bytes(bytes);
        /// Names the flag.
        flag(name: &'static str) = name;
        /// Names the field that keeps the number of all items of a parent.
        total(name: &'static str) = Some(name);
        /// Names the items' field that tells those of a parent apart, so that each item is stored
        /// once; the empty name stands for the item itself.
        unique(name: &'static str) = Some(name);
        /// Names the parents' indexed fields.
        indexes(names: &'static [&'static str]) = names;
    }

    /// Sets the maximum number of items in an extras document.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, unless it lies between 1 and [`MAX_CAPACITY`].
    #[must_use]
    pub const fn extras_capacity(mut self, capacity: u32) -> Self {
        assert!(
            capacity >= 1 && capacity <= MAX_CAPACITY,
            "extras_capacity must be between 1 and 1000000"
        );
        self.extras_capacity = capacity;
        self
    }
}

const fn checked_max_bytes(bytes: u32) -> u32 {
    assert!(
        bytes >= MIN_BYTES && bytes <= MAX_BYTES,
        "max_bytes must be between 1024 and 15728640"
    );
    bytes
}
