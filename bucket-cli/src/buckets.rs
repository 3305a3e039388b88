//! A struct that derives `Bucket`.

use std::io;
use std::marker::PhantomData;
use std::path::Path;

use bucket_runtime::action::CreateCollections;
use bucket_runtime::bson::Document;
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, BucketProblem, RequiredIndex};
use futures_util::future::BoxFuture;
use futures_util::{Stream, TryStreamExt, stream};
use serde_json::json;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter};

use crate::problem::{Problem, ids};
use crate::progress::Progress;
use crate::report::Report;
use crate::stats;
use crate::target::{Call, Failure, Sharding, Target};

pub(crate) struct BucketTarget<T> {
    name: String,
    item: PhantomData<fn() -> T>,
}

impl<T> BucketTarget<T> {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            item: PhantomData,
        }
    }
}

impl<T: Bucket> Target for BucketTarget<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn collections(&self) -> Vec<&'static str> {
        vec![T::SPEC.collection]
    }

    fn indexes(&self) -> Vec<RequiredIndex> {
        T::indexes()
    }

    fn open<'c>(
        &'c self,
        db: &'c Database,
        create: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<()>> {
        Box::pin(async move { T::buckets(db).create_indexes(create).await.map(drop) })
    }

    fn verify<'c>(&'c self, db: &'c Database) -> BoxFuture<'c, bucket_runtime::Result<Report>> {
        Box::pin(async move {
            let found = T::verify(db).await?;
            let read = [("bucket", found.buckets), ("item", found.items)];
            Ok(Report::of_problems(&read, problems(&found.problems)))
        })
    }

    fn repair<'c>(
        &'c self,
        db: &'c Database,
        _delete_orphans: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<Report>> {
        Box::pin(async move {
            let done = T::repair(db).await?;
            Ok(Report::of_repaired(&done.repaired, problems(&done.left)))
        })
    }

    fn stats<'c>(&'c self, db: &'c Database) -> Call<'c> {
        Box::pin(stats::of_buckets(db, const { &T::SPEC }))
    }

    fn create(&self, db: &Database) -> CreateCollections {
        T::create_collection(db)
    }

    fn shard_key(&self, sharding: Sharding) -> String {
        let mut key = T::shard_key();
        match sharding {
            Sharding::Ranged => {}
            Sharding::Hashed => {
                if let Some(first) = key.iter_mut().next() {
                    *first.1 = "hashed".into();
                }
            }
            Sharding::ByWindow => {
                key.insert(T::SPEC.window, 1);
            }
        }
        key.to_string()
    }

    fn change_capacity<'c>(&'c self, db: &'c Database, repack: bool, dry: bool) -> Call<'c> {
        Box::pin(async move {
            if dry {
                let buckets = db.collection::<Document>(T::SPEC.collection);
                let buckets = buckets.estimated_document_count().await?;
                let capacity = T::SPEC.capacity;
                let line = format!("{buckets} buckets would change to capacity {capacity}");
                return Ok(Report::new(
                    line,
                    json!({ "buckets": buckets, "capacity": capacity }),
                ));
            }
            let progress = Progress::of("buckets");
            let change = T::change_capacity(db).repack(repack);
            let done = change.on_progress(|at| progress.set(at.seen)).await?;
            drop(progress);
            let left: Vec<_> = done.left.iter().map(ToString::to_string).collect();
            let line = format!(
                "{} buckets seen, {} of them replaced by {}",
                done.seen, done.replaced, done.written
            );
            let value = json!({
                "seen": done.seen, "replaced": done.replaced, "written": done.written, "left": left,
            });
            let mut report = Report::new(line, value);
            report.is_bad = !left.is_empty();
            report.lines.extend(left);
            Ok(report)
        })
    }

    fn import_flat<'c>(&'c self, db: &'c Database, flat: &'c str, dry: bool) -> Call<'c> {
        Box::pin(async move {
            let flat = db.collection::<Document>(flat);
            if dry {
                let found = flat.estimated_document_count().await?;
                let line = format!("{found} items of {} would be imported", flat.namespace());
                return Ok(Report::new(line, json!({ "found": found })));
            }
            let progress = Progress::of("items");
            let buckets = T::buckets(db).await?;
            let import = buckets.import_flat(&flat);
            let done = import
                .on_progress(|at| progress.set_of(at.stored, at.found))
                .await?;
            drop(progress);
            let line = format!("{} items are in buckets", done.stored);
            Ok(Report::new(
                line,
                json!({ "found": done.found, "stored": done.stored }),
            ))
        })
    }

    fn export<'c>(&'c self, db: &'c Database, file: &'c Path) -> Call<'c> {
        Box::pin(async move {
            let progress = Progress::of("buckets");
            let mut lines = T::buckets(db)
                .create_indexes(false)
                .await?
                .export_all()
                .await?;
            let mut out = BufWriter::new(File::create(file).await?);
            let mut buckets = 0;
            while let Some(line) = lines.try_next().await? {
                out.write_all(line.as_bytes()).await?;
                out.write_all(b"\n").await?;
                buckets += 1;
                progress.set(buckets);
            }
            out.flush().await?;
            out.get_ref().sync_all().await?;
            drop(progress);
            let line = format!("{buckets} buckets are in {}", file.display());
            Ok(Report::new(line, json!({ "buckets": buckets })))
        })
    }

    fn import<'c>(&'c self, db: &'c Database, file: &'c Path, dry: bool) -> Call<'c> {
        Box::pin(async move {
            let lines = lines_of(file).await?;
            if dry {
                let found = lines
                    .try_fold(0_u64, async |found, _| Ok(found + 1))
                    .await?;
                let line = format!("{found} lines would be imported");
                return Ok(Report::new(line, json!({ "lines": found })));
            }
            let progress = Progress::of("buckets");
            let buckets = T::buckets(db).await?;
            let import = buckets.import(lines);
            let done = import
                .on_progress(|at| progress.set(at.buckets + at.already_there))
                .await?;
            drop(progress);
            let line = format!(
                "{} buckets with {} items were stored, {} were there",
                done.buckets, done.items, done.already_there
            );
            let value = json!({
                "buckets": done.buckets, "items": done.items, "already_there": done.already_there,
            });
            Ok(Report::new(line, value))
        })
    }
}

fn problems(problems: &[BucketProblem]) -> Vec<Problem> {
    let told = problems.iter().map(|problem| Problem {
        kind: problem.kind(),
        ids: ids(problem.ids()),
        key: problem.key().map(str::to_owned),
        is_repairable: problem.is_repairable(),
        remedy: problem.remedy(),
        text: problem.to_string(),
    });
    told.collect()
}

/// The lines of a file.
async fn lines_of(file: &Path) -> Result<impl Stream<Item = io::Result<String>> + Send, Failure> {
    let lines = BufReader::new(File::open(file).await?).lines();
    Ok(stream::try_unfold(lines, async |mut lines| {
        Ok(lines.next_line().await?.map(|line| (line, lines)))
    }))
}
