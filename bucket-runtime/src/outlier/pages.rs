//! The extras pages that a split makes.

use mongodb::bson::{Array, Bson, Document, doc};

use super::command::ParentScope;
use crate::{
    command::{SEALED, size},
    id,
};

/// The pages of a parent that has none: numbered from 0, all full but the last, which stays open.
pub(crate) fn pages_of(scope: &ParentScope, items: Array) -> Vec<Document> {
    let capacity = scope.extras.spec.capacity as usize;
    let chunks = items.chunks(capacity).zip(0..);
    chunks
        .filter_map(|(chunk, n)| Some(page(scope, id::number(n)?, chunk)))
        .collect()
}

/// The pages of a parent to which extras were pushed already. What stands in the parent is older,
/// so its pages take the numbers before the first one, below zero if need be. The first of them
/// takes what does not fill a page, and is sealed: the open page is at the other end.
pub(crate) fn pages_before(
    scope: &ParentScope,
    first: &str,
    items: Array,
) -> Option<Vec<Document>> {
    let capacity = scope.extras.spec.capacity as usize;
    let first = id::parse_signed(first.strip_prefix(&scope.extras.prefix)?)?;
    let odd = items.len() % capacity;
    let (begin, full) = items.split_at(odd);
    let chunks: Vec<_> = [begin]
        .into_iter()
        .filter(|odd| !odd.is_empty())
        .chain(full.chunks(capacity))
        .collect();
    let least = first - i64::try_from(chunks.len()).ok()?;
    let pages = chunks.into_iter().zip(least..).map(|(chunk, n)| {
        let mut page = page(scope, id::signed(n)?, chunk);
        if chunk.len() < capacity {
            page.insert(SEALED, page.get("_id").cloned()?);
        }
        Some(page)
    });
    pages.collect()
}

fn page(scope: &ParentScope, number: String, items: &[Bson]) -> Document {
    let mut page = doc! { "_id": scope.extras.id(&number) };
    page.extend(scope.all_extras());
    page.insert("count", size(items));
    page.insert(scope.spec.extra_items, items.to_vec());
    page
}
