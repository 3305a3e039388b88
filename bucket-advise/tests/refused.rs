//! What `bucket advise` does where it cannot read, or cannot write its page.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use bucket_runtime::bson::{Document, doc};
use bucket_testkit::{Fate, Proxy, Server};

#[path = "advised/newcomer.rs"]
mod newcomer;
#[path = "advised/shapes.rs"]
#[allow(dead_code, reason = "`advise` and `advised` look at the others")]
mod shapes;

use newcomer::Newcomer;

/// What the binary did: its exit code, its output, and its words about what went wrong.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the binary, while others of this process go on.
async fn bucket(uri: &str, collection: &str, options: &[&str]) -> Ended {
    let mut bucket = Command::new(env!("CARGO_BIN_EXE_bucket"));
    bucket.args(["advise", uri, collection]).args(options);
    let ended = tokio::task::spawn_blocking(move || bucket.output().unwrap());
    let ended = ended.await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended {
        code: ended.status.code(),
        out: text(ended.stdout),
        err: text(ended.stderr),
    }
}

/// One sentence, and nothing else.
fn expect(ended: &Ended, code: i32, says: &str) {
    assert_eq!((ended.code, &*ended.out), (Some(code), ""), "{ended:?}");
    let line = ended.err.trim_end();
    assert!(
        line.starts_with("error: ") && line.contains(says) && line.lines().count() == 1,
        "{ended:?}"
    );
}

fn files(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let name = |file: std::io::Result<fs::DirEntry>| file.unwrap().file_name().into_string();
    files.map(|file| name(file).unwrap()).collect()
}

/// Every command that a report needs is lost on its way, and once more when the driver repeats it.
#[bucket_testkit::test]
async fn a_server_that_goes_away_leaves_a_sentence_and_no_file(newcomer: Newcomer) {
    if newcomer.uri.matches(',').count() > 0 {
        return;
    }
    newcomer.store("flights", &shapes::flights()).await;
    newcomer.store("airports", &shapes::airports()).await;
    newcomer.store("quarters", &shapes::quarters()).await;
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let options = ["--html", page.to_str().unwrap()];
    for (collection, mark) in [
        ("flights", "listCollections"),
        ("flights", "listIndexes"),
        ("flights", "find"),
        ("flights", "getMore"),
        ("flights", "$group"),
        ("airports", "$project"),
        ("quarters", "$group"),
    ] {
        let proxy = Proxy::start(&newcomer.uri).await.unwrap();
        let host = &proxy.options().hosts[0];
        let uri = format!(
            "mongodb://{host}/{}?directConnection=true",
            newcomer.db.name()
        );
        // The driver repeats none of them more than once.
        proxy.next(mark, [Fate::CutBefore; 3]);
        let ended = bucket(&uri, collection, &options).await;
        assert!(proxy.met() > 0, "{mark}");
        expect(&ended, 3, "the server is gone: ");
        assert_eq!(files(folder.path()), [""; 0], "{mark}");
    }
    let ended = bucket(&newcomer.uri, "flights", &options).await;
    assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{ended:?}");
    assert_eq!(files(folder.path()), ["report.html"]);
}

#[bucket_testkit::test]
async fn a_page_that_cannot_be_written_is_a_sentence(newcomer: Newcomer) {
    newcomer.store("quarters", &shapes::quarters()).await;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let nowhere = "mongodb://localhost:1/shop?serverSelectionTimeoutMS=300";
    // These are seen before anything is read.
    for (path, says) in [
        (at("none/report.html"), "there is no folder"),
        (at(""), "is not the name of a file"),
    ] {
        expect(
            &bucket(nowhere, "quarters", &["--html", &path]).await,
            2,
            says,
        );
    }
    // The longest name that a folder takes has no room for the ending of a part.
    let long = at(&"n".repeat(255));
    let ended = bucket(&newcomer.uri, "quarters", &["--html", &long]).await;
    expect(&ended, 3, "cannot be written: ");
    assert_eq!(files(folder.path()), [""; 0]);
    // A page that is there already stays until the new one is whole.
    fs::write(at("report.html"), "old").unwrap();
    let ended = bucket(nowhere, "quarters", &["--html", &at("report.html")]).await;
    assert_eq!(ended.code, Some(3));
    assert_eq!(fs::read_to_string(at("report.html")).unwrap(), "old");
}

#[bucket_testkit::test]
async fn what_cannot_be_advised_on_is_a_sentence(newcomer: Newcomer) {
    let flat = doc! { "name": "a", "a.b": [1], "$user": 7 };
    newcomer.store("flat", &[flat]).await;
    newcomer.db.create_collection("empty").await.unwrap();
    let view = newcomer.db.create_collection("view");
    view.view_on("flat".to_owned()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let html = ["--html", page.to_str().unwrap()];
    for (collection, option, code, says) in [
        (
            "nothing",
            "",
            1,
            "does not exist, or the user may not read it",
        ),
        ("empty", "", 1, "is empty"),
        ("view", "", 2, "is a view; name the collection behind it"),
        (
            "flat",
            "--key=other",
            2,
            "no document has a field `other` at its top",
        ),
        (
            "flat",
            "--key=$user",
            2,
            "is a name that a bucket's key cannot have",
        ),
        (
            "flat",
            "--time=other",
            2,
            "no document has a field `other` at its top",
        ),
        (
            "flat",
            "--time=name",
            2,
            "the field of `--time` holds no dates",
        ),
        (
            "flat",
            "--array=name",
            2,
            "the field of `--array` holds no array",
        ),
        (
            "flat",
            "--array=a.b",
            2,
            "has another meaning in updates and paths",
        ),
    ] {
        let option = Some(option).filter(|option| !option.is_empty());
        let options: Vec<_> = html.into_iter().chain(option).collect();
        expect(
            &bucket(&newcomer.uri, collection, &options).await,
            code,
            says,
        );
        assert_eq!(files(folder.path()), [""; 0], "{collection}");
    }
    for options in ["--sample=0", "--all --sample=5", "--array=a --key=b"] {
        let options: Vec<_> = options.split(' ').collect();
        let ended = bucket(&newcomer.uri, "flat", &options).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }
}

#[tokio::test]
async fn a_connection_string_that_leads_nowhere_is_a_sentence() {
    let nobody = "mongodb://localhost:1/shop?serverSelectionTimeoutMS=200";
    for (uri, code, says) in [
        (nobody, 3, "no server answers"),
        ("mongodb://localhost:1", 2, "names no database"),
        ("nonsense", 2, "the connection string is wrong"),
    ] {
        expect(&bucket(uri, "flat", &[]).await, code, says);
    }
}

/// The page shows no value of the data, unless it is asked to.
#[bucket_testkit::test]
async fn a_page_holds_values_only_if_it_may(newcomer: Newcomer) {
    let documents = |n: i32| {
        let (secret, mood) = (["secret-a", "secret-b"], ["gloomy", "cheerful"]);
        doc! { "user": format!("{}-{}", secret[n as usize % 2], n % 50), "n": n, "note": "hush", "mood": mood[n as usize % 2] }
    };
    let documents: Vec<Document> = (0..2000).map(documents).collect();
    newcomer.store("moods", &documents).await;
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let html = ["--key", "user", "--html", page.to_str().unwrap()];
    let values = ["secret-", "loomy", "heerful"];
    let ended = bucket(&newcomer.uri, "moods", &html).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = fs::read_to_string(&page).unwrap();
    for value in values.into_iter().chain(["hush"]) {
        assert!(!text.contains(value), "{value}");
    }
    let ended = bucket(&newcomer.uri, "moods", &[&html[..], &["--values"]].concat()).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = fs::read_to_string(&page).unwrap();
    for value in values {
        assert!(text.contains(value), "{value}");
    }
}

#[bucket_testkit::test]
async fn a_user_without_read_learns_which_role_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    fs::write(&key, "of the members of the set").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let server = Server::start_with(&["--keyFile", key.to_str().unwrap()])
        .await
        .unwrap();
    if !server.is_throw_away() {
        return;
    }
    let admin = server.database("admin").await.unwrap();
    let root = doc! { "createUser": "root", "pwd": "root", "roles": ["root"] };
    admin.run_command(root).await.unwrap();
    let uri = |user: &str| {
        let (hosts, options) = server.uri().rsplit_once('/').unwrap();
        let hosts = hosts.replace("mongodb://", &format!("mongodb://{user}@"));
        let options = options.replace('?', "&");
        format!("{hosts}/shop?authSource=admin{options}")
    };
    let root = bucket_runtime::mongodb::Client::with_uri_str(uri("root:root"))
        .await
        .unwrap();
    let shop = root.database("shop");
    let flat = shop.collection::<Document>("flat");
    flat.insert_many((0..50).map(|n| doc! { "user": n % 5, "n": n }))
        .await
        .unwrap();
    let admin = root.database("admin");
    for (name, roles) in [
        ("none", vec![]),
        ("other", vec![doc! { "role": "read", "db": "other" }]),
        ("lists", vec![doc! { "role": "lists", "db": "admin" }]),
        ("reads", vec![doc! { "role": "read", "db": "shop" }]),
        ("finds", vec![doc! { "role": "finds", "db": "admin" }]),
    ] {
        let actions = match name {
            "lists" => vec!["listIndexes"],
            "finds" => vec!["find"],
            _ => vec![],
        };
        if !actions.is_empty() {
            let resource = doc! { "db": "shop", "collection": "flat" };
            let privileges = vec![doc! { "resource": resource, "actions": actions }];
            let role = doc! { "createRole": name, "privileges": privileges, "roles": [] };
            admin.run_command(role).await.unwrap();
        }
        let user = doc! { "createUser": name, "pwd": name, "roles": roles };
        admin.run_command(user).await.unwrap();
        let page = folder.path().join("report.html");
        let html = ["--html", page.to_str().unwrap()];
        let ended = bucket(&uri(&format!("{name}:{name}")), "flat", &html).await;
        match name {
            "none" | "other" | "lists" => {
                expect(
                    &ended,
                    3,
                    "the user lacks a privilege; grant the role `read`: not authorized on shop",
                );
                assert!(!ended.err.contains('{'), "{ended:?}");
            }
            _ => assert_eq!((ended.code, page.exists()), (Some(0), true), "{ended:?}"),
        }
        assert_eq!(page.exists(), ["reads", "finds"].contains(&name));
    }
    let ended = bucket(&uri("nobody:secret"), "flat", &[]).await;
    expect(
        &ended,
        3,
        "the server does not take the user or the password",
    );
    assert!(!ended.err.contains("secret"), "{ended:?}");
}
