//! Inserts a parent, and splits it at once if it has more items than the threshold.

use bucket_core::{
    error::{Kind, duplicate_index},
    server::call::span,
    value::element::{document_size, value_size},
};
use mongodb::{ClientSession, bson::Document};

use crate::{
    Result,
    call::{InSession, Write},
    outlier::{Outlier, Outliers, parent_handle::ParentHandle},
    write::item::Entry,
};

impl<T: Outlier> Outliers<T> {
    /// Inserts a parent. If it has more items than the threshold, or more bytes than `max_bytes`,
    /// the first items go into the document and the others into extras.
    ///
    /// Round trips: one up to the threshold, and then the document is stored exactly as serde
    /// writes the struct. Beyond that up to five more for each extras document.
    ///
    /// # Errors
    ///
    /// [`is_already_there`](crate::Error::is_already_there) if the id is taken,
    /// [`is_not_unique`](crate::Error::is_not_unique) if items are
    /// [`unique`](macro@crate::Outlier#unique) and two have the same identity,
    /// [`is_too_large`](crate::Error::is_too_large) if no document could hold some item, and
    /// [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`; nothing was stored. An error
    /// among the extras leaves the parent with the first of its items:
    /// [`stored`](crate::Error::stored) says how many, and the others can be pushed;
    /// [`is_not_found`](crate::Error::is_not_found) says that another call has deleted the parent
    /// meanwhile, with these items. A dropped future also leaves a first part of the items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>, book: Book) -> bucket_runtime::Result<()> {
    /// books.insert(&book).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert<'s>(&self, parent: &T) -> Write<'s, ()> {
        let handle = self.parent(parent.id());
        let document = handle.stored_parent(parent, None);
        Write::new(span!(insert), |InSession(session)| async move {
            handle.insert(document?, session).await
        })
    }
}

impl ParentHandle {
    /// The parent comes first, with its flag, and its extras after it. So an id that is taken is
    /// refused before anything is stored, there are never extras without a flag, and an interrupted
    /// call stores a parent with the first of its items.
    async fn insert(
        &self,
        mut document: Document,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let spec = self.scope.spec;
        let items = document.get_array_mut(spec.items);
        let mut rest = items.map_or_else(|_| Vec::new(), std::mem::take);
        if let Some((_, misfit)) = self.scope.find_misfit(rest.iter().map(value_size)) {
            return Err(self.error(misfit));
        }
        for element in &rest {
            self.check_identity(element)?;
        }
        self.check_twins(&rest)?;
        let bytes = document_size(&document);
        let kept = (self.scope).count_fitting(0, bytes, rest.iter().map(value_size));
        if let Ok(items) = document.get_array_mut(spec.items) {
            items.extend(rest.drain(..kept));
        }
        if !rest.is_empty() {
            document.insert(spec.flag, true);
        }
        if let Some(total) = spec.total {
            document.insert(total, kept as i64);
        }
        let inserted = self.parent().insert(document, session.as_deref_mut());
        inserted
            .await
            .map_err(|error| match error.driver().and_then(duplicate_index) {
                Some("_id_") => error.known_as(Kind::ParentThere),
                _ => error,
            })?;
        let mut rest = self.batch(rest.into_iter().map(Entry::from));
        let extended = self.extend(&mut rest, session).await;
        extended.map_err(|error| match error.is(&Kind::NoParent) {
            true => error.known_as(Kind::ParentDeleted),
            false => error.with_stored(kept + rest.count_stored() as usize),
        })
    }
}
