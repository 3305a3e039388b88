//! The choice that `BUCKET_TESTKIT_SERVER` makes.

use std::env;
use std::ffi::OsStr;

use crate::error::{Error, Result};

const VARIABLE: &str = "BUCKET_TESTKIT_SERVER";

/// The values of the variable; without the variable the first applies.
const CHOICES: [(&str, Choice); 3] = [
    ("6.0", Choice::new(Version::Usual, false)),
    ("8.2", Choice::new(Version::V8_2, false)),
    ("8.2-cluster", Choice::new(Version::V8_2, true)),
];

/// Which version of MongoDB runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// A mongod that is installed, or else the one that is fetched by default.
    Usual,
    /// 8.2.0, always the fetched one.
    V8_2,
}

/// Which server to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) version: Version,
    /// Whether [`Server`](crate::Server) is a sharded cluster.
    pub(crate) sharded: bool,
}

impl Choice {
    const fn new(version: Version, sharded: bool) -> Self {
        Self { version, sharded }
    }

    pub(crate) fn read() -> Result<Self> {
        Self::named(env::var_os(VARIABLE).as_deref())
    }

    fn named(value: Option<&OsStr>) -> Result<Self> {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Ok(CHOICES[0].1);
        };
        let chosen = CHOICES.iter().find(|(name, _)| value == *name);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names = CHOICES.map(|(name, _)| format!("`{name}`"));
            Error::new(format!(
                "{VARIABLE} is set to `{}`, which is none of {}",
                value.to_string_lossy(),
                names.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_and_empty_mean_the_usual_server() {
        for value in [None, Some(OsStr::new("")), Some(OsStr::new("6.0"))] {
            let choice = Choice::named(value).expect("a choice");
            assert_eq!(choice, Choice::new(Version::Usual, false), "{value:?}");
        }
    }

    #[test]
    fn a_version_and_a_cluster_can_be_chosen() {
        let choice = |value| Choice::named(Some(OsStr::new(value))).expect("a choice");
        assert_eq!(choice("8.2"), Choice::new(Version::V8_2, false));
        assert_eq!(choice("8.2-cluster"), Choice::new(Version::V8_2, true));
    }
}
