//! The size of the crates: each may shrink at any time, and grows only by a change of its row that a reviewer sees.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::sources::{of_package, sources};

/// The lines of code that each crate may have: no blank lines, comments or tests.
const BUDGETS: [(&str, usize); 7] = [
    ("bucket-core", 9_788),
    ("bucket-runtime", 9_925),
    ("bucket-ops", 4_472),
    ("bucket-derive", 6_461),
    ("bucket-advise", 6_557),
    ("bucket-cli", 1_331),
    ("bucket-testkit", 1_789),
];

/// The names of folders and files that only tests use.
const TESTS: [&str; 7] = [
    "test",
    "tests",
    "golden",
    "model",
    "fuzz",
    "next_table",
    "answers",
];

#[test]
fn no_crate_outgrows_its_budget() {
    let mut wrong = Vec::new();
    for (package, budget) in BUDGETS {
        let src = of_package(package);
        let shipped = sources(&src).into_iter();
        let shipped = shipped.filter(|file| !is_of_tests(file.strip_prefix(&src).unwrap()));
        let lines: usize = shipped
            .map(|file| count_lines(&fs::read_to_string(file).unwrap()))
            .sum();
        println!("{package}: {lines} of {budget} lines");
        if lines > budget {
            wrong.push(format!(
                "{package} has {lines} lines of code, and may have {budget}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a file, or a folder that holds it, belongs to the tests.
fn is_of_tests(path: &Path) -> bool {
    let path = path.with_extension("");
    path.iter()
        .any(|name| TESTS.iter().any(|tests| name == *tests))
}

/// The lines of code of a file as rustfmt formats it, without items that only tests have.
fn count_lines(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim();
        if ["#[cfg(test)]", "#[cfg(any(test, fuzzing))]", "#[test]"].contains(&code) {
            // The item ends at the first line of its own indentation that closes it.
            let indentation = line.len() - line.trim_start().len();
            let is_last = |line: &str| {
                line.len() - line.trim_start().len() == indentation
                    && line.ends_with(['}', ';', ','])
            };
            lines.by_ref().find(|line| is_last(line));
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn comments_blank_lines_and_tests_do_not_count() {
    let text = "//! Docs.\nuse a::{\n    b,\n};\n\n#[cfg(test)]\nuse c::{\n    d,\n};\n\n/// More.\nfn e() {\n    \
                f(); // Why.\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n\nconst H: u8 = 1;\n";
    assert_eq!(count_lines(text), 7);
}

/// The crates that a package takes along, with their versions, in a program that is not a test.
fn tree(package: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ])
        .args(["--package", package, "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let tree = String::from_utf8(tree.unwrap().stdout).unwrap();
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    tree.lines().map(name).collect()
}

#[test]
fn an_application_compiles_no_crate_of_others_but_the_drivers() {
    let (ours, drivers) = (tree("bucket-runtime"), tree("mongodb"));
    assert!(drivers.len() > 100, "{drivers:?}");
    let added: Vec<_> = ours.difference(&drivers).collect();
    assert_eq!(
        added,
        [
            "bucket-core v0.1.0",
            "bucket-derive v0.1.0",
            "bucket-runtime v0.1.0"
        ]
    );
}

/// The features of each package of the workspace.
fn features() -> serde_json::Value {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.unwrap().stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let features = packages.map(|it| (it["name"].as_str().unwrap(), it["features"].clone()));
    features
        .map(|(name, features)| (name.to_owned(), features))
        .collect()
}

/// A feature that a crate does not forward is silently off below it.
#[test]
fn each_crate_forwards_the_features_of_the_one_below() {
    let features = features();
    let of = |package: &str| features[package].as_object().unwrap().clone();
    let (mut core, runtime, mut ops) = (of("bucket-core"), of("bucket-runtime"), of("bucket-ops"));
    // Only the simulation switches this one on, in each crate that has it.
    for features in [&mut core, &mut ops] {
        features.remove("__simulated");
    }
    for (name, switched_on) in &core {
        let forwarded = serde_json::Value::from(format!("bucket-core/{name}"));
        let is_forwarded = runtime[name].as_array().unwrap().contains(&forwarded);
        // The driver is one crate to all: what switches on the driver's feature alone needs no forwarding.
        assert!(is_forwarded || runtime[name] == *switched_on, "{name}");
    }
    for (name, switched_on) in ops {
        assert_eq!(switched_on[0], format!("bucket-runtime/{name}"));
        assert!(runtime.contains_key(&name), "{name}");
    }
}

/// The lint is the compiler's: `forbid` cannot be lifted inside of a crate, and cargo takes it along when it packages one.
#[test]
fn no_crate_has_unsafe_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = |folder: &str| fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
    let workspace = manifest("");
    let (_, lints) = workspace.split_once("\n[workspace.lints.rust]\n").unwrap();
    let lints = lints.split("\n[").next().unwrap();
    assert!(lints.contains("unsafe_code = \"forbid\"\n"), "{lints}");

    let (_, members) = workspace.split_once("\nmembers = [").unwrap();
    let members = members.split_once(']').unwrap().0.split(", ");
    let members = members.map(|member| member.trim_matches('"'));
    let crates = Vec::from_iter(members.filter(|member| member.starts_with("bucket-")));
    assert_eq!(crates.len(), BUDGETS.len() + 1, "{crates:?}"); // the testkit's macros, too
    for member in crates {
        let inherits = manifest(member).contains("\n[lints]\nworkspace = true\n");
        assert!(
            inherits,
            "{member} does not take the lints of the workspace"
        );
    }
}
