//! Repairs whatever needs no guessing.

use mongodb::bson::{Bson, Document};

use super::{BucketProblem as Problem, command, find::Verifier};
use crate::Result;

/// How many buckets one command repairs.
const BUCKETS: usize = 1000;

impl Verifier {
    /// Repairs what needs no guessing.
    pub(crate) async fn repair(&self) -> Result<()> {
        let (mut seals, mut counts) = (Vec::new(), Vec::new());
        for problem in self.of_single_buckets().await? {
            match problem {
                Problem::WrongSeal { bucket } => seals.push(bucket),
                Problem::WrongCount { bucket, .. } => counts.push(bucket),
                _ => {}
            }
        }
        for ids in seals.chunks(BUCKETS) {
            self.mend(command::wrong_seals(ids), command::seal())
                .await?;
        }
        for ids in counts.chunks(BUCKETS) {
            let filter = command::wrong_counts(self.spec, ids);
            self.mend(filter, command::count_anew(self.spec)).await?;
        }
        self.seal_all_but_newest().await
    }

    /// Seals, for each key and window with several open buckets, all but the newest.
    pub(crate) async fn seal_all_but_newest(&self) -> Result<()> {
        for problem in self.several_open().await? {
            if let Problem::SeveralOpen { mut buckets, .. } = problem {
                buckets.pop();
                self.seal_open(&buckets).await?;
            }
        }
        Ok(())
    }

    /// Seals those of these buckets that are open.
    async fn seal_open(&self, ids: &[Bson]) -> Result<()> {
        let filter = command::open_among(self.spec, ids);
        self.mend(filter, command::seal()).await
    }

    async fn mend(&self, filter: Document, pipeline: Vec<Document>) -> Result<()> {
        let mended = self.server.update_many(filter, pipeline, None).await;
        mended
            .map(drop)
            .map_err(|error| self.server.context().write_of_many(error))
    }
}
