//! The order of the rooms: each uses only itself and the rooms before it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms of the runtime, in order. The modules beside them (the traits, the handles, `sync`) use
/// them all.
const RUNTIME: [&str; 9] = [
    "schema", "error", "value", "protocol", "server", "read", "write", "maintain", "outlier",
];

/// Names beside the rooms that every room may use: each call is a method of its handle.
const BESIDE: [&str; 8] = [
    "Bucket",
    "BucketPart",
    "Buckets",
    "Error",
    "KeyRef",
    "Result",
    "Identified",
    "Windowed",
];

/// The stages of the derives.
const DERIVE: [&str; 6] = ["errors", "parse", "model", "check", "expand", "fallback"];

/// The files and the rooms inside of `outlier`, in order.
const OUTLIER: [&str; 9] = [
    "command",
    "extra",
    "known",
    "collections",
    "parent_handle",
    "outliers",
    "read",
    "write",
    "maintain",
];

/// The traits and the handle, which all of these may name.
const BESIDE_OUTLIER: [&str; 4] = ["IdRef", "Outlier", "OutlierPart", "Outliers"];

#[test]
fn each_room_inside_of_outlier_uses_only_those_before_it() {
    let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let src = src.join("../bucket-runtime/src/outlier");
    let mut wrong = Vec::new();
    for (place, room) in OUTLIER.iter().enumerate() {
        let file = src.join(format!("{room}.rs"));
        // In a file of this folder, `super` is `outlier`.
        let text = std::fs::read_to_string(&file).unwrap();
        let own = (file, text.replace("use super::", "use crate::outlier::"));
        let inner = sources(&src.join(room)).into_iter().map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            (file, text)
        });
        for (file, text) in inner.chain([own]) {
            for used in used_of_outlier(&text) {
                let is_right = match OUTLIER.iter().position(|room| *room == used) {
                    Some(target) => target <= place,
                    None => BESIDE_OUTLIER.contains(&&*used),
                };
                if !is_right {
                    wrong.push(format!("{} uses outlier::{used}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first names after `outlier::` in paths of this crate; braces may hold several.
fn used_of_outlier(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, path) in text.match_indices("outlier::") {
        // As in `use crate::{…, outlier::{…}}` or `crate::outlier::…`, and not in `bucket_runtime::outlier::…`.
        if !text[..at].ends_with(['{', ' ', ':']) {
            continue;
        }
        let rest = &text[at + path.len()..];
        if rest.starts_with('{') {
            names.extend(first_names(&rest[..end_of_group(rest)]));
        } else {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            names.push(rest[..end.unwrap_or(rest.len())].to_owned());
        }
    }
    names
}

/// Where the group that this text begins with is closed.
fn end_of_group(text: &str) -> usize {
    let mut depth = 0;
    let end = text.find(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth == 0
    });
    end.unwrap_or(text.len())
}

#[test]
fn each_room_of_the_runtime_uses_only_those_before_it() {
    check("bucket-runtime", &RUNTIME, &BESIDE);
}

#[test]
fn each_stage_of_the_derives_uses_only_those_before_it() {
    check("bucket-derive", &DERIVE, &[]);
}

fn check(package: &str, rooms: &[&str], beside: &[&str]) {
    let src = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(package)
        .join("src");
    let mut wrong = Vec::new();
    for (place, room) in rooms.iter().enumerate() {
        let file = src.join(format!("{room}.rs"));
        for file in sources(&src.join(room)).into_iter().chain([file]) {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for used in used(code) {
                let target = rooms.iter().position(|room| *room == used);
                let is_right = match target {
                    Some(target) => target <= place,
                    None => beside.contains(&&*used),
                };
                if !is_right {
                    wrong.push(format!("{} uses {used}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first names after `use crate::`; braces may hold several.
fn used(text: &str) -> Vec<String> {
    let uses = text.split("use crate::").skip(1);
    let trees = uses.filter_map(|rest| rest.split_once(';'));
    trees.flat_map(|(tree, _)| first_names(tree)).collect()
}

fn first_names(tree: &str) -> Vec<String> {
    let (mut depth, mut names) = (0, vec![String::new()]);
    let is_group = tree.starts_with('{');
    for letter in tree.strip_prefix('{').unwrap_or(tree).chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 && is_group => names.push(String::new()),
            _ if depth == 0 => names.last_mut().unwrap().push(letter),
            _ => {}
        }
    }
    let firsts = names
        .iter()
        .filter_map(|name| name.trim().split("::").next());
    let names = firsts.map(|name| name.split(' ').next().unwrap().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// All sources of a folder, and of the folders in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    files.collect()
}
