//! The kind of deployment, which decides how commands become retryable.
//!
//! If the connection breaks, a command is sent again, in a way by which the server recognises the
//! repetition. This module asks `hello` once, at opening, which way there is:
//!
//! | server | several updates | why |
//! | --- | --- | --- |
//! | a replica set | `update`, numbered here (`server/write/retryable.rs`) | the driver sends one update per command |
//! | a `mongos` or a standalone server from 8.0 on | the driver's `bulkWrite` | each shard has a memory of its own, and the `mongos` keeps the numbers apart |
//! | before 8.0 | one update per command | a standalone server has no such memory at all |
//!
//! A replica set from 8.0 on has `bulkWrite`, too. It takes a tenth more CPU time, of server and
//! client together, than a numbered `update` of many keys (251 against 227 us an item on 8.2.0),
//! and the driver, which repeats it after a broken connection, gives up if one of its statements is
//! refused.
//!
//! The numbers of the first way (`lsid`, `txnNumber`) belong to sessions of our own. The driver's
//! count of such a session must never fall below ours, so for each number we begin a transaction
//! and abort it without a command (`tests/live/server_claims/many.rs`). Whole buckets go by the
//! driver's `insert_many` everywhere.

use mongodb::bson::Document;

use crate::value::number::whole;

/// The wire version of server 8.0, the first with the command `bulkWrite`.
const SERVER_8_0: i64 = 25;

/// The wire version of server 8.2.
const SERVER_8_2: i64 = 27;

/// The kind of deployment, and the wire version of the server that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    topology: Topology,
    wire_version: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topology {
    Standalone,
    ReplicaSet,
    /// A `mongos` answers.
    Sharded,
}

impl Deployment {
    pub(in crate::server) fn of(hello: &Document) -> Self {
        Self {
            topology: match hello.get_str("msg") {
                Ok("isdbgrid") => Topology::Sharded,
                _ if hello.contains_key("setName") => Topology::ReplicaSet,
                _ => Topology::Standalone,
            },
            wire_version: hello.get("maxWireVersion").and_then(whole).unwrap_or(0),
        }
    }

    pub fn is_sharded(self) -> bool {
        self.topology == Topology::Sharded
    }

    /// Whether the deployment lacks transactions and change streams.
    pub(crate) fn is_standalone(self) -> bool {
        self.topology == Topology::Standalone
    }

    /// Whether the driver can send several updates in one command, which it repeats.
    pub(in crate::server) fn has_bulk_write(self) -> bool {
        self.wire_version >= SERVER_8_0
    }

    /// Whether our own transaction numbers may make commands retryable: a `mongos` forwards them to
    /// shards, each with a memory of its own.
    pub(in crate::server) fn takes_our_numbers(self) -> bool {
        self.topology == Topology::ReplicaSet
    }

    /// Whether an update is not carried out if its index was dropped meanwhile. Server 6.0 may have
    /// carried it out (`tests/live/server_claims/dropped_index.rs` shows both).
    pub(crate) fn breaks_off_before_writing(self) -> bool {
        self.wire_version >= SERVER_8_2
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use crate::server::*;

    fn of(hello: Document) -> Deployment {
        Deployment::of(&hello)
    }

    #[test]
    fn hello_tells_the_topology_and_the_version() {
        let mongos = of(doc! { "msg": "isdbgrid", "maxWireVersion": 27 });
        assert!(mongos.is_sharded() && mongos.has_bulk_write() && !mongos.takes_our_numbers());
        let old_mongos = of(doc! { "msg": "isdbgrid", "maxWireVersion": 17 });
        assert!(!old_mongos.has_bulk_write() && !old_mongos.takes_our_numbers());
        let old_set = of(doc! { "setName": "rs0", "maxWireVersion": 17 });
        assert!(old_set.takes_our_numbers() && !old_set.breaks_off_before_writing());
        let set = of(doc! { "setName": "rs0", "maxWireVersion": 25 });
        assert!(set.takes_our_numbers() && !set.is_sharded());
        let standalone = of(doc! { "maxWireVersion": 17 });
        assert!(standalone.is_standalone() && !standalone.takes_our_numbers());
    }
}
