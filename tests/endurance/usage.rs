//! The memory of this process, and its connections.

use std::fs;

use bucket_runtime::mongodb::{Database, bson::doc};

use crate::{Result, stored::number};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Resident memory of this process in megabytes; 0 where the system does not report it as Linux does.
    pub(crate) memory: f64,
    pub(crate) connections: i64,
}

impl Usage {
    pub(crate) async fn now(db: &Database) -> Result<Self> {
        let status = db.run_command(doc! { "serverStatus": 1 }).await?;
        let connections = status.get_document("connections")?;
        Ok(Self {
            memory: resident_mb(),
            connections: number(connections.get("current")),
        })
    }
}

fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}
