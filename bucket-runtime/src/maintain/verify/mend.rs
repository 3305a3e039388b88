//! Repairs whatever needs no guessing.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document};

use super::{BucketProblem as Problem, command, find::Verifier};
use crate::Result;

/// How many buckets one command repairs.
const BUCKETS: usize = 1000;

impl Verifier {
    /// Repairs what needs no guessing; returns how many problems of each kind it solved.
    pub(crate) async fn repair(&self) -> Result<BTreeMap<&'static str, u64>> {
        let (mut seals, mut counts) = (Vec::new(), Vec::new());
        for problem in self.of_single_buckets().await? {
            match problem {
                Problem::WrongSeal { bucket } => seals.push(bucket),
                Problem::WrongCount { bucket, .. } => counts.push(bucket),
                _ => {}
            }
        }
        let (mut sealed, mut counted) = (0, 0);
        for ids in seals.chunks(BUCKETS) {
            let filter = command::wrong_seals(ids);
            sealed += self.mend(filter, command::seal()).await?;
        }
        for ids in counts.chunks(BUCKETS) {
            let filter = command::wrong_counts(self.spec, ids);
            counted += self.mend(filter, command::count_anew(self.spec)).await?;
        }
        let closed = self.seal_all_but_newest().await?;
        let mut repaired = BTreeMap::from([
            ("WrongSeal", sealed),
            ("WrongCount", counted),
            ("SeveralOpen", closed),
        ]);
        repaired.retain(|_, problems| *problems > 0);
        Ok(repaired)
    }

    /// Seals, for each key and window with several open buckets, all but the newest; returns how many keys
    /// and windows had several.
    pub(crate) async fn seal_all_but_newest(&self) -> Result<u64> {
        let mut closed = 0;
        for problem in self.several_open().await? {
            if let Problem::SeveralOpen { mut buckets, .. } = problem {
                buckets.pop();
                self.seal_open(&buckets).await?;
                closed += 1;
            }
        }
        Ok(closed)
    }

    /// Seals those of these buckets that are open.
    async fn seal_open(&self, ids: &[Bson]) -> Result<()> {
        let filter = command::open_among(self.spec, ids);
        self.mend(filter, command::seal()).await.map(drop)
    }

    /// Carries out a correction; returns how many buckets it changed.
    async fn mend(&self, filter: Document, pipeline: Vec<Document>) -> Result<u64> {
        let mended = self.server.update_many(filter, pipeline, None).await;
        mended.map_err(|error| self.server.context().write_of_many(error))
    }
}
