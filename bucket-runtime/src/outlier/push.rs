//! The push: into the parent's array while it has room, else into the extras.

use std::fmt;

use mongodb::{ClientSession, bson::Bson};

use super::{collections::Collections, command::ParentScope, handle::Outliers};
use crate::{
    Error, Result,
    error::Kind,
    outlier::{IdRef, Outlier, state::State},
    protocol::budget::Budget,
    server::call,
    value::element::{element, value_size},
    write::{engine::Batch, item::Entry},
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
        Push::new::<T>(&self.collections, self.scope(id), &item.into())
    }

    /// Pushes items in order, across the threshold: as many as fit into the parent, the others into extras.
    /// Each command carries as many as its document has room for.
    ///
    /// # Errors
    ///
    /// [`PushManyError`](crate::PushManyError) returns the items that were not stored; those before them
    /// are stored, unless the error [`is_not_found`](Error::is_not_found): another call has then deleted
    /// them with the parent. Otherwise like [`push`](Self::push).
    pub fn push_many<I: Into<T::Item>>(
        &self,
        id: IdRef<'_, T>,
        items: impl IntoIterator<Item = I>,
    ) -> PushMany<'static, T> {
        let items = items.into_iter().map(Into::into).collect();
        PushMany::new(&self.collections, self.scope(id), items)
    }
}

/// How often the parent may change its state between two steps of one push.
const TRIES: u32 = 100;

/// Builder of a push: await it; see [`Outliers::push`](crate::Outliers::push).
#[must_use = "a push is sent when it is awaited"]
pub struct Push<'s> {
    collections: Collections,
    scope: ParentScope,
    element: Result<Bson>,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Push<'s> {
    pub(crate) fn new<T: Outlier>(
        collections: &Collections,
        scope: ParentScope,
        item: &T::Item,
    ) -> Self {
        Self {
            element: collections.element::<T>(&scope, item),
            collections: collections.clone(),
            scope,
            session: None,
        }
    }

    /// Sends the push in this session; in a transaction, all its steps are part of it.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<()> {
        let mut elements = vec![self.element?];
        self.collections
            .push(&self.scope, &mut elements, self.session)
            .await
    }
}

/// Builder of a push of many items: await it; see [`Outliers::push_many`](crate::Outliers::push_many).
#[must_use = "a push is sent when it is awaited"]
pub struct PushMany<'s, T: Outlier> {
    collections: Collections,
    scope: ParentScope,
    items: Vec<T::Item>,
    session: Option<&'s mut ClientSession>,
}

impl<'s, T: Outlier> PushMany<'s, T> {
    pub(crate) fn new(collections: &Collections, scope: ParentScope, items: Vec<T::Item>) -> Self {
        Self {
            collections: collections.clone(),
            scope,
            items,
            session: None,
        }
    }

    /// Sends the push in this session; in a transaction, all its steps are part of it.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<(), PushManyError<T::Item>> {
        let mut items = self.items;
        let elements = items
            .iter()
            .map(|item| self.collections.element::<T>(&self.scope, item));
        let mut elements: Vec<Bson> = match elements.collect() {
            Ok(elements) => elements,
            Err(error) => return Err(PushManyError { error, rest: items }),
        };
        let pushed = self
            .collections
            .push(&self.scope, &mut elements, self.session)
            .await;
        pushed.map_err(|error| PushManyError {
            error,
            rest: items.split_off(items.len() - elements.len()),
        })
    }
}

/// A push of many items that failed on the way: the reason, and the items that were not stored.
///
/// The items before them are stored, in order. If [`error.is_maybe_stored()`](Error::is_maybe_stored),
/// the first of the rest may be stored, too.
#[derive(Debug)]
#[non_exhaustive]
pub struct PushManyError<I> {
    /// Why the push stopped.
    pub error: Error,
    /// The items that were not acknowledged, in order.
    pub rest: Vec<I>,
}

impl<I> fmt::Display for PushManyError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} items remain)", self.error, self.rest.len())
    }
}

impl<I: fmt::Debug> std::error::Error for PushManyError<I> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<I> AsRef<Error> for PushManyError<I> {
    fn as_ref(&self) -> &Error {
        &self.error
    }
}

impl<I> From<PushManyError<I>> for Error {
    fn from(error: PushManyError<I>) -> Self {
        error.error
    }
}

impl Collections {
    /// An item in the form in which it is sent.
    fn element<T: Outlier>(&self, scope: &ParentScope, item: &T::Item) -> Result<Bson> {
        if let Some(item) = T::item_too_long(item) {
            return Err(self.target_of(scope).error(Kind::TooLong(item)));
        }
        element(item).map_err(|error| {
            self.target_of(scope)
                .error(Kind::Serialize)
                .with_source(error)
        })
    }

    /// Pushes the elements, in order; after an error, `elements` holds those that were not stored.
    ///
    /// Each step is one command, complete in itself. The flag is set before the first extra is stored,
    /// so there are never extras without it, even if the steps are interrupted.
    pub(crate) async fn push(
        &self,
        scope: &ParentScope,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        self.called_for(scope);
        call::bytes(|| elements.iter().map(value_size).sum());
        let all = elements.len();
        let (fit, misfit) = self.split_at_misfit(scope, elements);
        let rest = elements.split_off(fit);
        let pushed = self.push_fitting(scope, elements, session).await;
        elements.extend(rest);
        let stored = all - elements.len();
        call::items(stored);
        pushed.map_err(|error| match error.is(&Kind::NoParent) && stored > 0 {
            true => error.known_as(Kind::ParentDeleted),
            false => error,
        })?;
        misfit.map_or(Ok(()), Err)
    }

    async fn push_fitting(
        &self,
        scope: &ParentScope,
        elements: &mut Vec<Bson>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        if (self.push_to_known(scope, elements, session.as_deref_mut())).await? {
            return self.extend(scope, elements, session).await;
        }
        // A parent whose state is unknown is treated as empty.
        let mut state = State::default();
        for _ in 0..TRIES {
            if elements.is_empty() {
                return Ok(());
            }
            let n = scope.fitting(state.length, state.bytes, elements).max(1);
            let push = || scope.push(elements[..n].to_vec());
            let pushed = (self.parents)
                .update(push(), || Some(push()), session.as_deref_mut())
                .await;
            if pushed.map_err(|error| self.target_of(scope).write_error(error))? {
                elements.drain(..n);
                state = State::default();
                continue;
            }
            let flag = || scope.flag(&elements[0]);
            let flagged = (self.parents)
                .update(flag(), || Some(flag()), session.as_deref_mut())
                .await;
            if flagged.map_err(|error| self.target_of(scope).read_error(error))? {
                self.known.remember(&scope.extras.prefix);
                return self.extend(scope, elements, session).await;
            }
            // The parent has room, but for fewer items; or it does not exist.
            let found = self.state(scope, true, session.as_deref_mut()).await?;
            state = found.ok_or_else(|| self.target_of(scope).error(Kind::NoParent))?;
        }
        Err(self.target_of(scope).error(Kind::Contended(TRIES)))
    }

    /// Pushes the first element to the open extras page of a parent that is known to have one. The
    /// page's existence shows that the flag is set, so nothing else needs a check.
    async fn push_to_known(
        &self,
        scope: &ParentScope,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let (true, Some(first)) = (self.known.contains(&scope.extras.prefix), elements.first())
        else {
            return Ok(false);
        };
        let stored = match scope.spec.total {
            None => {
                let first = first.clone();
                let stored = self.extras.append_to_open(&scope.extras, first, session);
                stored.await?.then(|| elements.remove(0)).is_some()
            }
            Some(total) => match self.append_counted(scope, total, elements, session).await {
                Err(error) if error.is(&Kind::NoParent) => false,
                stored => stored.map(|()| true)?,
            },
        };
        if !stored {
            self.known.forget(&scope.extras.prefix);
        }
        Ok(stored)
    }

    /// How many elements come before the first one that no document can hold, and why it cannot.
    pub(crate) fn split_at_misfit(
        &self,
        scope: &ParentScope,
        elements: &[Bson],
    ) -> (usize, Option<Error>) {
        let budget = Budget::of(&scope.extras);
        let check = |element| budget.map_or(Ok(()), |budget| budget.check(value_size(element)));
        let misfit = |(n, element)| Some((n, check(element).err()?));
        match elements.iter().enumerate().find_map(misfit) {
            Some((n, kind)) => (n, Some(self.target_of(scope).error(kind))),
            None => (elements.len(), None),
        }
    }

    /// Appends the remaining elements to the extras, and counts them if the parent has a total.
    pub(crate) async fn extend(
        &self,
        scope: &ParentScope,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        match scope.spec.total {
            Some(total) => self.append_counted(scope, total, elements, session).await,
            None => self.append_extras(scope, elements, session).await,
        }
    }

    /// Appends the remaining elements to the extras, with the bucket engine.
    pub(crate) async fn append_extras(
        &self,
        scope: &ParentScope,
        elements: &mut Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let entries = std::mem::take(elements).into_iter().map(Entry::from);
        let mut batch = Batch::new(scope.extras.clone(), entries);
        let appended = self.extras.append(&mut batch, session).await;
        elements.extend(batch.into_entries().map(|entry| entry.element));
        appended
    }
}
