//! The part of the handle that is the same for all structs.

use super::known::KnownOutliers;
use crate::{server::Server, write::engine::Engine};

/// The two collections, and the parents that the handle knows to be outliers.
#[derive(Clone)]
pub(crate) struct OutlierCollections {
    pub(crate) parents: Server,
    pub(crate) extras: Engine,
    pub(crate) known: KnownOutliers,
}
