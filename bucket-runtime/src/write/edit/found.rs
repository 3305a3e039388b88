//! Items of one bucket that match, and what was read with them.

use std::mem::take;

use bucket_core::{
    error::Kind,
    protocol::command::{Places, StoredItems},
    schema::names::{OVERSIZE, ROW_LENGTH, ROW_STATE},
    value::{bytes, number::whole, shell::id_of, unreadable::read_value},
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
    /// All items of the bucket, if it has fields that are computed from them; of an unreadable one
    /// the time as it is stored.
    pub(super) items: Vec<Result<T, Option<DateTime>>>,
    /// Whether the bucket is open, judged by the last known capacity.
    pub(super) is_open: bool,
    /// Whether all items of the bucket match.
    pub(super) are_all: bool,
    /// The error of an item that cannot be read: it names the document.
    unreadable: Kind,
}

impl<T: Bucket> FoundItems<T> {
    /// Reads a bucket with the items, and the others only if the bucket stores totals of all items.
    pub(super) fn read(reader: &Reader, row: &RawDocumentBuf, keeps_summary: bool) -> Result<Self> {
        let read = bytes::read::<StoredBucket<T, RawBson>>(row.as_bytes())
            .map_err(|error| reader.target().unreadable(row, error))?;
        if !read.is_of(&reader.scope) {
            return Err(reader.target().error(reader.scope.foreign(&id_of(row))));
        }
        let field = |name| row.get(name).ok()?.and_then(|it| Bson::try_from(it).ok());
        let at = match field(T::SPEC.count) {
            Some(Bson::Array(several)) => several,
            one => Vec::from_iter(one),
        };
        let at = at.iter().filter_map(|at| usize::try_from(whole(at)?).ok());
        let at = Vec::from_iter(at);
        let length = field(ROW_LENGTH).as_ref().and_then(whole);
        let oversize = field(OVERSIZE).as_ref().and_then(whole).unwrap_or(0);
        let (bucket, key, elements) = (read.id, read.key, read.elements);
        let (stored, items) = match keeps_summary {
            true => {
                let items = elements.iter().map(|element| {
                    read_item(&key, element).map_err(|_| element_time::<T>(element))
                });
                let items = items.collect();
                (StoredItems::Array(elements), items)
            }
            false => (StoredItems::Elements(elements), Vec::new()),
        };
        Ok(Self {
            is_open: field(ROW_STATE) == Some(Bson::Boolean(true)),
            are_all: length.and_then(|length| length.try_into().ok()) == Some(at.len()),
            oversize,
            unreadable: Kind::Deserialize(format!("{bucket:?}")),
            places: Places { bucket, at, stored },
            key,
            items,
        })
    }

    /// Items of a document that is not a bucket, and the number of items before each.
    pub(crate) fn of_document(key: T::Key, found: Vec<(usize, RawBson)>, unreadable: Kind) -> Self {
        let (at, elements): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Self {
            is_open: false,
            are_all: false,
            oversize: 0,
            unreadable,
            places: Places {
                bucket: String::new(),
                at,
                stored: StoredItems::Elements(elements),
            },
            key,
            items: Vec::new(),
        }
    }

    pub(super) fn unreadable(&self, reader: &Reader, error: DriverError) -> Error {
        (reader.target().error(self.unreadable.clone())).with_driver(error)
    }

    /// The number of items that match.
    pub(crate) fn len(&self) -> usize {
        self.places.at.len()
    }

    /// The nth match as it is stored.
    pub(crate) fn element(&self, n: usize) -> &RawBson {
        let element = match &self.places.stored {
            StoredItems::Elements(matches) => matches.get(n),
            StoredItems::Array(all) => all.get(self.places.at[n]),
        };
        element.unwrap_or(&RawBson::Null)
    }

    /// The time of the nth match; of an unreadable one as it is stored.
    pub(super) fn time(&self, n: usize) -> Option<DateTime> {
        match read_item::<T>(&self.key, self.element(n)) {
            Ok(item) => item.time(),
            Err(_) => element_time::<T>(self.element(n)),
        }
    }

    /// The nth match, or why it cannot be read.
    pub(super) fn item(&self, reader: &Reader, n: usize) -> Result<T> {
        let item = read_item(&self.key, self.element(n));
        item.map_err(|error| self.unreadable(reader, error))
    }

    /// The matches, or why one cannot be read.
    pub(super) fn matches(&self, reader: &Reader) -> Result<Vec<T>> {
        (0..self.len()).map(|n| self.item(reader, n)).collect()
    }

    /// Notes that an item takes the place of the nth match.
    pub(super) fn replace(&mut self, n: usize, item: T) {
        if let Some(place) = self.items.get_mut(self.places.at[n]) {
            *place = Ok(item);
        }
    }

    /// Leaves the items that the bucket keeps if the matches go.
    pub(super) fn drop_matches(&mut self) {
        let numbered = take(&mut self.items).into_iter().enumerate();
        let kept = numbered.filter(|(index, _)| !self.places.at.contains(index));
        self.items = kept.map(|(_, item)| item).collect();
    }
}

fn read_item<T: Bucket>(key: &T::Key, element: &RawBson) -> Result<T, DriverError> {
    Ok(T::from_parts(key.clone(), read_value(element)?))
}

fn element_time<T: Bucket>(element: &RawBson) -> Option<DateTime> {
    let time = element.as_document()?.get(T::SPEC.time?).ok()??;
    time.as_datetime()
}
