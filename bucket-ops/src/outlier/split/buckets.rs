//! The extras documents that a split creates.

use bucket_core::{
    protocol::{
        pack::{Pack, packs},
        whole_bucket::{Summary, WholeBucket},
    },
    schema::id,
    value::element::{raw, value_size},
};
use bucket_runtime::__ops::ParentScope;
use mongodb::bson::{Bson, RawDocumentBuf};

/// Packs items of a parent into buckets before `next`, the first extras document that is there. The
/// parent's own items are older, so their buckets take the numbers before that one, or before 0.
/// The last bucket is open if there are no others: the open one is at the other end. `None` if
/// there are no such numbers.
///
/// Numbers below zero show a change stream that their items were stored before.
pub(crate) fn pack(
    scope: &ParentScope,
    next: Option<&str>,
    mut items: &[Bson],
) -> Option<Vec<RawDocumentBuf>> {
    let extras = &scope.extras;
    let end = match next {
        Some(next) => id::parse_signed(next.strip_prefix(&extras.prefix)?)?.min(0),
        None => 0,
    };
    let packs = packs(extras, items.iter().map(value_size));
    let first = end.checked_sub_unsigned(packs.len() as u64)?;
    let open = packs.len().checked_sub(1).filter(|_| next.is_none());
    let mut bucket = |(n, pack): (usize, Pack)| {
        let (elements, rest) = items.split_at(pack.len);
        items = rest;
        let number = id::signed(first.checked_add_unsigned(n as u64)?)?;
        let bucket = WholeBucket {
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
