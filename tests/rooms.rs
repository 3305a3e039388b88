//! The order of the rooms: each uses only itself and the rooms before it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "budget.rs"]
mod budget;
#[path = "sources.rs"]
mod sources;

use sources::{code, of_package, sources};

/// The rooms of the core, in order.
const CORE: [&str; 5] = ["schema", "error", "value", "protocol", "server"];

/// The rooms of the runtime, in order. The modules beside them (the traits, the handles, `sync`) use
/// them all.
const RUNTIME: [&str; 4] = ["read", "write", "open", "outlier"];

/// The rooms of the operations, in order.
const OPS: [&str; 7] = [
    "verify",
    "transfer",
    "archive",
    "change_capacity",
    "import_flat",
    "migrate",
    "outlier",
];

/// Names beside the rooms that every room may use: each call is a method of its handle.
const BESIDE: [&str; 9] = [
    "Bucket",
    "Buckets",
    "Error",
    "KeyRef",
    "Part",
    "Result",
    "Identified",
    "Windowed",
    "call",
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
    "open",
    "read",
    "write",
];

/// The traits and the handle, which all of these may name.
const BESIDE_OUTLIER: [&str; 4] = ["IdRef", "IdentifiedItems", "Outlier", "Outliers"];

/// The files and the rooms inside of `server`, in order.
const SERVER: [&str; 11] = [
    "deployment",
    "retryable_session",
    "target",
    "call",
    "wire",
    "pause",
    "read",
    "write",
    "watch",
    "transaction",
    "collection",
];

#[test]
fn each_room_inside_of_outlier_uses_only_those_before_it() {
    check_inside("bucket-runtime", "outlier", &OUTLIER, &BESIDE_OUTLIER);
}

#[test]
fn each_room_inside_of_server_uses_only_those_before_it() {
    check_inside("bucket-core", "server", &SERVER, &["Server", "*"]);
}

fn check_inside(package: &str, outer: &str, rooms: &[&str], beside: &[&str]) {
    let src = of_package(package).join(outer);
    let mut wrong = Vec::new();
    for (place, room) in rooms.iter().enumerate() {
        let file = src.join(format!("{room}.rs"));
        // In a file of this folder, `super` is the outer room.
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("use super::", &format!("use crate::{outer}::"));
        let own = (file, text);
        let inner = sources(&src.join(room)).into_iter().map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            (file, text)
        });
        for (file, text) in inner.chain([own]) {
            for used in used_inside(&text, &format!("{outer}::")) {
                let is_right = match rooms.iter().position(|room| *room == used) {
                    Some(target) => target <= place,
                    None => beside.contains(&&*used),
                };
                if !is_right {
                    wrong.push(format!("{} uses {outer}::{used}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first names after a room's name in paths of this crate; braces may hold several.
fn used_inside(text: &str, room: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, path) in text.match_indices(room) {
        // As in `use crate::{…, outlier::{…}}` or `crate::outlier::…`, and not in `bucket_runtime::outlier::…`.
        if !text[..at].ends_with(['{', ' ', ':']) {
            continue;
        }
        let rest = &text[at + path.len()..];
        if rest.starts_with('{') {
            names.extend(first_names(&rest[..end_of_group(rest)]));
        } else {
            let is_name = |letter: char| letter.is_alphanumeric() || "_*".contains(letter);
            let end = rest.find(|letter| !is_name(letter));
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
fn each_room_of_the_core_uses_only_those_before_it() {
    check(
        "bucket-core",
        &CORE,
        &["Error", "Result", "span", "reached"],
    );
}

#[test]
fn each_room_of_the_runtime_uses_only_those_before_it() {
    check("bucket-runtime", &RUNTIME, &BESIDE);
}

#[test]
fn each_room_of_the_operations_uses_only_those_before_it() {
    check("bucket-ops", &OPS, &["Ops", "OutlierOps"]);
}

#[test]
fn each_stage_of_the_derives_uses_only_those_before_it() {
    check("bucket-derive", &DERIVE, &[]);
}

fn check(package: &str, rooms: &[&str], beside: &[&str]) {
    let src = of_package(package);
    let mut wrong = Vec::new();
    for (place, room) in rooms.iter().enumerate() {
        let file = src.join(format!("{room}.rs"));
        for file in sources(&src.join(room)).into_iter().chain([file]) {
            for used in used(&code(&file)) {
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

/// The first names after `crate::`, in imports and within the code; the braces of an import may hold
/// several. What a macro names by `$crate::` may be public, so it is left out.
fn used(code: &str) -> Vec<String> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut names = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|letter| is_name(letter) || letter == '$') {
            continue;
        }
        let rest = &code[at + path.len()..];
        if rest.starts_with('{') {
            names.extend(first_names(rest.split(';').next().unwrap()));
        } else {
            names.push(
                rest.split(|letter| !is_name(letter))
                    .next()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    names
}

/// The first name of each path between braces.
fn first_names(group: &str) -> Vec<String> {
    let (mut depth, mut names) = (0, vec![String::new()]);
    for letter in group.strip_prefix('{').unwrap().chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
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

#[test]
fn paths_are_read_in_imports_and_within_the_code() {
    let code = "use crate::{\n    read::{Page, items}, Error as Own,\n};\nuse crate::schema::Spec;\n\
        pub(in crate::write) fn f() { let a = crate::value::json(&$crate::Filter); my_crate::x(); }";
    let expected = ["read", "Error", "schema", "write", "value"];
    assert_eq!(used(code), expected);
}

/// Rooms of which a program has one copy, however many structs it stores.
const COMPILED_ONCE: [(&str, &str); 4] = [
    ("bucket-runtime", "write/bulk"),
    ("bucket-runtime", "write/combine"),
    ("bucket-runtime", "write/engine"),
    ("bucket-ops", "transfer"),
];

#[test]
fn what_stores_items_is_compiled_once_for_all_structs() {
    for (package, room) in COMPILED_ONCE {
        let files = sources(&of_package(package).join(room));
        assert!(!files.is_empty(), "`{room}` is gone");
        for file in files {
            let is_generic = code(&file).contains(": Bucket>");
            assert!(!is_generic, "{} is generic over structs", file.display());
        }
    }
}

/// What the operations name of the runtime is a small part of it, or the cut is in the wrong place.
#[test]
fn the_operations_name_at_most_forty_hidden_items() {
    let file = of_package("bucket-runtime").join("__ops.rs");
    let text = code(&file);
    let exported = text.split("pub use crate::").nth(1).unwrap();
    let exported = exported.split(';').next().unwrap();
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let leaves = exported.split([',', '{', '}']).map(str::trim);
    let leaves = leaves.filter(|leaf| leaf.ends_with(is_name) && !leaf.is_empty());
    let names = leaves.count() + text.matches("pub async fn").count();
    assert!((20..=40).contains(&names), "{names}");
}
