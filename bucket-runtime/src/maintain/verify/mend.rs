//! Mending what can be mended without guessing.

use mongodb::bson::{Bson, Document};

use super::{BucketProblem as Problem, command, find::Verifier};
use crate::{Error, Result};

/// How many buckets one command mends.
const BUCKETS: usize = 1000;

impl Verifier {
    /// Mends, and gives what is left.
    pub(super) async fn repair(&self) -> Result<Vec<Problem>> {
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
        self.seal_all_but_newest().await?;
        self.problems().await
    }

    /// Seals the open buckets of each key, and window, that has several, but for the newest.
    pub(crate) async fn seal_all_but_newest(&self) -> Result<()> {
        for problem in self.several_open().await? {
            if let Problem::SeveralOpen { mut buckets, .. } = problem {
                buckets.pop();
                self.seal_open(&buckets).await?;
            }
        }
        Ok(())
    }

    /// Seals these buckets, as far as they are open.
    async fn seal_open(&self, ids: &[Bson]) -> Result<()> {
        let filter = command::open_among(self.spec, ids);
        self.mend(filter, command::seal()).await
    }

    async fn mend(&self, filter: Document, pipeline: Vec<Document>) -> Result<()> {
        let mended = self.server.update_many(filter, pipeline, None).await;
        mended
            .map(drop)
            .map_err(|error| Error::write_of_many(error, self.server.name()))
    }
}
