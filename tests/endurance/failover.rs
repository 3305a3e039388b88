//! Writers go on while the processes that they depend on fail in every way; then what the writers were
//! told is compared with what is stored.

use std::time::Duration;

use crate::{
    Deployment, Result,
    check::Verdict,
    faults::{Fault, Target, strike},
    machines::Machines,
    setup::Setup,
    workload::Workload,
};

/// The database that the writers write to.
pub(crate) const DATABASE: &str = "failover";

/// The pause between two faults, in a short run and in a long one.
pub(crate) const CALM: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];

/// Strikes the deployment with random faults for `minutes`; an error if a guarantee is broken.
pub(crate) async fn run_for(minutes: u64, deployment: Deployment) -> Result<()> {
    let machines = Machines::start(deployment).await?;
    let targets = Target::all(&machines);
    let end = Duration::from_secs(60 * minutes);
    let faults = |at| Fault::any(&targets, &mut rand::rng()).filter(|_| at < end);
    let pace = match deployment {
        Deployment::ReplicaSet => Duration::from_millis(200),
        // Nine processes leave less of the machine to the writers.
        Deployment::Cluster => Duration::from_millis(500),
    };
    let mut total = Verdict::default();
    for (_, verdict) in run(&machines, faults, CALM[1], pace).await? {
        total.add(verdict);
    }
    println!("all: {total}");
    match total.is_clean() {
        true => Ok(()),
        false => Err("a guarantee is broken".into()),
    }
}

/// Strikes with the faults that `next` returns, and prints the verdicts.
async fn run(
    machines: &Machines,
    next: impl FnMut(Duration) -> Option<(Target, Fault)>,
    calm: Duration,
    pace: Duration,
) -> Result<Vec<(String, Verdict)>> {
    let setup = Setup::new(machines, pace).await?;
    let workloads = Workload::start_all(&setup).await?;
    strike(machines, next, calm).await?;
    workloads.iter().for_each(Workload::end);
    let mut verdicts = Vec::new();
    for workload in workloads {
        let name = workload.name().to_owned();
        let verdict = workload.verdict(&setup.dbs[0]).await?;
        println!("{name}: {verdict}");
        verdicts.push((name, verdict));
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_acknowledged_survives_the_primary() -> Result<()> {
        let primary = Target::Primary(0);
        // What operators do takes longer, and strikes in long runs.
        let faults = [
            Fault::Cut,
            Fault::KillOperations,
            Fault::StepDown,
            Fault::Kill,
            Fault::Stop,
            Fault::Hold,
            Fault::FullDisk,
        ];
        let possible = faults.into_iter().filter(|it| it.is_possible_here());
        let faults = possible.map(|fault| (primary, fault));
        survives(Deployment::ReplicaSet, faults).await
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "takes nine processes: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --lib -- --ignored a_shards_primary"]
    async fn what_was_acknowledged_survives_a_shards_primary_and_a_mongos() -> Result<()> {
        let faults = [Target::Primary(1), Target::Mongos(0)].map(|target| (target, Fault::Kill));
        survives(Deployment::Cluster, faults).await
    }

    async fn survives(
        deployment: Deployment,
        faults: impl IntoIterator<Item = (Target, Fault)>,
    ) -> Result<()> {
        let machines = Machines::start(deployment).await?;
        let mut faults = faults.into_iter();
        let pace = Duration::from_millis(500);
        for (name, verdict) in run(&machines, |_| faults.next(), CALM[0], pace).await? {
            assert!(verdict.acknowledged > 0, "{name}: {verdict}");
            assert!(verdict.is_clean(), "{name}: {verdict}");
        }
        Ok(())
    }
}
