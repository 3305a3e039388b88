//! Carries out a command.

use std::io::Write;

use bucket_advise::__private::{FAILED, Failure, PROBLEMS, USAGE, WELL, failure};
use bucket_runtime::mongodb::options::ClientOptions;
use bucket_runtime::mongodb::{Client, Database};

use crate::arguments::Arguments;
use crate::target::Target;
use crate::verb::Command;

/// Carries out a command on each struct that it names, and returns the exit
/// code.
pub(crate) async fn carry_out(
    uri: &str,
    targets: &[Target],
    arguments: Arguments,
    out: &mut (dyn Write + Send),
) -> u8 {
    // A variable that is set to nothing is not set.
    let given = arguments.uri.as_deref().filter(|uri| !uri.is_empty());
    let uri = given.unwrap_or(uri);
    let (chosen, db) = match prepare(uri, targets, &arguments.command).await {
        Ok(prepared) => prepared,
        Err(failure) => {
            eprintln!("error: {failure}");
            return USAGE;
        }
    };
    let mut code = WELL;
    for target in chosen {
        let name = target.name();
        let report = target.run(&arguments.command, &db).await;
        let written = report.and_then(|report| {
            report.write(out, name, &target.collections(&db), arguments.json)?;
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

/// The targets and the database that a command works on.
async fn prepare<'t>(
    uri: &str,
    targets: &'t [Target],
    command: &Command,
) -> Result<(Vec<&'t Target>, Database), Failure> {
    let chosen = chosen(targets, command.names())?;
    command.check(chosen.len())?;
    Ok((chosen, database(uri).await?))
}

/// The targets with these names, or all.
fn chosen<'t>(targets: &'t [Target], names: &[String]) -> Result<Vec<&'t Target>, Failure> {
    if names.is_empty() {
        return Ok(targets.iter().collect());
    }
    let find = |name: &String| {
        let found = targets.iter().find(|target| target.name() == name);
        found.ok_or_else(|| {
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
    let options = ClientOptions::parse(uri).await.map_err(failure)?;
    let name = options.default_database.clone();
    let name = name.ok_or("the connection string names no database (mongodb://localhost/shop)")?;
    Ok(Client::with_options(options)?.database(&name))
}
