//! The command lines of server processes.

use crate::binary::Binary;

const CACHE_OPTION: &str = "--wiredTigerCacheSizeGB";

/// The purpose of a replica set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A server that is not part of a cluster.
    Alone,
    /// A config server: it knows which shard of a cluster holds which data.
    ConfigServer,
    /// A shard: it holds a share of a cluster's data.
    Shard,
}

impl Purpose {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &[],
            Self::ConfigServer => &["--configsvr"],
            Self::Shard => &["--shardsvr"],
        }
    }

    /// Without this option mongod takes half of the memory. A cluster has
    /// several.
    fn cache_gb(self) -> &'static str {
        match self {
            Self::Alone => "0.5",
            Self::ConfigServer | Self::Shard => "0.25",
        }
    }
}

/// The options that the members of one replica set have in common, or the mongos of one
/// cluster.
#[derive(Clone)]
pub(crate) struct Recipe {
    binary: Binary,
    options: Vec<String>,
    keeps_data: bool,
}

impl Recipe {
    /// A mongod in the replica set `set`.
    pub(crate) fn mongod(binary: Binary, set: &str, purpose: Purpose, more: &[String]) -> Self {
        // By default the oplog may take a twentieth of the disk.
        let mut options = strings(&["--replSet", set, "--oplogSize", "512"]);
        options.extend(strings(purpose.options()));
        Self::keeping_data(binary, options, purpose, more)
    }

    /// A mongod of no replica set.
    pub(crate) fn standalone(binary: Binary, more: &[String]) -> Self {
        Self::keeping_data(binary, Vec::new(), Purpose::Alone, more)
    }

    fn keeping_data(
        binary: Binary,
        mut options: Vec<String>,
        purpose: Purpose,
        more: &[String],
    ) -> Self {
        // A change stream shows an event once all shards have written something
        // later, and one without writers writes this often, in seconds; by
        // default ten.
        const NOTHING: &str = "periodicNoopIntervalSecs=1";
        let chosen = |option: &String| option.contains("periodicNoopIntervalSecs");
        if purpose != Purpose::Alone && !more.iter().any(chosen) {
            options.extend(strings(&["--setParameter", NOTHING]));
        }
        // mongod does not accept the same option twice.
        if !more.iter().any(|option| option.starts_with(CACHE_OPTION)) {
            options.extend(strings(&[CACHE_OPTION, purpose.cache_gb()]));
        }
        options.extend_from_slice(more);
        Self {
            binary,
            options,
            keeps_data: true,
        }
    }

    /// A mongos of the cluster with these config servers.
    pub(crate) fn mongos(binary: Binary, config_servers: &str, more: &[String]) -> Self {
        let mut options = strings(&["--configdb", config_servers]);
        options.extend_from_slice(more);
        Self {
            binary,
            options,
            keeps_data: false,
        }
    }

    pub(crate) fn binary(&self) -> &Binary {
        &self.binary
    }

    /// The arguments of the process that works in `folder` and listens on
    /// `port`.
    pub(crate) fn arguments(&self, folder: &str, port: u16) -> Vec<String> {
        let mut arguments = strings(&[
            "--bind_ip",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--logpath",
            &format!("{folder}/log"),
            "--nounixsocket",
            "--setParameter",
            "diagnosticDataCollectionEnabled=false",
        ]);
        if self.keeps_data {
            arguments.extend(strings(&["--dbpath", &format!("{folder}/data")]));
        }
        arguments.extend_from_slice(&self.options);
        arguments
    }
}

/// The option that allows fail points, if it is among these.
///
/// Every process of a cluster accepts it, while a mongos refuses most options
/// and parameters of a mongod.
pub(crate) fn test_commands(options: &[String]) -> Vec<String> {
    let parameter = "--setParameter";
    let apart = (options.windows(2))
        .filter(|pair| pair[0] == parameter)
        .map(|pair| pair[1].as_str());
    let joined =
        (options.iter()).filter_map(|option| option.strip_prefix(parameter)?.strip_prefix('='));
    apart
        .chain(joined)
        .filter(|value| value.starts_with("enableTestCommands="))
        .flat_map(|value| [parameter.to_owned(), value.to_owned()])
        .collect()
}

fn strings(options: &[&str]) -> Vec<String> {
    options.iter().map(|&option| option.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_for_fail_points_is_found_in_either_form() {
        let others = ["--setParameter", "ttlMonitorSleepSecs=1", "--quiet"];
        assert!(test_commands(&strings(&others)).is_empty());

        let wanted = ["--setParameter", "enableTestCommands=1"];
        let apart = [&others[..], &wanted].concat();
        assert_eq!(test_commands(&strings(&apart)), wanted);

        let joined = [&others[..], &["--setParameter=enableTestCommands=1"]].concat();
        assert_eq!(test_commands(&strings(&joined)), wanted);
    }
}
