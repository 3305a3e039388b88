//! Collections of parents and extras as a whole.

mod open;
mod recount;
mod repair;
pub(crate) mod split;
mod verify;

pub(super) use self::verify::verify_outliers;
pub use self::{
    open::OpenOutliers,
    repair::{RepairOutliers, RepairedOutliers},
    verify::VerifiedOutliers,
};
