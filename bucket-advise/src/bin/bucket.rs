//! `bucket`: advice on a collection that no struct describes yet.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bucket_advise::__private::bucket())
}
