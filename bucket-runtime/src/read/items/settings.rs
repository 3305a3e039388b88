//! The settings of a read of items, for the builders of pages and parts: so they may be called in any order.

/// Adds the settings of an `Items` of this type to a builder that hands it to its method `set`.
macro_rules! item_settings {
    ($item:ty) => {
        /// Returns only the items that match, as [`Items::filter`](crate::action::Items::filter) does.
        pub fn filter(self, filter: $crate::Filter<$item>) -> Self {
            self.set(|items| items.filter(filter))
        }

        /// Returns the items in reverse order, as
        /// [`Items::newest_first`](crate::action::Items::newest_first) does.
        pub fn newest_first(self) -> Self {
            self.set(|items| items.newest_first())
        }

        /// Skips the first items, as [`Items::skip`](crate::action::Items::skip) does.
        pub fn skip(self, items: u64) -> Self {
            self.set(|reads| reads.skip(items))
        }

        /// Reads from these members, as
        /// [`Items::read_preference`](crate::action::Items::read_preference) does.
        pub fn read_preference(self, preference: mongodb::options::ReadPreference) -> Self {
            self.set(|items| items.read_preference(preference))
        }

        /// Reads with this concern, as [`Items::read_concern`](crate::action::Items::read_concern) does.
        pub fn read_concern(self, concern: mongodb::options::ReadConcern) -> Self {
            self.set(|items| items.read_concern(concern))
        }

        /// Reads in this session, as [`Items::session`](crate::action::Items::session) does.
        pub fn session(self, session: impl Into<&'s mut mongodb::ClientSession>) -> Self {
            self.set(|items| items.session(session))
        }

        /// Skips the items that cannot be read, as
        /// [`Items::skip_unreadable`](crate::action::Items::skip_unreadable) does.
        pub fn skip_unreadable(self, on_unreadable: impl FnMut($crate::Error) + Send + 's) -> Self {
            self.set(|items| items.skip_unreadable(on_unreadable))
        }
    };
}

pub(super) use item_settings;
