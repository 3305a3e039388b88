//! The found item, and what was read with it.

use mongodb::{
    bson::{Bson, DateTime, Document, RawDocumentBuf},
    error::Error as DriverError,
};

use crate::{
    Bucket, Error, Result,
    error::Kind,
    protocol::command::{Place, StoredItem},
    read::reader::Reader,
    schema::names::{OVERSIZE, SEALED},
    value::{
        bytes,
        element::whole,
        unreadable::{Attempt, Attempted},
    },
};

/// The found item, and what was read with it.
pub(super) struct FoundItem<T: Bucket> {
    pub(super) place: Place,
    /// The bytes that the bucket's items take beyond their shares.
    pub(super) oversize: i64,
    pub(super) key: T::Key,
    /// The items of its bucket, or the item alone.
    pub(super) items: Vec<Result<T, Unread>>,
    /// The index of the item among these.
    pub(super) at: usize,
    /// Whether the bucket is open, judged by the last known capacity.
    pub(super) open: bool,
}

/// An item that cannot be read.
pub(super) struct Unread {
    error: DriverError,
    /// Its time, as it is stored.
    pub(super) time: Option<DateTime>,
}

impl<T: Bucket> FoundItem<T> {
    /// Reads a bucket with the item, and the others only if the bucket stores totals of all items.
    pub(super) fn read(reader: &Reader, row: &RawDocumentBuf, keeps: bool) -> Result<Self> {
        let mut stored: Document =
            bytes::read(row.as_bytes()).map_err(|error| reader.context().read(error))?;
        let id = stored.get("_id").and_then(Bson::as_str).unwrap_or_default();
        let bucket = id.to_owned();
        let read = bytes::read::<Attempted<T>>(row.as_bytes())
            .map_err(|error| unreadable(reader, &bucket, error))?;
        if !reader.scope.holds(&read) {
            return Err(reader.context().kind(Kind::ForeignId(bucket)));
        }
        let before = stored.get(T::SPEC.count).and_then(whole).unwrap_or(0);
        let before = usize::try_from(before).unwrap_or(0);
        let open = stored.get_bool(SEALED).unwrap_or(false);
        let oversize = stored.get(OVERSIZE).and_then(whole).unwrap_or(0);
        let mut elements = match stored.remove(T::SPEC.items) {
            Some(Bson::Array(elements)) => elements,
            _ => Vec::new(),
        };
        let items = read.elements.into_iter().zip(&elements);
        let items = items.map(|(Attempt(read_as), element)| match read_as {
            Ok(element) => Ok(T::from_parts(read.key.clone(), element)),
            Err(error) => Err(Unread {
                error,
                time: time::<T>(element),
            }),
        });
        let items = items.collect();
        let (at, stored) = match keeps {
            true => (before, StoredItem::Array(elements)),
            // The pipeline has made an array of the item alone.
            false => (0, StoredItem::Element(elements.pop().unwrap_or(Bson::Null))),
        };
        Ok(Self {
            open,
            oversize,
            place: Place {
                bucket,
                at: before,
                stored,
            },
            key: read.key,
            items,
            at,
        })
    }

    /// The item as it is stored.
    pub(super) fn element(&self) -> &Bson {
        match &self.place.stored {
            StoredItem::Element(element) => element,
            StoredItem::Array(elements) => elements.get(self.place.at).unwrap_or(&Bson::Null),
        }
    }

    /// The item's own time.
    pub(super) fn time(&self) -> Option<DateTime> {
        moment(self.items.get(self.at)?)
    }

    /// The item, or why it cannot be read.
    pub(super) fn item(&mut self, reader: &Reader) -> Result<&mut T> {
        let item = self.items[self.at].as_mut();
        item.map_err(|unread| unreadable(reader, &self.place.bucket, unread.error.clone()))
    }

    /// Takes the item out of the list.
    pub(super) fn take(&mut self, reader: &Reader) -> Result<T> {
        let item = self.items.remove(self.at);
        item.map_err(|unread| unreadable(reader, &self.place.bucket, unread.error))
    }
}

/// The time of an item; for an unreadable one, as it is stored.
pub(super) fn moment<T: Bucket>(item: &Result<T, Unread>) -> Option<DateTime> {
    match item {
        Ok(item) => item.time(),
        Err(unread) => unread.time,
    }
}

fn time<T: Bucket>(element: &Bson) -> Option<DateTime> {
    let time = element.as_document()?.get(T::SPEC.time?)?;
    time.as_datetime().copied()
}

fn unreadable(reader: &Reader, bucket: &str, error: DriverError) -> Error {
    let kind = Kind::Deserialize(bucket.to_owned());
    reader.context().kind(kind).with_driver(error)
}
