//! The push: into the parent's array while it has room, else into the extras.
//!
//! An array takes nothing more once its parent is flagged. So an item with an identity that a
//! flagged parent's array does not hold is never in it later, and from then on the unique index of
//! the extras is enough.

use std::iter;

use bucket_core::{
    error::Kind,
    server::call::span,
    value::{
        element::{Element, count_within},
        raw_field::RawField,
        read_back,
    },
};
use mongodb::{ClientSession, bson::Bson};

use crate::{
    Result,
    call::{InSession, Write},
    outlier::{
        IdRef, Outlier, Outliers,
        extra::ExtraItem,
        parent_handle::{ParentHandle, ParentState},
    },
    read::stored_bucket::read_element,
    write::{
        appended::Appended,
        engine::{Batch, COMMAND_BYTES, TRIES},
        item::{self, Entry},
    },
};

/// How many items one command compares with those of a parent.
pub const ITEMS_PER_COMPARISON: usize = 1000;

impl<T: Outlier> Outliers<T> {
    /// Pushes one item: into the parent's array while it has room, then into its extras. Gives
    /// [`Stored`](crate::Appended::Stored); if items are [`unique`](macro@crate::Outlier#unique),
    /// [`AlreadyThere`](crate::Appended::AlreadyThere) for one that the parent or its extras hold.
    ///
    /// Pushes that wait at the same time in this handle and its clones share commands, as
    /// [appends](crate::Buckets::append) do, and each caller gets the result of its own item. In a
    /// session, every push has commands of its own.
    ///
    /// Round trips: one to a parent with room, and two to a parent that this handle knows as an
    /// outlier, of which the first looks whether the parent is still there; three when the handle
    /// learns that, and up to five for an item that opens an extras document. [More][trips] with
    /// a total, or if items are unique; then a failed call may be repeated without a check.
    ///
    /// A dropped future leaves the item stored or not stored. Commands that were already sent are
    /// carried out, and the push goes on if it had begun.
    ///
    /// [trips]: crate::guide::outliers#where-an-item-goes
    ///
    /// # Errors
    ///
    /// [`is_not_found`](crate::Error::is_not_found) if there is no such parent,
    /// [`is_too_large`](crate::Error::is_too_large) if no document could hold the item, and
    /// [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`; nothing was stored.
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been
    /// stored nevertheless.
    ///
    /// ```no_run
    /// # use bucket_runtime::{IdRef, Outlier, Outliers};
    /// # async fn example<Book: Outlier<Item = String>>(books: Outliers<Book>, id: IdRef<'_, Book>) -> bucket_runtime::Result<()> {
    /// books.push(id, "user50").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn push<'s>(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Write<'s, Appended> {
        let parent = self.parent(id);
        let entry = parent.pushed_entry::<T>(&item.into());
        Write::new(span!(push), |InSession(session)| async move {
            let entry = entry?;
            let Some(session) = session else {
                return parent.push_with_others(entry).await;
            };
            let mut batch = parent.batch([entry]);
            parent.push(&mut batch, Some(session)).await?;
            Ok(batch.only_result())
        })
    }
}

impl ParentHandle {
    /// An item in the form in which it is sent.
    pub(super) fn pushed_entry<T: Outlier>(&self, item: &T::Item) -> Result<Entry> {
        if let Some(item) = T::item_too_long(item) {
            return Err(self.error(Kind::TooLong(item)));
        }
        let read =
            |written: RawField<'_>| Element::of(&read_element::<ExtraItem<T>, T::Item>(&written)?);
        let element = read_back::stored(item, false, read);
        let element = element.map_err(|refusal| self.unwritten(refusal))?;
        self.check_identity(&element)?;
        Ok(Entry::from(element))
    }

    /// An error if items have an identity, and this one's is not a single value.
    pub(super) fn check_identity(&self, element: &Bson) -> Result<()> {
        let checked = item::check_identity(self.scope.extras.spec, element);
        checked.map_err(|refusal| self.unwritten(refusal))
    }

    /// Items of one call for this parent.
    pub(super) fn batch(&self, entries: impl IntoIterator<Item = Entry>) -> Batch {
        Batch::new(self.scope.extras.clone(), entries)
    }

    /// Pushes the items, in order; after an error, the batch holds those that were not stored.
    ///
    /// Each step is one command, complete in itself. The flag is set before the first extra is
    /// stored, so there are never extras without it, even if the steps are interrupted.
    pub(super) async fn push(
        &self,
        batch: &mut Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let misfit = self.scope.find_misfit(batch.sizes());
        let fitting = misfit.as_ref().map_or(batch.len(), |(n, _)| *n);
        let rest = batch.entries.split_off(fitting);
        let twins = batch.take_twins();
        let pushed = self.push_fitting(batch, session).await;
        match pushed {
            Ok(()) => batch.note_present(twins),
            // The earlier one may be the one that failed.
            Err(_) => batch.entries.extend(twins),
        }
        batch.entries.extend(rest);
        pushed.map_err(
            |error| match error.is(&Kind::NoParent) && batch.count_stored() > 0 {
                true => error.known_as(Kind::ParentDeleted),
                false => error,
            },
        )?;
        misfit.map_or(Ok(()), |(_, kind)| Err(self.error(kind)))
    }

    /// Pushes items each of which a document can hold, and no two of which have one identity.
    ///
    /// The parent's array takes items in an update that excludes their identities. The items of an
    /// outlier go to the extras after an update that shows both, the flag and that the array holds
    /// none of them.
    async fn push_fitting(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let are_unique = self.scope.spec.unique.is_some();
        // A parent whose state is unknown is treated as empty.
        let mut state = ParentState::default();
        let mut is_outlier = self.is_known();
        // The parent may change its state between two steps.
        let mut changes = 0;
        while !batch.is_empty() {
            let mut most = batch.len();
            if are_unique {
                // A command holds an item and its identity.
                let sizes = batch.sizes().take(ITEMS_PER_COMPARISON);
                most = count_within(COMMAND_BYTES / 2, sizes).max(1);
            }
            let fitting = self.count_fitting(&state, batch).clamp(1, most);
            let is_pushed = !is_outlier
                && (self.push_to_array(batch, fitting, &state, session.as_deref_mut())).await?;
            // An array that did not take unique items may hold some of them.
            let is_pushed = is_pushed
                || (is_outlier || !are_unique)
                    && (self.push_to_outlier(batch, most, session.as_deref_mut())).await?;
            if is_pushed {
                (state, changes) = (ParentState::default(), 0);
                continue;
            }
            // Items are there; or the parent has room, but for fewer of them; or it does not exist.
            let compared = batch.first(if are_unique { most } else { 0 });
            let found = self.read_state(&compared, true, session.as_deref_mut());
            state = (found.await?).ok_or_else(|| self.error(Kind::NoParent))?;
            batch.remove_present(&state.held);
            is_outlier = are_unique && (state.flagged || self.count_fitting(&state, batch) == 0);
            bucket_core::reached!("a push again, flagged: {}", state.flagged);
            if !state.flagged {
                self.forget();
            }
            changes += 1;
            if changes == TRIES {
                return Err(self.error(Kind::Contended(changes)));
            }
        }
        Ok(())
    }

    /// Pushes the first items to the array of a parent that is not flagged, if it has room and
    /// holds none of their identities.
    async fn push_to_array(
        &self,
        batch: &mut Batch,
        first: usize,
        state: &ParentState,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let push = || self.scope.push(batch.first(first), state.lacks_total);
        let is_pushed = self.parent().update(push, session).await?;
        bucket_core::reached!("a push to a parent's array, stored: {is_pushed}");
        if is_pushed {
            batch.note_results(iter::repeat_n(Appended::Stored, first));
        }
        Ok(is_pushed)
    }

    /// Appends the first items to the extras, if the parent is flagged, or gets its flag since it
    /// has no room, and its array holds none of their identities.
    async fn push_to_outlier(
        &self,
        batch: &mut Batch,
        first: usize,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let are_unique = self.scope.spec.unique.is_some();
        // The extras do not show that the parent still is an outlier: a delete that was cut short
        // leaves them, and so does one that another push overtook. With a total, the transaction
        // looks at the parent.
        let is_known = !are_unique && self.is_known();
        let is_outlier = if !is_known {
            let compared = batch.first(if are_unique { first } else { 1 });
            let flag = || self.scope.flag(&compared);
            let target = self.parent().store_no_items();
            target.update(flag, session.as_deref_mut()).await?
        } else if self.scope.spec.total.is_none() {
            self.is_flagged(session.as_deref_mut()).await?
        } else {
            true
        };
        if !is_outlier {
            return Ok(false);
        }
        bucket_core::reached!("a push to an outlier, known: {is_known}");
        self.check_extras(session.as_deref_mut()).await?;
        if !is_known {
            self.remember();
        }
        let later = batch.entries.split_off(first);
        let extended = self.extend(batch, session).await;
        batch.entries.extend(later);
        match extended {
            Err(error) if is_known && error.is(&Kind::NoParent) => Ok(false),
            extended => extended.map(|()| true),
        }
    }

    /// How many of the first items a parent in this state can take.
    fn count_fitting(&self, state: &ParentState, batch: &Batch) -> usize {
        (self.scope).count_fitting(state.length, state.bytes, batch.sizes())
    }
}
