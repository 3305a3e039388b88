//! Changes the fields of a parent beside its array.

use bucket_core::{
    error::Kind,
    server::call::span,
    value::{
        bytes,
        element::element,
        exact::{exact_document, restored},
        number::whole_in,
    },
};
use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocument, RawDocumentBuf},
};

use crate::{
    Result,
    call::{InSession, Write},
    outlier::{
        IdRef, Outlier, Outliers, command::changed_fields::FieldChange, parent_handle::ParentHandle,
    },
    write::{
        edit::Change,
        engine::{TRIES, pause},
    },
};

impl<T: Outlier> Outliers<T> {
    /// Reads the fields of a parent other than its array, calls the closure to change them, and
    /// writes the fields back that it changed. Returns whether it changed any.
    ///
    /// ```no_run
    /// # use bucket_runtime::Outlier;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// # struct User {
    /// #     #[serde(rename = "_id")]
    /// #     id: i64,
    /// #     name: String,
    /// #     #[outlier(items)]
    /// #     followers: Vec<i64>,
    /// # }
    /// # async fn example(users: bucket_runtime::Outliers<User>) -> bucket_runtime::Result<()> {
    /// let is_new = users.update(&2, |user| user.name = "alice".into()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The array is neither sent nor touched: the closure sees an empty one, and pushes and
    /// removals go on meanwhile. Stored fields that the struct does not have stay as they are.
    ///
    /// If another writer changes one of the struct's fields in between, they are read and changed
    /// again, so no other change is lost; the closure is then called again. The array, the flag and
    /// the total do not count.
    ///
    /// Round trips: two, and two more for each such repetition; one if the closure changes nothing.
    /// A dropped future leaves the parent either unchanged or changed.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](crate::Error::is_not_found) if there is no such parent.
    /// [`is_item_moved`](crate::Error::is_item_moved) if the closure changes the id, the array, the
    /// flag or the total. [`is_too_large`](crate::Error::is_too_large) if the parent grows beyond
    /// `max_bytes`, and [`is_too_long`](crate::Error::is_too_long) beyond a `max_len`.
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the change may have been
    /// stored anyway. Others: [`is_deserialize`](crate::Error::is_deserialize),
    /// [`is_serialize`](crate::Error::is_serialize), [`is_duplicate`](crate::Error::is_duplicate),
    /// [`is_contended`](crate::Error::is_contended).
    pub fn update<'s>(
        &self,
        id: IdRef<'_, T>,
        change: impl FnMut(&mut T) + Send + 's,
    ) -> Write<'s, bool> {
        self.parent(id).update(Box::new(change))
    }
}

impl ParentHandle {
    fn update<T: Outlier>(self, change: Change<'_, T>) -> Write<'_, bool> {
        Write::new(span!(update), |InSession(session)| {
            self.change(change, session)
        })
    }

    async fn change<T: Outlier>(
        self,
        mut change: Change<'_, T>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let target = self.parent();
        for tries in 0..TRIES {
            pause(tries).await;
            let read = target.pipeline(self.scope.without_items()).read_latest();
            let read: Vec<RawDocumentBuf> = read.rows(session.as_deref_mut()).await?;
            let read = read.first().ok_or_else(|| self.error(Kind::NoParent))?;
            let changes = self.plan_changes(read, &mut *change)?;
            if changes.iter().all(|field| !field.is_changed()) {
                return Ok(false);
            }
            let unchanged = self.scope.unchanged(&changes);
            let pipeline = Some(self.scope.change_fields(&changes));
            let changed = target.change_read(unchanged, pipeline, None, session.as_deref_mut());
            if changed.await? {
                return Ok(true);
            }
        }
        Err(self.error(Kind::Contended(TRIES)))
    }

    /// Calls the closure with the parent, and compares its fields before and after. An error if the
    /// closure changes what it may not, or the parent would be too large.
    fn plan_changes<T: Outlier>(
        &self,
        read: &RawDocument,
        change: &mut (dyn FnMut(&mut T) + Send),
    ) -> Result<Vec<FieldChange>> {
        // The parent's fields, exactly as they are stored, with an empty array.
        let raw = read.get_document("parent").ok();
        let stored = raw.and_then(|raw| Some((raw, exact_document(raw)?)));
        let (raw, stored) = stored.ok_or_else(|| self.error(Kind::NamedTwice))?;
        let unreadable = |error| self.parent().unreadable_parent(raw, error);
        let mut parent: T = bytes::read(raw.as_bytes()).map_err(unreadable)?;
        let before = element(&parent).map_err(|refusal| self.unwritten(refusal))?;
        change(&mut parent);
        // A flattened map has the flag of a parent that is an outlier.
        let flag = Some(self.scope.spec.flag);
        let after = self.stored_parent(&parent, flag)?.into();
        let after = restored(&Bson::Document(stored.clone()), &before, after);
        let (Bson::Document(before), Bson::Document(after)) = (before, after) else {
            return Err(self.error(Kind::Serialize));
        };
        let changes = self.without_written(FieldChange::between(&stored, &before, &after))?;
        self.check_changed::<T>(stored, &changes)?;
        let grown = FieldChange::growth(&changes);
        let bytes = whole_in(read, "size").unwrap_or(0) as i64 + grown;
        let spec = self.scope.spec;
        match grown > 0 && !spec.is_bounded && bytes > i64::from(spec.max_bytes) {
            true => Err(self.error(Kind::ParentTooLarge(bytes))),
            false => Ok(changes),
        }
    }

    /// The changes of fields that the runtime does not write by itself; an error if one of those
    /// changed.
    fn without_written(&self, mut changes: Vec<FieldChange>) -> Result<Vec<FieldChange>> {
        let spec = self.scope.spec;
        let written = |name: &str| match name {
            "_id" => Some("id"),
            name if name == spec.items => Some("array"),
            name if name == spec.flag => Some("flag"),
            name if Some(name) == spec.total => Some("total"),
            _ => None,
        };
        let mut changed = changes.iter().filter(|field| field.is_changed());
        if let Some(what) = changed.find_map(|field| written(&field.name)) {
            return Err(self.error(Kind::ParentMoved(what)));
        }
        changes.retain(|field| written(&field.name).is_none());
        Ok(changes)
    }

    /// An error if the struct could not read the changed parent.
    fn check_changed<T: Outlier>(
        &self,
        mut stored: Document,
        changes: &[FieldChange],
    ) -> Result<()> {
        for field in changes {
            match &field.after {
                Some(value) => stored.insert(field.name.clone(), value.clone()),
                None => stored.remove(&field.name),
            };
        }
        let raw = bytes::write(&stored).map_err(|refusal| self.unwritten(refusal))?;
        let read = bytes::read::<T>(&raw);
        let unreadable = |error| self.error(Kind::Serialize).with_driver(error);
        read.map(drop).map_err(unreadable)
    }
}
