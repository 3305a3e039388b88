//! `export` writes buckets to a file.

use std::path::{Path, PathBuf};

use bucket_advise::__private::{Progress, counted};
use bucket_ops::{Ops, action::Export as ExportBuckets};
use bucket_runtime::bson::oid::ObjectId;
use bucket_runtime::bson::{Bson, DateTime, Uuid};
use bucket_runtime::{Bucket, Field, Filter, Key, field};
use clap::Args;
use futures_util::TryStreamExt;
use serde_json::json;
use tokio::fs::{self, File};
use tokio::io::{AsyncWriteExt, BufWriter};

use super::{Failure, Outcome, Site, Verb};
use crate::arguments::OneStruct;
use crate::report::Report;

/// Write all buckets as lines of extended JSON
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(super) structs: OneStruct,
    /// The file to write
    file: PathBuf,
    /// The key to export: one for each key field, in order; all keys if none is given
    #[arg(long = "key", value_name = "FIELD")]
    key: Vec<String>,
    /// Only buckets that hold an item before this time, such as 2026-01-31T00:00:00Z
    #[arg(long)]
    before: Option<String>,
    /// The stored name of the field that holds an item's time; needed where buckets are numbered
    #[arg(long = "time", value_name = "NAME", requires = "before")]
    time: Option<String>,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
}

impl Verb for Export {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let file = self.file.display();
        if !self.overwrite && fs::try_exists(&self.file).await? {
            let taken = format!("{file} exists; name another file, or add `--overwrite`");
            return Err(taken.into());
        }
        let key = key::<T>(&self.key)?;
        // An error if the collection is not the struct's.
        T::buckets(site.db).create_indexes(false).await?;
        let ops = Ops::<T>::of(site.db);
        let mut export = match &key {
            Some(key) => ops.export(key.borrowed()),
            None => ops.export_all(),
        };
        if let Some(time) = &self.before {
            export = export.holding(before(time, self.time.as_deref())?);
        }
        let buckets = write(export, &self.file).await?;
        let line = format!("{} in {file}", counted(buckets, "bucket"));
        Ok(Report::new(line, json!({ "buckets": buckets })))
    }
}

/// Writes the file, and counts its lines. A name beside the file's holds it until it is whole.
async fn write<T: Bucket>(export: ExportBuckets<'_, T>, file: &Path) -> Result<u64, Failure> {
    let mut lines = export.await?;
    let progress = Progress::of("buckets");
    let mut half = file.as_os_str().to_owned();
    half.push(".part");
    let mut out = BufWriter::new(File::create(&half).await?);
    let mut buckets = 0;
    while let Some(line) = lines.try_next().await? {
        out.write_all(line.as_bytes()).await?;
        out.write_all(b"\n").await?;
        buckets += 1;
        progress.set(buckets);
    }
    out.flush().await?;
    out.get_ref().sync_all().await?;
    fs::rename(&half, file).await?;
    Ok(buckets)
}

/// The key with these texts, if there are any.
fn key<T: Bucket>(texts: &[String]) -> Result<Option<T::Key>, Failure> {
    if texts.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = T::SPEC.key.iter().map(|field| field.name).collect();
    if names.len() != texts.len() {
        let names = names.join("`, `--key` for `");
        return Err(format!("give each key field: `--key` for `{names}`").into());
    }
    let mut values: Vec<Bson> = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        let fits = |value: &Bson| {
            let all = values.iter().cloned().chain([value.clone()]);
            match T::Key::from_values(all.collect()) {
                Ok(key) => T::Key::parts(key.borrowed())[n].text == *text,
                Err(field) => field > n,
            }
        };
        let value = candidates(text).into_iter().find(fits);
        values.push(value.ok_or_else(|| format!("{text:?} is not a value of `{}`", names[n]))?);
    }
    T::Key::from_values(values)
        .map(Some)
        .map_err(|field| format!("{:?} is not a value of `{}`", texts[field], names[field]).into())
}

/// The values that a text may stand for; the key field's type takes one of them.
fn candidates(text: &str) -> Vec<Bson> {
    let mut values = vec![Bson::String(text.to_owned())];
    values.extend(text.parse().ok().map(Bson::Int64));
    values.extend(text.parse().ok().map(Bson::Decimal128));
    values.extend(text.parse().ok().map(Bson::Boolean));
    values.extend(ObjectId::parse_str(text).ok().map(Bson::ObjectId));
    values.extend(Uuid::parse_str(text).ok().map(Bson::from));
    values
}

/// The condition that an item is older: by the field with this name, or by that of the ordinal.
fn before<T: Bucket>(time: &str, name: Option<&str>) -> Result<Filter<T>, Failure> {
    let time = DateTime::parse_rfc3339_str(time)
        .map_err(|_| format!("{time:?} is not a time such as 2026-01-31T00:00:00Z"))?;
    let name = match name {
        None => T::SPEC.time.ok_or(
            "numbered buckets have no time of their own; name the field of their items with `--time`",
        )?,
        Some(name) => {
            let fields = T::SPEC.fields.unwrap_or_default().iter().chain(&T::SPEC.time);
            let found = fields.copied().find(|field| *field == name);
            found.ok_or_else(|| format!("{name:?} is not the stored name of a field of the items"))?
        }
    };
    Ok(Field::<T, DateTime, field::Date>::date(name).lt(time))
}
