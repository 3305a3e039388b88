//! The sections of the list of a parent's items that a read goes through. A token belongs to one
//! list.
//!
//! The list is that of the extras, which are buckets, with one document more: the parent's own
//! array, whose rows have the form of the extras' rows, and an `_id` without a number. So the
//! bucket half finds the place of a token.

use bucket_core::{
    protocol::query::{Query, QueryStart, WholeRead},
    server::target::Target,
};
use mongodb::bson::Document;

use crate::{
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

    fn target(&self) -> Target<'_> {
        match self.2 {
            Section::Extras => self.1.target(),
            _ => self.0.parent(),
        }
    }

    fn whole(&self, query: &Query, start: Option<&QueryStart>) -> Option<WholeRead> {
        match self.own_items(start) {
            None => self.1.whole(query, start),
            Some(asked) => self.0.scope.whole_parent(query, asked),
        }
    }

    fn unwound(&self, query: &Query, start: Option<&QueryStart>) -> Vec<Document> {
        match self.own_items(start) {
            None => self.1.unwound(query, start),
            Some(asked) => self.0.scope.own_items(query, asked),
        }
    }
}

impl SectionRows<'_> {
    /// Which of the parent's own items are asked for, unless the section is the extras.
    fn own_items(&self, start: Option<&QueryStart>) -> Option<OwnItems> {
        let at = start.and_then(|start| start.at);
        match self.2 {
            Section::Extras => None,
            Section::OwnUnlessFlagged => Some(OwnItems::UnlessFlagged),
            Section::Own => Some(at.map_or(OwnItems::All, OwnItems::From)),
        }
    }
}
