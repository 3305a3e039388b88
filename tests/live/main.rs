//! The guarantees on a real server, read back by the raw driver.
//!
//! One binary for all live tests, so that they share one server.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(
    clippy::unnecessary_fallible_conversions,
    reason = "the text of a regex may hold NUL in bson 2 and not in bson 3"
)]

mod blocking;
mod bulk;
mod bulk_cut;
mod bulk_failed;
mod bulk_keys;
mod bulk_stream;
mod bytes;
mod bytes_proof;
mod combine;
mod combine_cut;
mod combine_dropped;
mod combine_errors;
mod combine_interrupted;
mod combine_kill;
mod combine_large;
mod combine_random;
mod combine_sessions;
mod combine_support;
mod edits;
mod edits_races;
mod edits_sessions;
mod edits_support;
mod errors;
mod errors_items;
mod errors_server;
mod errors_stored;
mod expiry;
mod flat_view;
mod g1_g2_g3_concurrency;
mod g4_keys;
mod g4_texts;
mod g5_creation;
mod g5_order;
mod g6_dropped;
mod indexes;
mod large_buckets;
mod manual;
mod manual_race;
mod outlier_advise;
mod outlier_errors;
mod outlier_errors_items;
mod outlier_events;
mod outlier_ids;
mod outlier_ids_texts;
mod outlier_interleave;
mod outlier_kill;
mod outlier_manual;
mod outlier_manual_reader;
mod outlier_mixed;
mod outlier_order;
mod outlier_plans;
mod outlier_race;
mod outlier_sessions;
mod outlier_split;
mod outlier_steps;
mod outlier_support;
mod outlier_types;
mod outlier_types_hostile;
mod outlier_validators;
mod outlier_verify;
mod outlier_verify_all;
mod paging;
mod paging_model;
mod plans;
mod proxy;
mod query_cases;
mod query_differential;
mod query_plans;
mod query_random;
mod query_reads;
mod regroup;
mod remove_key;
mod rollups;
mod rollups_limits;
mod server_claims;
mod server_claims_edit;
mod server_claims_many;
mod server_claims_time_series;
mod sessions;
mod standalone;
mod support;
mod transactions;
mod types;
mod types_binary;
mod types_keys;
mod types_values;
mod unique;
mod unique_kill;
mod validators;
mod verify;
mod verify_listed;
mod verify_race;
mod windows;
mod windows_open;
mod windows_plans;
mod windows_races;
