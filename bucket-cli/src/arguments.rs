//! The command line: what all commands share.

use std::slice;

use bucket_advise::__private::thousands;
use clap::{Args, Parser};

use crate::verb::Command;

/// Works on the collections of this program's structs.
#[derive(Debug, Parser)]
#[command(version)]
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

/// The structs to work on.
#[derive(Debug, Args)]
pub(crate) struct Structs {
    /// The structs, by name; all if none is given
    #[arg(value_name = "STRUCT")]
    names: Vec<String>,
}

impl Structs {
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// The struct to work on.
#[derive(Debug, Args)]
pub(crate) struct OneStruct {
    /// The struct, by name
    #[arg(value_name = "STRUCT")]
    name: String,
}

impl OneStruct {
    pub(crate) fn names(&self) -> &[String] {
        slice::from_ref(&self.name)
    }
}

/// How many problems a command lists.
#[derive(Debug, Args)]
pub(crate) struct Listed {
    /// List each problem, not the first five of each kind
    #[arg(long)]
    all: bool,
}

impl Listed {
    /// The first texts of a kind, and how many more of `all` there are.
    pub(crate) fn shorten(&self, mut texts: Vec<String>, all: u64) -> Vec<String> {
        texts.truncate(if self.all { usize::MAX } else { 5 });
        let more = all.saturating_sub(texts.len() as u64);
        if more > 0 && !self.all {
            texts.push(format!("and {} more; `--all` lists each", thousands(more)));
        }
        texts
    }
}

/// Whether a command only says what it would do.
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
