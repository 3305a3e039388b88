//! Items of one bucket that match, and what was read with them.

use std::mem::take;

use bucket_core::{
    error::Kind,
    protocol::command::{Places, StoredItems},
    schema::names::{OVERSIZE, ROW_LENGTH, ROW_STATE},
    server::read::cursor::id_of,
    value::{bytes, number::whole, unreadable::read_value},
};
use mongodb::{
    bson::{Bson, DateTime, RawBson, RawDocumentBuf},
    error::Error as DriverError,
};

use crate::{
    Bucket, Error, Result,
    read::{reader::Reader, stored_bucket::StoredBucket},
};

/// Items of one bucket that match, and what was read with them.
pub(crate) struct FoundItems<T: Bucket> {
    pub(crate) places: Places,
    /// The bytes that the bucket's items take beyond their shares.
    pub(super) oversize: i64,
    pub(super) key: T::Key,
    /// All items of the bucket, or those that match alone.
    pub(super) items: Vec<Result<T, UnreadableItem>>,
    /// Whether the bucket is open, judged by the last known capacity.
    pub(super) is_open: bool,
    /// Whether all items of the bucket match.
    pub(super) are_all: bool,
}

/// An item that cannot be read.
pub(super) struct UnreadableItem {
    error: DriverError,
    /// The item's time, as it is stored.
    pub(super) time: Option<DateTime>,
}

impl<T: Bucket> FoundItems<T> {
    /// Reads a bucket with the items, and the others only if the bucket stores totals of all items.
    pub(super) fn read(reader: &Reader, row: &RawDocumentBuf, keeps_summary: bool) -> Result<Self> {
        let bucket = row.get_str("_id").unwrap_or_default().to_owned();
        let read = bytes::read::<StoredBucket<T, RawBson>>(row.as_bytes())
            .map_err(|error| reader.target().unreadable(row, error))?;
        if !read.is_of(&reader.scope) {
            return Err(reader.target().error(reader.scope.foreign(&id_of(row))));
        }
        let field = |name| row.get(name).ok()?.and_then(|it| Bson::try_from(it).ok());
        let at = match field(T::SPEC.count) {
            Some(Bson::Array(several)) => several.iter().filter_map(whole).collect(),
            one => Vec::from_iter(one.as_ref().and_then(whole)),
        };
        let at = at.into_iter().filter_map(|at| usize::try_from(at).ok());
        let at = Vec::from_iter(at);
        let length = field(ROW_LENGTH).as_ref().and_then(whole);
        let oversize = field(OVERSIZE).as_ref().and_then(whole).unwrap_or(0);
        let elements = read.elements;
        let items = read_items(&read.key, &elements);
        Ok(Self {
            is_open: field(ROW_STATE) == Some(Bson::Boolean(true)),
            are_all: length.and_then(|length| length.try_into().ok()) == Some(at.len()),
            oversize,
            places: Places {
                bucket,
                at,
                stored: match keeps_summary {
                    true => StoredItems::Array(elements),
                    false => StoredItems::Elements(elements),
                },
            },
            key: read.key,
            items,
        })
    }

    /// Items of a document that is not a bucket, and the number of items before each.
    pub(crate) fn of_document(key: T::Key, found: Vec<(usize, RawBson)>) -> Self {
        let (at, elements): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let items = read_items(&key, &elements);
        Self {
            is_open: false,
            are_all: false,
            oversize: 0,
            places: Places {
                bucket: String::new(),
                at,
                stored: StoredItems::Elements(elements),
            },
            key,
            items,
        }
    }

    /// The kind of error that names the bucket of an unreadable item.
    pub(crate) fn unreadable_kind(&self) -> Kind {
        unreadable_kind(&self.places.bucket)
    }

    /// The number of items that match.
    pub(crate) fn len(&self) -> usize {
        self.places.at.len()
    }

    /// The index of the nth match in `items`, which holds either the matches or all items of the
    /// bucket.
    fn item_index(&self, n: usize) -> usize {
        match &self.places.stored {
            StoredItems::Elements(_) => n,
            StoredItems::Array(_) => self.places.at[n],
        }
    }

    /// The nth match as it is stored.
    pub(crate) fn element(&self, n: usize) -> &RawBson {
        let (StoredItems::Elements(elements) | StoredItems::Array(elements)) = &self.places.stored;
        elements.get(self.item_index(n)).unwrap_or(&RawBson::Null)
    }

    /// The time of the nth match.
    pub(super) fn time(&self, n: usize) -> Option<DateTime> {
        item_time(self.items.get(self.item_index(n))?)
    }

    /// The nth match, or why it cannot be read.
    pub(super) fn item(&mut self, reader: &Reader, n: usize) -> Result<&mut T> {
        let index = self.item_index(n);
        let item = self.items[index].as_mut();
        item.map_err(|unread| unreadable(reader, &self.places.bucket, unread.error.clone()))
    }

    /// Takes the matches out of the list, which then holds what the bucket keeps.
    pub(super) fn take_matches(&mut self, reader: &Reader) -> Result<Vec<T>> {
        let bucket = &self.places.bucket;
        let read = |item: Result<T, UnreadableItem>| {
            item.map_err(|unread| unreadable(reader, bucket, unread.error))
        };
        let (taken, kept) = split(take(&mut self.items), &self.places);
        self.items = kept;
        taken.into_iter().map(read).collect()
    }

    /// Takes the matches out of the list, readable or not.
    pub(super) fn drop_matches(&mut self) {
        self.items = split(take(&mut self.items), &self.places).1;
    }
}

/// Reads the items of a key as far as they can be read.
fn read_items<T: Bucket>(key: &T::Key, elements: &[RawBson]) -> Vec<Result<T, UnreadableItem>> {
    let items = elements.iter().map(|element| match read_value(element) {
        Ok(read) => Ok(T::from_parts(key.clone(), read)),
        Err(error) => Err(UnreadableItem {
            error,
            time: element_time::<T>(element),
        }),
    });
    items.collect()
}

/// The matches, and the other items.
fn split<I>(items: Vec<I>, places: &Places) -> (Vec<I>, Vec<I>) {
    if let StoredItems::Elements(_) = places.stored {
        return (items, Vec::new());
    }
    let mut at = places.at.iter().peekable();
    let numbered = items.into_iter().enumerate();
    let (taken, kept): (Vec<_>, Vec<_>) =
        numbered.partition(|(index, _)| at.next_if(|at| *at == index).is_some());
    let bare = |items: Vec<(usize, I)>| items.into_iter().map(|(_, item)| item).collect();
    (bare(taken), bare(kept))
}

/// The time of an item; for an unreadable one, as it is stored.
pub(super) fn item_time<T: Bucket>(item: &Result<T, UnreadableItem>) -> Option<DateTime> {
    match item {
        Ok(item) => item.time(),
        Err(unread) => unread.time,
    }
}

fn element_time<T: Bucket>(element: &RawBson) -> Option<DateTime> {
    let time = element.as_document()?.get(T::SPEC.time?).ok()??;
    time.as_datetime()
}

pub(super) fn unreadable(reader: &Reader, bucket: &str, error: DriverError) -> Error {
    (reader.target().error(unreadable_kind(bucket))).with_driver(error)
}

fn unreadable_kind(bucket: &str) -> Kind {
    Kind::Deserialize(format!("{bucket:?}"))
}
