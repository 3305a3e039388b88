//! Starts a throw-away server, prints its connection string, and keeps it until this program is
//! stopped.

use std::{env, process::ExitCode, thread};

use bucket_testkit::{Error, Server};

const USAGE: &str = "\
Starts a throw-away MongoDB, prints its connection string, and keeps it until this program is stopped, by Ctrl-C
for example. Then the server is gone, with its data.

usage: bucket-testkit [SERVER]

  SERVER  6.0, 6.0-standalone, 8.2, 8.2-standalone or 8.2-cluster; without it, the server that
          BUCKET_TESTKIT_SERVER names, the mongod of MONGOD or on PATH, or a fetched 6.0";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let name = match &*arguments {
        [] => None,
        [help] if help == "--help" || help == "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [name] if !name.starts_with('-') => Some(name.as_str()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match keep(name) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns only if the server does not start: however this process ends, its server ends, too.
fn keep(name: Option<&str>) -> Result<std::convert::Infallible, Error> {
    let runtime = tokio::runtime::Runtime::new().expect("threads for the runtime");
    let server = runtime.block_on(async {
        match name {
            Some(name) => Server::start_named(name).await,
            None => Server::start().await,
        }
    })?;
    println!("{}", server.uri());
    loop {
        thread::park();
    }
}
