//! Repairs whatever needs no guessing.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document};

use super::{BucketProblem as Problem, command, find::Verifier, rebuild::Rebuilt};
use crate::Result;

/// How many buckets one command repairs.
const BUCKETS_PER_COMMAND: usize = 1000;

/// How many problems of each kind were repaired, and how many `Empty` buckets were deleted.
pub(crate) type Repaired = BTreeMap<&'static str, u64>;

impl Verifier {
    /// Repairs what needs no guessing.
    pub(crate) async fn repair(&self) -> Result<Repaired> {
        let (mut seals, mut counts) = (Vec::new(), Vec::new());
        let mut rollups: Vec<(Bson, Vec<&'static str>)> = Vec::new();
        for problem in self.check_buckets().await?.problems {
            let kind = problem.kind();
            match problem {
                Problem::WrongSeal { bucket, .. } => seals.push(bucket),
                Problem::WrongCount { bucket, .. } => counts.push(bucket),
                Problem::IncompleteRollup { bucket, .. }
                | Problem::FalseRollup { bucket, .. }
                | Problem::BlockedRollup { bucket, .. } => match rollups.last_mut() {
                    Some((last, kinds)) if *last == bucket => kinds.push(kind),
                    _ => rollups.push((bucket, vec![kind])),
                },
                _ => {}
            }
        }
        let mut repaired = Repaired::new();
        let mut add = |kind, n| {
            if n > 0 {
                *repaired.entry(kind).or_default() += n;
            }
        };
        for ids in seals.chunks(BUCKETS_PER_COMMAND) {
            let filter = command::match_wrong_seals(ids);
            add("WrongSeal", self.update(filter, command::seal()).await?);
        }
        for ids in counts.chunks(BUCKETS_PER_COMMAND) {
            let filter = command::match_wrong_counts(self.spec, ids);
            let corrected = self
                .update(filter, command::correct_count(self.spec))
                .await?;
            add("WrongCount", corrected);
        }
        add("SeveralOpen", self.seal_all_but_newest().await?);
        add("OpenBeforeLast", self.seal_before_last().await?);
        let empty = command::empty_buckets(self.spec);
        add(
            "Empty",
            self.server.target().delete_many(empty, None).await?,
        );
        for (bucket, kinds) in rollups {
            if let Rebuilt::Now = self.rebuild_rollup(&bucket).await? {
                kinds.into_iter().for_each(|kind| add(kind, 1));
            }
        }
        Ok(repaired)
    }

    /// Seals, for each key and window with several open buckets, all but the newest. Returns how many keys
    /// and windows had several.
    pub(crate) async fn seal_all_but_newest(&self) -> Result<u64> {
        let mut sealed = 0;
        for problem in self.find_several_open().await? {
            if let Problem::SeveralOpen { mut buckets, .. } = problem {
                buckets.pop();
                sealed += u64::from(self.seal_open(&buckets).await? > 0);
            }
        }
        Ok(sealed)
    }

    /// Seals the buckets that are open before the last one of their key, and returns how many there were.
    async fn seal_before_last(&self) -> Result<u64> {
        if !self.is_last_open {
            return Ok(0);
        }
        let found = self.find_out_of_order().await?.into_iter();
        let open = found.filter_map(|problem| match problem {
            Problem::OpenBeforeLast { bucket, .. } => Some(bucket),
            _ => None,
        });
        self.seal_open(&open.collect::<Vec<_>>()).await
    }

    /// Seals those of these buckets that are open, and returns how many there were.
    async fn seal_open(&self, ids: &[Bson]) -> Result<u64> {
        let mut sealed = 0;
        for ids in ids.chunks(BUCKETS_PER_COMMAND) {
            let filter = command::match_open(self.spec, ids);
            sealed += self.update(filter, command::seal()).await?;
        }
        Ok(sealed)
    }

    /// Updates the buckets that match, and returns how many changed.
    async fn update(&self, filter: Document, pipeline: Vec<Document>) -> Result<u64> {
        let target = self.server.target();
        target.update_many(filter, pipeline).await
    }
}
