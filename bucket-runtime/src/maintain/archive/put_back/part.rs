//! Divides the items of a bucket that has no room for all of them.

use mongodb::{
    ClientSession,
    bson::{Bson, Document},
    error::Error as DriverError,
};

use super::{PutBack, rebuild};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::command::KeyScope,
    schema::{id, names::SEALED, spec::Ordinal},
    value::element::Refusal,
    write::{engine::next_number, item},
};

/// A bucket with the line's items, and another one with those that came later.
pub(super) struct DividedBucket {
    home: Document,
    other: Document,
}

impl<T: Bucket> PutBack<T> {
    /// Divides the stored bucket. If it is open, the other one takes the next items in its place.
    pub(super) async fn divide(
        &self,
        stored: &Document,
        front: Vec<Bson>,
        behind: Vec<Bson>,
        session: &mut ClientSession,
    ) -> Result<Result<DividedBucket, Refusal>> {
        let scope = &self.archived.scope;
        let capacity = scope.open.capacity as usize;
        let was_full = rebuild::elements(scope.spec, stored).len() >= capacity;
        let is_home_full = front.len() >= capacity;
        let is_other_closed = behind.len() < capacity && (was_full || rebuild::is_sealed(stored));
        let home = rebuild::replace_items::<T>(scope, stored, front);
        let other = rebuild::replace_items::<T>(scope, stored, behind);
        let (mut home, mut other) = match (home, other) {
            (Ok(home), Ok(other)) => (home, other),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let Some(id) = self.next_id(&other, session).await? else {
            return Ok(Err("no id is left for the items that came later".into()));
        };
        if !is_home_full {
            rebuild::seal(&mut home);
        }
        other.insert("_id", id);
        if is_other_closed {
            rebuild::seal(&mut other);
        } else if rebuild::is_sealed(&other) {
            other.remove(SEALED);
        }
        Ok(Ok(DividedBucket { home, other }))
    }

    /// Replaces the stored bucket by the two parts.
    ///
    /// The second one is inserted without items, and then replaced: so a change stream shows no new items,
    /// since all have been stored before.
    pub(super) async fn replace_by_parts(
        &self,
        stored: &Document,
        DividedBucket { home, other }: &DividedBucket,
        session: &mut ClientSession,
    ) -> Result<()> {
        let (scope, target) = (&self.archived.scope, self.target());
        let fail = |error| target.write_error(error);
        let changed = || fail(DriverError::custom("the bucket changed in the transaction"));
        if !self.replace(stored, home, Some(&mut *session)).await? {
            return Err(changed());
        }
        let empty = rebuild::replace_items::<T>(scope, other, Vec::new());
        let mut empty = empty.map_err(|why| fail(DriverError::custom(why)))?;
        // One that will be full is not open before, either.
        rebuild::seal(&mut empty);
        target.insert(empty, Some(&mut *session)).await?;
        let id = other.get_str("_id").unwrap_or_default();
        let replaced = target.replace(scope.bucket(id), other, Some(session));
        replaced.await?.then_some(()).ok_or_else(changed)
    }

    /// The id of a further bucket with these items, if there is one.
    async fn next_id(
        &self,
        bucket: &Document,
        session: &mut ClientSession,
    ) -> Result<Option<String>> {
        let (scope, target) = (&self.archived.scope, self.target());
        let items = rebuild::read_items::<T>(bucket);
        let time = items.iter().find_map(T::time).or(scope.window);
        let opening_id = item::opening_id(scope, time).map_err(|kind| target.error(kind))?;
        let ids = match (&opening_id, scope.window) {
            (Some(opening_id), None) => KeyScope::ids_of_moment(opening_id),
            _ => scope.ids(),
        };
        let last = (self.engine.server).last_id(scope, ids, Some(session));
        let last = last.await?;
        let next = match (scope.spec.id.ordinal, opening_id) {
            (Ordinal::Number, _) => next_number(scope, last.as_deref()),
            (_, Some(opening_id)) => id::next_suffix(&opening_id, last.as_deref()),
            (_, None) => Ok(None),
        };
        next.map_err(|()| target.error(Kind::ForeignId(last.unwrap_or_default())))
    }
}
