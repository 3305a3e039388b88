//! The commands: a file for each, with its arguments and what it does.

mod advise;
mod change_capacity;
mod export;
mod import;
mod import_flat;
mod indexes;
mod repair;
mod shard;
mod stats;
mod verify;

use std::future::{Future, ready};

use bucket_advise::__private::Failure;
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, Outlier};
use clap::Subcommand;

use crate::report::Report;

/// The report of a command, or why it failed.
pub(crate) type Outcome = Result<Report, Failure>;

/// A struct that a command works on: its name, and the database with its collections.
#[derive(Debug)]
pub(crate) struct Site<'s> {
    pub(crate) command: &'static str,
    pub(crate) name: &'s str,
    pub(crate) db: &'s Database,
}

impl Site<'_> {
    /// The failure of a command that the struct's pattern does not have.
    fn cannot(&self) -> Outcome {
        let command = self.command.replace('_', "-");
        Err(format!("`{command}` does not work on {}", self.name).into())
    }
}

/// A command on each pattern. By default it fails, since it does not work on the pattern.
trait Verb {
    /// Whether the arguments are right for this number of structs.
    fn check(&self, _structs: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Works on a struct that derives `Bucket`.
    fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> impl Future<Output = Outcome> + Send {
        ready(site.cannot())
    }

    /// Works on a struct that derives `Outlier`.
    fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> impl Future<Output = Outcome> + Send {
        ready(site.cannot())
    }
}

/// Makes `Command` of the verbs, each a struct with its arguments.
macro_rules! verbs {
    ($($module:ident: $verb:ident,)+) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($verb($module::$verb),)+
        }

        impl Command {
            /// The command's name, with underscores.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(Self::$verb(_) => stringify!($module),)+
                }
            }

            /// The structs that it names.
            pub(crate) fn names(&self) -> &[String] {
                match self {
                    $(Self::$verb(verb) => verb.structs.names(),)+
                }
            }

            /// Whether the arguments are right for this number of structs.
            pub(crate) fn check(&self, structs: usize) -> Result<(), Failure> {
                match self {
                    $(Self::$verb(verb) => verb.check(structs),)+
                }
            }

            /// Works on a struct that derives `Bucket`.
            pub(crate) async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
                match self {
                    $(Self::$verb(verb) => verb.on_buckets::<T>(site).await,)+
                }
            }

            /// Works on a struct that derives `Outlier`.
            pub(crate) async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
                match self {
                    $(Self::$verb(verb) => verb.on_outliers::<T>(site).await,)+
                }
            }
        }
    };
}

// In the order in which the help lists them.
verbs! {
    verify: Verify,
    repair: Repair,
    indexes: Indexes,
    stats: Stats,
    advise: Advise,
    change_capacity: ChangeCapacity,
    import_flat: ImportFlat,
    export: Export,
    import: Import,
    shard: Shard,
}
