//! The buckets of one key, for reading.

use crate::{
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
    /// Names this key as the one that the current call concerns.
    pub(crate) fn called(&self) {
        self.server.called_for(Some(&self.scope));
    }

    pub(crate) fn target(&self) -> Target<'_> {
        self.server.target_of(&self.scope)
    }
}
