//! A part of a parent is read as the parent is.

use bucket_runtime::{
    Outlier, Part,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use super::{Time, cents, changed, compare, moment, one, replace};
use crate::support::database::Live;

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

impl From<Account> for Summary {
    fn from(whole: Account) -> Self {
        Self {
            last: whole.last,
            id: whole.id,
            remark: whole.remark,
            opened: whole.opened,
            branch: whole.branch,
            owner: whole.owner,
            balance: whole.balance,
        }
    }
}

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
