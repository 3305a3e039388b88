//! The protocol of an edit of a parent's items: the parent's own first, then the extras.
//!
//! Each document takes one update, on condition that the items are as they were read. Extras are
//! buckets, so the bucket half changes them; the parent's own array is changed here, as the bucket
//! half's plan says.

use bucket_core::{
    error::Kind,
    protocol::query::Query,
    schema::key::KeyField,
    server::Server,
    value::{element::value_size, exact, unreadable::read_value},
};
use mongodb::{ClientSession, bson::RawDocumentBuf};

use super::plan::ItemEdit;
use crate::{
    Result,
    outlier::{Outlier, command::OwnItems, extra::ExtraItem, parent_handle::ParentHandle},
    read::reader::Reader,
    write::{
        edit::{Editor, FoundItems, ItemChange, Plan, Selection, Sweep},
        engine::{TRIES, pause},
    },
};

/// The items of a parent as the bucket half finds and edits them.
pub(super) type FoundExtras<T> = FoundItems<ExtraItem<T>>;
pub(super) type ExtrasEditor<T> = Editor<ExtraItem<T>>;

/// The items of one parent that match, for an edit.
#[derive(Clone)]
pub(super) struct ParentEditor {
    pub(super) parent: ParentHandle,
    pub(super) query: Query,
}

impl ParentEditor {
    /// Changes the first item that matches, in the order of the parent's items.
    pub(super) async fn change_first<T: Outlier, O: Send + 'static>(
        &self,
        mut edit: ItemEdit<'_, T, O>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<O>> {
        let own = self.change_own(edit.plan(), session.as_deref_mut());
        let (mut values, has_extras) = own.await?;
        if values.is_empty() && has_extras {
            // By the unique index, the first match is searched among documents with a count alone.
            self.parent.check_extras(session.as_deref_mut()).await?;
            let changed = edit.change_extras(self, Selection::First, session);
            values = changed.await?;
        }
        Ok(values.into_iter().next())
    }

    /// Changes all items that match, one document after the other.
    pub(super) async fn change_all<T: Outlier, O: Send + 'static>(
        &self,
        mut edit: ItemEdit<'_, T, O>,
        sweep: &mut Sweep<'_, ExtraItem<T>>,
    ) -> Result<()> {
        let own = self.change_own(edit.plan(), sweep.session()).await;
        let has_extras = own.as_ref().map_or(true, |(_, has_extras)| *has_extras);
        sweep.note(own.map(|(values, _)| values.len()))?;
        if !has_extras {
            return Ok(());
        }
        while let Some((id, _)) = sweep.next_bucket().await? {
            let changed = edit.change_extras(self, Selection::OfBucket(id), sweep.session());
            let changed = changed.await;
            sweep.note(changed.map(|values| values.len()))?;
        }
        Ok(())
    }

    /// Changes the matching items of the parent's array as `plan` says; returns the changes, and
    /// whether the parent may have extras.
    async fn change_own<T: Outlier, O>(
        &self,
        plan: Plan<'_, ExtraItem<T>, O>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<(Vec<O>, bool)> {
        let editor = self.editor::<T>(&self.parent.collections.parents, Selection::First);
        for tries in 0..TRIES {
            pause(tries).await;
            let (mut found, has_extras) = self.find::<T>(session.as_deref_mut()).await?;
            if found.len() == 0 {
                return Ok((Vec::new(), has_extras));
            }
            let (change, values) = plan(&editor, &mut found).map_err(|error| {
                match error.is(&found.unreadable_kind()) {
                    true => error.known_as(self.parent.unreadable_kind()),
                    false => error,
                }
            })?;
            let Some(change) = change else {
                return Ok((values, has_extras));
            };
            let sent = self.send(&editor, &found, change, session.as_deref_mut());
            if sent.await? {
                return Ok((values, has_extras));
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
        let key = key.ok_or_else(|| self.parent.error(self.parent.unreadable_kind()))?;
        let found = rows.iter().filter_map(item).collect();
        Ok((FoundItems::of_document((key,), found), has_extras))
    }

    /// Sends what is planned for the items of a document; returns whether they were as they were
    /// read.
    async fn send<T: Outlier>(
        &self,
        editor: &ExtrasEditor<T>,
        found: &FoundExtras<T>,
        change: ItemChange,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let scope = &self.parent.scope;
        let (mut grown, mut largest) = (0, 0);
        let pipeline = match change {
            ItemChange::Removed => scope.take_out(&found.places),
            ItemChange::Replaced(elements) => {
                let after = elements.iter().map(value_size);
                largest = after.clone().max().unwrap_or_default();
                let before = (0..found.len()).map(|n| exact::size(found.element(n)));
                grown = after.sum::<usize>() as i64 - before.sum::<usize>() as i64;
                scope.replace_items(&found.places, elements)
            }
        };
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

    /// The bucket half's editor of those of these items that are extras.
    pub(super) fn of_extras<T: Outlier>(&self, selection: Selection) -> ExtrasEditor<T> {
        self.editor(&self.parent.collections.extras.server, selection)
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
