//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Works on the collections of this program's structs.
#[derive(Debug, Parser)]
#[command(version = None)]
pub(crate) struct Arguments {
    /// The server and the database, such as mongodb://localhost/shop
    #[arg(long, env = "MONGODB_URI", global = true, hide_env_values = true)]
    pub(crate) uri: Option<String>,
    /// Print one line of JSON for each struct
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List what breaks a guarantee, and what cannot be read
    Verify(Structs),
    /// Repair what needs no guessing, and list what is left
    Repair {
        #[command(flatten)]
        structs: Structs,
        /// Delete the extras of parents that do not exist, with their items
        #[arg(long)]
        delete_orphans: bool,
        #[command(flatten)]
        dry: Dry,
    },
    /// Print the commands that create the indexes, for MongoDB's shell
    Indexes {
        #[command(flatten)]
        structs: Structs,
        /// Only those that are missing
        #[arg(long, conflicts_with = "create")]
        check: bool,
        /// Create those that are missing
        #[arg(long)]
        create: bool,
        #[command(flatten)]
        dry: Dry,
    },
    /// Show how many buckets or parents there are, how full, and which are the largest
    Stats(Structs),
    /// Recommend a threshold for outliers
    Advise(Structs),
    /// Change a collection to its struct's capacity, while writers go on
    ChangeCapacity {
        #[command(flatten)]
        target: Struct,
        /// Rewrite all buckets, so that they are full
        #[arg(long)]
        repack: bool,
        #[command(flatten)]
        dry: Dry,
    },
    /// Move a flat collection, one document per item, into buckets
    ImportFlat {
        #[command(flatten)]
        target: Struct,
        /// The flat collection, in the same database
        collection: String,
        #[command(flatten)]
        dry: Dry,
    },
    /// Write all buckets as lines of extended JSON
    Export {
        #[command(flatten)]
        target: Struct,
        /// The file to write
        file: PathBuf,
        #[command(flatten)]
        only: Only,
    },
    /// Store exported buckets again
    Import {
        #[command(flatten)]
        target: Struct,
        /// The file with the lines
        file: PathBuf,
        #[command(flatten)]
        dry: Dry,
    },
    /// Create or shard the collections, by ranges of the key
    Shard {
        #[command(flatten)]
        structs: Structs,
        /// By the hash of the first key field
        #[arg(long, conflicts_with = "by_window")]
        hashed: bool,
        /// By the key and the time window
        #[arg(long)]
        by_window: bool,
        #[command(flatten)]
        dry: Dry,
    },
}

/// The structs to work on.
#[derive(Debug, Args)]
pub(crate) struct Structs {
    /// The structs, by name; all if none is given
    #[arg(value_name = "STRUCT")]
    pub(crate) names: Vec<String>,
}

/// The struct to work on.
#[derive(Debug, Args)]
pub(crate) struct Struct {
    /// The struct, by name
    #[arg(value_name = "STRUCT")]
    pub(crate) name: String,
}

/// The buckets to export, and whether the file may be replaced.
#[derive(Debug, Args)]
pub struct Only {
    /// The key to export: one for each key field, in order; all keys if none is given
    #[arg(long = "key", value_name = "FIELD")]
    pub(crate) key: Vec<String>,
    /// Only buckets that hold an item before this time, such as 2026-01-31T00:00:00Z
    #[arg(long)]
    pub(crate) before: Option<String>,
    /// The stored name of the field that holds an item's time; needed where buckets are numbered
    #[arg(long = "time", value_name = "NAME", requires = "before")]
    pub(crate) time: Option<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Dry {
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
