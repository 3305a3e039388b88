//! The guarantees on a real server, read back by the raw driver.
//!
//! One binary for all live tests, so that they share one server. With the feature `bson-3` it holds those
//! in which something depends on how a document is encoded.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(
    clippy::unnecessary_fallible_conversions,
    reason = "the text of a regex may hold NUL in bson 2 and not in bson 3"
)]
#![cfg_attr(
    feature = "bson-3",
    allow(dead_code, reason = "the others share helpers with these")
)]

#[cfg(not(feature = "bson-3"))]
mod blocking;
#[cfg(not(feature = "bson-3"))]
mod bulk;
#[cfg(not(feature = "bson-3"))]
mod bulk_cut;
#[cfg(not(feature = "bson-3"))]
mod bulk_failed;
#[cfg(not(feature = "bson-3"))]
mod bulk_keys;
#[cfg(not(feature = "bson-3"))]
mod bulk_stream;
mod bytes;
mod bytes_capacity;
mod bytes_proof;
#[cfg(not(feature = "bson-3"))]
mod combine;
#[cfg(not(feature = "bson-3"))]
mod combine_cut;
#[cfg(not(feature = "bson-3"))]
mod combine_dropped;
#[cfg(not(feature = "bson-3"))]
mod combine_errors;
#[cfg(not(feature = "bson-3"))]
mod combine_interrupted;
#[cfg(not(feature = "bson-3"))]
mod combine_kill;
#[cfg(not(feature = "bson-3"))]
mod combine_large;
#[cfg(not(feature = "bson-3"))]
mod combine_random;
#[cfg(not(feature = "bson-3"))]
mod combine_sessions;
#[cfg(not(feature = "bson-3"))]
mod combine_support;
#[cfg(not(feature = "bson-3"))]
mod doubt_codes;
#[cfg(not(feature = "bson-3"))]
mod doubt_half;
#[cfg(not(feature = "bson-3"))]
mod doubt_killed;
#[cfg(not(feature = "bson-3"))]
#[cfg(not(feature = "bson-3"))]
mod doubt_support;
mod edits;
#[cfg(not(feature = "bson-3"))]
mod edits_races;
#[cfg(not(feature = "bson-3"))]
mod edits_sessions;
mod edits_support;
#[cfg(not(feature = "bson-3"))]
mod edits_unique;
mod errors;
mod errors_items;
#[cfg(not(feature = "bson-3"))]
mod errors_server;
mod errors_stored;
#[cfg(not(feature = "bson-3"))]
mod errors_text;
#[cfg(not(feature = "bson-3"))]
mod expiry;
#[cfg(not(feature = "bson-3"))]
mod flat_view;
#[cfg(not(feature = "bson-3"))]
mod g1_g2_g3_concurrency;
#[cfg(not(feature = "bson-3"))]
mod g4_keys;
#[cfg(not(feature = "bson-3"))]
mod g4_texts;
#[cfg(not(feature = "bson-3"))]
mod g5_creation;
#[cfg(not(feature = "bson-3"))]
mod g5_order;
#[cfg(not(feature = "bson-3"))]
mod g6_dropped;
#[cfg(not(feature = "bson-3"))]
mod indexes;
#[cfg(not(feature = "bson-3"))]
mod large_buckets;
#[cfg(not(feature = "bson-3"))]
mod life;
#[cfg(not(feature = "bson-3"))]
mod life_model;
#[cfg(not(feature = "bson-3"))]
mod life_support;
mod manual;
#[cfg(not(feature = "bson-3"))]
mod manual_race;
#[cfg(not(feature = "bson-3"))]
mod outlier_advise;
mod outlier_bytes;
mod outlier_errors;
mod outlier_errors_items;
#[cfg(not(feature = "bson-3"))]
mod outlier_events;
#[cfg(not(feature = "bson-3"))]
mod outlier_ids;
#[cfg(not(feature = "bson-3"))]
mod outlier_ids_texts;
#[cfg(not(feature = "bson-3"))]
mod outlier_interleave;
#[cfg(not(feature = "bson-3"))]
mod outlier_kill;
#[cfg(not(feature = "bson-3"))]
mod outlier_manual;
#[cfg(not(feature = "bson-3"))]
mod outlier_manual_reader;
#[cfg(not(feature = "bson-3"))]
mod outlier_mixed;
#[cfg(not(feature = "bson-3"))]
mod outlier_order;
#[cfg(not(feature = "bson-3"))]
mod outlier_plans;
#[cfg(not(feature = "bson-3"))]
mod outlier_race;
#[cfg(not(feature = "bson-3"))]
mod outlier_sessions;
#[cfg(not(feature = "bson-3"))]
mod outlier_split;
#[cfg(not(feature = "bson-3"))]
mod outlier_steps;
mod outlier_support;
mod outlier_types;
mod outlier_types_hostile;
mod outlier_unreadable;
mod outlier_validators;
#[cfg(not(feature = "bson-3"))]
mod outlier_verify;
#[cfg(not(feature = "bson-3"))]
mod outlier_verify_all;
#[cfg(not(feature = "bson-3"))]
mod paging;
#[cfg(not(feature = "bson-3"))]
mod paging_model;
#[cfg(not(feature = "bson-3"))]
mod plans;
#[cfg(not(feature = "bson-3"))]
mod proxy;
mod query_cases;
#[cfg(not(feature = "bson-3"))]
mod query_differential;
mod query_plans;
#[cfg(not(feature = "bson-3"))]
mod query_random;
mod query_reads;
#[cfg(not(feature = "bson-3"))]
mod recapacity;
#[cfg(not(feature = "bson-3"))]
mod recapacity_busy;
#[cfg(not(feature = "bson-3"))]
mod recapacity_index;
#[cfg(not(feature = "bson-3"))]
mod recapacity_reads;
#[cfg(not(feature = "bson-3"))]
mod regroup;
#[cfg(not(feature = "bson-3"))]
mod remove_key;
#[cfg(not(feature = "bson-3"))]
mod rollups;
mod rollups_limits;
mod security;
mod security_shape;
mod security_stored;
#[cfg(not(feature = "bson-3"))]
mod server_claims;
#[cfg(not(feature = "bson-3"))]
mod server_claims_doubt;
#[cfg(not(feature = "bson-3"))]
mod server_claims_edit;
#[cfg(not(feature = "bson-3"))]
mod server_claims_many;
#[cfg(not(feature = "bson-3"))]
mod server_claims_recapacity;
#[cfg(not(feature = "bson-3"))]
mod server_claims_time_series;
#[cfg(not(feature = "bson-3"))]
mod server_claims_watch;
mod sessions;
mod sharding;
mod support;
mod transactions;
mod types;
mod types_binary;
mod types_keys;
mod types_values;
#[cfg(not(feature = "bson-3"))]
mod unique;
#[cfg(not(feature = "bson-3"))]
mod unique_kill;
#[cfg(not(feature = "bson-3"))]
mod unique_twins;
#[cfg(not(feature = "bson-3"))]
mod unprivileged;
mod unreadable;
mod validators;
#[cfg(not(feature = "bson-3"))]
mod verify;
#[cfg(not(feature = "bson-3"))]
mod verify_listed;
#[cfg(not(feature = "bson-3"))]
mod verify_race;
mod watch;
mod windows;
mod windows_open;
#[cfg(not(feature = "bson-3"))]
mod windows_plans;
#[cfg(not(feature = "bson-3"))]
mod windows_races;
