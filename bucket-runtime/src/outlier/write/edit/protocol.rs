//! The protocol of an edit of a parent's items: the parent's own first, then the extras.
//!
//! Each document takes one update, on condition that the items are as they were read. Extras are
//! buckets, so the bucket half changes them; the parent's own array is changed here, as the bucket
//! half's plan says. Where the parent has a total, a removal from the extras is a transaction that
//! also updates the total.

use bucket_core::{
    error::Kind,
    protocol::query::Query,
    schema::key::KeyField,
    server::{
        Server,
        transaction::{self, Attempt},
    },
    value::{element::value_size, exact, unreadable::read_value},
};
use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::RawDocumentBuf};

use crate::{
    Result,
    outlier::{Outlier, command::OwnItems, extra::ExtraItem, parent_handle::ParentHandle},
    read::reader::Reader,
    write::{
        edit::{Edit, Edited, Editor, FoundItems, NewElements, Selection, Sweep},
        engine::{TRIES, pause},
    },
};

/// The items of a parent as the bucket half finds and edits them.
type FoundExtras<T> = FoundItems<ExtraItem<T>>;
type EditedExtras<T> = Edited<ExtraItem<T>>;
type ExtrasEditor<T> = Editor<ExtraItem<T>>;
type ExtrasEdit<'s, T> = Edit<'s, ExtraItem<T>>;

/// The items of one parent that match, for an edit.
pub(super) struct ParentEditor {
    pub(super) parent: ParentHandle,
    pub(super) query: Query,
}

impl ParentEditor {
    /// Changes the first item that matches, in the order of the parent's items.
    pub(super) async fn change_first<T: Outlier>(
        &self,
        edit: &mut ExtrasEdit<'_, T>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<T::Item>> {
        let own = self.change_own(edit, session.as_deref_mut());
        let (mut edited, has_extras) = own.await?;
        if edited.items.is_empty() && has_extras {
            // By the unique index, the first match is searched among documents with a count alone.
            self.parent.check_extras(session.as_deref_mut()).await?;
            edited = self.change_extras(edit, Selection::First, session).await?;
        }
        Ok(edited.items.pop().map(|extra| extra.item))
    }

    /// Changes all items that match, one document after the other.
    pub(super) async fn change_all<T: Outlier>(
        &self,
        edit: &mut ExtrasEdit<'_, T>,
        sweep: &mut Sweep<'_, ExtraItem<T>>,
    ) -> Result<()> {
        let own = self.change_own(edit, sweep.session()).await;
        let has_extras = own.as_ref().map_or(true, |(_, has_extras)| *has_extras);
        sweep.note(own.map(|(edited, _)| edited))?;
        if !has_extras {
            return Ok(());
        }
        while let Some((id, _)) = sweep.next_bucket().await? {
            let edited = self.change_extras(edit, Selection::OfBucket(id), sweep.session());
            let edited = edited.await;
            sweep.note(edited)?;
        }
        Ok(())
    }

    /// Changes the matching items of one document of the extras.
    async fn change_extras<T: Outlier>(
        &self,
        edit: &mut ExtrasEdit<'_, T>,
        selection: Selection,
        session: Option<&mut ClientSession>,
    ) -> Result<EditedExtras<T>> {
        let collections = &self.parent.collections;
        let extras = self.editor(&collections.extras.server, selection);
        let edit: fn() -> ExtrasEdit<'static, T> = match (edit, self.parent.scope.spec.total) {
            (Edit::Remove, Some(_)) => || Edit::Remove,
            (Edit::RemoveStored, Some(_)) => || Edit::RemoveStored,
            (edit, _) => return extras.change(edit, session).await,
        };
        let parent = self.parent.clone();
        let remove = RemoveCountedExtras {
            parent,
            extras,
            edit,
        };
        transaction::run_in(&collections.parents, remove, session).await
    }

    /// Changes the matching items of the parent's array; returns with them whether the parent may
    /// have extras.
    async fn change_own<T: Outlier>(
        &self,
        edit: &mut ExtrasEdit<'_, T>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<(EditedExtras<T>, bool)> {
        let editor = self.editor::<T>(&self.parent.collections.parents, Selection::First);
        for tries in 0..TRIES {
            pause(tries).await;
            let (mut found, has_extras) = self.find::<T>(session.as_deref_mut()).await?;
            if found.len() == 0 {
                return Ok((Edited::of(Vec::new(), Vec::new()), has_extras));
            }
            let (change, edited) = editor.plan(edit, &mut found)?;
            let Some(change) = change else {
                return Ok((edited, has_extras));
            };
            let sent = self.send(&editor, &found, change, session.as_deref_mut());
            if sent.await? {
                return Ok((edited, has_extras));
            }
            bucket_core::reached!("an edit of a parent's own items again");
        }
        Err(self.parent.error(Kind::Contended(TRIES)))
    }

    /// Reads the matching items of the parent's array, and whether the parent may have extras.
    async fn find<T: Outlier>(
        &self,
        session: Option<&mut ClientSession>,
    ) -> Result<(FoundExtras<T>, bool)> {
        let scope = &self.parent.scope;
        let matches = scope.own_items(&self.query, OwnItems::All);
        let rows = self.parent.parent().pipeline(matches).read_latest();
        let rows: Vec<RawDocumentBuf> = rows.rows(session).await?;
        let item = |row: &RawDocumentBuf| {
            let at = usize::try_from(scope.number_in(row)?).ok()?;
            Some((at, read_value(scope.element_in(row)?).ok()?))
        };
        let has_extras = rows.iter().any(|row| scope.is_flagged_in(row));
        let key = T::Id::from_bson(scope.id().clone());
        let unreadable = self.parent.unreadable_kind();
        let key = key.ok_or_else(|| self.parent.error(unreadable.clone()))?;
        let found = rows.iter().filter_map(item).collect();
        Ok((
            FoundItems::of_document((key,), found, unreadable),
            has_extras,
        ))
    }

    /// Sends what is planned for the items of a document; returns whether they were as they were
    /// read.
    async fn send<T: Outlier>(
        &self,
        editor: &ExtrasEditor<T>,
        found: &FoundExtras<T>,
        elements: NewElements,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let scope = &self.parent.scope;
        let after = elements.iter().map(value_size);
        let largest = after.clone().max().unwrap_or_default();
        let before = (0..found.len()).map(|n| exact::size(found.element(n)));
        let grown = after.sum::<usize>() as i64 - before.sum::<usize>() as i64;
        let pipeline = scope.set_items(&found.places, elements);
        let unchanged = scope.unchanged_items(&found.places, grown);
        editor.check_size(&unchanged, &pipeline)?;
        let target = self.parent.parent();
        let changed = target.change_read(unchanged, Some(pipeline), None, session.as_deref_mut());
        if changed.await? {
            return Ok(true);
        }
        if grown > 0 && !scope.spec.is_bounded {
            let state = self.parent.read_state(&[], true, session).await?;
            let bytes = state.map_or(0, |state| state.bytes as i64);
            if bytes + grown > i64::from(scope.spec.max_bytes) {
                return Err(self.parent.error(Kind::NoRoom(largest)));
            }
        }
        Ok(false)
    }

    /// The bucket half's editor of these items; its errors name a collection.
    fn editor<T: Outlier>(&self, server: &Server, selection: Selection) -> ExtrasEditor<T> {
        let reader = Reader {
            server: server.clone(),
            scope: self.parent.scope.extras.clone(),
        };
        Editor::new(reader, self.query.clone(), selection)
    }
}

/// Removes from the extras, and subtracts from the total.
struct RemoveCountedExtras<T: Outlier> {
    parent: ParentHandle,
    extras: ExtrasEditor<T>,
    edit: fn() -> ExtrasEdit<'static, T>,
}

impl<T: Outlier> Attempt for RemoveCountedExtras<T> {
    type Output = EditedExtras<T>;

    fn attempt<'s>(
        &'s self,
        session: &'s mut ClientSession,
    ) -> BoxFuture<'s, Result<Self::Output>> {
        Box::pin(async move {
            let mut edit = (self.edit)();
            let removed = self.extras.change(&mut edit, Some(&mut *session)).await?;
            if removed.changed > 0 {
                let count = -(removed.changed as i64);
                self.parent.count_extras(count, session).await?;
            }
            Ok(removed)
        })
    }
}
