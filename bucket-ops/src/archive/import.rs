//! Stores the buckets of an export again.

use std::{marker::PhantomData, pin::Pin};

use bucket_core::{
    error::Kind,
    server::Server,
    value::element::{Refusal, document_size},
};
use bucket_runtime::{
    __ops::{COMMAND_BYTES, Engine, open},
    Bucket, Result,
};
use futures_util::stream::{Stream, StreamExt};
use mongodb::bson::{DateTime, RawDocumentBuf};

use super::{
    line::Archived,
    put_back::{LineOutcome, put_back},
    refused_line::RefusedLine,
    stored_fields,
};

/// How many buckets a command inserts at most.
const BUCKETS_PER_COMMAND: usize = 1000;

/// How many refused lines are listed at most, since memory is bounded.
const MAX_LISTED: usize = 10_000;

/// The lines of an import.
type Lines<'l> = Pin<Box<dyn Stream<Item = Result<String, Refusal>> + Send + 'l>>;

/// The progress, or the result, of an [`import`](crate::Ops::import).
#[must_use = "lines that were not taken are in `refused`"]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// How many buckets were stored.
    pub buckets: u64,
    /// How many items these hold.
    pub items: u64,
    /// How many lines had all their items there before.
    pub already_there: u64,
    /// The lines that were not taken: the first 10,000.
    pub refused: Vec<RefusedLine>,
    /// How many lines were not taken.
    pub refused_lines: u64,
}

impl Imported {
    /// How many lines were read, without empty ones.
    pub fn lines(&self) -> u64 {
        self.buckets + self.already_there + self.refused_lines
    }

    fn count(&mut self, outcome: LineOutcome) {
        match outcome {
            LineOutcome::Stored(items) => {
                self.buckets += 1;
                self.items += items as u64;
            }
            LineOutcome::AlreadyThere => self.already_there += 1,
            LineOutcome::Refused(line) => {
                self.refused_lines += 1;
                if self.refused.len() < MAX_LISTED {
                    self.refused.push(line);
                }
            }
        }
    }
}

/// Builder of an import: await it; see [`Ops::import`](crate::Ops::import).
#[must_use = "nothing is imported until this is awaited"]
pub struct Import<'l, T> {
    server: Server,
    lines: Lines<'l>,
    expired: bool,
    progress: ReportImported<'l>,
    item: PhantomData<fn() -> T>,
}

impl<'l, T: Bucket> Import<'l, T> {
    pub(crate) fn new<E: Into<Refusal>>(
        server: Server,
        lines: impl Stream<Item = Result<String, E>> + Send + 'l,
    ) -> Self {
        Self {
            server,
            lines: Box::pin(lines.map(|line| line.map_err(Into::into))),
            expired: false,
            progress: Box::new(|_| ()),
            item: PhantomData,
        }
    }

    /// Whether to take lines whose items are all older than
    /// [`expire_after`](macro@bucket_runtime::Bucket#expire_after) too. The server removes these
    /// within about a minute. The default is `false`.
    pub fn expired(mut self, expired: bool) -> Self {
        self.expired = expired;
        self
    }

    /// Calls this after each command.
    pub fn on_progress(mut self, progress: impl FnMut(&Imported) + Send + 'l) -> Self {
        self.progress = Box::new(progress);
        self
    }

    pub(crate) async fn execute(self) -> Result<Imported> {
        let Self {
            server,
            mut lines,
            expired,
            progress,
            ..
        } = self;
        let engine = open::<T>(server, false).await?;
        #[expect(clippy::disallowed_methods, reason = "only leaves lines out")]
        let limit = T::SPEC.expire_after.filter(|_| !expired).map(|seconds| {
            let now = DateTime::now().timestamp_millis();
            DateTime::from_millis(now - i64::from(seconds) * 1000)
        });
        let mut importer = Importer::<T>::new(engine, progress);
        let mut number = 0;
        let mut before: Option<Archived> = None;
        while let Some(line) = lines.next().await {
            number += 1;
            let line = line.map_err(|refusal| {
                let target = importer.engine.server.target();
                target.error(Kind::Line(number)).with_source(refusal)
            })?;
            if line.trim().is_empty() {
                continue;
            }
            let open = importer.engine.open;
            let bucket = match Archived::read::<T>(number, &line, open, limit) {
                Ok(bucket) => bucket,
                Err(refused) => {
                    importer.done.count(LineOutcome::Refused(refused));
                    continue;
                }
            };
            if let Some(mut before) = before.take() {
                if before.shares_open_bucket(&bucket) && before.has_room() {
                    stored_fields::seal(&mut before.document);
                }
                importer.push(before).await?;
            }
            before = Some(bucket);
        }
        if let Some(last) = before {
            importer.push(last).await?;
        }
        importer.flush().await?;
        Ok(importer.done)
    }
}

/// The collection that buckets are imported into.
struct Importer<'l, T> {
    engine: Engine,
    /// The buckets for the next command, and their bytes.
    buckets: Vec<Archived>,
    bytes: usize,
    done: Imported,
    progress: ReportImported<'l>,
    item: PhantomData<fn() -> T>,
}

type ReportImported<'p> = Box<dyn FnMut(&Imported) + Send + 'p>;

impl<'l, T: Bucket> Importer<'l, T> {
    fn new(engine: Engine, progress: ReportImported<'l>) -> Self {
        Self {
            engine,
            buckets: Vec::new(),
            bytes: 0,
            done: Imported::default(),
            progress,
            item: PhantomData,
        }
    }

    async fn push(&mut self, mut bucket: Archived) -> Result<()> {
        // An open bucket before a newer one would take the next append out of order. The bucket of
        // a time window stays open, since its items belong there.
        if T::SPEC.window_name().is_none()
            && bucket.has_room()
            && has_newer(&self.engine, &bucket).await?
        {
            stored_fields::seal(&mut bucket.document);
        }
        let size = document_size(&bucket.document);
        if self.buckets.len() == BUCKETS_PER_COMMAND || self.bytes + size > COMMAND_BYTES {
            self.flush().await?;
        }
        self.bytes += size;
        self.buckets.push(bucket);
        Ok(())
    }

    /// Stores what has been pushed.
    async fn flush(&mut self) -> Result<()> {
        let buckets = std::mem::take(&mut self.buckets);
        self.bytes = 0;
        if buckets.is_empty() {
            return Ok(());
        }
        let server = &self.engine.server;
        let sent = async {
            let documents = (buckets.iter()).map(|one| RawDocumentBuf::try_from(&one.document));
            let documents = documents.collect::<Result<Vec<_>, _>>()?;
            server.insert_all(&documents, false).await
        };
        let results = sent
            .await
            .map_err(|error| server.target().write_of_many_error(error))?;
        for (bucket, result) in buckets.into_iter().zip(results) {
            let outcome = match result {
                Ok(()) => LineOutcome::Stored(bucket.items),
                Err(_) => put_back(&self.engine, bucket).await?,
            };
            self.done.count(outcome);
        }
        (self.progress)(&self.done);
        Ok(())
    }
}

async fn has_newer(engine: &Engine, bucket: &Archived) -> Result<bool> {
    let (server, scope) = (&engine.server, &bucket.scope);
    let last = server.last_id(scope, scope.ids(), None).await?;
    Ok(last.is_some_and(|last| *bucket.id < *last))
}
