//! Stores the bucket of a line whose id is free.

use mongodb::bson::{Bson, Document, doc};

use super::{LineOutcome, PutBack, RefusedReason, TryResult, rebuild};
use crate::{
    Bucket, Result,
    error::duplicate_index,
    protocol::{command::identity, range::Range},
    schema::names::OPEN_INDEX,
    value::element::comparable,
};

impl<T: Bucket> PutBack<T> {
    /// Stores the bucket, with those of its items that the key lacks.
    pub(super) async fn insert(&self) -> Result<TryResult> {
        let mut bucket = self.archived.document.clone();
        let mut items = self.archived.items;
        if let Some(missing) = self.missing_elsewhere().await? {
            if missing.is_empty() {
                return Ok(TryResult::Done(LineOutcome::AlreadyThere));
            }
            items = missing.len();
            let scope = &self.archived.scope;
            bucket = match rebuild::replace_items::<T>(scope, &bucket, missing) {
                Ok(bucket) => bucket,
                Err(why) => return Ok(TryResult::Done(self.refuse_unfit(items, &why))),
            };
            // The key may have an open bucket, and this one was full before it lost items.
            rebuild::seal(&mut bucket);
        }
        for _ in 0..2 {
            let inserted = self.target().insert(bucket.clone(), None).await;
            let Err(error) = inserted else {
                return Ok(TryResult::Done(LineOutcome::Inserted(items)));
            };
            match error.driver().and_then(duplicate_index) {
                Some(OPEN_INDEX) => rebuild::seal(&mut bucket),
                Some("_id_") => return self.judge_taken_id(items).await,
                _ => return self.judge(error, items),
            }
        }
        Ok(TryResult::Lost)
    }

    /// The line's items that no bucket of the key holds; `None` if these are all, as far as can be told.
    async fn missing_elsewhere(&self) -> Result<Option<Vec<Bson>>> {
        let Some(field) = self.archived.scope.spec.unique else {
            return Ok(None);
        };
        let elsewhere = self.identities(field, None).await?;
        let is_missing = |element: &&Bson| {
            let identity = identity(field, element).map(comparable);
            identity.is_none_or(|identity| !elsewhere.contains(&identity))
        };
        let missing = self.archived.elements().iter().filter(is_missing);
        let missing = Vec::from_iter(missing.cloned());
        Ok((missing.len() < self.archived.items).then_some(missing))
    }

    /// Decides whether the document with the line's id has come meanwhile, or belongs to something else.
    async fn judge_taken_id(&self, missing: usize) -> Result<TryResult> {
        let id = &self.archived.id;
        let is_other = !self.exists(self.archived.scope.bucket(id)).await?
            && self.exists(doc! { "_id": id }).await?;
        Ok(match is_other {
            true => TryResult::Done(self.refuse(missing, RefusedReason::IdTaken)),
            false => TryResult::Lost,
        })
    }

    async fn exists(&self, filter: Document) -> Result<bool> {
        let id = Range::unordered().project(doc! { "_id": 1 });
        let found = self.target().find(filter, id).read_primary();
        Ok(found.first(None).await?.is_some())
    }
}
