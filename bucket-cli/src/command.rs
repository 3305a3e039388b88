//! Carries out a command.

use std::io::Write;

use bucket_runtime::mongodb::options::ClientOptions;
use bucket_runtime::mongodb::{Client, Database};
use serde_json::json;

use crate::arguments::{Arguments, Command};
use crate::report::Report;
use crate::target::{Failure, Sharding, Target};

/// All is well.
const WELL: u8 = 0;

/// There are problems.
const PROBLEMS: u8 = 1;

/// The arguments are wrong.
const USAGE: u8 = 2;

/// A call failed.
const FAILED: u8 = 3;

/// Carries out a command on each struct that it names, and returns the exit
/// code.
pub(crate) async fn carry_out(
    uri: &str,
    targets: &[Box<dyn Target>],
    arguments: Arguments,
    out: &mut (dyn Write + Send),
) -> u8 {
    let uri = arguments.uri.as_deref().unwrap_or(uri);
    let (chosen, db) = match prepare(uri, targets, &arguments.command).await {
        Ok(prepared) => prepared,
        Err(failure) => {
            eprintln!("error: {failure}");
            return USAGE;
        }
    };
    let mut code = WELL;
    for target in chosen {
        let collections = target.collections().join(", ");
        let collections = format!("{}.{collections}", db.name());
        let name = target.name();
        let report = arguments.command.run(target, &db).await;
        let written = report.and_then(|report| {
            report.write(out, name, &collections, arguments.json)?;
            Ok(report.is_bad)
        });
        match written {
            Ok(false) => {}
            Ok(true) => code = code.max(PROBLEMS),
            Err(failure) => {
                eprintln!("error: {name}: {failure}");
                code = FAILED;
            }
        }
    }
    code
}

/// The report; that a collection does not exist is a problem, too.
fn known(report: bucket_runtime::Result<Report>) -> Result<Report, Failure> {
    match report {
        Err(error) if error.is_collection_missing() => Ok(Report::of_nothing(&error.to_string())),
        report => Ok(report?),
    }
}

/// The targets and the database that a command works on.
async fn prepare<'t>(
    uri: &str,
    targets: &'t [Box<dyn Target>],
    command: &Command,
) -> Result<(Vec<&'t dyn Target>, Database), Failure> {
    Ok((chosen(targets, command.names())?, database(uri).await?))
}

/// The targets with these names, or all.
fn chosen<'t>(
    targets: &'t [Box<dyn Target>],
    names: &[String],
) -> Result<Vec<&'t dyn Target>, Failure> {
    if names.is_empty() {
        return Ok(targets.iter().map(AsRef::as_ref).collect());
    }
    let find = |name: &String| {
        let found = targets.iter().find(|target| target.name() == name);
        found.map(AsRef::as_ref).ok_or_else(|| {
            let known: Vec<_> = targets.iter().map(|target| target.name()).collect();
            format!(
                "there is no struct `{name}` here, only {}",
                known.join(", ")
            )
            .into()
        })
    };
    names.iter().map(find).collect()
}

async fn database(uri: &str) -> Result<Database, Failure> {
    let options = ClientOptions::parse(uri).await?;
    let name = options.default_database.clone();
    let name = name.ok_or("the connection string names no database (mongodb://localhost/shop)")?;
    Ok(Client::with_options(options)?.database(&name))
}

impl Command {
    /// The structs that it names.
    fn names(&self) -> &[String] {
        match self {
            Self::Verify(structs) | Self::Stats(structs) | Self::Advise(structs) => &structs.names,
            Self::Repair { structs, .. }
            | Self::Indexes { structs, .. }
            | Self::Shard { structs, .. } => &structs.names,
            Self::ChangeCapacity { target, .. }
            | Self::ImportFlat { target, .. }
            | Self::Export { target, .. }
            | Self::Import { target, .. } => std::slice::from_ref(&target.name),
        }
    }

    async fn run(&self, target: &dyn Target, db: &Database) -> Result<Report, Failure> {
        match self {
            Self::Verify(_) => known(target.verify(db).await),
            Self::Repair { dry, .. } if dry.dry_run => known(target.verify(db).await),
            Self::Repair { delete_orphans, .. } => known(target.repair(db, *delete_orphans).await),
            Self::Indexes {
                check, create, dry, ..
            } => match (check, create) {
                (false, false) => {
                    let commands = target.indexes().into_iter();
                    let commands: Vec<_> = commands.map(|index| format!("{index};")).collect();
                    let value = json!({ "indexes": commands });
                    Ok(Report::of_lines(commands, value))
                }
                (_, true) if !dry.dry_run => {
                    target.open(db, true).await?;
                    Ok(Report::of_missing(&[]))
                }
                _ => match target.open(db, false).await {
                    Ok(()) => Ok(Report::of_missing(&[])),
                    Err(error) if !error.missing_indexes().is_empty() => {
                        Ok(Report::of_missing(error.missing_indexes()))
                    }
                    Err(error) => Err(error.into()),
                },
            },
            Self::Stats(_) => target.stats(db).await,
            Self::Advise(_) => target.advise(db).await,
            Self::ChangeCapacity { repack, dry, .. } => {
                target.change_capacity(db, *repack, dry.dry_run).await
            }
            Self::ImportFlat {
                collection, dry, ..
            } => target.import_flat(db, collection, dry.dry_run).await,
            Self::Export { file, only, .. } => target.export(db, file, only).await,
            Self::Import { file, dry, .. } => target.import(db, file, dry.dry_run).await,
            Self::Shard {
                hashed,
                by_window,
                dry,
                ..
            } => {
                let sharding = match (hashed, by_window) {
                    (true, _) => Sharding::Hashed,
                    (_, true) => Sharding::ByWindow,
                    _ => Sharding::Ranged,
                };
                let key = target.shard_key(sharding);
                if dry.dry_run {
                    let line = format!("would be sharded by {key}");
                    return Ok(Report::new(line, json!({ "would_be_sharded_by": key })));
                }
                sharding.apply(target.create(db)).await?;
                target.open(db, true).await?;
                let line = format!("sharded by {key}");
                Ok(Report::new(line, json!({ "sharded_by": key })))
            }
        }
    }
}
