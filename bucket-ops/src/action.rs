//! The calls of [`Ops`](crate::Ops) and [`OutlierOps`](crate::OutlierOps) before they are sent,
//! if they have settings of their own; the others are a [`Call`](bucket_runtime::action::Call).

use bucket_runtime::{__actions, __streams, Bucket, Outlier, ReadStream, Result};

use crate::{
    archive::import::Imported, import_flat::ImportProgress, outlier::repair::RepairedOutliers,
    verify::rebuild::RollupProgress,
};
pub use crate::{
    archive::{export::Export, import::Import},
    import_flat::ImportFlat,
    migrate::Migrate,
    outlier::repair::RepairOutliers,
    verify::rebuild::RebuildRollups,
};

__actions! {
    import_flat: 'c ['c, T: Bucket] ImportFlat<'c, T> => Result<ImportProgress>;
    import: 'c ['c, T: Bucket] Import<'c, T> => Result<Imported>;
    migrate_from: 'c ['c, O: Bucket, T: Bucket] Migrate<'c, O, T> => Result<u64>;
    rebuild_rollups: 'c ['c] RebuildRollups<'c> => Result<RollupProgress>;
    repair: 'static [T: Outlier] RepairOutliers<T> => Result<RepairedOutliers>;
}

__streams! {
    export: 'c ['c, T: Bucket] Export<'c, T> => ReadStream<'c, String>;
}
