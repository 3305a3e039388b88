//! `bucket-endurance failover|soak MINUTES`

use std::{env, process::ExitCode};

use bucket_endurance::{Result, failover, soak};

const USAGE: &str = "usage: bucket-endurance failover|soak MINUTES";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, minutes] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let minutes = minutes.parse().map_err(|_| USAGE)?;
    match what.as_str() {
        "failover" => failover(minutes).await,
        "soak" => soak(minutes).await,
        _ => Err(USAGE.into()),
    }
}
