//! What happens beside the writers, and what is done once nothing disturbs any more.

use bucket_runtime::mongodb::Client;

use crate::{
    capacity::Changes,
    deletion::Deletion,
    driver::Driver,
    handle::Handle,
    import::Import,
    network::Network,
    repair::{Inspection, Repairs, verify},
    scenario::{Scenario, Transfer},
    split::Splits,
    tasks::JoinSet,
};

pub(crate) struct Disturbances<H> {
    network: Network,
    client: Client,
    /// Whether a writer's process ends or stands still.
    stops: bool,
    /// Whether somebody verifies.
    verifies: bool,
    changes: Option<Changes>,
    import: Option<Import<H>>,
    splits: Option<Splits<H>>,
    deletion: Option<Deletion<H>>,
    repairs: Option<Repairs>,
}

impl<H: Handle> Disturbances<H> {
    /// Before anybody writes.
    pub(crate) async fn prepare(scenario: &Scenario, driver: &Driver, client: &Client) -> Self {
        let splits = match scenario.splits {
            true => Splits::of_grown(driver, client).await,
            false => None,
        };
        let deletion = match scenario.deletes {
            true => Some(Deletion::new(&driver.network, client).await),
            false => None,
        };
        let import = match scenario.transfer {
            Some(Transfer::Flat) => Some(Import::of_flat(driver, client).await),
            Some(Transfer::Archive) => Some(Import::of_archive(driver, client).await),
            _ => None,
        };
        let inspects = |inspection| scenario.inspection == Some(inspection);
        Self {
            network: driver.network.clone(),
            client: client.clone(),
            stops: scenario.stops,
            verifies: inspects(Inspection::Verify),
            changes: (scenario.changes).then(|| Changes::new(&driver.network, client)),
            import,
            splits,
            deletion,
            repairs: inspects(Inspection::Repair).then(|| Repairs::new::<H>(driver, client)),
        }
    }

    /// Whether writers still store their items in order.
    pub(crate) fn keep_order(&self) -> bool {
        self.repairs.as_ref().is_none_or(Repairs::keep_order)
    }

    /// Begins all calls. One of the writers has this handle.
    pub(crate) fn begin(&self, calls: &mut JoinSet<()>, writer: &H) {
        let network = &self.network;
        if self.stops {
            network.world().stop_later("h0");
        }
        if self.verifies {
            calls.spawn(verify::<H>(network.clone(), self.client.database("v0")));
        }
        if let Some(changes) = &self.changes {
            changes.begin::<H>(calls);
        }
        if let Some(import) = &self.import {
            import.begin(calls);
        }
        if let Some(splits) = &self.splits {
            splits.begin(calls, writer);
        }
        if let Some(deletion) = &self.deletion {
            deletion.begin(calls);
        }
        if let Some(repairs) = &self.repairs {
            repairs.begin::<H>(calls);
        }
    }

    /// Whatever has become of the calls before, others that nothing disturbs have to succeed. The writers had these
    /// handles.
    pub(crate) async fn finish(self, handles: &[H]) {
        if let Some(changes) = self.changes {
            changes.finish::<H>().await;
        }
        if let Some(import) = self.import {
            import.finish().await;
        }
        if let Some(splits) = self.splits {
            splits.finish().await;
        }
        if let Some(deletion) = self.deletion {
            deletion.finish(handles).await;
        }
        if let Some(repairs) = self.repairs {
            repairs.finish::<H>().await;
        }
    }
}
