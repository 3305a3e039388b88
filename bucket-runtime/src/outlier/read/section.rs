//! The sections of the list of a parent's items that a read goes through. A token belongs to one
//! list.
//!
//! The list is that of the extras, which are buckets, with one document more: the parent's own
//! array, whose rows have the form of the extras' rows, and an `_id` without a number. So the
//! bucket half finds the place of a token.

use bucket_core::{
    protocol::query::{Query, QueryStart},
    server::read::cursor::DocumentCursor,
};
use mongodb::ClientSession;

use crate::{
    Result,
    outlier::{command::OwnItems, parent_handle::ParentHandle},
    read::items::{ItemList, RowSource},
};

/// A section of a parent's items, read by a command of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The parent's own array.
    Own,
    /// The parent's own array, unless the parent is flagged.
    OwnUnlessFlagged,
    Extras,
}

impl Section {
    /// The sections in the order of a read.
    ///
    /// Newest first, the parent comes last if it is flagged. So its array is asked for in the first
    /// command only if there are no others.
    pub(super) fn all(newest_first: bool) -> &'static [Self] {
        match newest_first {
            false => &[Self::Own, Self::Extras],
            true => &[Self::OwnUnlessFlagged, Self::Extras, Self::Own],
        }
    }

    pub(super) fn is_own(self) -> bool {
        self != Self::Extras
    }
}

/// One section of a parent's list.
pub(super) struct SectionRows<'l>(
    pub(super) &'l ParentHandle,
    pub(super) &'l ItemList,
    pub(super) Section,
);

impl RowSource for SectionRows<'_> {
    fn list(&self) -> &ItemList {
        self.1
    }

    async fn rows<'s>(
        &self,
        query: &Query,
        start: Option<&QueryStart>,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s>> {
        let at = start.and_then(|start| start.at);
        let asked = match self.2 {
            Section::Extras => return self.1.rows(query, start, session).await,
            Section::OwnUnlessFlagged => OwnItems::UnlessFlagged,
            Section::Own => at.map_or(OwnItems::All, OwnItems::From),
        };
        let whole = self.0.scope.whole_parent(query, asked);
        let unwound = || self.0.scope.own_items(query, asked);
        self.0.parent().items(whole, unwound, session).await
    }
}
