//! `bucket advise`: from a collection that no struct describes to a verdict, its figures, and a struct.
//!
//! The rooms in order, none of which uses a later one: `shape` (and `scan`) add up the documents that
//! `source` reads; `kind` finds out what they are; `measure` makes facts of rows; `verdict` judges; `code`
//! writes the struct; `picture` holds what can be drawn; `report` writes the text, `page` the HTML. `examine`
//! is the only other room that asks the server. `annotated` and `drawn` are for the collections of a struct.

pub(crate) mod annotated;
mod code;
pub(crate) mod drawn;
mod examine;
mod figures;
mod file;
mod kind;
pub(crate) mod measure;
mod page;
mod picture;
mod plan;
mod refusal;
mod report;
mod scan;
mod shape;
mod source;
mod verdict;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use self::kind::Hints;
use self::refusal::Refusal;
use self::report::Findings;
use crate::command::WELL;

/// Says which pattern suits a collection.
#[derive(Debug, Parser)]
#[command(name = "bucket", version)]
pub(crate) struct BucketArguments {
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
    /// The field with the time of an item; of documents with an array, also the one that tells their age
    #[arg(long, value_name = "FIELD")]
    time: Option<String>,
    /// The array that grows
    #[arg(long, value_name = "FIELD", conflicts_with = "key")]
    array: Option<String>,
    /// How many items the application shows on a page; becomes the capacity, since a page that is one bucket is one
    /// round trip
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
    /// Show values of the data: the largest keys, the `_id` of large documents; on the page also the texts of enums
    #[arg(long)]
    values: bool,
    /// Print the struct alone
    #[arg(long, conflicts_with = "json")]
    code: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Carries out a command of the binary `bucket`, and returns the exit code.
pub(crate) async fn carry_out(arguments: BucketArguments, out: &mut (dyn Write + Send)) -> u8 {
    let BucketCommand::Advise(arguments) = arguments.command;
    let written = match advise(&arguments).await {
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

async fn advise(arguments: &AdviseArguments) -> Result<Findings, Refusal> {
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
