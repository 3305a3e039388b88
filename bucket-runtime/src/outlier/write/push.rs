//! The push: into the parent's array while it has room, else into the extras.

use bucket_core::{
    error::Kind,
    server::call::span,
    value::{element::Element, raw_field::RawField, read_back},
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
        engine::TRIES,
        item::{self, Entry},
    },
};

use super::waiting_items::WaitingItems;

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
            let mut items = WaitingItems::new([entry]);
            parent.push(&mut items, Some(session)).await?;
            Ok(items.answer(0))
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

    /// Pushes the items, in order; after an error, `items` holds those that were not stored.
    ///
    /// Each step is one command, complete in itself. The flag is set before the first extra is
    /// stored, so there are never extras without it, even if the steps are interrupted.
    pub(super) async fn push(
        &self,
        items: &mut WaitingItems,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let misfit = self.scope.find_misfit(items.sizes());
        let fitting = misfit.as_ref().map_or(items.entries.len(), |(n, _)| *n);
        let rest = items.entries.split_off(fitting);
        let pushed = match self.scope.spec.unique {
            None => self.push_fitting(items, session).await,
            Some(field) => {
                items.remove_twins(field);
                self.push_identified(field, items, session).await
            }
        };
        items.entries.extend(rest);
        pushed.map_err(
            |error| match error.is(&Kind::NoParent) && !items.stored.is_empty() {
                true => error.known_as(Kind::ParentDeleted),
                false => error,
            },
        )?;
        misfit.map_or(Ok(()), |(_, kind)| Err(self.error(kind)))
    }

    /// Pushes items each of which a document can hold.
    async fn push_fitting(
        &self,
        items: &mut WaitingItems,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let mut is_known = !items.entries.is_empty() && self.is_known();
        // The extras do not show that the parent still is an outlier: a delete that was cut short
        // leaves them, and so does one that another push overtook. With a total, the transaction
        // looks at the parent.
        let has_total = self.scope.spec.total.is_some();
        if is_known && (has_total || self.is_flagged(session.as_deref_mut()).await?) {
            match self.extend(items, session.as_deref_mut()).await {
                Err(error) if error.is(&Kind::NoParent) => {}
                extended => return extended,
            }
        }
        // A parent whose state is unknown is treated as empty.
        let mut state = ParentState::default();
        // The parent may change its state between two steps.
        for _ in 0..TRIES {
            if items.entries.is_empty() {
                return Ok(());
            }
            let fitting = self.count_fitting(&state, items).max(1);
            if !is_known {
                let pushed = self.push_to_array(items, fitting, &state, session.as_deref_mut());
                if pushed.await? {
                    state = ParentState::default();
                    continue;
                }
            }
            let first = items.first(1);
            let flag = || self.scope.flag(&first);
            let target = self.parent().store_no_items();
            if target.update(flag, session.as_deref_mut()).await? {
                bucket_core::reached!("a push flags its parent, known: {is_known}");
                self.remember();
                return self.extend(items, session).await;
            }
            self.forget();
            is_known = false;
            // The parent has room, but for fewer items; or it does not exist.
            let found = self.read_state(&[], true, session.as_deref_mut()).await?;
            state = found.ok_or_else(|| self.error(Kind::NoParent))?;
        }
        Err(self.error(Kind::Contended(TRIES)))
    }

    /// Pushes the first items to the array of a parent that is not flagged, if it has room and
    /// holds none of their identities.
    pub(super) async fn push_to_array(
        &self,
        items: &mut WaitingItems,
        first: usize,
        state: &ParentState,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let push = || self.scope.push(items.first(first), state.lacks_total);
        let is_pushed = self.parent().update(push, session).await?;
        bucket_core::reached!("a push to a parent's array, stored: {is_pushed}");
        if is_pushed {
            let pushed = items.entries.drain(..first);
            items.stored.extend(pushed.map(|(place, _)| place));
        }
        Ok(is_pushed)
    }

    /// How many of the first items a parent in this state can take.
    pub(super) fn count_fitting(&self, state: &ParentState, items: &WaitingItems) -> usize {
        (self.scope).count_fitting(state.length, state.bytes, items.sizes())
    }
}
