//! No private type name stands twice in a crate: whoever reads the name knows the type. And whoever reads the name
//! of a file finds it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

#[path = "sources.rs"]
mod sources;

use sources::{code, files, of_package, sources};

/// Types with a twin that is compiled in its place, with a feature or without.
const EITHER: [(&str, &[&str]); 1] = [("bucket-core", &["Calls", "SpannedRequest"])];

#[test]
fn no_type_name_stands_twice_in_the_core() {
    check("bucket-core");
}

#[test]
fn no_private_type_name_stands_twice_in_the_runtime() {
    check("bucket-runtime");
}

#[test]
fn no_private_type_name_stands_twice_in_the_operations() {
    check("bucket-ops");
}

#[test]
fn no_private_type_name_stands_twice_in_the_derives() {
    check("bucket-derive");
}

#[test]
fn no_private_type_name_stands_twice_in_the_command_line() {
    check("bucket-cli");
}

#[test]
fn no_private_type_name_stands_twice_in_the_advice() {
    check("bucket-advise");
}

#[test]
fn no_private_type_name_stands_twice_in_the_testkit() {
    check("bucket-testkit");
}

fn check(package: &str) {
    let mut places = BTreeMap::<_, Vec<_>>::new();
    for file in without_tests(&of_package(package)) {
        // Whatever is public in the core is there for the runtime, and few of it for users.
        let is_core = package == "bucket-core";
        for name in types(&code(&file), is_core) {
            places
                .entry(name)
                .or_default()
                .push(file.display().to_string());
        }
    }
    places.retain(|_, files| files.len() > 1);
    let listed = EITHER.iter().filter(|(of, _)| *of == package);
    let listed = listed.flat_map(|(_, names)| *names);
    let once: Vec<_> = listed
        .filter(|name| places.remove(**name).is_none())
        .collect();
    assert!(
        places.is_empty() && once.is_empty(),
        "these stand twice: {places:#?}\nthese stand once, and have to leave the list: {once:?}"
    );
}

/// The sources that are compiled without the tests: modules with `#[cfg(test)]` are left out.
fn without_tests(src: &Path) -> Vec<PathBuf> {
    let files = sources(src);
    let tests: BTreeSet<PathBuf> = files.iter().flat_map(|file| test_modules(file)).collect();
    let is_test = |file: &Path| {
        file.with_extension("")
            .ancestors()
            .any(|path| tests.contains(path))
    };
    files.into_iter().filter(|file| !is_test(file)).collect()
}

/// The paths of the modules that a file declares for tests, without an extension.
fn test_modules(file: &Path) -> Vec<PathBuf> {
    let is_root = ["lib.rs", "main.rs"]
        .iter()
        .any(|name| file.ends_with(name));
    let folder = match is_root {
        true => file.parent().unwrap().to_owned(),
        false => file.with_extension(""),
    };
    let text = fs::read_to_string(file).unwrap();
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
        let declared = rest.lines().find(|line| !line.starts_with("#["))?;
        let name = declared.strip_suffix(';')?.rsplit_once("mod ")?.1;
        Some(folder.join(name))
    });
    declared.collect()
}

/// The types that stand at the top of a module. One that is `pub` is left out if that means that it
/// is named for users, by the crate's root or by its module.
fn types(code: &str, even_public: bool) -> Vec<String> {
    const KINDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "union "];
    let name = |line: &str| {
        let line = match line.strip_prefix("pub(") {
            Some(limited) => limited.split_once(") ")?.1,
            None if even_public => line.strip_prefix("pub ").unwrap_or(line),
            None => line,
        };
        let line = line.strip_prefix("unsafe ").unwrap_or(line);
        let rest = KINDS.iter().find_map(|kind| line.strip_prefix(kind))?;
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        Some(rest.split(|letter| !is_name(letter)).next()?.to_owned())
    };
    code.lines().filter_map(name).collect()
}

#[test]
fn private_types_are_those_at_the_top_that_are_not_public() {
    let code = "struct One<T>(T);\npub(crate) enum Two {}\npub(in crate::a) type Three = ();\n\
        pub struct Public;\nfn f() {\n    struct Inner;\n}\ntrait Four {}";
    assert_eq!(types(code, false), ["One", "Two", "Three", "Four"]);
}

#[test]
fn each_file_that_a_comment_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = files(&root);
    let mut missing = Vec::new();
    for file in &files {
        let is_page = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
            .iter()
            .any(|page| *file == root.join(page));
        let is_source = file.extension().is_some_and(|ending| ending == "rs");
        if !is_page && !is_source {
            continue;
        }
        for line in fs::read_to_string(file).unwrap().lines() {
            let prose = match is_source {
                true => line.split_once("//").map_or("", |(_, comment)| comment),
                false => line,
            };
            let named = prose.split('`').skip(1).step_by(2);
            let named = named.filter(|code| is_file(code));
            let named = named.filter(|named| !files.iter().any(|file| file.ends_with(named)));
            missing.extend(named.map(|named| format!("{}: {named}", file.display())));
        }
    }
    assert!(missing.is_empty(), "no such files: {missing:#?}");
}

/// Whether this code is the path of a file, and not of an item or of a setting.
fn is_file(code: &str) -> bool {
    const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".txt", ".svg", ".css"];
    let is_of_path = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    code.chars().all(is_of_path) && ENDINGS.iter().any(|ending| code.ends_with(ending))
}

/// Beginnings of a comment that lean on what stands around it.
const LEANING: [&str; 6] = ["The same ", "They ", "It ", "Its ", "What ", "How far "];

#[test]
fn a_private_items_comment_is_read_without_its_neighbours() {
    let crates = [
        "bucket-core",
        "bucket-runtime",
        "bucket-ops",
        "bucket-derive",
        "bucket-advise",
        "bucket-cli",
        "bucket-testkit",
    ];
    let files = crates
        .iter()
        .flat_map(|package| sources(&of_package(package)));
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines().map(str::trim).peekable();
        while let Some(line) = lines.next() {
            let Some(first) = line.strip_prefix("/// ") else {
                continue;
            };
            let is_above = |line: &&str| line.starts_with("///") || line.starts_with("#[");
            while lines.next_if(is_above).is_some() {}
            let is_public = lines.peek().is_some_and(|item| item.starts_with("pub "));
            if !is_public && LEANING.iter().any(|leaning| first.starts_with(leaning)) {
                wrong.push(format!("{}: {first}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of text that the docs of a call may have; a page of the guide has the rest.
const CALL_LINES: usize = 20;

#[test]
fn the_docs_of_a_call_fit_on_a_screen() {
    let files = ["bucket-runtime", "bucket-ops"].map(|package| sources(&of_package(package)));
    let mut wrong = Vec::new();
    for file in files.iter().flatten() {
        let (mut lines, mut is_code) = (0, false);
        for line in fs::read_to_string(file).unwrap().lines().map(str::trim) {
            if line.starts_with("/// ```") {
                is_code = !is_code;
            } else if line.starts_with("///") {
                lines += usize::from(!is_code && line != "///");
            } else if !line.starts_with("#[") {
                if line.starts_with("pub fn ") && lines > CALL_LINES {
                    wrong.push(format!("{}: {lines} lines: {line}", file.display()));
                }
                lines = 0;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
