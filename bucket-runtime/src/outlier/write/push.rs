//! The push: into the parent's array while it has room, else into the extras.

use mongodb::{ClientSession, bson::Bson};

use crate::{
    Result,
    error::Kind,
    outlier::{
        IdRef, Outlier, Outliers,
        parent_handle::{ParentHandle, ParentState},
    },
    read::settings::session_setting,
    server::call,
    value::element::value_size,
};

impl<T: Outlier> Outliers<T> {
    /// Pushes one item: into the parent's array while it has room, then into its extras.
    ///
    /// Round trips: one to a parent with room, and one to a parent that this handle knows as an
    /// outlier; three when it learns that, and up to six for an item that opens an extras document. With a
    /// [total](macro@crate::Outlier#total), two more for an item that goes to the extras.
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
    pub fn push(&self, id: IdRef<'_, T>, item: impl Into<T::Item>) -> Push<'static> {
        let parent = self.parent(id);
        Push {
            element: parent.pushed_element::<T>(&item.into()),
            parent,
            session: None,
        }
    }
}

/// The number of times that the parent may change its state between two steps of one push.
const MAX_CHANGES: u32 = 100;

/// Builder of a push: await it; see [`Outliers::push`](crate::Outliers::push).
#[must_use = "a push is sent when it is awaited"]
pub struct Push<'s> {
    parent: ParentHandle,
    element: Result<Bson>,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Push<'s> {
    session_setting! {
        /// Sends the push in this session; in a transaction, all its steps are part of it.
    }

    pub(crate) async fn execute(self) -> Result<()> {
        let mut elements = vec![self.element?];
        self.parent.push(&mut elements, self.session).await
    }
}

impl ParentHandle {
    /// An item in the form in which it is sent.
    pub(super) fn pushed_element<T: Outlier>(&self, item: &T::Item) -> Result<Bson> {
        match T::item_too_long(item) {
            Some(item) => Err(self.error(Kind::TooLong(item))),
            None => self.element(item),
        }
    }

    /// Pushes the elements, in order; after an error, `elements` holds those that were not stored.
    ///
    /// Each step is one command, complete in itself. The flag is set before the first extra is stored,
    /// so there are never extras without it, even if the steps are interrupted.
    pub(super) async fn push(
        &self,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        self.note_call();
        call::bytes(|| elements.iter().map(value_size).sum());
        let all = elements.len();
        let (fit, misfit) = self.find_misfit(elements);
        let rest = elements.split_off(fit);
        let pushed = self.push_fitting(elements, session).await;
        elements.extend(rest);
        let stored = all - elements.len();
        call::items(stored);
        pushed.map_err(|error| match error.is(&Kind::NoParent) && stored > 0 {
            true => error.known_as(Kind::ParentDeleted),
            false => error,
        })?;
        misfit.map_or(Ok(()), Err)
    }

    /// Pushes elements each of which a document can hold.
    async fn push_fitting(
        &self,
        elements: &mut Vec<Bson>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let pushed = self.push_to_known(elements, session.as_deref_mut()).await?;
        if pushed {
            return self.extend(elements, session).await;
        }
        // A parent whose state is unknown is treated as empty.
        let mut state = ParentState::default();
        for _ in 0..MAX_CHANGES {
            if elements.is_empty() {
                return Ok(());
            }
            let fitting = (self.scope).count_fitting(state.length, state.bytes, elements);
            let fitting = fitting.max(1);
            let push = || self.scope.push(elements[..fitting].to_vec());
            if self.parent().update(push, session.as_deref_mut()).await? {
                elements.drain(..fitting);
                state = ParentState::default();
                continue;
            }
            let flag = || self.scope.flag(&elements[0]);
            let target = self.parent().store_no_items();
            if target.update(flag, session.as_deref_mut()).await? {
                self.remember();
                return self.extend(elements, session).await;
            }
            // The parent has room, but for fewer items; or it does not exist.
            let found = self.read_state(true, session.as_deref_mut()).await?;
            state = found.ok_or_else(|| self.error(Kind::NoParent))?;
        }
        Err(self.error(Kind::Contended(MAX_CHANGES)))
    }

    /// Pushes the first element to the open extras document of a parent that is known to have one. That
    /// this document exists shows that the flag is set, so nothing else needs a check.
    async fn push_to_known(
        &self,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let (true, Some(first)) = (self.is_known(), elements.first()) else {
            return Ok(false);
        };
        let stored = match self.scope.spec.total {
            None => {
                let first = first.clone();
                let extras = &self.collections.extras;
                let stored = extras.append_to_open(&self.scope.extras, first, session);
                stored.await?.then(|| elements.remove(0)).is_some()
            }
            Some(total) => match self.append_counted(total, elements, session).await {
                Err(error) if error.is(&Kind::NoParent) => false,
                stored => stored.map(|()| true)?,
            },
        };
        if !stored {
            self.forget();
        }
        Ok(stored)
    }
}
