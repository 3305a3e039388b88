//! Clients of all kinds go on while the primary of a replica set fails in every way; each call is recorded with
//! its begin, its end and its answer, and `check/history.rs` judges the histories.
//!
//! A seed decides the calls of each client and the faults. How they meet depends on the machine.

mod client;
mod collection;
pub(crate) mod list;
mod of_buckets;
mod of_parents;
mod session;
mod watcher;

use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng};

use self::collection::{Collection, Findings};
use crate::{
    Deployment, Result,
    failover::CALM,
    faults::{Fault, Target, strike},
    machines::Machines,
    setup::Setup,
};

/// How long a client pauses after a call, on average.
const PACE: Duration = Duration::from_millis(10);

/// The minutes after which a history is judged and another one begins, since the search takes longer than its calls
/// where lists are long.
const PIECE: u64 = 2;

/// Judges the calls of `minutes`, piece by piece; an error if a rule is broken.
pub(crate) async fn run_for(minutes: u64, deployment: Deployment, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    println!("seed {seed}");
    let machines = Machines::start(deployment).await?;
    let targets = Target::all(&machines);
    let mut all = Findings::default();
    for piece in 0..minutes.div_ceil(PIECE) {
        let end = Duration::from_secs(60 * PIECE.min(minutes - piece * PIECE));
        let seed = seed + piece;
        let mut rng = StdRng::seed_from_u64(seed);
        let faults = |at| Fault::any(&targets, &mut rng).filter(|_| at < end);
        let findings = run(&machines, seed, faults, CALM[1]).await?;
        println!("seed {seed}: {findings:?}");
        all.add(&findings);
    }
    println!("all: {all:?}");
    match all.wrong() {
        0 => Ok(()),
        _ => Err("a rule is broken".into()),
    }
}

/// Strikes with the faults that `next` returns while clients work, and prints the findings.
async fn run(
    machines: &Machines,
    seed: u64,
    next: impl FnMut(Duration) -> Option<(Target, Fault)>,
    calm: Duration,
) -> Result<Findings> {
    let setup = Setup::new(machines, PACE).await?;
    let collections = Collection::start_all(&setup, seed).await?;
    strike(machines, next, calm).await?;
    collections.iter().for_each(Collection::end);
    let mut all = Findings::default();
    for collection in collections {
        let name = collection.name();
        let findings = collection.findings().await?;
        println!("{name}: {findings:?}");
        all.add(&findings);
    }
    setup.dbs[0].drop().await?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_call_contradicts_another_one_while_the_primary_fails() -> Result<()> {
        let machines = Machines::start(Deployment::ReplicaSet).await?;
        let primary = Target::Primary(0);
        let faults = [Fault::Cut, Fault::Kill, Fault::Hold];
        let mut faults = faults.into_iter().map(|fault| (primary, fault));
        let findings = run(&machines, 1, |_| faults.next(), CALM[0]).await?;
        assert!(findings.operations > 0, "{findings:?}");
        assert_eq!(findings.wrong(), 0, "{findings:?}");
        Ok(())
    }
}
