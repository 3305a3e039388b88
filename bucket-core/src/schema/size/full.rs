//! The maximum size of a full bucket, computed at compile time.

#[cfg(test)]
mod tests;

use crate::schema::{
    size::{
        document_size,
        layout::{digits, field},
    },
    spec::{BucketSpec, MAX_CAPACITY, OutlierSpec},
    text::Text,
};

/// The longest ordinal: a sign, thirteen digits, and a suffix.
pub(crate) const ORDINAL: u64 = 1 + 13 + 7;

impl BucketSpec {
    /// States how large items can be. Each key field gives the maximum length of its text in bytes
    /// ([`KeyField::MAX_TEXT`](crate::schema::key::KeyField::MAX_TEXT)), and each field of an
    /// element gives its stored name and the maximum size of its value
    /// ([`BsonSize::MAX`](crate::schema::size::BsonSize::MAX)).
    ///
    /// If all of that is known, a full bucket stays within
    /// [`max_bytes`](Self#structfield.max_bytes), so appends need not check anything.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, if a full bucket could exceed that. The message names
    /// the capacity that would fit.
    ///
    /// ```
    /// use bucket_runtime::{BsonSize, BucketSpec, IdFormat, KeyField, KeyName, Ordinal};
    ///
    /// const ID: IdFormat = IdFormat::new("", &["_"], Ordinal::Number);
    /// const SPEC: BucketSpec = BucketSpec::new("readings", ID, 1000, &[KeyName::new("sensor")])
    ///     .bounded(&[<i64 as KeyField>::MAX_TEXT], &[("celsius", Some(<f64 as BsonSize>::MAX))]);
    /// assert!(SPEC.is_bounded);
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn bounded(
        mut self,
        key_texts: &[Option<u32>],
        fields: &[(&str, Option<u64>)],
    ) -> Self {
        let (Some(head), Some(element)) = (self.head(key_texts), element(fields)) else {
            return self;
        };
        let full = (self.capacity, "capacity");
        assert_fits("a full bucket", head, element, full, self.max_bytes);
        self.is_bounded = true;
        self
    }

    /// The maximum size of a bucket without its elements, whatever its key.
    const fn head(&self, key_texts: &[Option<u32>]) -> Option<u64> {
        // An escaped character takes three bytes instead of one.
        let mut id = self.id.head.len() as u64 + ORDINAL;
        let mut head = 5 + field(self.count, 8) + field(self.items, 5);
        let mut n = 0;
        while n < self.key.len() {
            let Some(text) = key_texts[n] else {
                return None;
            };
            id += 3 * text as u64 + self.id.after_key[n].len() as u64;
            head += field(self.key[n].name, text as u64 + 16);
            n += 1;
        }
        // `_id`, and `sealed` with the same value.
        head += field("_id", 5 + id) + field("sealed", 5 + id) + field("capacity", 4);
        Some(head + self.kept())
    }

    /// The size of what a bucket stores about its items: rollup, newest time and oversize.
    pub(crate) const fn kept(&self) -> u64 {
        let mut bytes = 0;
        if let Some(window) = self.window_name() {
            bytes += field(window, 8);
        }
        if self.expire_after.is_some() {
            bytes += field("newest", 8);
        }
        if !self.rollups.is_empty() {
            bytes += field(self.rollup, 5);
        }
        let mut n = 0;
        while n < self.rollups.len() {
            let value = document_size(&[
                ("count", 8),
                ("missing", 8),
                ("sum", 16),
                ("min", 16),
                ("max", 16),
            ]);
            bytes += field(self.rollups[n].name, value);
            n += 1;
        }
        bytes
    }
}

impl OutlierSpec {
    /// States how large parents can be. Each field beside the array gives its stored name and the
    /// maximum size of its value ([`BsonSize::MAX`](crate::schema::size::BsonSize::MAX)); the last
    /// argument is the maximum size of an item.
    ///
    /// If all of that is known, parents stay within [`max_bytes`](Self#structfield.max_bytes), so
    /// pushes need not check anything.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, if a full parent could exceed that. The message names
    /// the threshold that would fit.
    ///
    /// ```
    /// use bucket_runtime::{BsonSize, OutlierSpec};
    ///
    /// const SPEC: OutlierSpec = OutlierSpec::new("runs", "more_runs", "run", "laps", "more_laps", 50)
    ///     .bounded(&[("_id", Some(<i64 as BsonSize>::MAX))], Some(<f64 as BsonSize>::MAX));
    /// assert!(SPEC.is_bounded);
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn bounded(mut self, fields: &[(&str, Option<u64>)], item: Option<u64>) -> Self {
        let (Some(fields), Some(item)) = (element(fields), item) else {
            return self;
        };
        let head = fields + field(self.flag, 1) + field(self.items, 5);
        let full = (self.threshold, "threshold");
        assert_fits("a full parent", head, item, full, self.max_bytes);
        self.is_bounded = true;
        self
    }

    /// States the same for extras documents: the maximum length of the text of the parent's id in
    /// bytes ([`KeyField::MAX_TEXT`](crate::schema::key::KeyField::MAX_TEXT)), and the maximum size
    /// of an item.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, if a full extras document could exceed `max_bytes`.
    /// The message names the capacity that would fit.
    ///
    /// ```
    /// use bucket_runtime::{BsonSize, KeyField, OutlierSpec};
    ///
    /// const SPEC: OutlierSpec = OutlierSpec::new("runs", "more_runs", "run", "laps", "more_laps", 50)
    ///     .bounded_extras(<i64 as KeyField>::MAX_TEXT, Some(<f64 as BsonSize>::MAX));
    /// assert!(SPEC.are_extras_bounded);
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn bounded_extras(mut self, id_text: Option<u32>, item: Option<u64>) -> Self {
        let (Some(id_text), Some(item)) = (id_text, item) else {
            return self;
        };
        // An escaped character takes three bytes instead of one.
        let id = 5 + 3 * id_text as u64 + 1 + ORDINAL;
        let mut head = 5 + field("_id", id) + field("sealed", id) + field("capacity", 4);
        head += field(self.reference, id_text as u64 + 16);
        head += field("count", 8) + field(self.extra_items, 5);
        let full = (self.extras_capacity, "extras_capacity");
        assert_fits("a full extras document", head, item, full, self.max_bytes);
        self.are_extras_bounded = true;
        self
    }
}

/// The maximum size of an element, if the sizes of all its fields are known.
const fn element(fields: &[(&str, Option<u64>)]) -> Option<u64> {
    let mut bytes = 5;
    let mut n = 0;
    while n < fields.len() {
        let (name, Some(value)) = fields[n] else {
            return None;
        };
        bytes += field(name, value);
        n += 1;
    }
    Some(bytes)
}

/// The size of `count` elements in their array.
const fn elements(count: u32, element: u64) -> u64 {
    count as u64 * (2 + digits(count as u64) + element)
}

/// The largest capacity with which a full bucket fits.
const fn fitting(head: u64, element: u64, max: u64) -> u32 {
    let (mut fits, mut exceeds) = (0, MAX_CAPACITY + 1);
    while exceeds - fits > 1 {
        let middle = fits + (exceeds - fits) / 2;
        if head + elements(middle, element) <= max {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    fits
}

/// Panics unless a full document stays within `max` bytes: `head` with this many elements, as an
/// attribute of this name says.
#[track_caller]
const fn assert_fits(what: &str, head: u64, element: u64, (count, key): (u32, &str), max: u32) {
    let max = max as u64;
    let size = head + elements(count, element);
    if size <= max {
        return;
    }
    let message = (Text::EMPTY.push(what).push(" can take ").number(size))
        .push(" bytes, and `max_bytes` is ")
        .number(max);
    let message = match fitting(head, element, max) {
        0 => message.push(": not even one item is sure to fit; raise `max_bytes`, or bound the fields by a smaller `max_len`"),
        fitting => (message.push("\nhelp: ").push(key).push(" = ")).number(fitting as u64),
    };
    panic!("{}", message.as_str())
}
