//! Repairs whatever needs no guessing.

use std::collections::BTreeMap;

use bucket_runtime::Result;
use mongodb::bson::{Bson, Document};

use super::{Problem, ProblemKind as Kind, command, find::Verifier, rebuild::Rebuilt};

/// How many buckets one command repairs.
const BUCKETS_PER_COMMAND: usize = 1000;

/// How many problems of each kind were repaired.
pub(crate) type Repaired = BTreeMap<Kind, u64>;

impl Verifier {
    /// Repairs what needs no guessing.
    pub(crate) async fn repair(&self) -> Result<Repaired> {
        let (mut seals, mut counts) = (Vec::new(), Vec::new());
        let mut rollups: Vec<(Bson, Vec<Kind>)> = Vec::new();
        for problem in self.check_buckets().await?.problems {
            let Problem { kind, ids, .. } = problem;
            match kind {
                Kind::WrongSeal => seals.extend(ids),
                Kind::WrongCount => counts.extend(ids),
                Kind::IncompleteRollup | Kind::FalseRollup | Kind::BlockedRollup => {
                    match rollups.last_mut().filter(|(last, _)| ids.contains(last)) {
                        Some((_, kinds)) => kinds.push(kind),
                        None => rollups.extend(ids.into_iter().map(|bucket| (bucket, vec![kind]))),
                    }
                }
                _ => {}
            }
        }
        let mut repaired = Repaired::new();
        let mut add = |kind, n| {
            if n > 0 {
                bucket_core::reached!("repaired in buckets: {kind:?}");
                *repaired.entry(kind).or_default() += n;
            }
        };
        for ids in seals.chunks(BUCKETS_PER_COMMAND) {
            let filter = command::match_wrong_seals(ids);
            add(Kind::WrongSeal, self.update(filter, command::seal()).await?);
        }
        for ids in counts.chunks(BUCKETS_PER_COMMAND) {
            let filter = command::match_wrong_counts(self.spec, ids);
            let corrected = self
                .update(filter, command::correct_count(self.spec))
                .await?;
            add(Kind::WrongCount, corrected);
        }
        add(Kind::SeveralOpen, self.seal_all_but_newest().await?);
        add(Kind::OpenBeforeLast, self.seal_before_last().await?);
        let empty = command::empty_buckets(self.spec);
        add(
            Kind::Empty,
            self.server.target().delete_many(empty, None).await?,
        );
        for (bucket, kinds) in rollups {
            if let Rebuilt::Now = self.rebuild_rollup(&bucket).await? {
                kinds.into_iter().for_each(|kind| add(kind, 1));
            }
        }
        Ok(repaired)
    }

    /// Seals, for each key and window with several open buckets, all but the newest. Returns how
    /// many keys and windows had several.
    pub(crate) async fn seal_all_but_newest(&self) -> Result<u64> {
        let mut sealed = 0;
        for problem in self.find_several_open().await? {
            if let [older @ .., _newest] = &problem.ids[..] {
                sealed += u64::from(self.seal_open(older).await? > 0);
            }
        }
        Ok(sealed)
    }

    /// Seals the buckets that are open before the last one of their key, and returns how many there
    /// were.
    async fn seal_before_last(&self) -> Result<u64> {
        if !self.spec.are_extras {
            return Ok(0);
        }
        let found = self.find_out_of_order().await?.into_iter();
        let open = found.filter(|problem| problem.kind == Kind::OpenBeforeLast);
        let open = Vec::from_iter(open.flat_map(|problem| problem.ids));
        self.seal_open(&open).await
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
