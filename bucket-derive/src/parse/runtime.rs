//! The name that the user's manifest gives to the runtime.

use std::{env, fs, path::Path};

const PACKAGE: &str = "bucket-runtime";

/// The name, unless it is the package's own.
pub(crate) fn other_name() -> Option<String> {
    let folder = env::var_os("CARGO_MANIFEST_DIR")?;
    let manifest = fs::read_to_string(Path::new(&folder).join("Cargo.toml")).ok()?;
    renamed(&manifest).filter(|name| syn::parse_str::<syn::Ident>(name).is_ok())
}

/// The dependency whose package is the runtime, `name = { package = "bucket-runtime", … }` on one
/// line or as a table. A workspace renames its dependencies in another manifest: that needs
/// `crate = …`.
pub(crate) fn renamed(manifest: &str) -> Option<String> {
    let mut table = "";
    let mut found = None;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_end_matches(']');
            if is_own(table.rsplit('.').next()?) {
                return None;
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let key = key.trim();
        // The runtime is also a dependency under its own name, which generated code then uses.
        if table.ends_with("dependencies") && is_own(key.split('.').next()?) && !is_runtime(value) {
            return None;
        }
        let name = match key == "package" {
            true if value.trim().trim_matches('"') == PACKAGE => table.rsplit('.').next()?,
            false if is_runtime(value) => key,
            _ => continue,
        };
        found = found.or(Some(name.trim_matches('"').replace('-', "_")));
    }
    found.filter(|name| name != "bucket_runtime")
}

fn is_own(key: &str) -> bool {
    key.trim_matches('"') == PACKAGE
}

/// Whether an inline table names the package.
fn is_runtime(value: &str) -> bool {
    let value: String = value.split_whitespace().collect();
    value.contains(&format!("package=\"{PACKAGE}\""))
}
