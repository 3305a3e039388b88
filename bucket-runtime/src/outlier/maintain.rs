//! Collections of parents and extras as a whole.

mod advise;
mod open;
mod recount;
mod repair;
pub(crate) mod split;
mod verify;

pub use self::{
    advise::{
        Advise,
        advice::{Advice, Candidate},
        lengths::LengthGroup,
        rule::Finding,
    },
    open::OpenOutliers,
    repair::{RepairOutliers, RepairedOutliers},
    split::{SplitExisting, SplitProgress},
    verify::{OutlierProblem, VerifiedOutliers, VerifyOutliers},
};
