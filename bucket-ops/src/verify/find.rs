//! Finds the problems of a collection.

use bucket_core::{
    error::{Kind, count},
    protocol::{
        command::{KeyScope, ReadKey, StoredKey},
        indexes::required::RequiredIndex,
    },
    schema::{
        open_index::OpenIndex,
        spec::{BucketSpec, Ordinal},
    },
    server::{Server, read::cursor::DocumentCursor},
    value::shell::shell,
};
use bucket_runtime::{__ops::check_indexes, Result};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use serde::Deserialize;

use super::{Problem, ProblemKind, VerifiedBuckets, command, look::Look, numbers::Numbers};

/// A collection, and what its buckets should be like.
pub(crate) struct Verifier {
    pub(crate) server: Server,
    /// Which documents of the collection are buckets.
    pub(crate) buckets: Document,
    pub(crate) spec: &'static BucketSpec,
    /// Whether buckets may hold more items than the capacity, since it has changed.
    pub(crate) may_exceed: bool,
    /// The key with these stored values, or the index of the first unreadable field.
    pub(crate) parts: ReadKey,
    /// Reads a bucket into the struct, to find unreadable items, times and values.
    pub(crate) look: fn(&RawDocument) -> Look,
}

/// A bucket, and its facts.
#[derive(Deserialize)]
pub(super) struct SurveyedBucket {
    pub(super) facts: BucketFacts,
    pub(super) bucket: RawDocumentBuf,
}

/// The facts of a bucket, as the server sees them.
#[derive(Deserialize)]
pub(crate) struct BucketFacts {
    pub(crate) key: StoredKey,
    pub(super) count: Bson,
    /// The length of the array, if it is one.
    pub(crate) items: Option<u32>,
    /// Whether `sealed` is the bucket's own id, if it is there.
    pub(crate) own_seal: Option<bool>,
    /// Whether two items have the same identity.
    pub(super) twins: bool,
}

/// The open buckets of a key that has several.
#[derive(Deserialize)]
struct OpenBucketIds {
    ids: Vec<Bson>,
}

impl Verifier {
    /// An error if an index does not match the struct; else the open index, or the one that opening
    /// would create.
    pub(crate) async fn check_indexes(&self) -> Result<OpenIndex> {
        let indexes = check_indexes(&self.server, self.spec).await;
        indexes.map(|indexes| indexes.index)
    }

    /// The indexes that are missing; an error if the collection does not exist, or if an index does
    /// not match the struct.
    pub(super) async fn missing_indexes(&mut self) -> Result<Vec<Problem>> {
        let indexes = check_indexes(&self.server, self.spec).await?;
        self.may_exceed = indexes.index != OpenIndex::first(self.spec.capacity);
        // Each collection has the index on `_id`.
        if indexes.found.is_empty() {
            return Err(self.server.target().error(Kind::NoCollection));
        }
        let name = self.server.collection().name();
        let lacking = indexes.lacking.into_iter();
        let missing = lacking.map(|model| {
            let command = RequiredIndex::new(name, model);
            let text = format!("the collection lacks an index that the struct needs: {command}");
            Problem::new(ProblemKind::MissingIndex, [], None, text)
        });
        Ok(missing.collect())
    }

    pub(crate) async fn problems(&self) -> Result<Vec<Problem>> {
        self.verify().await.map(|verified| verified.problems)
    }

    /// Everything but the indexes.
    pub(crate) async fn verify(&self) -> Result<VerifiedBuckets> {
        let mut verified = self.check_buckets().await?;
        verified.problems.extend(self.find_several_open().await?);
        if self.spec.id.ordinal == Ordinal::Number {
            verified.problems.extend(self.find_out_of_order().await?);
        }
        Ok(verified)
    }

    /// The facts of the buckets that a pipeline returns.
    pub(crate) async fn facts(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<Vec<BucketFacts>> {
        let stages = pipeline.into_iter().chain([command::facts(self.spec)]);
        self.survey(stages).await?.rest().await
    }

    /// The problems that a single bucket shows. Only the struct can tell whether an item can be
    /// read, so all items are sent.
    pub(super) async fn check_buckets(&self) -> Result<VerifiedBuckets> {
        let mut verified = VerifiedBuckets::default();
        let mut rows = self.survey([command::rows(self.spec)]).await?;
        while let Some(row) = rows.next_decoded::<SurveyedBucket>().await? {
            verified.buckets += 1;
            verified.items += u64::from(row.facts.items.unwrap_or(0));
            verified.problems.extend(self.problems_of(&row));
        }
        Ok(verified)
    }

    /// The keys that have several open buckets at one moment. While writers are active, a bucket
    /// that was found open may have been filled before the next one was opened. But a bucket never
    /// opens again, so those that are still open were open all along.
    pub(super) async fn find_several_open(&self) -> Result<Vec<Problem>> {
        let mut several = Vec::new();
        let mut groups = self.survey(command::group_several_open(self.spec)).await?;
        while let Some(OpenBucketIds { ids }) = groups.next_decoded().await? {
            let still = doc! { "$match": command::match_open(self.spec, &ids) };
            let mut open = Vec::new();
            for facts in self.facts([still]).await? {
                // A bucket without a readable key is another kind of problem.
                if let Ok(scope) = self.scope(&facts) {
                    let is_own = facts.key.has_id_of(&scope);
                    let text = facts.key.id.as_str().map(str::to_owned);
                    open.push((is_own, text, scope.key_text(), facts.key.id));
                }
            }
            if open.len() > 1 {
                // Sorted so that the newest one that reads find comes last.
                open.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
                let key = open[open.len() - 1].2.clone();
                let text = format!("key {key:?} has {} open buckets", open.len());
                let buckets = Vec::from_iter(open.into_iter().map(|(.., id)| id));
                several.push(Problem::new(
                    ProblemKind::SeveralOpen,
                    buckets,
                    Some(key),
                    text,
                ));
            }
        }
        Ok(several)
    }

    /// The gaps in the numbers of keys, and the buckets that are open before the last one. Whatever
    /// the pass over the ids shows is read once more: a change of capacity may have replaced the
    /// buckets meanwhile.
    pub(super) async fn find_out_of_order(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let ids = command::ids_newest_first(self.spec);
        let mut ids = self.survey(ids).await?;
        let mut seen = Numbers::new(self.spec);
        while let Some(row) = ids.next_decoded::<Document>().await? {
            // Only among extras must the open bucket be the last one: an import may leave another
            // one open.
            let is_open = self.spec.are_extras && row.get_bool("is_open").unwrap_or(false);
            let neighbours = row.get_str("_id").ok().map(|id| seen.next(id, is_open));
            let Some(pair) = neighbours.flatten() else {
                continue;
            };
            if pair.missing == 0 && !pair.is_open_before_last {
                continue;
            }
            let [first, next] = [Bson::from(pair.first), Bson::from(pair.next)];
            let between = doc! { "$match": { "_id": { "$gte": &first, "$lte": &next } } };
            let found = self.facts([between]).await?;
            let own = found.iter().filter_map(|facts| {
                let scope = self.scope(facts).ok()?;
                facts.key.has_id_of(&scope).then(|| scope.key_text())
            });
            let own: Vec<_> = own.collect();
            let [key, _] = &own[..] else {
                continue;
            };
            if pair.is_open_before_last {
                let open = command::match_open(self.spec, std::slice::from_ref(&first));
                if !self.facts([doc! { "$match": open }]).await?.is_empty() {
                    let kind = ProblemKind::OpenBeforeLast;
                    problems.push(Problem::of(kind, &first, key.clone(), |bucket| {
                        format!(
                            "bucket {bucket} is open, although others of key {key:?} come after it"
                        )
                    }));
                }
            }
            if pair.missing > 0 {
                let missing = count(pair.missing, "number");
                let are = if pair.missing == 1 { "is" } else { "are" };
                let text = format!(
                    "between the buckets {} and {} of one key {missing} {are} missing, so `page` gives none there",
                    shell(&first),
                    shell(&next)
                );
                let key = Some(key.clone());
                problems.push(Problem::new(ProblemKind::Gap, [first, next], key, text));
            }
        }
        Ok(problems)
    }

    /// The key of the bucket, or the name of the field that is unreadable.
    pub(crate) fn scope(&self, facts: &BucketFacts) -> Result<KeyScope, &'static str> {
        facts.key.scope(self.spec, self.parts)
    }

    pub(super) async fn survey(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<DocumentCursor<'static>> {
        let buckets = doc! { "$match": self.buckets.clone() };
        let stages = [buckets].into_iter().chain(pipeline);
        let read = self.server.target().pipeline(stages);
        read.read_primary().allow_disk_use().cursor(None).await
    }
}
