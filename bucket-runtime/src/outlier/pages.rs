//! The extras pages that a split creates.

use mongodb::bson::{Bson, RawDocumentBuf};

use super::command::ParentScope;
use crate::{
    protocol::{
        pack::{Pack, packs},
        whole_bucket::{Summary, WholeBucket},
    },
    schema::id,
    value::element::{raw, value_size},
};

/// The pages of a parent without extras: numbered from 0, with the last one open. `None` if there are no
/// such numbers.
pub(crate) fn pages_of(scope: &ParentScope, items: &[Bson]) -> Option<Vec<RawDocumentBuf>> {
    let packs = packed(scope, items);
    let last = packs.len().checked_sub(1);
    pages(scope, 0, items, packs, last)
}

/// The pages of a parent that already has pushed extras. The parent's own items are older, so their
/// pages take the numbers before the first one, below zero if necessary. None of them is open: the open
/// page is at the other end.
pub(crate) fn pages_before(
    scope: &ParentScope,
    first: &str,
    items: &[Bson],
) -> Option<Vec<RawDocumentBuf>> {
    let first = id::parse_signed(first.strip_prefix(&scope.extras.prefix)?)?;
    let packs = packed(scope, items);
    let first = first.checked_sub_unsigned(packs.len() as u64)?;
    pages(scope, first, items, packs, None)
}

/// Pages numbered from `first`, all but the open one sealed or full.
fn pages(
    scope: &ParentScope,
    first: i64,
    mut items: &[Bson],
    packs: Vec<Pack>,
    open: Option<usize>,
) -> Option<Vec<RawDocumentBuf>> {
    let extras = &scope.extras;
    let mut page = |(n, pack): (usize, Pack)| {
        let (elements, rest) = items.split_at(pack.len);
        items = rest;
        let number = id::signed(first.checked_add_unsigned(n as u64)?)?;
        let page = WholeBucket {
            scope: extras,
            id: &extras.id(&number),
            count: elements.len(),
            elements,
            summary: Summary::empty(extras.spec),
            oversize: pack.oversize,
            sealed: pack.len < extras.open.capacity as usize && open != Some(n),
        };
        raw(&page).ok()
    };
    packs.into_iter().enumerate().map(&mut page).collect()
}

fn packed(scope: &ParentScope, items: &[Bson]) -> Vec<Pack> {
    packs(&scope.extras, items.iter().map(value_size))
}
