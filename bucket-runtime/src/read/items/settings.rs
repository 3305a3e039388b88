//! The settings of a read of items, for the builders of pages: so they may be called in any order.

/// Adds the settings of an `Items` of this type to a builder that hands it to its method `set`.
macro_rules! item_settings {
    ($item:ty, $of:literal) => {
        #[doc = concat!("Returns only the items that match, as [`", $of, "::filter`] does.")]
        pub fn filter(self, filter: $crate::Filter<$item>) -> Self {
            self.set(|items| items.filter(filter))
        }

        #[doc = concat!("Returns the items in reverse order, as [`", $of, "::newest_first`] does.")]
        pub fn newest_first(self) -> Self {
            self.set(|items| items.newest_first())
        }

        #[doc = concat!("Skips the first items, as [`", $of, "::skip`] does.")]
        pub fn skip(self, items: u64) -> Self {
            self.set(|reads| reads.skip(items))
        }

        #[doc = concat!("Reads from these members, as [`", $of, "::read_preference`] does.")]
        pub fn read_preference(self, preference: mongodb::options::ReadPreference) -> Self {
            self.set(|items| items.read_preference(preference))
        }

        #[doc = concat!("Reads with this concern, as [`", $of, "::read_concern`] does.")]
        pub fn read_concern(self, concern: mongodb::options::ReadConcern) -> Self {
            self.set(|items| items.read_concern(concern))
        }

        #[doc = concat!("Reads in this session, as [`", $of, "::session`] does.")]
        pub fn session(self, session: impl Into<&'s mut mongodb::ClientSession>) -> Self {
            self.set(|items| items.session(session))
        }

        #[doc = concat!("Skips the items that cannot be read, as [`", $of, "::skip_unreadable`] does.")]
        pub fn skip_unreadable(self, on_unreadable: impl FnMut($crate::Error) + Send + 's) -> Self {
            self.set(|items| items.skip_unreadable(on_unreadable))
        }
    };
}

/// Adds the directions to a builder of a page that has a method `start_at`.
macro_rules! page_directions {
    () => {
        /// Reads the page that begins at the position of a token: the [`next`](ItemPage::next) of the
        /// page before it.
        ///
        /// # Errors
        ///
        /// [`is_token_mismatch`](crate::Error::is_token_mismatch) if the token is of another list: of another
        /// key or parent, filter, struct or collection. Nothing is read then.
        pub fn after(self, token: &ItemToken) -> Self {
            self.start_at(token, false)
        }

        /// Reads the page that ends at the position of a token: the [`previous`](ItemPage::previous) of
        /// the page after it. Its items are in the order of the read, too.
        pub fn before(self, token: &ItemToken) -> Self {
            self.start_at(token, true)
        }
    };
}

pub(crate) use item_settings;
pub(crate) use page_directions;
