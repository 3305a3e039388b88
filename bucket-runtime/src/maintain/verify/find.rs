//! Finds the problems of a collection.

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use serde::Deserialize;

use super::{BucketProblem as Problem, command};
use crate::{
    Result,
    error::error_text,
    maintain::open,
    protocol::command::KeyScope,
    schema::{key::KeyPart, open_index::OpenIndex, spec::BucketSpec},
    server::{Server, cursor::DocumentCursor},
    value::{element::whole, unreadable::Unreadable},
};

/// A collection, and what its buckets should be like.
pub(crate) struct Verifier {
    pub(crate) server: Server,
    /// Which documents of the collection are buckets.
    pub(crate) buckets: Document,
    pub(crate) spec: &'static BucketSpec,
    /// The key with these stored values, or the index of the first unreadable field.
    pub(crate) parts: fn(Vec<Bson>) -> Result<Vec<KeyPart>, usize>,
    /// The items of this bucket that cannot be read.
    pub(crate) unreadable: fn(&RawDocument) -> Vec<Unreadable>,
}

/// The facts of a bucket that are checked.
#[derive(Deserialize)]
pub(crate) struct Facts {
    #[serde(rename = "_id")]
    pub(crate) id: Bson,
    key: Vec<Bson>,
    window: Bson,
    count: Bson,
    /// The length of the array, if it is one.
    pub(crate) items: Option<u32>,
    /// Whether `sealed` is the bucket's own id, if it is there.
    pub(crate) own_seal: Option<bool>,
    /// The counts in the rollup.
    rolled: Vec<Bson>,
    /// Whether two items have the same identity.
    twins: bool,
}

/// The open buckets of a key that has several.
#[derive(Deserialize)]
struct Group {
    ids: Vec<Bson>,
}

impl Verifier {
    /// An error if an index does not match the struct; else the open index, or the one that opening would
    /// create.
    pub(crate) async fn check_indexes(&self) -> Result<OpenIndex> {
        let indexes = open::check_indexes(&self.server, self.spec).await;
        indexes.map(|indexes| indexes.index)
    }

    pub(crate) async fn problems(&self) -> Result<Vec<Problem>> {
        let mut problems = self.of_single_buckets().await?;
        problems.extend(self.several_open().await?);
        problems.extend(self.of_items().await?);
        Ok(problems)
    }

    /// The items that cannot be read. Only the struct can tell, so all items are sent.
    async fn of_items(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let mut buckets = self.survey([]).await?;
        while let Some(row) = self.next::<RawDocumentBuf>(&mut buckets).await? {
            let id = row.get("_id").ok().flatten();
            let id = id.and_then(|id| Bson::try_from(id).ok());
            let bucket = id.unwrap_or(Bson::Null);
            let unreadable = (self.unreadable)(&row);
            problems.extend(unreadable.into_iter().map(|item| Problem::Unreadable {
                bucket: bucket.clone(),
                place: item.place,
                error: error_text(&item.error),
            }));
        }
        Ok(problems)
    }

    /// The facts of the buckets that a pipeline returns.
    pub(crate) async fn facts(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<Vec<Facts>> {
        let stages = pipeline.into_iter().chain([command::facts(self.spec)]);
        let mut rows = self.survey(stages).await?;
        let mut found = Vec::new();
        while let Some(facts) = self.next(&mut rows).await? {
            found.push(facts);
        }
        Ok(found)
    }

    /// The problems that a single bucket shows.
    pub(crate) async fn of_single_buckets(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let mut buckets = self.survey([command::facts(self.spec)]).await?;
        while let Some(facts) = self.next::<Facts>(&mut buckets).await? {
            problems.extend(self.of_bucket(&facts));
        }
        Ok(problems)
    }

    /// The keys that have several open buckets at one moment. While writers are active, a bucket that
    /// was found open may have been filled before the next one was opened. But a bucket never opens
    /// again, so those that are still open were open all along.
    pub(crate) async fn several_open(&self) -> Result<Vec<Problem>> {
        let mut several = Vec::new();
        let mut groups = self.survey(command::several_open(self.spec)).await?;
        while let Some(Group { ids }) = self.next(&mut groups).await? {
            let still = doc! { "$match": command::open_among(self.spec, &ids) };
            let mut open = Vec::new();
            for facts in self.facts([still]).await? {
                // A bucket without a readable key is another kind of problem.
                if let Ok(scope) = self.scope(&facts) {
                    let is_own = self.is_own_id(&scope, &facts);
                    let text = facts.id.as_str().map(str::to_owned);
                    open.push((is_own, text, scope.label(), facts.id));
                }
            }
            if open.len() > 1 {
                // Sorted so that the newest one that reads find comes last.
                open.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
                several.push(Problem::SeveralOpen {
                    key: open[open.len() - 1].2.clone(),
                    buckets: open.into_iter().map(|(.., id)| id).collect(),
                });
            }
        }
        Ok(several)
    }

    fn of_bucket(&self, facts: &Facts) -> Vec<Problem> {
        let bucket = facts.id.clone();
        let scope = match self.scope(facts) {
            Ok(scope) => scope,
            Err(field) => return vec![Problem::NoKey { bucket, field }],
        };
        let Some(items) = facts.items else {
            return vec![Problem::NoArray { bucket }];
        };
        let mut problems = Vec::new();
        if !self.is_own_id(&scope, facts) {
            problems.push(Problem::ForeignId {
                bucket: bucket.clone(),
            });
        }
        if whole(&facts.count) != Some(items.into()) {
            problems.push(Problem::WrongCount {
                bucket: bucket.clone(),
                items: items.into(),
            });
        }
        if items > self.spec.capacity {
            problems.push(Problem::OverFull {
                bucket: bucket.clone(),
                items: items.into(),
            });
        }
        if facts.own_seal == Some(false) {
            problems.push(Problem::WrongSeal {
                bucket: bucket.clone(),
            });
        }
        let rollups = self.spec.rollups.iter().enumerate();
        problems.extend(rollups.filter_map(|(n, field)| {
            let rolled = facts.rolled.get(n).and_then(whole);
            (rolled != Some(items.into())).then(|| Problem::IncompleteRollup {
                bucket: bucket.clone(),
                field: field.name,
            })
        }));
        let twins = self.spec.unique.filter(|_| facts.twins);
        problems.extend(twins.map(|field| Problem::Twins { bucket, field }));
        problems
    }

    /// The key of the bucket, or the name of the field that is unreadable.
    pub(crate) fn scope(&self, facts: &Facts) -> Result<KeyScope, &'static str> {
        let parts = (self.parts)(facts.key.clone()).map_err(|field| self.spec.key[field].name)?;
        let scope = KeyScope::new(self.spec, parts);
        let Some(name) = self.spec.window_name() else {
            return Ok(scope);
        };
        let scope = scope.at(facts.window.as_datetime().copied());
        match scope.window {
            Some(start) if Bson::from(start) == facts.window => Ok(scope),
            _ => Err(name),
        }
    }

    pub(crate) fn is_own_id(&self, scope: &KeyScope, facts: &Facts) -> bool {
        facts.id.as_str().is_some_and(|id| scope.owns(id))
    }

    async fn survey<R: serde::de::DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<DocumentCursor<'static, R>> {
        let buckets = doc! { "$match": self.buckets.clone() };
        let rows = self
            .server
            .survey([buckets].into_iter().chain(pipeline))
            .await;
        rows.map_err(|error| self.server.context().read(error))
    }

    async fn next<R: serde::de::DeserializeOwned>(
        &self,
        rows: &mut DocumentCursor<'static, R>,
    ) -> Result<Option<R>> {
        let row = match rows.advance().await {
            Ok(true) => rows.decode().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        row.map_err(|error| self.server.context().read(error))
    }
}
