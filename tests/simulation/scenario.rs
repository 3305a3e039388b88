//! What a schedule consists of, as its seed draws it.

use crate::{handle::Handle, repair::Inspection, undone::Safeguard, world::World};

/// What moves items beside the writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// An import of a flat collection.
    Flat,
    /// An import of archived buckets.
    Archive,
    Migration,
}

/// How many handles write, and what happens beside them.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) handles: usize,
    /// Whether a writer loads many items at once.
    pub(crate) loads: bool,
    /// Whether a writer's process ends or stands still.
    pub(crate) stops: bool,
    /// Whether two writers have the same items.
    pub(crate) shares: bool,
    /// Whether the capacity changes.
    pub(crate) changes: bool,
    pub(crate) transfer: Option<Transfer>,
    pub(crate) inspection: Option<Inspection>,
    /// Whether a parent is split, or another program's extras of it are taken over.
    pub(crate) splits: bool,
    /// Whether a parent is deleted.
    pub(crate) deletes: bool,
    /// Whether somebody watches, while another program leaves empty buckets.
    pub(crate) watches: bool,
}

impl Scenario {
    /// A safeguard is undone where it is needed.
    pub(crate) fn draw<H: Handle>(world: &mut World) -> Self {
        let undone = world.undone;
        let mut one_in = |n| world.happens(n);
        let [has_third, loads] = [2, 2].map(&mut one_in);
        let [stops, shares, changes] = [4, 2, 4].map(&mut one_in);
        let shares = shares || undone.is_some_and(Safeguard::is_of_unique_parents);
        let [splits, deletes] = [2, 6].map(&mut one_in);
        // Each of them, if any, has a number of its own; the first five, or four, are for none.
        let [transfer, inspection] =
            [(8, 5), (6, 4)].map(|(below, first)| (world.below(below) as usize).checked_sub(first));

        let is_of_change = undone.is_some_and(Safeguard::is_of_change);
        let transfers = [Transfer::Flat, Transfer::Archive, Transfer::Migration];
        let transfer = match undone {
            Some(safeguard) => safeguard.transfer(),
            None => transfer.map(|at| transfers[at]),
        };
        let transfer = transfer.filter(|_| H::IS_OF_BUCKETS && !is_of_change);
        let changes = H::IS_OF_BUCKETS && (changes || is_of_change);
        let changes = changes && matches!(transfer, None | Some(Transfer::Flat));
        let inspections = [Inspection::Repair, Inspection::Verify];
        let inspection = match undone {
            Some(safeguard) => safeguard.inspection(),
            None => inspection.map(|at| inspections[at]),
        };
        let inspection = inspection.filter(|_| !changes && transfer.is_none());
        let splits = splits || undone == Some(Safeguard::OtherExtras);
        let splits = splits && !H::IS_OF_BUCKETS && inspection.is_none();
        let watches = match undone {
            Some(safeguard) => safeguard == Safeguard::EmptyBuckets,
            None => world.happens(2),
        };
        let watches = watches && transfer != Some(Transfer::Migration);
        Self {
            handles: 2 + usize::from(has_third),
            loads,
            // While the migrations wait for the writers, none of these stands still.
            stops: stops && transfer != Some(Transfer::Migration),
            shares: shares && H::IS_UNIQUE,
            changes,
            transfer,
            inspection,
            splits,
            deletes: deletes && !splits && !H::IS_OF_BUCKETS && inspection.is_none(),
            watches,
        }
    }

    pub(crate) fn migrates(&self) -> bool {
        self.transfer == Some(Transfer::Migration)
    }

    /// Whether items are stored while the capacity changes that should wait for it. Then the last change still brings
    /// order.
    pub(crate) fn is_unguarded(&self) -> bool {
        self.changes && (self.loads || self.transfer.is_some())
    }

    /// Whether only writers store items, once each.
    pub(crate) fn is_plain(&self) -> bool {
        let moves = self.changes || self.splits || self.transfer.is_some();
        !moves && !self.shares && self.inspection.is_none()
    }

    /// Whether a read gives each writer's items in their order.
    pub(crate) fn is_in_order<H: Handle>(&self) -> bool {
        let is_archived = self.transfer == Some(Transfer::Archive);
        H::is_in_order() && !self.shares && !self.is_unguarded() && !is_archived
    }
}
