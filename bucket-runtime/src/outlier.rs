//! The outlier pattern: the trait behind `#[derive(Outlier)]`, its handle, and a room for each kind of call.
//! As in the house, `read` comes before `write`, and `maintain` uses both.

mod collections;
pub(crate) mod command;
pub(crate) mod extra;
mod known;
pub(crate) mod maintain;
#[expect(
    clippy::module_inception,
    reason = "the file bears the name of its trait"
)]
mod outlier;
mod outliers;
mod parent_handle;
mod part;
mod read;
mod write;

pub use self::{
    maintain::{
        Advice, Advise, Candidate, OpenOutliers, OutlierProblem, RepairOutliers, RepairedOutliers,
        SplitExisting, SplitProgress, VerifiedOutliers, VerifyOutliers,
    },
    outlier::{IdRef, IdentifiedItems, Outlier},
    outliers::Outliers,
    part::OutlierPart,
    read::{
        CountParentItems, Extras, ExtrasBucket, ExtrasStream, Find, FindParts, FindStream, Get,
        GetAll, Parent, ParentFilter, ParentItemStream, ParentItems,
    },
    write::{
        Delete, Insert, Push, PushMany, PushManyError, Remove, UpdateParent, UpsertParentItem,
    },
};
