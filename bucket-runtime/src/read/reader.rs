//! The buckets of one key, for reading.

use bucket_core::{
    protocol::command::IndexedScope,
    server::{Server, target::Target},
};

/// One key of one collection, for reading.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) server: Server,
    pub(crate) scope: IndexedScope,
}

impl Reader {
    pub(crate) fn target(&self) -> Target<'_> {
        self.server.target_of(&self.scope)
    }
}
