//! How one call reads: from which members, and what.

/// Adds the two settings to a builder; each expression is a collection that its call reads.
macro_rules! read_settings {
    (|$reads:ident| $($server:expr),+) => {
        /// Reads from these members of the replica set. Otherwise a call reads from those that the
        /// collection of the handle says, by default from the primary.
        ///
        /// A secondary may lack what was acknowledged last, even to this handle. If a call sends several
        /// commands, different members may answer them, each with a state of its own: use a causally
        /// consistent [session](Self::session), in which no answer is older than the one before it. In a
        /// transaction its own setting counts.
        pub fn read_preference(mut self, preference: mongodb::options::ReadPreference) -> Self {
            let $reads = &mut self;
            $($server.set_read_preference(preference.clone());)+
            self
        }

        /// Reads with this concern: `majority`, for example, gives nothing that a failover could take
        /// back. Otherwise a call reads with the concern of the handle's collection, by default `local`.
        /// In a transaction its own setting counts.
        pub fn read_concern(mut self, concern: mongodb::options::ReadConcern) -> Self {
            let $reads = &mut self;
            $($server.set_read_concern(concern.clone());)+
            self
        }
    };
}

pub(crate) use read_settings;
