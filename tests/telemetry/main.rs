//! Spans as OpenTelemetry receives them, with the driver's switched on.
//!
//! They have a binary of their own, since a process has one subscriber.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod spans;
mod support;
