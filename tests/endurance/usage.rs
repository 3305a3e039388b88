//! The memory of this process and the server, and the connections.

use std::{fmt, fs};

use bucket_runtime::mongodb::{
    Database,
    bson::{Bson, doc},
};

use crate::Result;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Resident memory of this process; 0 where the system does not report it as Linux does.
    pub(crate) client_mb: f64,
    pub(crate) server_mb: i64,
    pub(crate) connections: i64,
}

impl Usage {
    pub(crate) async fn now(db: &Database) -> Result<Self> {
        let status = db.run_command(doc! { "serverStatus": 1 }).await?;
        let read = |part: &str, name: &str| match status.get_document(part)?.get(name) {
            Some(Bson::Int32(n)) => Ok(i64::from(*n)),
            Some(Bson::Int64(n)) => Ok(*n),
            other => Err(format!("{part}.{name} is {other:?}").into()),
        };
        let read: &dyn Fn(&str, &str) -> Result<i64> = &read;
        Ok(Self {
            client_mb: resident_mb(),
            server_mb: read("mem", "resident")?,
            connections: read("connections", "current")?,
        })
    }
}

fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client_mb,
            server_mb,
            connections,
        } = self;
        write!(
            f,
            "{client_mb:.1} MB here, {server_mb} MB at the server, {connections} connections"
        )
    }
}
