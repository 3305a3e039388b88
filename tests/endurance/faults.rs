//! What is done to the primary.

use std::{fmt, time::Duration};

use bucket_runtime::mongodb::{Client, bson::doc};
use rand::Rng;
use tokio::time::sleep;

use crate::{Result, cluster::Cluster};

/// Longer than the three seconds after which the others elect another primary.
const LONGER_THAN_AN_ELECTION: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is asked to step down.
    StepDown,
    /// SIGKILL; it is started again once there is another one.
    Kill,
    /// SIGSTOP, until there is another one.
    Stop,
    /// Its connections break, again and again, so that what is repeated breaks, too.
    Cut,
    /// Nothing reaches it and nothing comes from it, until there is another one.
    Hold,
}

impl Fault {
    pub(crate) const ALL: [Self; 5] = [
        Self::Cut,
        Self::StepDown,
        Self::Kill,
        Self::Stop,
        Self::Hold,
    ];

    /// One of them, at random.
    pub(crate) fn any() -> Self {
        Self::ALL[rand::rng().random_range(0..Self::ALL.len())]
    }

    /// Does it to the primary, and returns once all members are well again.
    pub(crate) async fn befall(self, cluster: &Cluster) -> Result<()> {
        let primary = cluster.primary().await?;
        match self {
            Self::StepDown => {
                let address = primary.member.address();
                let uri = format!("mongodb://{address}/?directConnection=true");
                let admin = Client::with_uri_str(uri).await?.database("admin");
                let command =
                    doc! { "replSetStepDown": 10, "secondaryCatchUpPeriodSecs": 2, "force": true };
                admin.run_command(command).await?;
            }
            Self::Kill => {
                primary.member.kill().await?;
                cluster.primary().await?;
                primary.member.restart().await?;
            }
            Self::Stop => {
                primary.member.pause()?;
                sleep(LONGER_THAN_AN_ELECTION).await;
                primary.member.resume()?;
            }
            Self::Cut => {
                for _ in 0..40 {
                    primary.line.cut();
                    let pause = rand::rng().random_range(1..80);
                    sleep(Duration::from_millis(pause)).await;
                }
            }
            Self::Hold => {
                primary.line.hold();
                sleep(LONGER_THAN_AN_ELECTION).await;
                primary.line.release();
            }
        }
        cluster.settled().await
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StepDown => "stepped down",
            Self::Kill => "killed",
            Self::Stop => "stopped for longer than an election takes",
            Self::Cut => "cut off again and again",
            Self::Hold => "out of reach for longer than an election takes",
        })
    }
}
