//! Setters that the builders of several calls share.

/// Adds the setters of the read preference and the read concern to a builder; each expression is a
/// collection that its call reads.
macro_rules! read_settings {
    (|$reads:ident| $($server:expr),+) => {
        /// Reads from these members of the replica set. Otherwise a call reads from those that the
        /// collection of the handle says, by default from the primary.
        ///
        /// A secondary may lack what was acknowledged last, even to this handle. If a call sends
        /// several commands, different members may answer them, each with a state of its own: use a
        /// causally consistent [session](Self::session), in which no answer is older than the one
        /// before it. In a transaction its own setting counts.
        pub fn read_preference(mut self, preference: mongodb::options::ReadPreference) -> Self {
            let $reads = &mut self;
            $($server.set_read_preference(preference.clone());)+
            self
        }

        /// Reads with this concern: `majority`, for example, gives nothing that a failover could
        /// take back. Otherwise a call reads with the concern of the handle's collection, by
        /// default `local`. In a transaction its own setting counts.
        pub fn read_concern(mut self, concern: mongodb::options::ReadConcern) -> Self {
            let $reads = &mut self;
            $($server.set_read_concern(concern.clone());)+
            self
        }
    };
}

/// Adds the setter of the session to a builder, by default to its field `session`.
macro_rules! session_setting {
    ($(#[$doc:meta])+) => {
        $crate::read::settings::session_setting!($(#[$doc])+ |call| call.session);
    };
    ($(#[$doc:meta])+ |$call:ident| $session:expr) => {
        $(#[$doc])+
        pub fn session(mut self, session: impl Into<&'s mut mongodb::ClientSession>) -> Self {
            let $call = &mut self;
            $session = Some(session.into());
            self
        }
    };
}

/// Adds the setter of the callback for what cannot be read to a builder, by default to its field
/// `on_unreadable`.
macro_rules! unreadable_setting {
    ($(#[$doc:meta])+) => {
        $crate::read::settings::unreadable_setting!($(#[$doc])+ |read| read.on_unreadable);
    };
    ($(#[$doc:meta])+ |$read:ident| $callback:expr) => {
        $(#[$doc])+
        pub fn skip_unreadable(mut self, on_unreadable: impl FnMut($crate::Error) + Send + 's) -> Self {
            let $read = &mut self;
            $callback = Some(Box::new(on_unreadable));
            self
        }
    };
}

pub(crate) use {read_settings, session_setting, unreadable_setting};
