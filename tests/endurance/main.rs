//! `bucket-endurance failover MINUTES [--cluster]`, `bucket-endurance histories MINUTES [SEED] [--cluster]` and
//! `bucket-endurance soak MINUTES`

use std::{env, process::ExitCode};

use bucket_endurance::{Deployment, Result, failover, histories, soak};

const USAGE: &str = "usage: bucket-endurance failover MINUTES [--cluster] | histories MINUTES [SEED] [--cluster] | soak MINUTES";

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
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let deployment = match arguments.pop_if(|last| last == "--cluster") {
        Some(_) => Deployment::Cluster,
        None => Deployment::ReplicaSet,
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().map_err(|_| USAGE);
    match (&arguments[..], deployment) {
        (["failover", minutes], _) => failover(number(minutes)?, deployment).await,
        (["histories", minutes], _) => histories(number(minutes)?, deployment, None).await,
        (["histories", minutes, seed], _) => {
            histories(number(minutes)?, deployment, Some(number(seed)?)).await
        }
        (["soak", minutes], Deployment::ReplicaSet) => soak(number(minutes)?).await,
        _ => Err(USAGE.into()),
    }
}
