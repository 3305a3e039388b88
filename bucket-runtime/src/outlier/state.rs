//! How full a parent is.

use mongodb::{ClientSession, bson::Document};

use super::{collections::Collections, command::ParentScope};
use crate::{Result, value::element::whole};

/// How full a parent is.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) length: usize,
    pub(crate) flagged: bool,
    /// The parent's size in bytes.
    pub(crate) bytes: usize,
}

impl State {
    /// Reads the state from the fields of [`ParentScope::state`].
    fn of(fields: &Document) -> Self {
        let size = |name| {
            let size = fields.get(name).and_then(whole);
            size.and_then(|size| usize::try_from(size).ok())
                .unwrap_or(0)
        };
        Self {
            length: size("length"),
            flagged: fields.get_bool("flag").unwrap_or(false),
            bytes: size("bytes"),
        }
    }
}

impl Collections {
    /// How full a parent is, if it exists; for a write, as the primary has it.
    pub(crate) async fn state(
        &self,
        scope: &ParentScope,
        for_a_write: bool,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<State>> {
        let fields = self
            .parents
            .fields(scope.parent(), scope.state(), for_a_write, session);
        let fields = fields
            .await
            .map_err(|error| self.target_of(scope).read_error(error))?;
        Ok(fields.as_ref().map(State::of))
    }
}
