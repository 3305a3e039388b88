//! The push of items with an identity.
//!
//! An array takes nothing more once its parent is flagged. So an item that a flagged parent's array
//! does not hold is never in it later, and from then on the unique index of the extras is enough.

use bucket_core::{error::Kind, value::element::count_within};
use mongodb::ClientSession;

use super::waiting_items::WaitingItems;
use crate::{
    Result,
    outlier::parent_handle::{ParentHandle, ParentState},
    write::engine::{COMMAND_BYTES, TRIES},
};

/// How many items one command compares with those of a parent.
pub const ITEMS_PER_COMPARISON: usize = 1000;

impl ParentHandle {
    /// Pushes items with an identity, each of which a document can hold, unless they are there.
    ///
    /// The parent's array takes items in an update that excludes their identities. The items of an
    /// outlier go to the extras after an update that shows both, the flag and that the array holds
    /// none of them.
    pub(super) async fn push_identified(
        &self,
        field: &'static str,
        items: &mut WaitingItems,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        // A parent whose state is unknown is treated as empty.
        let mut state = ParentState::default();
        let mut is_outlier = self.is_known();
        let mut changes = 0;
        while !items.entries.is_empty() {
            // A command holds an item and its identity.
            let sizes = items.sizes().take(ITEMS_PER_COMPARISON);
            let most = count_within(COMMAND_BYTES / 2, sizes).max(1);
            let fitting = self.count_fitting(&state, items).clamp(1, most);
            let is_pushed = match is_outlier {
                true => (self.push_to_outlier(items, most, session.as_deref_mut())).await?,
                false => {
                    let session = session.as_deref_mut();
                    self.push_to_array(items, fitting, &state, session).await?
                }
            };
            if is_pushed {
                (state, changes) = (ParentState::default(), 0);
                continue;
            }
            // Items are there; or the parent has room, but for fewer of them; or it does not exist.
            let first = items.first(most);
            let found = self.read_state(&first, true, session.as_deref_mut());
            state = (found.await?).ok_or_else(|| self.error(Kind::NoParent))?;
            items.remove_held(field, &state.held);
            is_outlier = state.flagged || self.count_fitting(&state, items) == 0;
            bucket_core::reached!("a push of unique items again, flagged: {}", state.flagged);
            if !state.flagged {
                self.forget();
            }
            changes += 1;
            if changes == TRIES {
                return Err(self.error(Kind::Contended(changes)));
            }
        }
        Ok(())
    }

    /// Flags a parent without room, or one that is flagged, if its array holds none of the first
    /// items, and appends these to its extras.
    async fn push_to_outlier(
        &self,
        items: &mut WaitingItems,
        first: usize,
        mut session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let elements = items.first(first);
        let flag = || self.scope.flag(&elements);
        let target = self.parent().store_no_items();
        if !target.update(flag, session.as_deref_mut()).await? {
            return Ok(false);
        }
        let later = items.entries.split_off(first);
        let pushed = match self.check_extras(session.as_deref_mut()).await {
            Ok(()) => self.extend(items, session).await,
            Err(error) => Err(error),
        };
        items.entries.extend(later);
        pushed.map(|()| true)
    }
}
