#![doc = "[guide]: bucket_ops::guide::command_line"]
#![doc = include_str!("../README.md")]

mod arguments;
mod command;
mod dispatch;
mod report;
mod target;
mod verb;

use std::ffi::OsString;
use std::io::Write;

use bucket_advise::__private::explain;
use clap::Parser;

use self::arguments::Arguments;
use self::target::Target;

/// Carries out the command of the process's arguments on the collections of
/// these structs, and gives the [`ExitCode`](std::process::ExitCode) for
/// `main`. It takes the server and the database as a connection string, which
/// `--uri` replaces, and any structs that derive `Bucket` or `Outlier`.
///
/// | exit code | |
/// | --- | --- |
/// | 0 | all is well |
/// | 1 | there are problems, or missing indexes |
/// | 2 | the arguments are wrong |
/// | 3 | a call failed |
#[macro_export]
macro_rules! run {
    ($uri:expr, $($target:ty),+ $(,)?) => {
        ::std::process::ExitCode::from(
            $crate::__private::main($uri, ::std::vec![$($crate::target!($target)),+]).await,
        )
    };
}

/// A struct as a target of commands, whichever pattern it derives.
#[doc(hidden)]
#[macro_export]
macro_rules! target {
    ($target:ty) => {{
        use $crate::__private::{OfBucket as _, OfOutlier as _};
        (&$crate::__private::Of::<$target>::new()).target(::core::stringify!($target))
    }};
}

/// The functions and types that the macros' code names.
#[doc(hidden)]
pub mod __private {
    pub use crate::dispatch::{Of, OfBucket, OfOutlier};
    pub use crate::target::Target;
    pub use crate::{main, run};
}

/// Carries out the command of the process.
#[doc(hidden)]
pub async fn main(uri: &str, targets: Vec<Target>) -> u8 {
    run(uri, &targets, std::env::args_os(), &mut std::io::stdout()).await
}

/// Carries out a command.
#[doc(hidden)]
pub async fn run(
    uri: &str,
    targets: &[Target],
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut (dyn Write + Send),
) -> u8 {
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => command::carry_out(uri, targets, arguments, out).await,
        Err(help) => explain(&help),
    }
}
