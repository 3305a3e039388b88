//! A deletion of a parent beside writers who push to it.

use bucket_runtime::mongodb::Client;

use crate::{
    filter::number,
    handle::Handle,
    judge::{self, WRITER, buckets},
    network::Network,
    schedule::random_pause,
    tasks::JoinSet,
    writer::called,
};

/// The parent that is deleted.
const DELETED_PARENT: i64 = 1;

/// The number of the first item that is pushed to it at the end, which no writer has.
const FIRST: i64 = 8 * WRITER;

/// The handle that deletes the parent.
pub(crate) struct Deletion<H> {
    network: Network,
    handle: H,
}

impl<H: Handle> Deletion<H> {
    pub(crate) async fn new(network: &Network, client: &Client) -> Self {
        let handle = H::open(&client.database("d0"), false).await;
        let network = network.clone();
        Self { network, handle }
    }

    /// Begins to delete the parent; the caller may drop the call.
    pub(crate) fn begin(&self, calls: &mut JoinSet<()>) {
        let (network, handle) = (self.network.clone(), self.handle.clone());
        calls.spawn(async move {
            random_pause(&network).await;
            network.world().deleted = Some(DELETED_PARENT);
            let deleted = called(&network, "d0", handle.delete(DELETED_PARENT)).await;
            let mut world = network.world();
            world.note(|| format!("deleted: {:?}", deleted.0));
            world.is_gone = matches!(deleted.0, Some(Ok(_)));
        });
    }

    /// Whatever pushes have stored without a parent, none of these handles pushes to it, and a deletion that nothing
    /// disturbs leaves nothing of it.
    pub(crate) async fn finish(self, handles: &[H]) {
        for (handle, n) in handles.iter().zip(FIRST..) {
            self.push_to_none(handle, n).await;
        }
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

    /// Pushes to the parent, if that is gone and the process of the handle has not ended.
    async fn push_to_none(&self, handle: &H, n: i64) {
        {
            let world = self.network.world();
            let mut parents = world.primary.parents.documents.iter();
            let is_there = parents.any(|it| it.get("_id").and_then(number) == Some(DELETED_PARENT));
            if is_there || world.stopped.contains_key(&format!("h{}", n - FIRST)) {
                return;
            }
        }
        let pushed = handle.append(DELETED_PARENT, n, None).await;
        let is_refused = matches!(&pushed, Err(error) if error.is_not_found());
        let mut world = self.network.world();
        if !is_refused || judge::stored(&world.primary.store).contains(&n) {
            world.fail(format!("O1: a push to a deleted parent: {pushed:?}"));
        }
    }
}
