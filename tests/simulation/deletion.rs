//! A deletion of a parent beside writers who push to it.

use bucket_runtime::mongodb::Client;

use crate::{
    filter::number, handle::Handle, judge::buckets, network::Network, schedule::random_pause,
    tasks::JoinSet, writer::called,
};

/// The parent that is deleted.
const DELETED_PARENT: i64 = 1;

/// The handle that deletes the parent.
pub(crate) struct Deletion<H> {
    network: Network,
    handle: H,
}

impl<H: Handle> Deletion<H> {
    pub(crate) async fn new(network: &Network, client: &Client) -> Self {
        let handle = H::open(&client.database("d0"), false, 0).await;
        let network = network.clone();
        Self { network, handle }
    }

    /// Begins to delete the parent; the caller may drop the call.
    pub(crate) fn begin(&self, calls: &mut JoinSet<()>) {
        let (network, handle) = (self.network.clone(), self.handle.clone());
        calls.spawn(async move {
            random_pause(&network).await;
            network.world().deleted = Some(DELETED_PARENT);
            let deleted = called(&network, handle.delete(DELETED_PARENT)).await;
            network.world().note(|| format!("deleted: {:?}", deleted.0));
        });
    }

    /// Whatever pushes have stored without a parent, a deletion that nothing disturbs leaves nothing of it.
    pub(crate) async fn finish(self) {
        let deleted = self.handle.delete(DELETED_PARENT).await;
        let mut world = self.network.world();
        world.note(|| format!("last deletion: {deleted:?}"));
        let is_left = {
            let parents = world.primary.parents.documents.iter();
            let extras = buckets(&world.primary.store);
            let mut keys = (parents.map(|parent| parent.get("_id")))
                .chain(extras.map(|extras| extras.get("sensor")));
            keys.any(|key| key.and_then(number) == Some(DELETED_PARENT))
        };
        if is_left || deleted.is_err() {
            world.fail(format!("O3: an undisturbed deletion: {deleted:?}"));
        }
    }
}
