//! The text form that the tokens of all reads share, for serde as well.

use std::fmt;

/// A text that is not a token of the kind that it was parsed as: an [`ItemToken`](crate::ItemToken)
/// or a [`WatchToken`](crate::WatchToken).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidToken {
    /// The calls that give tokens of this kind.
    pub(super) source: &'static str,
}

impl fmt::Display for InvalidToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a valid token; take one from {}", self.source)
    }
}

impl std::error::Error for InvalidToken {}

/// Has serde write a token as its text, and read it from there.
macro_rules! serde_as_text {
    ($token:ty) => {
        impl serde::Serialize for $token {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $token {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use serde_as_text;
