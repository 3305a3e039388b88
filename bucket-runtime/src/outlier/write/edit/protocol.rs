//! The protocol of an edit of a parent's items: the parent's own first, then extras of other programs, then ours.
//!
//! Each document takes one update, on condition that the items are as they were read. Our extras are buckets, so
//! the bucket half changes them; the other documents are changed here, as the bucket half's plan says.

use mongodb::{
    ClientSession,
    bson::{Document, RawBson, RawDocument, RawDocumentBuf, doc},
};

use super::plan::ItemEdit;
use crate::{
    Result,
    error::Kind,
    outlier::{Outlier, command::ItemHolder, extra::ExtraItem, parent_handle::ParentHandle},
    protocol::{query::Query, range::Range},
    read::reader::Reader,
    schema::{key::KeyField, names::SEALED},
    server::Server,
    value::{element::value_size, exact, shell::shell, unreadable::read_value},
    write::{
        edit::{Editor, FoundItems, ItemChange, Planned, Selection, Sweep},
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

/// The documents that one step of an edit can change.
#[derive(Debug, Clone)]
pub(super) enum ItemPlace {
    Other(ItemHolder),
    Bucket(Selection),
}

impl ItemPlace {
    const PARENT: Self = Self::Other(ItemHolder::Parent);
}

/// What a step changed, and whether the parent may have extras.
pub(super) struct Edited<O> {
    pub(super) values: Vec<O>,
    has_extras: bool,
}

impl ParentEditor {
    /// Changes the first item that matches, in the order of the parent's items.
    pub(super) async fn change_first<T: Outlier, O>(
        &self,
        mut edit: impl ItemEdit<T, O>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<O>> {
        self.parent.note_call();
        let own = edit.edit(self, &ItemPlace::PARENT, session.as_deref_mut());
        let Edited {
            mut values,
            has_extras,
        } = own.await?;
        if values.is_empty() && has_extras {
            let mut places = self.find_unnumbered(session.as_deref_mut()).await?;
            places.push(ItemPlace::Bucket(Selection::First));
            for place in places {
                values = edit
                    .edit(self, &place, session.as_deref_mut())
                    .await?
                    .values;
                if !values.is_empty() {
                    break;
                }
            }
        }
        Ok(values.into_iter().next())
    }

    /// Changes all items that match, one document after the other.
    pub(super) async fn change_all<T: Outlier, O>(
        &self,
        mut edit: impl ItemEdit<T, O>,
        sweep: &mut Sweep<'_, ExtraItem<T>>,
    ) -> Result<()> {
        self.parent.note_call();
        let own = edit.edit(self, &ItemPlace::PARENT, sweep.session.as_deref_mut());
        let own = own.await;
        let has_extras = own.as_ref().map_or(true, |own| own.has_extras);
        sweep.note(own.map(|own| own.values.len()))?;
        if !has_extras {
            return Ok(());
        }
        let unnumbered = self.find_unnumbered(sweep.session.as_deref_mut()).await?;
        let mut unnumbered = unnumbered.into_iter();
        loop {
            let place = match unnumbered.next() {
                Some(place) => place,
                None => match sweep.next_bucket().await? {
                    Some((id, _)) => ItemPlace::Bucket(Selection::OfBucket(id)),
                    None => return Ok(()),
                },
            };
            let edited = edit.edit(self, &place, sweep.session.as_deref_mut());
            let edited = edited.await;
            sweep.note(edited.map(|edited| edited.values.len()))?;
        }
    }

    /// The extras documents of other programs that may hold a match.
    async fn find_unnumbered(&self, session: Option<&mut ClientSession>) -> Result<Vec<ItemPlace>> {
        let scope = &self.parent.scope;
        // A parent that is known has none, where items have an identity.
        if scope.spec.unique.is_some() && self.parent.is_known() {
            return Ok(Vec::new());
        }
        let holds_match = self.query.filter.of_bucket(scope.spec.extra_items);
        let filter = doc! { "$and": [scope.unnumbered_extras(), holds_match] };
        let ids = Range::oldest_first().project(doc! { "_id": 1 });
        let found = self.parent.extras().find(filter, ids).read_primary();
        let found: Vec<Document> = found.rows(session).await?;
        let ids = found.into_iter().filter_map(|mut row| row.remove("_id"));
        let places = ids.map(|id| ItemPlace::Other(ItemHolder::Unnumbered(id)));
        Ok(places.collect())
    }

    /// Changes the matching items of one document as `plan` says.
    pub(super) async fn change<T: Outlier, O>(
        &self,
        place: &ItemPlace,
        plan: impl FnMut(&ExtrasEditor<T>, &mut FoundExtras<T>) -> Result<Planned<O>>,
        session: Option<&mut ClientSession>,
    ) -> Result<Edited<O>> {
        match place {
            ItemPlace::Other(holder) => self.change_other(holder, plan, session).await,
            ItemPlace::Bucket(selection) => {
                let extras = &self.parent.collections.extras.server;
                let editor = self.editor::<T>(extras, selection.clone());
                Ok(Edited {
                    values: editor.change(plan, session).await?,
                    has_extras: true,
                })
            }
        }
    }

    /// Changes the matching items of a document that is not our bucket.
    async fn change_other<T: Outlier, O>(
        &self,
        holder: &ItemHolder,
        mut plan: impl FnMut(&ExtrasEditor<T>, &mut FoundExtras<T>) -> Result<Planned<O>>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Edited<O>> {
        let (server, is_unreadable) = self.naming(holder);
        let editor = self.editor::<T>(server, Selection::First);
        for tries in 0..TRIES {
            pause(tries).await;
            let (mut found, has_extras) = self.find::<T>(holder, session.as_deref_mut()).await?;
            let mut edited = Edited {
                values: Vec::new(),
                has_extras,
            };
            if found.len() == 0 {
                return Ok(edited);
            }
            let (change, values) = plan(&editor, &mut found).map_err(|error| {
                match error.is(&found.unreadable_kind()) {
                    true => error.known_as(is_unreadable.clone()),
                    false => error,
                }
            })?;
            edited.values = values;
            let Some(change) = change else {
                return Ok(edited);
            };
            if self
                .send(&editor, holder, &found, change, session.as_deref_mut())
                .await?
            {
                return Ok(edited);
            }
        }
        Err(self.parent.error(Kind::Contended(TRIES)))
    }

    /// Reads the matching items of a document, and whether the parent may have extras.
    async fn find<T: Outlier>(
        &self,
        holder: &ItemHolder,
        session: Option<&mut ClientSession>,
    ) -> Result<(FoundExtras<T>, bool)> {
        let scope = &self.parent.scope;
        let server = self.naming(holder).0;
        let rows = server.target_of(&scope.extras);
        let rows = rows
            .pipeline(scope.matches_in(holder, &self.query))
            .read_latest();
        let rows: Vec<RawDocumentBuf> = rows.rows(session).await?;
        let item = |row: &RawDocumentBuf| {
            let at = usize::try_from(scope.number_in(row)?).ok()?;
            Some((at, self.element(row)?))
        };
        let is_flagged = |row: &RawDocumentBuf| row.get_bool(SEALED).unwrap_or(false);
        let has_extras = *holder != ItemHolder::Parent || rows.iter().any(is_flagged);
        let id = scope.id();
        let key = T::Id::from_bson(id.clone());
        let key = key.ok_or_else(|| self.parent.error(Kind::UnreadableParent(shell(id))))?;
        let found = rows.iter().filter_map(item).collect();
        Ok((FoundItems::of_document((key,), found), has_extras))
    }

    /// The only element of a row.
    fn element(&self, row: &RawDocument) -> Option<RawBson> {
        let elements = row.get_array(self.parent.scope.extras.spec.items).ok()?;
        read_value(elements.get(0).ok()??).ok()
    }

    /// Sends what is planned for the items of a document; returns whether they were as they were read.
    async fn send<T: Outlier>(
        &self,
        editor: &ExtrasEditor<T>,
        holder: &ItemHolder,
        found: &FoundExtras<T>,
        change: ItemChange,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let scope = &self.parent.scope;
        let (mut grown, mut largest) = (0, 0);
        let pipeline = match change {
            ItemChange::Removed { .. } => scope.take_out_of(holder, &found.places),
            ItemChange::Replaced(elements) => {
                let after = elements.iter().map(value_size);
                largest = after.clone().max().unwrap_or_default();
                let before = (0..found.len()).map(|n| exact::size(found.element(n)));
                grown = after.sum::<usize>() as i64 - before.sum::<usize>() as i64;
                scope.replace_in(holder, &found.places, elements)
            }
        };
        let unchanged = scope.unchanged_in(holder, &found.places, grown);
        editor.check_size(&unchanged, &pipeline)?;
        let target = self.naming(holder).0.target_of(&scope.extras);
        let changed = target.change_read(unchanged, Some(pipeline), None, session.as_deref_mut());
        if changed.await? {
            return Ok(true);
        }
        if grown > 0 && scope.limits_bytes(holder) {
            let state = self.parent.read_state(true, session).await?;
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

    /// The collection of a document, and the error of an item in it that cannot be read.
    fn naming(&self, holder: &ItemHolder) -> (&Server, Kind) {
        let collections = &self.parent.collections;
        match holder {
            ItemHolder::Parent => {
                let id = shell(self.parent.scope.id());
                (&collections.parents, Kind::UnreadableParent(id))
            }
            ItemHolder::Unnumbered(id) => {
                (&collections.extras.server, Kind::Deserialize(shell(id)))
            }
        }
    }
}
