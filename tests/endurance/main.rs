//! `bucket-endurance failover MINUTES [--cluster]`, `bucket-endurance histories MINUTES [SEED]` and
//! `bucket-endurance soak MINUTES`

use std::{env, process::ExitCode};

use bucket_endurance::{Deployment, Result, failover, histories, soak};

const USAGE: &str = "usage: bucket-endurance failover MINUTES [--cluster] | histories MINUTES [SEED] | soak MINUTES";

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
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |minutes: &str| minutes.parse().map_err(|_| USAGE);
    match arguments[..] {
        ["failover", minutes] => failover(number(minutes)?, Deployment::ReplicaSet).await,
        ["failover", minutes, "--cluster"] => failover(number(minutes)?, Deployment::Cluster).await,
        ["histories", minutes] => histories(number(minutes)?, None).await,
        ["histories", minutes, seed] => histories(number(minutes)?, Some(number(seed)?)).await,
        ["soak", minutes] => soak(number(minutes)?).await,
        _ => Err(USAGE.into()),
    }
}
