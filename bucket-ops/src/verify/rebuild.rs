//! Computes the rollups of buckets from their items, where what is stored is something else.

use bucket_core::{error::Kind, server::pause::pause, value::element::document_size};
use bucket_runtime::{__ops::TRIES, Result};
use mongodb::bson::{Bson, doc};

use super::{
    Problem, ProblemKind, command, exists,
    find::{SurveyedBucket, Verifier},
};

/// How many buckets one command reads.
const BUCKETS_PER_READ: usize = 1000;

/// The most bytes of a command (`maxBsonObjectSize` of the server).
const BYTES_PER_COMMAND: usize = 16 << 20;

/// The progress of a [`rebuild_rollups`](crate::Ops::rebuild_rollups).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RollupProgress {
    /// How many buckets were read.
    pub buckets: u64,
    /// How many of them got another rollup.
    pub rebuilt: u64,
    /// Why others did not: items that cannot be read, and rollups that nothing can hold or that
    /// writers kept changing.
    pub left: Vec<Problem>,
}

/// Builder of rebuilt rollups: await it; see
/// [`Ops::rebuild_rollups`](crate::Ops::rebuild_rollups)(crate::Ops::rebuild_rollups).
#[must_use = "nothing is rebuilt until this is awaited"]
pub struct RebuildRollups<'p> {
    verifier: Verifier,
    progress: Box<dyn FnMut(&RollupProgress) + Send + 'p>,
}

impl<'p> RebuildRollups<'p> {
    pub(crate) fn new(verifier: Verifier) -> Self {
        Self {
            verifier,
            progress: Box::new(|_| ()),
        }
    }

    /// Calls this after each thousand buckets, and at the end.
    pub fn on_progress<'q>(
        self,
        progress: impl FnMut(&RollupProgress) + Send + 'q,
    ) -> RebuildRollups<'q> {
        RebuildRollups {
            verifier: self.verifier,
            progress: Box::new(progress),
        }
    }

    pub(crate) async fn execute(mut self) -> Result<RollupProgress> {
        let verifier = &self.verifier;
        let server = &verifier.server;
        if !exists(server).await? {
            return Err(server.target().error(Kind::NoCollection));
        }
        let mut so_far = RollupProgress::default();
        let mut at = String::new();
        loop {
            let before = so_far.buckets;
            let stages = command::page_after(&at, BUCKETS_PER_READ).into_iter();
            let stages = stages.chain([command::rows(verifier.spec)]);
            let mut rows = verifier.survey(stages).await?;
            // A cursor that waits for many updates would time out.
            let mut found = Vec::new();
            while let Some(row) = rows.next_decoded::<SurveyedBucket>().await? {
                so_far.buckets += 1;
                let id = row.facts.key.id.as_str();
                id.unwrap_or_default().clone_into(&mut at);
                let problems = verifier.problems_of(&row);
                let of_rollup: Vec<_> = problems.into_iter().filter(is_of_rollup).collect();
                if !of_rollup.is_empty() {
                    found.push((row.facts.key.id, of_rollup));
                }
            }
            for (id, problems) in found {
                match verifier.rebuild_rollup(&id).await? {
                    Rebuilt::Now => so_far.rebuilt += 1,
                    Rebuilt::Before => {}
                    Rebuilt::Not => so_far.left.extend(problems),
                }
            }
            (self.progress)(&so_far);
            if so_far.buckets - before < BUCKETS_PER_READ as u64 {
                return Ok(so_far);
            }
        }
    }
}

/// Whether the problem is one of the rollup, or the reason why the rollup cannot be judged.
fn is_of_rollup(problem: &Problem) -> bool {
    use ProblemKind::{BlockedRollup, FalseRollup, IncompleteRollup, NoRollup, Unreadable};
    matches!(
        problem.kind,
        BlockedRollup | FalseRollup | IncompleteRollup | NoRollup | Unreadable
    )
}

/// Whether a bucket has the rollup of its items.
pub(super) enum Rebuilt {
    /// The rollup was wrong or missing, and has been written.
    Now,
    /// The rollup was right when the bucket was read again.
    Before,
    /// Some item cannot be read, no rollup can hold the values, or writers always changed the
    /// bucket.
    Not,
}

impl Verifier {
    /// Writes the rollup of the bucket's items, unless it is there.
    pub(super) async fn rebuild_rollup(&self, id: &Bson) -> Result<Rebuilt> {
        let server = &self.server;
        for tries in 0..TRIES {
            pause(tries).await;
            let this = [doc! { "$match": { "_id": id } }, command::rows(self.spec)];
            let found = server.target().pipeline(this).read_latest();
            let found = found.rows::<SurveyedBucket>(None).await?;
            let Some(row) = found.first() else {
                return Ok(Rebuilt::Before);
            };
            let look = (self.look)(&row.bucket);
            let Ok(scope) = self.scope(&row.facts) else {
                return Ok(Rebuilt::Not);
            };
            if !look.unreadable.is_empty() {
                return Ok(Rebuilt::Not);
            }
            if self.faults_of_rollup(row, &look).is_empty() {
                return Ok(Rebuilt::Before);
            }
            let items = row.bucket.get(self.spec.items).ok().flatten();
            let items = items.and_then(|items| Bson::try_from(items).ok());
            let (Some(totals), Some(items)) = (self.totals(&look), items) else {
                return Ok(Rebuilt::Not);
            };
            let unchanged = command::match_unchanged(&scope, id, items);
            if document_size(&unchanged) > BYTES_PER_COMMAND {
                return Ok(Rebuilt::Not);
            }
            let update = command::set_rollup(self.spec, &totals, look.newest());
            let target = server.target_of(&scope);
            let changed = target.change_read(unchanged, Some(update), None, None);
            if changed.await? {
                return Ok(Rebuilt::Now);
            }
        }
        Ok(Rebuilt::Not)
    }
}
