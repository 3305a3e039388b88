//! Finds the buckets to rewrite.

use super::{CapacityProgress, run::Run, write::Rewrite};
use crate::{
    Bucket, Error, Result,
    error::{Kind, is_aborted},
    maintain::verify::{BucketFacts, Verifier, page_after, verifier},
    protocol::command::{IndexedScope, KeyScope},
    schema::open_index::OpenIndex,
    server::{Server, transaction},
};

/// How many buckets one command reads.
const BUCKETS_PER_READ: usize = 1000;

/// A pass over all buckets in the order of their ids, in which the buckets of a key, and of a window,
/// follow each other.
pub(super) struct Survey<'p, T> {
    server: Server,
    verifier: Verifier,
    open: OpenIndex,
    repack: bool,
    report: Box<dyn FnMut(&CapacityProgress) + Send + 'p>,
    pub(super) progress: CapacityProgress,
    item: std::marker::PhantomData<fn() -> T>,
}

/// The findings about a key, or about one of its windows.
struct KeyFindings {
    scope: IndexedScope,
    /// The first bucket that is not full.
    first: Option<String>,
    /// Whether some bucket is not densely packed: too full, sealed with room left, or followed by
    /// another one that is not full.
    loose: bool,
    overfull: Vec<String>,
}

impl<'p, T: Bucket> Survey<'p, T> {
    pub(super) fn new(
        server: Server,
        open: OpenIndex,
        repack: bool,
        report: Box<dyn FnMut(&CapacityProgress) + Send + 'p>,
    ) -> Self {
        Self {
            verifier: verifier::<T>(server.collection().clone()),
            server,
            open,
            repack,
            report,
            progress: CapacityProgress::default(),
            item: std::marker::PhantomData,
        }
    }

    pub(super) async fn run(&mut self) -> Result<()> {
        let mut key: Option<KeyFindings> = None;
        let mut at = String::new();
        loop {
            let page = page_after(&at, BUCKETS_PER_READ);
            let page = self.verifier.facts(page).await?;
            let is_last = page.len() < BUCKETS_PER_READ;
            self.progress.seen += page.len() as u64;
            for facts in page {
                facts.id.as_str().unwrap_or_default().clone_into(&mut at);
                // `verify` lists documents that are not buckets.
                let Ok(scope) = self.verifier.scope(&facts) else {
                    continue;
                };
                if !self.verifier.is_own_id(&scope, &facts) {
                    continue;
                }
                if (key.as_ref()).is_none_or(|key| key.scope.prefix != scope.prefix)
                    && let Some(last) = key.replace(KeyFindings::new(scope, self.open))
                {
                    self.rewrite(last).await?;
                }
                if let Some(key) = &mut key {
                    key.add(&at, &facts);
                }
            }
            if is_last {
                if let Some(last) = key {
                    self.rewrite(last).await?;
                }
                (self.report)(&self.progress);
                return Ok(());
            }
        }
    }

    /// Rewrites the buckets of a key that need it, run by run.
    async fn rewrite(&mut self, key: KeyFindings) -> Result<()> {
        let starts = match self.repack {
            true => Vec::from_iter(key.first.filter(|_| key.loose)),
            false => key.overfull,
        };
        let mut behind = String::new();
        for start in starts {
            let mut next = (start > behind).then_some(start);
            while let Some(from) = next {
                let run = Run {
                    scope: key.scope.clone(),
                    from,
                    repack: self.repack,
                };
                let rewritten =
                    transaction::run(&self.server, Rewrite::<T>::new(&self.server, run));
                match rewritten.await {
                    Ok(done) => {
                        self.progress.replaced += done.replaced;
                        self.progress.written += done.written;
                        (self.report)(&self.progress);
                        behind = done.last;
                        next = done.next.filter(|_| self.repack);
                    }
                    Err(error) if concerns_key(&error) => {
                        self.progress.left.push(error);
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

impl KeyFindings {
    fn new(key: KeyScope, open: OpenIndex) -> Self {
        Self {
            scope: key.by(open),
            first: None,
            loose: false,
            overfull: Vec::new(),
        }
    }

    fn add(&mut self, id: &str, facts: &BucketFacts) {
        // A bucket after one that is not full means loose packing.
        self.loose |= self.first.is_some();
        let items = facts.items.unwrap_or(0);
        if items == self.scope.open.capacity {
            return;
        }
        if items > self.scope.open.capacity {
            self.overfull.push(id.to_owned());
            self.loose = true;
        }
        self.loose |= facts.own_seal.is_some();
        self.first.get_or_insert_with(|| id.to_owned());
    }
}

/// Whether the error affects this key alone.
fn concerns_key(error: &Error) -> bool {
    error.is_deserialize()
        || error.is_out_of_range()
        || error.is_sum_overflow()
        || error.is(&Kind::KeyTooLarge)
        || error.driver().is_some_and(is_aborted)
}
