//! The choice that `BUCKET_TESTKIT_SERVER` makes.

use std::env;
use std::ffi::OsStr;

use crate::error::{Error, Result};

const VARIABLE: &str = "BUCKET_TESTKIT_SERVER";

/// The values of the variable; without the variable the first applies.
const CHOICES: [(&str, Choice); 5] = [
    ("6.0", Choice::new(Version::Usual, Shape::Set)),
    (
        "6.0-standalone",
        Choice::new(Version::Usual, Shape::Standalone),
    ),
    ("8.2", Choice::new(Version::V8_2, Shape::Set)),
    (
        "8.2-standalone",
        Choice::new(Version::V8_2, Shape::Standalone),
    ),
    ("8.2-cluster", Choice::new(Version::V8_2, Shape::Cluster)),
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
    pub(crate) shape: Shape,
}

/// The kinds of deployment that a [`Server`](crate::Server) can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A replica set of one member.
    Set,
    /// A mongod of no replica set.
    Standalone,
    /// A sharded cluster.
    Cluster,
}

impl Choice {
    const fn new(version: Version, shape: Shape) -> Self {
        Self { version, shape }
    }

    pub(crate) fn read() -> Result<Self> {
        Self::of_variable(env::var_os(VARIABLE).as_deref())
    }

    fn of_variable(value: Option<&OsStr>) -> Result<Self> {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Ok(CHOICES[0].1);
        };
        let value = value.to_string_lossy();
        Self::named(&value)
            .map_err(|error| Error::new(format!("{VARIABLE} is set to `{value}`: {error}")))
    }

    pub(crate) fn named(name: &str) -> Result<Self> {
        let chosen = CHOICES.iter().find(|(known, _)| name == *known);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names = CHOICES.map(|(name, _)| format!("`{name}`"));
            Error::new(format!(
                "no server is named `{name}`, only {}",
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
            let choice = Choice::of_variable(value).expect("a choice");
            assert_eq!(choice, Choice::new(Version::Usual, Shape::Set), "{value:?}");
        }
    }

    #[test]
    fn a_version_and_a_shape_can_be_chosen() {
        let choice = |value| Choice::of_variable(Some(OsStr::new(value))).expect("a choice");
        assert_eq!(choice("8.2"), Choice::new(Version::V8_2, Shape::Set));
        assert_eq!(
            choice("8.2-cluster"),
            Choice::new(Version::V8_2, Shape::Cluster)
        );
        assert_eq!(
            choice("6.0-standalone"),
            Choice::new(Version::Usual, Shape::Standalone)
        );
    }
}
