//! `import` stores exported buckets again.

use std::io;
use std::path::{Path, PathBuf};

use bucket_advise::__private::{Progress, counted};
use bucket_ops::Ops;
use bucket_runtime::Bucket;
use clap::Args;
use futures_util::{Stream, TryStreamExt, stream};
use serde_json::json;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::{Failure, Outcome, Site, Verb};
use crate::arguments::{Dry, OneStruct};
use crate::report::Report;

/// Store exported buckets again
#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(flatten)]
    pub(super) structs: OneStruct,
    /// The file with the lines
    file: PathBuf,
    #[command(flatten)]
    dry: Dry,
}

impl Verb for Import {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let lines = lines_of(&self.file).await?;
        if self.dry.dry_run {
            let count = async |found, _| Ok(found + 1);
            let found = lines.try_fold(0_u64, count).await?;
            let line = format!("{} would be imported", counted(found, "line"));
            return Ok(Report::new(line, json!({ "lines": found })));
        }
        let progress = Progress::of("buckets");
        let import = Ops::<T>::of(site.db).import(lines);
        let done = import.on_progress(|at| progress.set(at.lines())).await?;
        let line = format!(
            "stored {} with {}; already there: {}",
            counted(done.buckets, "bucket"),
            counted(done.items, "item"),
            done.already_there
        );
        let refused: Vec<_> = done.refused.iter().map(ToString::to_string).collect();
        let value = json!({
            "buckets": done.buckets, "items": done.items, "already_there": done.already_there,
            "refused_lines": done.refused_lines, "refused": refused,
        });
        Ok(Report::new(line, value).with_bad(done.refused_lines > 0, refused))
    }
}

/// The lines of a file.
async fn lines_of(file: &Path) -> Result<impl Stream<Item = io::Result<String>> + Send, Failure> {
    let lines = BufReader::new(File::open(file).await?).lines();
    Ok(stream::try_unfold(lines, async |mut lines| {
        Ok(lines.next_line().await?.map(|line| (line, lines)))
    }))
}
