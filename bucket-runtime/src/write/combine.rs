//! Combining: appends that wait at the same time in one handle share commands, and so do pushes
//! (`outlier/write/combine_pushes.rs`).
//!
//! A handle has a queue for each key (`write/combine/queue.rs`). While fewer than four commands are
//! in flight, a task takes what is ready: one key with several waiting appends, or many keys with
//! one each. Further appends to a key in flight wait for its next command. From the fifth command
//! on, up to the eighth, each must find at least four keys that are ready. That needs no clock: the
//! slower the server answers, the more keys become ready, and the more commands are sent. Of two
//! other limits, with 1,000 keys, each was slower somewhere: eight commands for whatever waits with
//! 8 writers (0.76 of flat `insert_one`; with four commands 0.82), since a command of one statement
//! costs the server most; and four commands at most from 32 writers on. The tasks belong to no
//! caller.
//!
//! A key's command is a chain of ordered statements (`write/engine/batch.rs`): fill the open
//! bucket, then insert full buckets and one with room left (`batch/new_buckets.rs`). If the items
//! fill a bucket, those at the end that would only begin another one wait for the next command,
//! once at most: so each bucket is written by one command, and other processes rarely meet one that
//! is open. The index cannot refuse a bucket that is full from the start, even if another one is
//! open. With a time ordinal the one with room is therefore inserted first: while it is open,
//! nobody else can open one. With `{#}` and windows all are inserted in order, since whoever opens
//! a bucket takes the next number, and the server then refuses the full one. An insertion is an
//! upsert whose filter asks the open index for an empty range (`insert_bucket`): it needs no
//! search, and still names the index, and so the capacity. Items whose order matters, such as those
//! of one load, get no full buckets with a time ordinal: their buckets are opened with all but one
//! item, and the last one follows. A command of many keys holds the first statement of each key,
//! unordered. Each of these stores its items or is refused, so the refusals alone show what was
//! carried out; a task of the key's own sends the rest. If a statement is refused because of one
//! item, each of its items is sent alone.

mod appends;
mod queue;

pub(crate) use self::queue::{Combiner, InFlight, SendWaiting};

/// How many commands of one handle may be in flight, no matter how little waits. The tests of the
/// queue, which take all interleavings, get by with few.
const EAGER_WORKERS: usize = if cfg!(test) { 1 } else { 4 };

/// How many may be in flight if for each further one at least [`KEYS_PER_FURTHER_WORKER`] keys are
/// ready. The driver's pool has ten connections by default, so some are left for other calls.
const MAX_WORKERS: usize = if cfg!(test) { 2 } else { 8 };

/// How many keys must be ready for a further command.
const KEYS_PER_FURTHER_WORKER: usize = if cfg!(test) { 2 } else { 4 };
