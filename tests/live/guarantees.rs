//! G1 to G6, with tests named after them, and random programs of all calls.

pub(crate) mod g1_g2_g3_concurrency;
pub(crate) mod g4_keys;
pub(crate) mod g4_texts;
pub(crate) mod g5_order;
pub(crate) mod g6_dropped;
pub(crate) mod life;
