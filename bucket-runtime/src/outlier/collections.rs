//! The part of the handle that is the same for all structs.

use super::{known::KnownOutliers, waiting_pushes::WaitingPushes};
use crate::{server::Server, write::engine::Engine};

/// The two collections, the parents that the handle knows to be outliers, and the pushes that wait in it.
#[derive(Clone)]
pub(crate) struct OutlierCollections {
    pub(crate) parents: Server,
    pub(crate) extras: Engine,
    pub(crate) known: KnownOutliers,
    pub(crate) waiting: WaitingPushes,
}
