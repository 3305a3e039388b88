//! Inserts a parent, and splits it at once if it has more items than the threshold.

use mongodb::{
    ClientSession,
    bson::{Bson, Document},
};

use super::{collections::Collections, command::ParentScope, handle::Outliers};
use crate::{
    Result,
    error::Kind,
    outlier::Outlier,
    server::call,
    value::element::{document_size, element, value_size},
};

impl<T: Outlier> Outliers<T> {
    /// Inserts a parent. If it has more items than the threshold, or more bytes than `max_bytes`, the first
    /// items go into the document and the others into extras.
    ///
    /// Round trips: one up to the threshold, and then the document is stored exactly as serde
    /// writes the struct. Beyond that up to five more for each extras document.
    ///
    /// # Errors
    ///
    /// [`is_duplicate`](crate::Error::is_duplicate) if the id is taken,
    /// [`is_too_large`](crate::Error::is_too_large) if no document could hold some item, and
    /// [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`; nothing was stored. An error
    /// among the extras leaves the parent with the first of its items:
    /// [`stored`](crate::Error::stored) says how many, and the others can be pushed;
    /// [`is_not_found`](crate::Error::is_not_found) says that another call has deleted the parent meanwhile,
    /// with these items. A dropped future also leaves a first part of the items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>, book: Book) -> bucket_runtime::Result<()> {
    /// books.insert(&book).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert(&self, parent: &T) -> Insert<'static> {
        Insert::new(&self.collections, self.scope(parent.id()), parent)
    }
}

/// Builder of an insertion: await it; see [`Outliers::insert`](crate::Outliers::insert).
#[must_use = "a parent is inserted when this is awaited"]
pub struct Insert<'s> {
    collections: Collections,
    scope: ParentScope,
    parent: Result<Document>,
    session: Option<&'s mut ClientSession>,
}

impl<'s> Insert<'s> {
    pub(crate) fn new<T: Outlier>(
        collections: &Collections,
        scope: ParentScope,
        parent: &T,
    ) -> Self {
        let parent = match (parent.too_long(), element(parent)) {
            (Some(field), _) => Err(collections.target_of(&scope).error(Kind::TooLong(field))),
            (None, Ok(Bson::Document(parent))) => Ok(parent),
            (None, Ok(_)) => Err(collections.target_of(&scope).error(Kind::Serialize)),
            (None, Err(error)) => Err(collections
                .target_of(&scope)
                .error(Kind::Serialize)
                .with_source(error)),
        };
        Self {
            collections: collections.clone(),
            scope,
            parent,
            session: None,
        }
    }

    /// Inserts in this session; in a transaction, the parent and its extras are part of it.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<()> {
        let (collections, scope) = (self.collections, self.scope);
        collections.called_for(&scope);
        collections.insert(&scope, self.parent?, self.session).await
    }
}

impl Collections {
    /// The parent comes first, with its flag, and its extras after it. So an id that is taken is refused
    /// before anything is stored, there are never extras without a flag, and an interrupted call stores
    /// a parent with the first of its items.
    async fn insert(
        &self,
        scope: &ParentScope,
        mut parent: Document,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let mut rest = match parent.get_array_mut(scope.spec.items) {
            Ok(items) => std::mem::take(items),
            Err(_) => Vec::new(),
        };
        if let (_, Some(misfit)) = self.split_at_misfit(scope, &rest) {
            return Err(misfit);
        }
        let bytes = document_size(&parent);
        let kept = scope.fitting(0, bytes, &rest);
        if let Ok(items) = parent.get_array_mut(scope.spec.items) {
            items.extend(rest.drain(..kept));
        }
        if !rest.is_empty() {
            parent.insert(scope.spec.flag, true);
        }
        if let Some(total) = scope.spec.total {
            parent.insert(total, kept as i64);
        }
        call::bytes(|| bytes + rest.iter().map(value_size).sum::<usize>());
        let inserted = self.parents.insert(parent, session.as_deref_mut()).await;
        inserted.map_err(|error| self.target_of(scope).write_error(error))?;
        let all = rest.len();
        let extended = self.extend(scope, &mut rest, session).await;
        extended.map_err(|error| match error.is(&Kind::NoParent) {
            true => error.known_as(Kind::ParentDeleted),
            false => error.with_stored(kept + all - rest.len()),
        })
    }
}
