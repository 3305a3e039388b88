//! The extras documents that a split creates.

use mongodb::bson::{Bson, RawDocumentBuf};

use crate::{
    outlier::command::ParentScope,
    protocol::{
        pack::{Pack, packs},
        whole_bucket::{Summary, WholeBucket},
    },
    schema::id,
    value::element::{raw, value_size},
};

/// Packs items of a parent without extras into buckets: numbered from 0, with the last one open. `None` if
/// there are no such numbers.
pub(crate) fn pack_first(scope: &ParentScope, items: &[Bson]) -> Option<Vec<RawDocumentBuf>> {
    let packs = pack_items(scope, items);
    let last = packs.len().checked_sub(1);
    numbered(scope, 0, items, packs, last)
}

/// Packs items of a parent that already has pushed extras. The parent's own items are older, so their
/// buckets take the numbers before the first one, below zero if necessary. None of them is open: the open
/// bucket is at the other end.
pub(crate) fn pack_before(
    scope: &ParentScope,
    first: &str,
    items: &[Bson],
) -> Option<Vec<RawDocumentBuf>> {
    let first = id::parse_signed(first.strip_prefix(&scope.extras.prefix)?)?;
    let packs = pack_items(scope, items);
    let first = first.checked_sub_unsigned(packs.len() as u64)?;
    numbered(scope, first, items, packs, None)
}

/// Buckets numbered from `first`, all but the open one sealed or full.
fn numbered(
    scope: &ParentScope,
    first: i64,
    mut items: &[Bson],
    packs: Vec<Pack>,
    open: Option<usize>,
) -> Option<Vec<RawDocumentBuf>> {
    let extras = &scope.extras;
    let mut bucket = |(n, pack): (usize, Pack)| {
        let (elements, rest) = items.split_at(pack.len);
        items = rest;
        let number = id::signed(first.checked_add_unsigned(n as u64)?)?;
        let bucket = WholeBucket {
            moved: true,
            scope: extras,
            id: &extras.id(&number),
            count: elements.len(),
            elements,
            summary: Summary::empty(extras.spec),
            oversize: pack.oversize,
            sealed: pack.len < extras.open.capacity as usize && open != Some(n),
        };
        raw(&bucket).ok()
    };
    packs.into_iter().enumerate().map(&mut bucket).collect()
}

/// Decides which successive items share a bucket.
fn pack_items(scope: &ParentScope, items: &[Bson]) -> Vec<Pack> {
    packs(&scope.extras, items.iter().map(value_size))
}
