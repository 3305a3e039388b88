//! Spans and metrics as OpenTelemetry receives them, with the driver's spans switched on.
//!
//! They have a binary of their own, since a process has one subscriber and one provider of meters.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod metrics;
mod spans;
mod support;
