//! Errors about a server that does not start.

use std::path::Path;
use std::time::Duration;

use crate::binary::Binary;
use crate::error::Error;

/// How many of the log's last lines an error holds.
const LOG_LINES: usize = 12;

/// The text that the dynamic linker prints before the name of a library.
const LINKER: &str = "error while loading shared libraries: ";

/// The status of a process that ended with SIGILL, as a shell gives it.
const ILLEGAL_INSTRUCTION: i32 = 128 + 4;

/// The program ended before it accepted connections.
pub(crate) fn exited(binary: &Binary, status: i32, output: &str, log: &str) -> Error {
    let (ways_out, binary) = (binary.ways_out, binary.path.display());
    if let Some(library) = missing_library(output) {
        return Error::new(format!(
            "`{binary}` cannot start, since the shared library {library} is missing: \
             install it (e.g. `apt-get install {}`), or {ways_out}",
            packages(library)
        ));
    }
    let mut text = format!("`{binary}` ended with status {status} instead of starting");
    if status == ILLEGAL_INSTRUCTION {
        text += ". MongoDB 5.0 and later need a processor with AVX";
    }
    append(&mut text, "It printed:", output);
    append(&mut text, "The last lines of its log:", log);
    Error::new(text)
}

/// The program runs, but is not ready.
pub(crate) fn late(binary: &Path, what: &str, after: Duration, log: &str) -> Error {
    let mut text = format!(
        "`{}` {what} after {} seconds",
        binary.display(),
        after.as_secs()
    );
    append(&mut text, "The last lines of its log:", log);
    Error::new(text)
}

fn missing_library(output: &str) -> Option<&str> {
    let (_, after) = output.split_once(LINKER)?;
    let (library, _) = after.split_once(':')?;
    Some(library.trim())
}

/// The packages that hold the library on Debian and Ubuntu.
fn packages(library: &str) -> &'static str {
    if library.starts_with("libcurl") {
        "libcurl4"
    } else if library.starts_with("libssl") || library.starts_with("libcrypto") {
        "libssl3"
    } else {
        "libcurl4 libssl3"
    }
}

fn append(text: &mut String, title: &str, lines: &str) {
    let lines: Vec<&str> = lines.trim_end().lines().collect();
    if lines.is_empty() {
        return;
    }
    *text += "\n";
    *text += title;
    for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
        *text += "\n  ";
        *text += line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary() -> Binary {
        Binary {
            path: "mongod".into(),
            libraries: None,
            ways_out: "look elsewhere",
        }
    }

    #[test]
    fn only_the_last_lines_of_a_log_are_shown() {
        let log: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let text = exited(&binary(), 1, "", &log).to_string();
        assert!(text.ends_with("line 99"), "{text}");
        assert_eq!(text.lines().count(), 2 + LOG_LINES);
    }

    #[test]
    fn a_processor_without_avx_is_named() {
        let text = exited(&binary(), ILLEGAL_INSTRUCTION, "", "").to_string();
        assert!(text.contains("AVX"), "{text}");
    }
}
