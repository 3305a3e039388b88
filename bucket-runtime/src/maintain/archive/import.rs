//! Stores the buckets of an export again.

use std::{marker::PhantomData, pin::Pin};

use futures_util::stream::{Stream, StreamExt};
use mongodb::{
    bson::{Bson, Document, doc},
    error::Error as DriverError,
};

use crate::{
    Bucket, Buckets, Result,
    error::{Code, Kind, duplicate_index, is_code},
    protocol::command::KeyScope,
    schema::{
        key::Key,
        names::{OPEN_INDEX, SEALED},
    },
    server::call,
    value::{
        bytes,
        element::{comparable, document_size, whole},
        json,
        stored_bucket::StoredBucket,
    },
    write::engine::{COMMAND_BYTES, Engine},
};

/// How many buckets a command inserts at most.
const BUCKETS: usize = 1000;

/// Why a line cannot be taken.
type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// The lines of an import.
type Lines<'l> = Pin<Box<dyn Stream<Item = Result<String, Refusal>> + Send + 'l>>;

impl<T: Bucket> Buckets<T> {
    /// Stores the buckets of an [`export`](Self::export) again, from lines of extended JSON: as they were,
    /// with their ids. Memory is bounded.
    ///
    /// It can be repeated: a bucket that is there already stays as it is, also if items were appended to it
    /// since. So after an error, or after the program was killed, import all lines again. Appends may go on
    /// meanwhile. A bucket that has room while its key has a newer or another open one is sealed.
    ///
    /// One round trip for each thousand buckets, one more for each bucket that has room, and one or two for
    /// each that is there. A dropped future leaves some buckets stored and others not.
    ///
    /// # Errors
    ///
    /// [`is_deserialize`](crate::Error::is_deserialize) for a line that is not a bucket of the struct, with
    /// its number; [`is_bucket_taken`](crate::Error::is_bucket_taken) if the collection has another bucket
    /// with the same id; [`is_duplicate`](crate::Error::is_duplicate) if another bucket of the key holds an
    /// item with the same `unique` value; or the driver's. The error of reading a line is the
    /// [source](std::error::Error::source).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io::{BufRead, BufReader};
    /// use futures_util::stream;
    ///
    /// let file = BufReader::new(std::fs::File::open("alice.jsonl")?);
    /// let imported = trades.import(stream::iter(file.lines())).await?;
    /// println!("{} trades in {} buckets", imported.items, imported.buckets);
    /// # Ok(())
    /// # }
    /// ```
    pub fn import<'l, E: Into<Refusal>>(
        &self,
        lines: impl Stream<Item = Result<String, E>> + Send + 'l,
    ) -> Import<'l, T> {
        Import {
            engine: self.writer.engine.clone(),
            lines: Box::pin(lines.map(|line| line.map_err(Into::into))),
            progress: Box::new(|_| ()),
            item: PhantomData,
        }
    }
}

/// The progress, or the result, of an [`import`](crate::Buckets::import).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// How many buckets were stored.
    pub buckets: u64,
    /// How many items these hold.
    pub items: u64,
    /// How many buckets were there before.
    pub already_there: u64,
}

/// Builder of an import: await it; see [`Buckets::import`].
#[must_use = "nothing is imported until this is awaited"]
pub struct Import<'l, T> {
    engine: Engine,
    lines: Lines<'l>,
    progress: Progress<'l>,
    item: PhantomData<fn() -> T>,
}

impl<'l, T: Bucket> Import<'l, T> {
    /// Calls this after each command.
    pub fn on_progress(mut self, progress: impl FnMut(Imported) + Send + 'l) -> Self {
        self.progress = Box::new(progress);
        self
    }

    pub(crate) async fn execute(self) -> Result<Imported> {
        let Self {
            engine,
            mut lines,
            mut progress,
            ..
        } = self;
        let mut target = Target::<T>::new(engine);
        let mut number = 0;
        let mut before: Option<Archived> = None;
        while let Some(line) = lines.next().await {
            number += 1;
            let bucket = line.and_then(|line| match line.trim().is_empty() {
                true => Ok(None),
                false => Archived::read::<T>(&line).map(Some),
            });
            let bucket = bucket.map_err(|refusal| {
                let context = target.engine.server.context();
                context.kind(Kind::Line(number)).with_source(refusal)
            })?;
            let Some(bucket) = bucket else {
                continue;
            };
            if let Some(mut before) = before.take() {
                if before.is_beside::<T>(&bucket) && before.has_room::<T>() {
                    seal(&mut before.document);
                }
                target.push(before, &mut progress).await?;
            }
            before = Some(bucket);
        }
        if let Some(last) = before {
            target.push(last, &mut progress).await?;
        }
        target.flush(&mut progress).await?;
        call::items(target.done.items as usize);
        Ok(target.done)
    }
}

/// The collection that buckets are imported into.
struct Target<T> {
    engine: Engine,
    /// The buckets for the next command, and their bytes.
    buckets: Vec<Document>,
    bytes: usize,
    done: Imported,
    item: PhantomData<fn() -> T>,
}

type Progress<'p> = Box<dyn FnMut(Imported) + Send + 'p>;

impl<T: Bucket> Target<T> {
    fn new(engine: Engine) -> Self {
        Self {
            engine,
            buckets: Vec::new(),
            bytes: 0,
            done: Imported::default(),
            item: PhantomData,
        }
    }

    async fn push(&mut self, mut bucket: Archived, progress: &mut Progress<'_>) -> Result<()> {
        // Otherwise the next append would go before the newer one. The bucket of a time window stays
        // open, since its items belong there.
        if T::SPEC.window_name().is_none()
            && bucket.has_room::<T>()
            && self.has_newer(&bucket).await?
        {
            seal(&mut bucket.document);
        }
        let size = document_size(&bucket.document);
        if self.buckets.len() == BUCKETS || self.bytes + size > COMMAND_BYTES {
            self.flush(progress).await?;
        }
        self.bytes += size;
        self.buckets.push(bucket.document);
        Ok(())
    }

    async fn has_newer(&self, bucket: &Archived) -> Result<bool> {
        let (server, scope) = (&self.engine.server, &bucket.scope);
        let last = server.last_id(scope, scope.ids(), None).await;
        let last = last.map_err(|error| server.context_of(scope).read(error))?;
        Ok(last.is_some_and(|last| *bucket.id < *last))
    }

    /// Stores what has been pushed.
    async fn flush(&mut self, progress: &mut Progress<'_>) -> Result<()> {
        let buckets = std::mem::take(&mut self.buckets);
        self.bytes = 0;
        if buckets.is_empty() {
            return Ok(());
        }
        let server = &self.engine.server;
        let results = server.insert_all(&buckets, false).await;
        let results = results.map_err(|error| server.context().write_of_many(error))?;
        for (bucket, result) in buckets.into_iter().zip(results) {
            let items = bucket.get_array(T::SPEC.items).map_or(0, Vec::len);
            let is_new = match result {
                Ok(()) => true,
                Err(error) => self.settle(bucket, error).await?,
            };
            match is_new {
                true => {
                    self.done.buckets += 1;
                    self.done.items += items as u64;
                }
                false => self.done.already_there += 1,
            }
        }
        progress(self.done);
        Ok(())
    }

    /// Stores a bucket that was refused, unless it is there already; returns whether it is new.
    async fn settle(&self, mut bucket: Document, mut error: DriverError) -> Result<bool> {
        let server = &self.engine.server;
        if duplicate_index(&error) == Some(OPEN_INDEX) {
            seal(&mut bucket);
            let again = server.insert_all(std::slice::from_ref(&bucket), true).await;
            let again = again.map_err(|error| server.context().write(error))?;
            match again.into_iter().find_map(Result::err) {
                None => return Ok(true),
                Some(refused) => error = refused,
            }
        }
        // A bucket that is there may be refused by any of its indexes.
        if !is_code(&error, Code::DuplicateKey) {
            return Err(server.context().write(error));
        }
        let id = bucket.get("_id").cloned().unwrap_or(Bson::Null);
        let found = server.find_one(doc! { "_id": id.clone() }, None).await;
        let found = found.map_err(|error| server.context().read(error))?;
        match found {
            Some(found) if continues::<T>(&found, &bucket) => Ok(false),
            Some(_) => {
                let id = id.as_str().unwrap_or_default().to_owned();
                Err(server.context().kind(Kind::BucketTaken(id)))
            }
            None => Err(server.context().write(error)),
        }
    }
}

/// A bucket of a line.
struct Archived {
    document: Document,
    id: String,
    scope: KeyScope,
}

impl Archived {
    /// Reads a line as a bucket of the struct.
    fn read<T: Bucket>(line: &str) -> Result<Self, Refusal> {
        let document = json::read(line)?;
        let stored: StoredBucket<T> = bytes::read(&bytes::write(&document)?)?;
        let scope = KeyScope::new(const { &T::SPEC }, T::Key::parts(stored.key.borrowed()));
        let items = stored.elements.len();
        if !scope.holds(&stored) {
            return Err(format!("its _id {:?} is not one of its key's", stored.id).into());
        }
        if document.get(T::SPEC.count).and_then(whole) != i64::try_from(items).ok() {
            return Err(format!("its count is not the number of its items, {items}").into());
        }
        if items > T::SPEC.capacity as usize {
            return Err(format!("it holds {items} items, more than the capacity").into());
        }
        Ok(Self {
            document,
            id: stored.id,
            scope,
        })
    }

    fn has_room<T: Bucket>(&self) -> bool {
        let count = self.document.get(T::SPEC.count).and_then(whole);
        !self.document.contains_key(SEALED) && count < Some(T::SPEC.capacity.into())
    }

    /// Whether only one of the two may be open.
    fn is_beside<T: Bucket>(&self, other: &Self) -> bool {
        let window = |archived: &Self| archived.document.get(T::SPEC.window_name()?).cloned();
        self.scope.prefix == other.scope.prefix && window(self) == window(other)
    }
}

fn seal(bucket: &mut Document) {
    if let Some(id) = bucket.get("_id").cloned() {
        bucket.insert(SEALED, id);
    }
}

/// Whether a stored bucket holds what another one held, and perhaps further items.
fn continues<T: Bucket>(stored: &Document, before: &Document) -> bool {
    let items = |bucket: &Document| {
        let items = bucket.get_array(T::SPEC.items).cloned().unwrap_or_default();
        Vec::from_iter(items.iter().map(comparable))
    };
    let key = |bucket: &Document| {
        let names = T::SPEC.key_names();
        Vec::from_iter(names.map(|name| bucket.get(name).map(comparable)))
    };
    key(stored) == key(before) && items(stored).starts_with(&items(before))
}
