//! Splits a parent that is too large, and takes over its extras of other programs.

pub(crate) mod buckets;

use std::collections::HashSet;

use bucket_core::{
    error::Kind,
    protocol::{command::identity, range::Range},
    server::{
        target::Target,
        transaction::{self, Attempt},
        wire::Request,
    },
    value::{
        element::{document_size, value_size},
        number::comparable,
        shell,
    },
};
use bucket_runtime::{
    __ops::{ITEMS_PER_COMPARISON, ParentHandle},
    Result,
};
use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Array, Bson, Document, RawDocumentBuf, doc},
};

use self::buckets::pack;
use super::command::{cut, unset_flag};

/// Moves what the parent has no room for, and the items of its extras of other programs, into
/// buckets of ours, in a transaction: all of it moves, or nothing does, and no reader sees it half
/// done. Returns whether there was anything to move.
pub(super) async fn split(parent: ParentHandle) -> Result<bool> {
    let server = parent.collections.parents.clone();
    transaction::run(&server, SplitParent(parent)).await
}

/// The split of one parent. It stores no item that was not stored before, so no error of its
/// requests is in doubt.
struct SplitParent(ParentHandle);

impl Attempt for SplitParent {
    type Output = bool;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<bool>> {
        Box::pin(async move {
            let parent = &self.0;
            let Some((kept, mut items)) = self.own_items(session).await? else {
                return Ok(false);
            };
            let (first, foreign) = self.extras_ids(session).await?;
            if items.len() == kept && foreign.is_empty() {
                return Ok(false);
            }
            items.extend(self.take_out(foreign, session).await?);
            parent.check_twins(&items)?;
            let moved = items.split_off(kept);
            self.check_not_in_extras(&moved, session).await?;
            let buckets = pack(&parent.scope, first.as_deref(), &moved);
            let exhausted = || Kind::IdsExhausted(first.unwrap_or_default());
            let buckets = buckets.ok_or_else(|| parent.error(exhausted()))?;
            if !buckets.is_empty() {
                let insert = Request::Insert(&buckets, true);
                self.extras().send(insert, Some(session)).await?;
            }
            for update in [unset_flag(&parent.scope), cut(&parent.scope, kept)] {
                let target = parent.parent().store_no_items();
                target.modify(update, &mut *session).await?;
            }
            // This only saves round trips, so it does no harm if the commit fails.
            parent.remember();
            bucket_core::reached!("a parent is split");
            Ok(true)
        })
    }
}

impl SplitParent {
    /// The extras' collection, for requests in the transaction.
    fn extras(&self) -> Target<'_> {
        self.0.extras().store_no_items()
    }

    /// Reads the parent's own items, and how many of them it keeps; `None` if there is no such
    /// parent.
    async fn own_items(&self, session: &mut ClientSession) -> Result<Option<(usize, Array)>> {
        let Self(parent) = self;
        let range = Range {
            limit: Some(1),
            ..Range::unordered()
        };
        let target = parent.parent();
        let found = target.find(parent.scope.parent(), range);
        let found: Vec<RawDocumentBuf> = found.rows(Some(session)).await?;
        let Some(found) = found.first() else {
            return Ok(None);
        };
        // serde would read payloads with keys such as `$oid` as values of other types.
        let document = Document::try_from(&**found);
        let mut document = document.map_err(|error| target.read_error(error.into()))?;
        let items = document.get_array_mut(parent.scope.spec.items);
        let items = items.map_or_else(|_| Array::new(), std::mem::take);
        let sizes = items.iter().map(value_size);
        let kept = (parent.scope).count_fitting(0, document_size(&document), sizes);
        Ok(Some((kept, items)))
    }

    /// The id of our first extras document, and the ids of those of other programs, in their order.
    async fn extras_ids(&self, session: &mut ClientSession) -> Result<(Option<String>, Vec<Bson>)> {
        let extras = &self.0.scope.extras;
        let ids = Range::oldest_first().project(doc! { "_id": 1 });
        let rows = self.extras().find(extras.all(), ids);
        let (mut first, mut foreign) = (None, Vec::new());
        for mut row in rows.rows::<Document>(Some(session)).await? {
            match row.remove("_id").unwrap_or(Bson::Null) {
                Bson::String(id) if extras.owns(&id) => first = first.or(Some(id)),
                id => foreign.push(id),
            }
        }
        Ok((first, foreign))
    }

    /// Deletes extras of other programs, and returns their items.
    async fn take_out(&self, ids: Vec<Bson>, session: &mut ClientSession) -> Result<Array> {
        if ids.is_empty() {
            return Ok(Array::new());
        }
        let mut documents = self.0.scope.extras.all();
        documents.insert("_id", doc! { "$in": ids });
        let found = (self.extras()).find(documents.clone(), Range::oldest_first());
        let found: Vec<RawDocumentBuf> = found.rows(Some(&mut *session)).await?;
        let mut taken = Array::new();
        for row in found {
            let document = Document::try_from(&*row).ok();
            let items = document.and_then(|mut it| it.remove(self.0.scope.spec.extra_items));
            let Some(Bson::Array(items)) = items else {
                return Err((self.extras()).error(Kind::Deserialize(shell::id(&row))));
            };
            taken.extend(items);
        }
        self.extras().delete_many(documents, Some(session)).await?;
        Ok(taken)
    }

    /// An error if the extras hold an item with the identity of one that is to move there.
    async fn check_not_in_extras(&self, items: &[Bson], session: &mut ClientSession) -> Result<()> {
        let Self(parent) = self;
        let Some(field) = parent.scope.spec.unique else {
            return Ok(());
        };
        for items in items.chunks(ITEMS_PER_COMPARISON) {
            let mut identities = items.iter().filter_map(|item| identity(field, item));
            let asked = identities.clone().cloned().collect();
            let server = &parent.collections.extras.server;
            let scope = &parent.scope.extras;
            let held = server.present_identities(scope, field, asked, Some(session));
            let held: HashSet<_> = held.await?.iter().map(comparable).collect();
            if let Some(twin) = identities.find(|item| held.contains(&comparable(item))) {
                return Err(parent.error(Kind::Twins(shell::shell(twin))));
            }
        }
        Ok(())
    }
}
