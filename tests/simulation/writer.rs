//! What writers do: they append and load items, and edit their own.

use std::time::Duration;

use bucket_core::server::wire::simulated::reach;
use bucket_runtime::{Result, mongodb::ClientSession};
use tokio::time::timeout;

use crate::{
    handle::{Handle, Session},
    network::Network,
    schedule::random_pause,
    world::{History, Told},
};

/// How long callers wait for a process that has ended: longer than all else.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(1 << 14);

/// Appends three items, one after the other, and edits some of them. Now and then the caller drops a call. Unique
/// items are appended again if they may have been stored.
///
/// Once the capacity changes, it opens further handles, and goes on with any of them, however old.
pub(crate) async fn append<H: Handle>(
    handle: H,
    network: Network,
    first: i64,
    is_shared: bool,
    mut session: Option<ClientSession>,
) {
    let mut own = Vec::new();
    let mut handles = vec![handle];
    let items = if network.world().changes_capacity {
        6
    } else {
        3
    };
    for n in first..first + items {
        let sensor = network.world().begin_item(n);
        let any = match handles.len() {
            1 => 0,
            several => network.world().below(several as u64) as usize,
        };
        let handle = handles[any].clone();
        let append = handle.append(sensor, n, session.as_mut());
        let appended = called(&network, &handle.process(), append).await.told();
        tell(&network, n, appended);
        if H::IS_UNIQUE && appended != Told::Done {
            let append = handle.append(sensor, n, session.as_mut());
            let again = called(&network, &handle.process(), append).await.told();
            tell(&network, n, again);
        }
        // Not one whose first call may still be on its way.
        own.extend((appended == Told::Done && !is_shared).then_some((sensor, n)));
        if let Some(edit) = Edit::of_one(&network, &mut own) {
            edit.call(&handle, &network, session.as_mut()).await;
        }
        if appended == Told::Failed && network.world().changes_capacity {
            let opened = ended(&network, &handle.process(), handle.reopen()).await;
            handles.extend(opened.flatten());
        }
    }
}

/// Appends items again that are there.
pub(crate) async fn append_again<H: Handle>(handle: H, network: Network, items: Vec<(i64, i64)>) {
    for (sensor, n) in items {
        network.world().begin_item(n);
        let append = handle.append(sensor, n, None);
        let appended = called(&network, &handle.process(), append).await;
        tell(&network, n, appended.told());
    }
}

/// Edits some of these items.
pub(crate) async fn edit<H: Handle>(handle: H, network: Network, mut items: Vec<(i64, i64)>) {
    for _ in 0..4 {
        random_pause(&network).await;
        if let Some(edit) = Edit::of_one(&network, &mut items) {
            edit.call(&handle, &network, None).await;
        }
    }
}

/// An edit of an item that was acknowledged, and no call has removed.
#[derive(Clone, Copy)]
pub(crate) struct Edit {
    sensor: i64,
    n: i64,
    removes: bool,
}

impl Edit {
    /// Now and then an edit of one of these items, which are then without those that it removes.
    pub(crate) fn of_one(network: &Network, own: &mut Vec<(i64, i64)>) -> Option<Self> {
        let mut world = network.world();
        let at = world.below(own.len() as u64) as usize;
        let edits = world.happens(3) && !world.refuses_edits;
        let removes = world.happens(2);
        let (sensor, n) = *own.get(at).filter(|_| edits)?;
        if removes {
            own.swap_remove(at);
        }
        Some(Self { sensor, n, removes })
    }

    /// Whether it has found the item, which only damage may hide, and a deletion of the parent remove.
    pub(crate) async fn make<H: Handle>(
        self,
        handle: &H,
        network: &Network,
        session: Session<'_>,
    ) -> Result<bool> {
        let edit = handle.edit(self.sensor, self.n, self.removes, session);
        let is_found = edit.await?;
        let mut world = network.world();
        let may_miss = world.has_damage || world.deleted == Some(self.sensor);
        if !is_found && !may_miss {
            world.fail(format!(
                "G1: item {} was acknowledged, and an edit does not find it",
                self.n
            ));
        }
        Ok(is_found)
    }

    async fn call<H: Handle>(self, handle: &H, network: &Network, session: Session<'_>) {
        let edit = self.make(handle, network, session);
        let edited = called(network, &handle.process(), edit).await;
        if !matches!(edited.0, Some(Ok(false))) {
            self.tell(network, edited.told());
        }
    }

    pub(crate) fn tell(self, network: &Network, edited: Told) {
        let mut world = network.world();
        let what = if self.removes { "removed" } else { "changed" };
        world.note(|| format!("{} {what}: {edited:?}", self.n));
        let Some(history) = world.told.get_mut(&self.n) else {
            return;
        };
        match self.removes {
            // What another call may have done may be done.
            true => history.removed = history.removed.min(edited),
            false => {
                history.changes.0 += i64::from(edited == Told::Done);
                history.changes.1 += i64::from(edited != Told::Failed);
            }
        }
    }
}

/// Loads eight items of both keys; in a session all of them or none.
pub(crate) async fn load<H: Handle>(
    handle: H,
    network: Network,
    first: i64,
    mut session: Option<ClientSession>,
) {
    let items = (first..first + 8).map(|n| (network.world().begin_item(n), n));
    let items = Vec::from_iter(items);
    let load = handle.load(items.clone(), session.as_mut());
    let loaded = ended(&network, &handle.process(), load).await;
    for (_, n) in items {
        let told = match &loaded {
            Some(failed) => failed.get(&n).copied().unwrap_or(Told::Done),
            None => Told::Maybe,
        };
        tell(&network, n, told);
    }
}

/// What has become of a call; `None` if its caller has not waited for it.
pub(crate) struct Called<R>(pub(crate) Option<Result<R>>);

impl<R> Called<R> {
    pub(crate) fn told(&self) -> Told {
        match &self.0 {
            Some(Ok(_)) => Told::Done,
            Some(Err(error)) => Told::by(error),
            None => Told::Maybe,
        }
    }
}

/// Awaits a call of this process, and now and then drops it.
pub(crate) async fn called<R>(
    network: &Network,
    process: &str,
    call: impl Future<Output = Result<R>>,
) -> Called<R> {
    if network.world().happens(12) {
        let patience = Duration::from_millis(15);
        let called = timeout(patience, call).await.ok();
        if called.is_none() {
            reach(format!("a dropped call of {}", kind_of(process)));
        }
        return Called(called);
    }
    Called(ended(network, process, call).await)
}

/// What a process does, by its name.
pub(crate) fn kind_of(process: &str) -> &'static str {
    match &process[..1] {
        "h" => "a writer",
        "c" => "a change of the capacity",
        "d" => "a deletion",
        "i" => "an import",
        "m" => "a migration",
        "p" => "a split",
        "r" => "a repair",
        "v" => "a verification",
        other => panic!("{other} is not a process"),
    }
}

/// What a call of this process gives, if the process does not end before.
pub(crate) async fn ended<R>(
    network: &Network,
    process: &str,
    call: impl Future<Output = R>,
) -> Option<R> {
    let ended = timeout(FOR_EVER, call).await.ok();
    let mut world = network.world();
    if ended.is_none() && world.stopped.get(process) != Some(&None) {
        world.fail(format!("G6: a call of {process} does not end"));
    }
    ended
}

pub(crate) fn tell(network: &Network, item: i64, appended: Told) {
    let mut world = network.world();
    world.note(|| format!("{item} {appended:?}"));
    let new = || History {
        appended,
        removed: Told::Failed,
        changes: (0, 0),
    };
    let history = world.told.entry(item).or_insert_with(new);
    // What another call has done stays done.
    history.appended = history.appended.min(appended);
}
