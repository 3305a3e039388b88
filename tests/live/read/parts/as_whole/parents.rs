//! A part of a parent is read as the parent is, and comes without the array.

use bucket_runtime::{
    Outlier, Part,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use super::{Time, cents, changed, compare, fields_of, moment, one, replace};
use crate::support::database::{Live, Recorded, first_batch};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[outlier(collection = "accounts", reference = "account_id", threshold = 2)]
struct Account {
    #[serde(rename = "_id", alias = "id")]
    id: i64,
    #[serde(with = "cents")]
    balance: f64,
    #[serde(alias = "ownerName")]
    owner: String,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    branch: i32,
    #[serde(with = "bucket_runtime::bson_date")]
    opened: Time,
    remark: Option<String>,
    last: DateTime,
    limit: i64,
    #[outlier(items)]
    movements: Vec<i64>,
    #[outlier(flag)]
    has_extras: bool,
}

fn is_one(branch: &i32) -> bool {
    *branch == 1
}

impl Default for Account {
    fn default() -> Self {
        Self {
            id: -1,
            balance: 0.5,
            owner: "nobody".to_owned(),
            branch: 9,
            opened: moment(1),
            remark: Some("none".to_owned()),
            last: DateTime::from_millis(5),
            limit: 7,
            movements: vec![0],
            has_extras: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Part)]
#[part(of = Account)]
struct Summary {
    last: DateTime,
    id: i64,
    remark: Option<String>,
    opened: Time,
    branch: i32,
    owner: String,
    balance: f64,
}

fields_of! { Account, Summary: id balance owner branch opened remark last }

#[bucket_testkit::test]
async fn a_part_of_a_parent_is_read_as_the_parent_is(db: Live) {
    let accounts = Account::outliers(&db).await.unwrap();
    let raw = accounts.collection().clone_with_type::<Document>();
    let unset = |name: &str| doc! { "$unset": { name: 1 } };
    let names = ["balance", "owner", "branch", "opened", "remark", "last"];
    let mut changes = Vec::from(names.map(unset));
    changes.extend([
        doc! { "$set": {} },
        doc! { "from": "owner", "to": "ownerName" },
        doc! { "$set": { "ownerName": "twice" } },
        doc! { "$set": { "balance": "text" } },
        doc! { "$set": { "remark": null } },
    ]);
    let mut readable = 0;
    for (id, change) in (0..).zip(changes) {
        let account = Account {
            id,
            balance: 12.34,
            owner: "Ada".to_owned(),
            branch: id as i32 % 2,
            movements: (0..id).collect(),
            ..Account::default()
        };
        accounts.insert(&account).await.unwrap();
        let parent = raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
        replace(&raw, &changed(&parent, &change)).await;
        let find = || accounts.find(Account::FIELDS.id.eq(id));
        let whole = find().await.unwrap().try_next().await;
        let part = find().parts::<Summary>().await.unwrap().try_next().await;
        let whole = whole.map(|parent| parent.unwrap().document);
        let part = part.map(|parent| {
            let parent = parent.unwrap();
            assert_eq!(parent.has_extras, id > 2);
            parent.document
        });
        readable += u32::from(compare(whole, part, &change));
    }
    assert_eq!(readable, 9);
}

#[bucket_testkit::test]
async fn parts_of_parents_come_without_the_array(Recorded(db, record): Recorded) {
    let accounts = Account::outliers(&db).await.unwrap();
    for id in 0..4 {
        let account = Account {
            id,
            movements: (0..id).collect(),
            ..Account::default()
        };
        accounts.insert(&account).await.unwrap();
    }
    record.take();
    let find = || {
        accounts
            .find(Account::FIELDS.id.gte(1))
            .sort(doc! { "_id": -1 })
    };
    let parts = find().parts::<Summary>().await.unwrap();
    let parts: Vec<_> = parts.try_collect().await.unwrap();
    let command = record.take().pop().unwrap();
    let ids = (parts.iter()).map(|part| (part.document.id, part.has_extras));
    assert_eq!(Vec::from_iter(ids), [(3, true), (2, false), (1, false)]);
    for row in first_batch(&db, command).await {
        assert!(!row.contains_key("movements"), "{row}");
        assert!(!row.contains_key("limit"), "{row}");
    }
    let later = accounts.find(Account::FIELDS.id.gte(1)).parts::<Summary>();
    let later = later.limit(1).skip(1).sort(doc! { "_id": -1 });
    let later: Vec<_> = later.await.unwrap().try_collect().await.unwrap();
    assert_eq!((later.len(), later[0].document.id), (1, 2));

    let raw = accounts.collection().clone_with_type::<Document>();
    let damage = doc! { "$set": { "balance": "text" } };
    raw.update_one(doc! { "_id": 2 }, damage).await.unwrap();
    let parts = find().parts::<Summary>().await.unwrap();
    let error = parts.try_collect::<Vec<_>>().await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
    let mut skipped = Vec::new();
    let parts = find().skip_unreadable(|error| skipped.push(error));
    let parts = parts.parts::<Summary>().await.unwrap();
    let parts: Vec<_> = parts.try_collect().await.unwrap();
    assert_eq!((parts.len(), skipped.len()), (2, 1));
}
