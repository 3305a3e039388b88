//! The list of items that a read goes through. A token belongs to one list.

use std::ops::Range;

use bucket_core::{
    error::Kind,
    protocol::query::{ItemPosition, MAX_NEIGHBOURS, Query, QueryStart},
    schema::spec::BucketSpec,
    server::{read::cursor::DocumentCursor, target::OwnedTarget},
    value::{
        fingerprint::{fingerprint, of_elements},
        number::whole_in,
    },
};
use mongodb::{
    ClientSession,
    bson::{RawDocument, doc},
};

use super::{place::RowSource, token::ItemToken};
use crate::Result;

/// The list of items that a read goes through: those of one key, or of all keys, that match a
/// query.
#[derive(Clone)]
pub(crate) struct ItemList {
    pub(crate) spec: &'static BucketSpec,
    pub(crate) target: OwnedTarget,
    pub(crate) query: Query,
}

impl ItemList {
    /// The position of a token, if the token belongs to this list.
    pub(crate) fn position_of(&self, token: &ItemToken) -> Result<ItemPosition> {
        if token.list != self.fingerprint() {
            return Err(self.target.borrow().error(Kind::TokenMismatch));
        }
        Ok(ItemPosition {
            bucket: format!("{}{}", self.prefix(), token.position.bucket),
            ..token.position.clone()
        })
    }

    /// The token of a position; `None` if the position's bucket is not one of the list.
    pub(super) fn token(&self, position: ItemPosition) -> Option<ItemToken> {
        Some(ItemToken {
            list: self.fingerprint(),
            position: ItemPosition {
                bucket: position.bucket.strip_prefix(self.prefix())?.to_owned(),
                ..position
            },
        })
    }

    /// Identifies this list. Only a token needs the value, which takes hashing the filter.
    fn fingerprint(&self) -> u64 {
        let prefix = self.target.scope.as_ref().map(|scope| &scope.prefix);
        fingerprint(&doc! {
            "collection": self.target.server.name(),
            "items": self.spec.items,
            "key": prefix,
            "filter": self.query.filter.flat(""),
            "names": self.query.names.clone(),
        })
    }

    /// The beginning of all bucket ids in the list.
    pub(crate) fn prefix(&self) -> &str {
        let scope = self.target.scope.as_ref();
        scope.map_or("", |scope| &scope.prefix)
    }

    /// The only element of a single item's row: the number of elements before it, and its
    /// fingerprint.
    pub(crate) fn numbered_element(&self, row: &RawDocument) -> Option<(u32, u32)> {
        let number = u32::try_from(whole_in(row, self.spec.count)?).ok()?;
        Some((number, *self.fingerprints(row, 0..1).first()?))
    }

    /// The fingerprints of the elements next to a position in a whole bucket that the read has
    /// given, the nearest first.
    pub(super) fn neighbours(&self, bucket: &RawDocument, before: usize) -> Vec<u32> {
        if self.query.newest_first {
            return self.fingerprints(bucket, before..before.saturating_add(MAX_NEIGHBOURS));
        }
        let known = before.saturating_sub(MAX_NEIGHBOURS)..before;
        let mut neighbours = self.fingerprints(bucket, known);
        neighbours.reverse();
        neighbours
    }

    /// The fingerprints of some elements of a bucket.
    pub(super) fn fingerprints(&self, bucket: &RawDocument, asked: Range<usize>) -> Vec<u32> {
        let names = self.query.telling_names(self.spec.unique);
        of_elements(bucket, self.spec.items, names.as_deref(), asked)
    }
}

impl RowSource for ItemList {
    fn list(&self) -> &ItemList {
        self
    }

    async fn rows<'s>(
        &self,
        query: &Query,
        start: Option<&QueryStart>,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s>> {
        let (spec, scope) = (self.spec, self.target.scope.as_ref());
        let whole = query.whole_buckets(spec, scope, start);
        let unwound = || query.pipeline(spec, scope, start);
        self.target.borrow().items(whole, unwound, session).await
    }
}
