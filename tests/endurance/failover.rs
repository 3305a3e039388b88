//! Writers go on while the primary fails in every way; then what they were told is compared with
//! what is stored.

use std::time::{Duration, Instant};

use bucket_runtime::mongodb::{Client, Database};

use crate::{Result, check::Verdict, cluster::Cluster, faults::Fault, workload::Workload};

/// How long all is well between two faults: of a short run, of a long one.
const CALM: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];

/// Lets faults befall the primary at random for so many minutes; an error if a guarantee is broken.
pub(crate) async fn run_for(minutes: u64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let faults = std::iter::from_fn(|| (Instant::now() < end).then(Fault::any));
    let mut total = Verdict::default();
    for (_, verdict) in run(faults, CALM[1], Duration::from_millis(200)).await? {
        total.add(verdict);
    }
    println!("all: {total}");
    match total.is_clean() {
        true => Ok(()),
        false => Err("a guarantee is broken".into()),
    }
}

/// Lets these faults befall the primary, one after another, and prints what became of the items.
pub(crate) async fn run(
    faults: impl IntoIterator<Item = Fault>,
    calm: Duration,
    pace: Duration,
) -> Result<Vec<(String, Verdict)>> {
    let cluster = Cluster::start().await?;
    let dbs = databases(&cluster).await?;
    let workloads = Workload::start_all(&dbs, pace).await?;
    let begin = Instant::now();
    for fault in faults {
        tokio::time::sleep(calm).await;
        let at = begin.elapsed();
        fault.befall(&cluster).await?;
        let took = begin.elapsed() - at;
        println!(
            "{:6.1} s  primary {fault}, {:.1} s",
            at.as_secs_f64(),
            took.as_secs_f64()
        );
    }
    tokio::time::sleep(calm).await;
    workloads.iter().for_each(Workload::end);
    let mut verdicts = Vec::new();
    for workload in workloads {
        let name = workload.name().to_owned();
        let verdict = workload.verdict(&dbs[0]).await?;
        println!("{name}: {verdict}");
        verdicts.push((name, verdict));
    }
    Ok(verdicts)
}

/// Through a client that waits for a new primary, and through one that gives up soon.
async fn databases(cluster: &Cluster) -> Result<Vec<Database>> {
    let mut dbs = Vec::new();
    for patience in [Duration::from_secs(30), Duration::from_millis(300)] {
        let mut options = cluster.options().await?;
        options.server_selection_timeout = Some(patience);
        dbs.push(Client::with_options(options)?.database("failover"));
    }
    Ok(dbs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_acknowledged_survives_the_primary() -> Result<()> {
        for (name, verdict) in run(Fault::ALL, CALM[0], Duration::from_millis(500)).await? {
            assert!(verdict.acknowledged > 0, "{name}: {verdict}");
            assert!(verdict.is_clean(), "{name}: {verdict}");
        }
        Ok(())
    }
}
