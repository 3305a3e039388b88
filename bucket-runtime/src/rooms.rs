//! The order of the rooms: each uses only those before it.

use std::{fs, path::Path};

/// In order. Everything outside the rooms (the traits, the handles, `sync`) may use all of them; the
/// rooms may name only the traits and the handles from outside.
const ROOMS: [&str; 9] = [
    "schema", "error", "value", "protocol", "server", "read", "write", "maintain", "outlier",
];

/// The names that every room may use from the root.
const ROOT: [&str; 6] = ["Bucket", "Buckets", "Error", "KeyRef", "Result", "Windowed"];

#[test]
fn each_room_uses_only_those_before_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (place, room) in ROOMS.iter().enumerate() {
        let file = src.join(format!("{room}.rs"));
        for file in sources(&src.join(room)).into_iter().chain([file]) {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for used in used(code) {
                let target = ROOMS.iter().position(|room| *room == used);
                let is_right = match target {
                    Some(target) => target <= place,
                    None => ROOT.contains(&&*used),
                };
                if !is_right {
                    wrong.push(format!("{} uses {used}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first names after `use crate::`, where braces may hold several.
fn used(text: &str) -> Vec<String> {
    let uses = text.split("use crate::").skip(1);
    let trees = uses.filter_map(|rest| rest.split_once(';'));
    trees.flat_map(|(tree, _)| first_names(tree)).collect()
}

fn first_names(tree: &str) -> Vec<String> {
    let (mut depth, mut names) = (0, vec![String::new()]);
    let is_group = tree.starts_with('{');
    for letter in tree.trim_start_matches('{').chars() {
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

/// All sources in a folder and its subfolders.
fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .collect()
}
