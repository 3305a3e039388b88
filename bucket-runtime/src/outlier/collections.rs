//! The part of the handle that is the same for all structs.

use bucket_core::{schema::spec::OutlierSpec, server::Server};

use super::known::KnownOutliers;
use crate::write::{combine::Combiner, engine::Engine};

/// The two collections, the parents that the handle knows to be outliers, and the pushes that wait
/// in it.
#[derive(Clone)]
pub struct OutlierCollections {
    pub(crate) spec: &'static OutlierSpec,
    /// The parents' collection.
    pub parents: Server,
    /// The engine of the extras' collection.
    pub extras: Engine,
    pub(crate) known: KnownOutliers,
    pub(crate) combiner: Combiner,
}
