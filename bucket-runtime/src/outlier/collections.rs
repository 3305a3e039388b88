//! The part of the handle that is the same for all structs.

use bucket_core::server::Server;

use super::{command::ParentScope, known::KnownOutliers};
use crate::write::{combine::Combiner, engine::Engine};

/// The two collections, the parents that the handle knows to be outliers, and the pushes that wait
/// in it.
#[derive(Clone)]
pub(crate) struct OutlierCollections {
    pub(crate) parents: Server,
    pub(crate) extras: Engine,
    pub(crate) known: KnownOutliers,
    pub(crate) combiner: Combiner<ParentScope>,
}
