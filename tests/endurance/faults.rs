//! The faults that strike a process on which the writers depend.

use std::time::{Duration, Instant};

use bucket_runtime::mongodb::{
    Database,
    bson::{Document, doc},
};
use futures_util::TryStreamExt;
use rand::{
    Rng,
    seq::{IndexedRandom, IteratorRandom},
};
use tokio::time::sleep;

use crate::{
    Result,
    failover::DATABASE,
    machines::{Machines, Node},
    operators,
};

/// Longer than the three seconds after which the other members elect a new primary.
pub(crate) const LONGER_THAN_AN_ELECTION: Duration = Duration::from_secs(5);

/// How long a fault goes on killing operations.
const KILLING: Duration = Duration::from_secs(3);

/// The process that a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The primary of this replica set.
    Primary(usize),
    /// This mongos of a cluster.
    Mongos(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process is asked to step down.
    StepDown,
    /// SIGKILL; the process is started again once another one has taken over.
    Kill,
    /// SIGSTOP, until another process has taken over.
    Stop,
    /// The connections break again and again, so that repeated commands break, too.
    Cut,
    /// Its operations for the writers are killed (`killOp`), at any point.
    KillOperations,
    /// No byte reaches the process or leaves it, until another process has taken over.
    Hold,
    /// The system refuses each write to its files, as if the disk were full.
    FullDisk,
    /// Each member of the replica set is restarted, the primary last.
    Restart,
    /// The collections of the writers are compacted.
    Compact,
    /// Indexes are built on the collections of the writers, and dropped.
    BuildIndexes,
    /// A chunk of a collection of the writers moves to another shard.
    MoveChunk,
}

impl Target {
    /// All processes that can be struck.
    pub(crate) fn all(machines: &Machines) -> Vec<Self> {
        let primaries = (0..machines.sets()).map(Self::Primary);
        let mongos = (0..machines.mongos()).map(Self::Mongos);
        primaries.chain(mongos).collect()
    }

    async fn find(self, machines: &Machines) -> Node<'_> {
        match self {
            Self::Primary(set) => machines.primary(set).await,
            Self::Mongos(nth) => machines.nth_mongos(nth),
        }
    }

    /// Waits, while the process is gone, until the writers can go on without it.
    async fn replaced(self, machines: &Machines) {
        match self {
            Self::Primary(set) => {
                machines.primary(set).await;
            }
            // The other mongos needs no election.
            Self::Mongos(_) => sleep(LONGER_THAN_AN_ELECTION).await,
        }
    }
}

impl Fault {
    /// All faults that can strike a target.
    pub(crate) fn all(target: Target) -> &'static [Self] {
        match target {
            Target::Primary(_) => &[
                Self::Cut,
                Self::KillOperations,
                Self::StepDown,
                Self::Kill,
                Self::Stop,
                Self::Hold,
                Self::FullDisk,
                Self::Restart,
                Self::Compact,
                Self::BuildIndexes,
            ],
            Target::Mongos(_) => &[
                Self::Cut,
                Self::Kill,
                Self::Stop,
                Self::Hold,
                Self::BuildIndexes,
                Self::MoveChunk,
            ],
        }
    }

    /// One of these targets and one of its faults, at random.
    pub(crate) fn any(targets: &[Target], rng: &mut impl Rng) -> Option<(Target, Self)> {
        let target = *targets.choose(rng)?;
        let possible = Self::all(target).iter().filter(|it| it.is_possible_here());
        Some((target, *possible.choose(rng)?))
    }

    /// Only Linux limits another process's files.
    pub(crate) fn is_possible_here(self) -> bool {
        self != Self::FullDisk || cfg!(target_os = "linux")
    }

    /// Strikes the target, and returns once all processes are healthy again.
    pub(crate) async fn befall(self, target: Target, machines: &Machines) -> Result<()> {
        let node = target.find(machines).await;
        match self {
            Self::StepDown => {
                let admin = admin(&node).await?;
                let command =
                    doc! { "replSetStepDown": 10, "secondaryCatchUpPeriodSecs": 2, "force": true };
                admin.run_command(command).await?;
            }
            Self::Kill => {
                node.member.kill().await?;
                target.replaced(machines).await;
                node.member.restart().await?;
            }
            Self::Stop => {
                node.member.pause()?;
                sleep(LONGER_THAN_AN_ELECTION).await;
                node.member.resume()?;
            }
            Self::Cut => {
                for _ in 0..40 {
                    node.line.cut();
                    let pause = rand::rng().random_range(1..80);
                    sleep(Duration::from_millis(pause)).await;
                }
            }
            Self::KillOperations => kill_operations(&admin(&node).await?).await?,
            Self::Hold => {
                node.line.hold();
                sleep(LONGER_THAN_AN_ELECTION).await;
                node.line.release();
            }
            Self::FullDisk => operators::fill_disk(&node).await?,
            Self::Restart => operators::restart_all(machines, target).await?,
            Self::Compact => operators::compact(&node).await?,
            Self::BuildIndexes => operators::build_indexes(machines).await?,
            Self::MoveChunk => operators::move_chunk(&node).await?,
        }
        machines.settled().await;
        Ok(())
    }
}

/// Strikes with one fault after the other, each after a pause. `next` gets the time since the first pause began, and
/// returns the next fault.
pub(crate) async fn strike(
    machines: &Machines,
    mut next: impl FnMut(Duration) -> Option<(Target, Fault)>,
    calm: Duration,
) -> Result<()> {
    let begin = Instant::now();
    while let Some((target, fault)) = next(begin.elapsed()) {
        sleep(calm).await;
        let at = begin.elapsed();
        fault.befall(target, machines).await?;
        let [at, took] = [at, begin.elapsed() - at].map(|time| time.as_secs_f64());
        println!("{at:6.1} s  {target:?} {fault:?}, {took:.1} s");
    }
    sleep(calm).await;
    Ok(())
}

/// The process's `admin` database, bypassing its line.
pub(crate) async fn admin(node: &Node<'_>) -> Result<Database> {
    Ok(node.member.client().await?.database("admin"))
}

/// Kills operations of the writers for a while.
async fn kill_operations(admin: &Database) -> Result<()> {
    let of_writers = doc! { "ns": { "$regex": format!("^{DATABASE}[.]") } };
    let pipeline = [doc! { "$currentOp": {} }, doc! { "$match": of_writers }];
    let end = Instant::now() + KILLING;
    while Instant::now() < end {
        let found = admin.aggregate(pipeline.clone()).await?;
        let found: Vec<Document> = found.try_collect().await?;
        for operation in found {
            if let Some(id) = operation.get("opid") {
                // The operation may have ended by itself.
                let _ = admin.run_command(doc! { "killOp": 1, "op": id }).await;
            }
        }
    }
    Ok(())
}
