//! The guide lists which privileges each call needs: with exactly these it works, and without any one of
//! them the error names that one.

mod calls;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use bucket_runtime::{
    Bucket, Outlier, Result,
    mongodb::{
        Client, Database,
        bson::{DateTime, Document, doc},
        options::{ClientOptions, Credential},
    },
};
use bucket_testkit::Server;
use serde::{Deserialize, Serialize};

use self::calls::{Calls, ROWS};
use crate::support::{
    database::is_cluster,
    visits::{Visit, visit},
};

/// The visits in larger buckets.
mod larger {
    use super::{Bucket, DateTime};

    #[derive(Bucket)]
    #[bucket(collection = "visits", id = "{page}_{at/1h}", capacity = 3)]
    pub(super) struct Visit {
        page: i64,
        at: DateTime,
        #[bucket(unique)]
        visitor: i64,
        #[bucket(sum)]
        seconds: i64,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "books",
    extras = "more",
    reference = "book",
    threshold = 2
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(index)]
    title: String,
    #[outlier(items)]
    buyers: Vec<String>,
    #[outlier(total)]
    sold: i64,
}

fn book(id: i64, buyers: usize) -> Book {
    let buyer = |n| format!("user{n}");
    Book {
        id,
        title: "Invisible Cities".to_owned(),
        buyers: (0..buyers).map(buyer).collect(),
        sold: 0,
    }
}

/// A server that asks who somebody is, and its first user, who may do everything.
async fn server(folder: &Path) -> (Server, Client) {
    let key = folder.join("key");
    fs::write(&key, "of the members of the set").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let key = key.to_str().unwrap().to_owned();
    let few_rounds = ["scramIterationCount=5000", "scramSHA256IterationCount=5000"];
    let [sha1, sha256] = few_rounds;
    let options = [
        "--keyFile",
        &key,
        "--setParameter",
        sha1,
        "--setParameter",
        sha256,
    ];
    let server = Server::start_with(&options).await.unwrap();
    let admin = server.database("admin").await.unwrap();
    let root = doc! { "createUser": "root", "pwd": "root", "roles": ["root"] };
    admin.run_command(root).await.unwrap();
    let root = login(&server, "root").await;
    (server, root)
}

/// A client of this user, whose password is the name.
async fn login(server: &Server, name: &str) -> Client {
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    let credential = Credential::builder()
        .username(name.to_owned())
        .password(name.to_owned())
        .source("admin".to_owned())
        .build();
    options.credential = Some(credential);
    Client::with_options(options).unwrap()
}

/// A fresh database, with visits and books in it or empty.
async fn prepare(root: &Client, name: &str, is_filled: bool) -> Database {
    let db = root.database(name);
    db.drop().await.unwrap();
    if is_filled {
        let visits = Visit::buckets(&db).await.unwrap();
        visits.append_many((0..5).map(visit)).await.unwrap();
        // A bucket that `repair` mends.
        let wrong = doc! { "_id": "2_0000000000", "page": 2, "window": DateTime::from_millis(0), "count": 5, "items": [] };
        visits.collection().insert_one(wrong).await.unwrap();
        let books = Book::outliers(&db).await.unwrap();
        books.insert(&book(1, 5)).await.unwrap();
        books.insert(&book(2, 1)).await.unwrap();
        let flat = visit(100);
        let flat =
            doc! { "page": 9, "at": flat.at, "visitor": flat.visitor, "seconds": flat.seconds };
        db.collection::<Document>("flat")
            .insert_one(flat)
            .await
            .unwrap();
    }
    db
}

/// The rows of the guide's table: the calls, the privileges, the built-in roles.
fn guide() -> Vec<(String, Vec<String>, Vec<String>)> {
    let page = include_str!("../../../bucket-runtime/src/guide/privileges_and_indexes.md");
    let (_, table) = page.split_once("| --- | --- | --- |\n").unwrap();
    let (_, table) = table.split_once("| --- | --- | --- |\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let words = |cell: &str| {
        let words = cell.split('`').skip(1).step_by(2);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        (cells[0].to_owned(), words(cells[1]), words(cells[2]))
    })
    .collect()
}

/// Runs calls as a user with these privileges and roles.
async fn run(
    (server, root): &(Server, Client),
    (name, is_filled, calls): (&str, bool, Calls),
    privileges: &[&String],
    roles: &[String],
) -> Result<()> {
    let db = prepare(root, "shop", is_filled).await;
    let admin = root.database("admin");
    admin
        .run_command(doc! { "dropAllRolesFromDatabase": 1 })
        .await
        .unwrap();
    let actions: Vec<&str> = privileges
        .iter()
        .map(|privilege| privilege.as_str())
        .collect();
    let resource = doc! { "db": db.name(), "collection": "" };
    let privileges = match actions.is_empty() {
        true => Vec::new(),
        false => vec![doc! { "resource": resource, "actions": actions }],
    };
    let role = doc! { "createRole": "few", "privileges": privileges, "roles": [] };
    admin.run_command(role).await.unwrap();
    let mut all = vec![doc! { "role": "few", "db": "admin" }];
    all.extend(
        roles
            .iter()
            .map(|role| doc! { "role": role, "db": db.name() }),
    );
    let user = doc! { "createUser": "user", "pwd": "user", "roles": all };
    let _ = admin.run_command(doc! { "dropUser": "user" }).await;
    admin.run_command(user).await.expect(name);
    calls(login(server, "user").await.database(db.name())).await
}

#[bucket_testkit::test]
async fn each_call_works_with_the_privileges_of_the_guide_and_names_the_one_it_lacks() {
    if is_cluster().await {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bucket-tests-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let server = server(&folder).await;
    let guide = guide();
    let rows: Vec<_> = guide.iter().map(|(calls, ..)| calls.as_str()).collect();
    let tried: Vec<_> = ROWS.iter().map(|(calls, ..)| *calls).collect();
    assert_eq!(rows, tried);
    let mut wrong = Vec::new();
    for ((name, privileges, roles), row) in guide.iter().zip(ROWS) {
        let all: Vec<&String> = privileges.iter().collect();
        if let Err(error) = run(&server, *row, &all, &[]).await {
            wrong.push(format!("{name}, with {all:?}: {error}"));
        }
        if let Err(error) = run(&server, *row, &[], roles).await {
            wrong.push(format!("{name}, with the roles {roles:?}: {error}"));
        }
        for lacking in privileges {
            let others: Vec<_> = all
                .iter()
                .copied()
                .filter(|other| *other != lacking)
                .collect();
            match run(&server, *row, &others, &[]).await {
                Ok(()) => wrong.push(format!("{name}: works without `{lacking}`")),
                Err(error) => {
                    let is_named = error.to_string().contains(&format!("`{lacking}`"));
                    if !is_named || !error.is_unauthorized() || error.is_maybe_stored() {
                        wrong.push(format!("{name}, without `{lacking}`: {error}"));
                    }
                }
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only the events of a database have one order, so a user with privileges on the two collections alone cannot watch
/// parents.
#[bucket_testkit::test]
async fn a_watch_of_parents_needs_its_privilege_on_the_database() {
    if is_cluster().await {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bucket-tests-watch-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (server, root) = server(&folder).await;
    prepare(&root, "shop", true).await;
    let admin = root.database("admin");
    let actions = ["find", "changeStream", "listIndexes"].to_vec();
    for (name, collections) in [
        (
            "some",
            [Book::SPEC.collection, Book::SPEC.extras].as_slice(),
        ),
        ("whole", [""].as_slice()),
    ] {
        let on = |collection: &&str| {
            let resource = doc! { "db": "shop", "collection": *collection };
            doc! { "resource": resource, "actions": &actions }
        };
        let privileges = Vec::from_iter(collections.iter().map(on));
        let role = doc! { "createRole": name, "privileges": privileges, "roles": [] };
        admin.run_command(role).await.unwrap();
        let user = doc! { "createUser": name, "pwd": name, "roles": [name] };
        admin.run_command(user).await.unwrap();
        let watched = calls::watch_outliers(login(&server, name).await.database("shop")).await;
        match name {
            "whole" => watched.unwrap(),
            _ => assert!(watched.unwrap_err().is_unauthorized()),
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The server repeats the refused command, items included, in its answer to a user who lacks a privilege.
#[bucket_testkit::test]
async fn an_error_says_what_to_do_about_a_user_and_holds_no_item() {
    if is_cluster().await {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bucket-tests-user-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (server, root) = server(&folder).await;
    prepare(&root, "shop", true).await;
    let admin = root.database("admin");
    let reads = doc! { "role": "read", "db": "shop" };
    let user = doc! { "createUser": "user", "pwd": "user", "roles": [reads] };
    admin.run_command(user).await.unwrap();

    let db = login(&server, "user").await.database("shop");
    let visits = Visit::buckets(&db).await.unwrap();
    let mut secret = visit(77);
    secret.seconds = 424_242;
    let many = visits.append_many([secret.clone()]).await.unwrap_err();
    let books = Book::outliers(&db).await.unwrap();
    let errors = [
        visits.append(&secret).await.unwrap_err(),
        many.into_failed().remove(0).error,
        books.push(&1, "424242").await.unwrap_err(),
    ];
    for error in errors {
        assert!(
            error.is_unauthorized() && !error.is_maybe_stored(),
            "{error}"
        );
        for text in [
            format!("{error}"),
            format!("{error:?}"),
            format!("{error:#?}"),
        ] {
            assert!(text.contains("lacks a privilege"), "{text}");
            assert!(!text.contains("424242") && !text.contains('{'), "{text}");
        }
    }

    let nobody = server.database("shop").await.unwrap();
    let error = Visit::buckets(&nobody).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert!(
        error.to_string().contains("the client names none"),
        "{error}"
    );

    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    let wrong = Credential::builder();
    let wrong = wrong
        .username("user".to_owned())
        .password("wrong".to_owned());
    options.credential = Some(wrong.source("admin".to_owned()).build());
    let wrong = Client::with_options(options).unwrap().database("shop");
    let error = Visit::buckets(&wrong).await.unwrap_err();
    assert!(
        error.to_string().contains("the user or the password"),
        "{error}"
    );
    fs::remove_dir_all(folder).unwrap();
}
