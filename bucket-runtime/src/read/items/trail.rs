//! Where a read is: the last rows that it has given, and what makes a token of them.

use std::{collections::VecDeque, sync::Arc};

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use super::token::ItemToken;
use crate::{
    protocol::{
        command::KeyScope,
        query::{NEIGHBOURS, Position, Query, Side},
    },
    schema::spec::BucketSpec,
    value::{
        bytes,
        element::whole,
        fingerprint::{fingerprint, of_element},
    },
};

/// The list of items that a read goes through. A token belongs to one list.
pub(super) struct List {
    pub(super) spec: &'static BucketSpec,
    pub(super) query: Query,
    collection: String,
    /// The prefix of all bucket ids in the list, if the list is of one key.
    prefix: Option<String>,
    /// The fields by which the list's elements are told apart, if not all.
    names: Option<Vec<&'static str>>,
}

impl List {
    pub(super) fn new(
        spec: &'static BucketSpec,
        query: Query,
        collection: String,
        scope: Option<&KeyScope>,
    ) -> Self {
        let unique = spec.unique.as_slice();
        let is_read = |name| {
            query
                .names
                .as_ref()
                .is_none_or(|names| names.contains(name))
        };
        Self {
            names: match !unique.is_empty() && unique.iter().all(is_read) {
                true => Some(unique.to_vec()),
                false => query.names.clone(),
            },
            spec,
            query,
            collection,
            prefix: scope.map(|scope| scope.prefix.clone()),
        }
    }

    /// Identifies this list. Only a token needs the value, which takes hashing the filter.
    fn fingerprint(&self) -> u64 {
        fingerprint(&doc! {
            "collection": &self.collection,
            "items": self.spec.items,
            "key": &self.prefix,
            "filter": self.query.filter.flat(""),
            "names": self.query.names.clone(),
        })
    }

    fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or_default()
    }

    /// The position of a token, if it is one of this list.
    pub(super) fn position(&self, token: &ItemToken) -> Option<Position> {
        (token.list == self.fingerprint()).then(|| Position {
            bucket: format!("{}{}", self.prefix(), token.position.bucket),
            ..token.position.clone()
        })
    }

    fn token(&self, position: Position) -> Option<ItemToken> {
        Some(ItemToken {
            list: self.fingerprint(),
            position: Position {
                bucket: position.bucket.strip_prefix(self.prefix())?.to_owned(),
                ..position
            },
        })
    }

    /// The only element of a single item's row: how many elements are before it, and its fingerprint.
    pub(super) fn single(&self, row: &Document) -> Option<(u32, u32)> {
        let number = u32::try_from(whole(row.get(self.spec.count)?)?).ok()?;
        let element = row.get_array(self.spec.items).ok()?.first()?;
        Some((number, of_element(element, self.names.as_deref())))
    }

    /// The elements of a whole bucket, likewise.
    pub(super) fn elements(&self, bucket: &RawDocument) -> Vec<(u32, u32)> {
        let fingerprint = |element: &Bson| of_element(element, self.names.as_deref());
        let elements = self.slice(bucket, 0, usize::MAX);
        (0..).zip(elements.iter().map(fingerprint)).collect()
    }

    /// Some elements of a whole bucket.
    fn slice(&self, bucket: &RawDocument, skip: usize, take: usize) -> Vec<Bson> {
        let Ok(array) = bucket.get_array(self.spec.items) else {
            return Vec::new();
        };
        let elements = array.into_iter().skip(skip).take(take);
        elements
            .map(|element| Bson::try_from(element.ok()?).ok())
            .map(|element| element.unwrap_or(Bson::Null))
            .collect()
    }
}

/// A row whose items were given, or are being given.
pub(super) struct Passed {
    pub(super) bytes: RawDocumentBuf,
    /// The number of elements that could be read, and of elements before each of the others.
    pub(super) readable: usize,
    pub(super) left_out: Vec<u64>,
}

impl Passed {
    /// A row whose item is not given.
    pub(super) fn over(bytes: RawDocumentBuf) -> Self {
        Self {
            bytes,
            readable: 0,
            left_out: Vec::new(),
        }
    }

    /// How many elements are before the readable one with this number.
    fn before(&self, readable: usize) -> usize {
        let mut before = readable;
        for left_out in &self.left_out {
            before += usize::from(*left_out <= before as u64);
        }
        before
    }

    /// How many readable elements are before the element with this number.
    pub(super) fn readable_before(&self, element: u32) -> usize {
        let element = u64::from(element);
        let left_out = (self.left_out.iter()).filter(|left_out| **left_out < element);
        let readable = element.saturating_sub(left_out.count() as u64);
        usize::try_from(readable).map_or(self.readable, |readable| readable.min(self.readable))
    }
}

/// The last rows of a read.
pub(super) struct Trail {
    list: Arc<List>,
    /// Whether rows are whole buckets; otherwise they are single items.
    whole: bool,
    /// Where the read started.
    started: Option<Position>,
    rows: VecDeque<Passed>,
}

impl Trail {
    pub(super) fn new(list: Arc<List>, whole: bool, started: Option<Position>) -> Self {
        Self {
            list,
            whole,
            started,
            rows: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, row: Passed) {
        // Behind an empty bucket, late items of those before it would be missed.
        if self.whole && row.readable == 0 && row.left_out.is_empty() {
            return;
        }
        let most = if self.whole { 1 } else { NEIGHBOURS };
        if self.rows.len() == most {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    /// The token of the position after the last given item, when this many items of the last row are
    /// left.
    pub(super) fn token(&self, left: usize) -> Option<ItemToken> {
        let position = match self.rows.back() {
            None => self.started.clone()?,
            Some(last) if self.whole => self.in_bucket(last, left)?,
            Some(_) => self.beside()?,
        };
        self.list.token(position)
    }

    /// A position in a whole bucket.
    fn in_bucket(&self, row: &Passed, left: usize) -> Option<Position> {
        let newest_first = self.list.query.newest_first;
        let before = match (newest_first, left) {
            (false, 0) => row.readable + row.left_out.len(),
            (false, _) => row.before(row.readable.saturating_sub(left)),
            (true, 0) => 0,
            (true, _) => row.before(left - 1) + 1,
        };
        let (skip, take) = match newest_first {
            true => (before, NEIGHBOURS),
            false => {
                let take = before.min(NEIGHBOURS);
                (before - take, take)
            }
        };
        let elements = self.list.slice(&row.bytes, skip, take);
        let mut neighbours = Vec::from_iter(
            (elements.iter()).map(|element| of_element(element, self.list.names.as_deref())),
        );
        if !newest_first {
            neighbours.reverse();
        }
        self.position(row.bytes.get_str("_id").ok()?, before, neighbours)
    }

    /// The position beside the last one of single items.
    fn beside(&self) -> Option<Position> {
        let rows = self.rows.iter().rev();
        let mut rows = rows.map_while(|row| bytes::read::<Document>(row.bytes.as_bytes()).ok());
        let last = rows.next()?;
        let bucket = last.get_str("_id").ok()?;
        let (number, fingerprint) = self.list.single(&last)?;
        let before = number as usize + usize::from(!self.list.query.newest_first);
        let same = rows.take_while(|row| row.get_str("_id").is_ok_and(|id| id == bucket));
        let mut neighbours = vec![fingerprint];
        neighbours.extend(same.filter_map(|row| Some(self.list.single(&row)?.1)));
        self.position(bucket, before, neighbours)
    }

    fn position(&self, bucket: &str, before: usize, mut neighbours: Vec<u32>) -> Option<Position> {
        let side = Side::given(self.list.query.newest_first);
        // A read that started at a neighbour knows those that are farther, too.
        if let Some(started) = &self.started
            && started.bucket == bucket
            && started.side == side
            && neighbours.last() == started.neighbours.first()
        {
            neighbours.extend(started.neighbours.iter().skip(1));
            neighbours.truncate(NEIGHBOURS);
        }
        Some(Position {
            bucket: bucket.to_owned(),
            before: u32::try_from(before).ok()?,
            side,
            neighbours,
        })
    }
}
