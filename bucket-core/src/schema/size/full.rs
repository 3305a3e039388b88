//! The maximum size of a full bucket, computed at compile time.

#[cfg(test)]
mod tests;

use crate::schema::{
    size::{
        document_size,
        layout::{digits, field},
    },
    spec::{BucketSpec, MAX_CAPACITY, OutlierSpec},
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
        let max = self.max_bytes as u64;
        let size = head + elements(self.capacity, element);
        if size > max {
            too_large(
                "a full bucket",
                size,
                max,
                "capacity",
                fitting(head, element, max),
            );
        }
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
        let max = self.max_bytes as u64;
        let head = fields + field(self.flag, 1) + field(self.items, 5);
        let size = head + elements(self.threshold, item);
        if size > max {
            let fitting = fitting(head, item, max);
            too_large("a full parent", size, max, "threshold", fitting);
        }
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
        let max = self.max_bytes as u64;
        // An escaped character takes three bytes instead of one.
        let id = 5 + 3 * id_text as u64 + 1 + ORDINAL;
        let mut head = 5 + field("_id", id) + field("sealed", id) + field("capacity", 4);
        head += field(self.reference, id_text as u64 + 16);
        head += field("count", 8) + field(self.extra_items, 5);
        let size = head + elements(self.extras_capacity, item);
        if size > max {
            let fitting = fitting(head, item, max);
            too_large(
                "a full extras document",
                size,
                max,
                "extras_capacity",
                fitting,
            );
        }
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

#[track_caller]
const fn too_large(what: &str, size: u64, max: u64, key: &str, fitting: u32) -> ! {
    let message = Message::new()
        .text(what)
        .text(" can take ")
        .number(size)
        .text(" bytes, and `max_bytes` is ")
        .number(max);
    let message = match fitting {
        0 => message.text(": not even one item is sure to fit; raise `max_bytes`, or bound the fields by a smaller `max_len`"),
        _ => (message.text("\nhelp: ").text(key).text(" = ")).number(fitting as u64),
    };
    panic!("{}", message.as_str())
}

/// A text that is assembled at compile time.
struct Message {
    bytes: [u8; 256],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self {
            bytes: [0; 256],
            len: 0,
        }
    }

    const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut n = 0;
        while n < text.len() {
            self.bytes[self.len] = text[n];
            self.len += 1;
            n += 1;
        }
        self
    }

    const fn number(mut self, number: u64) -> Self {
        let last = self.len + digits(number + 1) as usize;
        let (mut at, mut rest) = (last, number);
        while at > self.len {
            at -= 1;
            self.bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.len = last;
        self
    }

    const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => panic!("a text that was put together of texts"),
        }
    }
}
