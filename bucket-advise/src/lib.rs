#![doc = "[two sessions]: bucket_runtime::guide::which_pattern"]
#![doc = include_str!("../README.md")]

// From a collection that no struct describes to a verdict, its figures, and a struct.
//
// The rooms in order, none of which uses a later one: `shape` (and `scan`) add up the documents
// that `source` reads; `kind` finds out what they are; `measure` makes facts of rows; `verdict`
// judges; `code` writes the struct; `picture` holds what can be drawn; `report` writes the text,
// `page` the HTML. `examine` is the only other room that asks the server. `annotated` and `drawn`
// are for the collections of a struct.

mod annotated;
mod code;
mod drawn;
mod examine;
mod figures;
mod file;
mod kind;
mod measure;
mod page;
mod picture;
mod plan;
mod progress;
mod refusal;
mod report;
mod scan;
mod shape;
mod source;
mod verdict;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use bucket_runtime::bson::Document;
use bucket_runtime::mongodb::Collection;
use clap::{Args, Parser, Subcommand};
use futures_util::TryStreamExt;

use self::__private::{FAILED, Failure, USAGE, WELL};
use self::kind::Hints;
use self::refusal::Refusal;
use self::report::Findings;

/// For the binary `bucket`, and for the command line of structs. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    /// Advice on the collections of a struct.
    pub mod annotated {
        pub use crate::annotated::{length_stages, order_stages, report, stages, threshold_report};
    }
    /// Pages of the collections of a struct.
    pub mod drawn {
        pub use crate::drawn::{Charts, check, of_buckets, of_outliers, write};
    }
    pub use crate::figures::{counted, thousands};
    pub use crate::measure::{array_length, fill::capacity, whole};
    pub use crate::progress::Progress;
    pub use crate::refusal::failure;
    pub use crate::{advise, bucket, explain, rows};

    /// The exit codes: all is well.
    pub const WELL: u8 = 0;

    /// There are problems.
    pub const PROBLEMS: u8 = 1;

    /// The arguments are wrong.
    pub const USAGE: u8 = 2;

    /// A call failed.
    pub const FAILED: u8 = 3;

    /// Why a command failed.
    pub type Failure = Box<dyn std::error::Error + Send + Sync>;
}

/// Says which pattern suits a collection.
#[derive(Debug, Parser)]
#[command(name = "bucket", version)]
struct BucketArguments {
    #[command(subcommand)]
    command: BucketCommand,
}

#[derive(Debug, Subcommand)]
enum BucketCommand {
    Advise(AdviseArguments),
}

/// Look at a collection; say whether it should be buckets or outliers, and write the struct
#[derive(Debug, Args)]
struct AdviseArguments {
    /// The server and the database, such as mongodb://localhost/shop
    uri: String,
    /// The collection
    collection: String,
    /// The fields of the key, separated by commas
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    key: Vec<String>,
    /// The field with the time of an item; of documents with an array, also the one that tells
    /// their age
    #[arg(long, value_name = "FIELD")]
    time: Option<String>,
    /// The array that grows
    #[arg(long, value_name = "FIELD", conflicts_with = "key")]
    array: Option<String>,
    /// How many items the application shows on a page; becomes the capacity, since a page that is
    /// one bucket is one round trip
    #[arg(long, value_name = "ITEMS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    page: Option<u64>,
    /// How many documents to read
    #[arg(long, value_name = "DOCUMENTS", default_value_t = 10_000, conflicts_with = "all",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    sample: u64,
    /// Read all documents
    #[arg(long)]
    all: bool,
    /// Write the report as a page, too, with pictures: one file that loads nothing
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show values of the data: the largest keys, the `_id` of large documents; on the page also
    /// the texts of enums
    #[arg(long)]
    values: bool,
    /// Print the struct alone
    #[arg(long, conflicts_with = "json")]
    code: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Carries out the command of the process, as the binary `bucket`.
#[doc(hidden)]
pub fn bucket() -> u8 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(advise(std::env::args_os(), &mut std::io::stdout())),
        Err(error) => {
            eprintln!("error: {error}");
            FAILED
        }
    }
}

/// Carries out a command of the binary `bucket`, and returns the exit code.
#[doc(hidden)]
pub async fn advise(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut (dyn Write + Send),
) -> u8 {
    match BucketArguments::try_parse_from(arguments) {
        Ok(arguments) => carry_out(arguments, out).await,
        Err(help) => explain(&help),
    }
}

/// Prints a help, or why the arguments are wrong, to the terminal in its colours.
#[doc(hidden)]
pub fn explain(help: &clap::Error) -> u8 {
    let _ = help.print();
    u8::try_from(help.exit_code()).unwrap_or(USAGE)
}

/// The rows of a pipeline over a collection. The server may sort on disk.
#[doc(hidden)]
pub async fn rows(
    collection: &Collection<Document>,
    stages: Vec<Document>,
) -> Result<Vec<Document>, Failure> {
    let found = collection.aggregate(stages).allow_disk_use(true).await?;
    Ok(found.try_collect().await?)
}

async fn carry_out(arguments: BucketArguments, out: &mut (dyn Write + Send)) -> u8 {
    let BucketCommand::Advise(arguments) = arguments.command;
    let written = match find(&arguments).await {
        Ok(findings) => print(&findings, &arguments, out),
        Err(refusal) => Err(refusal),
    };
    match written {
        Ok(()) => WELL,
        Err(refusal) => {
            eprintln!("error: {}", refusal.text);
            refusal.code
        }
    }
}

async fn find(arguments: &AdviseArguments) -> Result<Findings, Refusal> {
    if let Some(path) = &arguments.html {
        file::check(path)?;
    }
    let hints = Hints {
        key: arguments.key.clone(),
        time: arguments.time.clone(),
        array: arguments.array.clone(),
    };
    let reading = examine::Reading {
        sample: arguments.sample,
        is_all: arguments.all,
        page: arguments.page,
        has_values: arguments.values,
        has_page: arguments.html.is_some(),
    };
    examine::collection(&arguments.uri, &arguments.collection, &reading, &hints).await
}

fn print(
    findings: &Findings,
    arguments: &AdviseArguments,
    out: &mut dyn Write,
) -> Result<(), Refusal> {
    if let Some(path) = &arguments.html {
        file::write(path, &page::write(findings))?;
    }
    let mut lines = match (arguments.code, arguments.json) {
        (true, _) => findings.code.rust.clone(),
        (_, true) => vec![findings.value().to_string()],
        _ => findings.lines(),
    };
    if let (Some(path), false, false) = (&arguments.html, arguments.code, arguments.json) {
        lines.extend([String::new(), format!("the page is in {}", path.display())]);
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::BucketArguments;

    #[test]
    fn the_command_line_of_bucket_is_sound() {
        BucketArguments::command().debug_assert();
    }
}
