//! Conditions on fields inside of values: what the server finds is what Rust finds among the same items.

use bucket_runtime::{
    Bucket, Buckets, Fields, Filter, Outlier,
    mongodb::{Database, bson::Document},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::Live;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", id = "{customer}_{#}", capacity = 4)]
struct Trade {
    customer: i64,
    number: i32,
    #[bucket(index(city, owner.name))]
    at_venue: Option<Venue>,
    paid: Paid,
    route: Route,
    shape: Shape,
    fees: Vec<Fee>,
    prices: Vec<f64>,
}

impl Trade {
    fn city(&self) -> Option<&str> {
        self.at_venue.as_ref().map(|venue| &*venue.city)
    }

    fn owner(&self) -> Option<&Owner> {
        self.at_venue.as_ref()?.owner.as_deref()
    }

    fn parent(&self) -> Option<&Owner> {
        self.owner()?.parent.as_deref()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
struct Venue {
    city: String,
    owner: Option<Box<Owner>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Owner {
    name: String,
    parent: Option<Box<Owner>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Paid {
    Cash {
        cents: i64,
    },
    Card {
        cents: i64,
        digits: String,
    },
    #[serde(rename = "bank")]
    BankTransfer(Owner),
    Later,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(tag = "t", content = "c", rename_all_fields = "UPPERCASE")]
enum Route {
    Direct,
    Via { city: String },
    Proxy(Owner),
    Named(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
enum Shape {
    Flat,
    Round { radius: f64 },
    Owned(Owner),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Fee {
    payee: String,
    cents: i64,
}

fn owner(n: i32) -> Owner {
    let parent = (n % 2 == 0).then(|| Owner {
        name: format!("parent {}", n % 4),
        parent: None,
    });
    Owner {
        name: format!("owner {}", n % 5),
        parent: parent.map(Box::new),
    }
}

/// Every combination of forms comes up among the first sixty.
fn trade(number: i32) -> Trade {
    let cents = i64::from(number) * 10;
    let city = ["Paris", "Lyon", "Nice"][number as usize % 3].to_owned();
    let fees = (0..number % 4).map(|n| Fee {
        payee: ["NYSE", "SEC"][(number + n) as usize % 2].to_owned(),
        cents: cents + i64::from(n) * 100,
    });
    Trade {
        customer: i64::from(number % 2),
        number,
        at_venue: (number % 7 != 0).then(|| Venue {
            city: city.clone(),
            owner: (number % 5 != 0).then(|| Box::new(owner(number))),
        }),
        paid: match number % 4 {
            0 => Paid::Cash { cents },
            1 => Paid::Card {
                cents,
                digits: format!("{number:04}"),
            },
            2 => Paid::BankTransfer(owner(number)),
            _ => Paid::Later,
        },
        route: match number % 5 {
            0 => Route::Direct,
            1 | 2 => Route::Via { city: city.clone() },
            3 => Route::Proxy(owner(number)),
            _ => Route::Named(city),
        },
        shape: match number % 3 {
            0 => Shape::Flat,
            1 => Shape::Round {
                radius: f64::from(number) / 4.0,
            },
            _ => Shape::Owned(owner(number)),
        },
        fees: fees.collect(),
        prices: (0..number % 3).map(|n| f64::from(number * n)).collect(),
    }
}

/// A condition, and the same in Rust.
type Case = (Filter<Trade>, fn(&Trade) -> bool);

fn cases() -> Vec<Case> {
    let trade = Trade::FIELDS;
    let fee = Fee::FIELDS;
    vec![
        (trade.at_venue.city.eq("Paris"), |trade| {
            trade.city() == Some("Paris")
        }),
        (trade.at_venue.city.ne("Paris"), |trade| {
            trade.city() != Some("Paris")
        }),
        (trade.at_venue.owner.name.gte("owner 3"), |trade| {
            trade.owner().is_some_and(|owner| *owner.name >= *"owner 3")
        }),
        (
            trade.at_venue.owner.parent.name.is_in(["parent 2", "none"]),
            |trade| trade.parent().is_some_and(|it| it.name == "parent 2"),
        ),
        (trade.at_venue.owner.parent.parent.exists(true), |trade| {
            trade.parent().is_some()
        }),
        (trade.at_venue.eq(None), |trade| trade.at_venue.is_none()),
        // Two variants have the field: each condition is about one of them.
        (
            trade.paid.cash.cents.gt(200),
            |trade| matches!(trade.paid, Paid::Cash { cents } if cents > 200),
        ),
        (
            trade.paid.card.cents.between(..200),
            |trade| matches!(trade.paid, Paid::Card { cents, .. } if cents < 200),
        ),
        (
            !trade.paid.card.cents.lt(200),
            |trade| !matches!(trade.paid, Paid::Card { cents, .. } if cents < 200),
        ),
        // `ne` is about items of this variant, and `!` about all items.
        (
            trade.paid.card.digits.ne("0005"),
            |trade| matches!(&trade.paid, Paid::Card { digits, .. } if digits != "0005"),
        ),
        (
            trade.route.via.city.ne("Nice"),
            |trade| matches!(&trade.route, Route::Via { city } if city != "Nice"),
        ),
        (
            trade.route.named.ne("Nice"),
            |trade| matches!(&trade.route, Route::Named(city) if city != "Nice"),
        ),
        (
            trade.shape.round.radius.ne(5.5),
            |trade| matches!(trade.shape, Shape::Round { radius } if radius != 5.5),
        ),
        (
            trade.shape.owned.name.ne("owner 2"),
            |trade| matches!(&trade.shape, Shape::Owned(owner) if owner.name != "owner 2"),
        ),
        (
            !trade.route.via.city.eq("Nice"),
            |trade| !matches!(&trade.route, Route::Via { city } if city == "Nice"),
        ),
        (trade.paid.cash.cents.exists(true), |trade| {
            matches!(trade.paid, Paid::Cash { .. })
        }),
        (
            trade.paid.bank_transfer.name.eq("owner 2"),
            |trade| matches!(&trade.paid, Paid::BankTransfer(owner) if owner.name == "owner 2"),
        ),
        (trade.paid.bank_transfer.matches(), |trade| {
            matches!(trade.paid, Paid::BankTransfer(_))
        }),
        (trade.paid.later.matches(), |trade| {
            trade.paid == Paid::Later
        }),
        (!trade.paid.later.matches(), |trade| {
            trade.paid != Paid::Later
        }),
        (trade.route.direct.matches(), |trade| {
            trade.route == Route::Direct
        }),
        (
            trade.route.via.city.eq("Nice"),
            |trade| matches!(&trade.route, Route::Via { city } if city == "Nice"),
        ),
        (
            trade.route.proxy.parent.name.eq("parent 0"),
            |trade| matches!(&trade.route, Route::Proxy(owner) if owner.parent.as_ref().is_some_and(|parent| parent.name == "parent 0")),
        ),
        (
            trade.route.named.lt("M"),
            |trade| matches!(&trade.route, Route::Named(name) if name.as_str() < "M"),
        ),
        (trade.shape.eq(Shape::Flat), |trade| {
            trade.shape == Shape::Flat
        }),
        (
            trade.shape.round.radius.gte(5.25),
            |trade| matches!(trade.shape, Shape::Round { radius } if radius >= 5.25),
        ),
        (trade.shape.owned.matches(), |trade| {
            matches!(trade.shape, Shape::Owned(_))
        }),
        (
            trade.shape.owned.parent.eq(None),
            |trade| matches!(&trade.shape, Shape::Owned(owner) if owner.parent.is_none()),
        ),
        // One and the same element satisfies both conditions.
        (
            trade.fees.any(fee.payee.eq("SEC").and(fee.cents.gt(300))),
            |trade| {
                let mut fees = trade.fees.iter();
                fees.any(|fee| fee.payee == "SEC" && fee.cents > 300)
            },
        ),
        (
            trade.fees.any(fee.payee.eq("SEC").or(fee.cents.gt(300))),
            |trade| {
                let mut fees = trade.fees.iter();
                fees.any(|fee| fee.payee == "SEC" || fee.cents > 300)
            },
        ),
        (trade.fees.any(!fee.payee.eq("SEC")), |trade| {
            trade.fees.iter().any(|fee| fee.payee != "SEC")
        }),
        (!trade.fees.any(fee.payee.eq("SEC")), |trade| {
            trade.fees.iter().all(|fee| fee.payee != "SEC")
        }),
        (trade.fees.any(Filter::default()), |trade| {
            !trade.fees.is_empty()
        }),
        (trade.prices.any_item().between(20.0..=40.0), |trade| {
            trade
                .prices
                .iter()
                .any(|price| (20.0..=40.0).contains(price))
        }),
        (trade.prices.any_item().is_in([0.0, 22.0]), |trade| {
            trade
                .prices
                .iter()
                .any(|price| *price == 0.0 || *price == 22.0)
        }),
        (trade.prices.any_item().ne(0.0), |trade| {
            trade.prices.iter().all(|price| *price != 0.0)
        }),
        // With a condition on a key field, and with one another.
        (
            trade
                .customer
                .eq(1)
                .and(trade.at_venue.city.eq("Lyon"))
                .or(trade.paid.cash.cents.lt(100)),
            |trade| {
                (trade.customer == 1 && trade.city() == Some("Lyon"))
                    || matches!(trade.paid, Paid::Cash { cents } if cents < 100)
            },
        ),
    ]
}

async fn filled(db: &Database) -> (Buckets<Trade>, Vec<Trade>) {
    let trades = Trade::buckets(db).await.unwrap();
    let all = Vec::from_iter((0..60).map(trade));
    trades.append_many(all.clone()).await.unwrap();
    (trades, all)
}

#[bucket_testkit::test]
async fn conditions_on_nested_fields_find_what_rust_finds(db: Live) {
    let (trades, all) = filled(&db).await;
    for (filter, holds) in cases() {
        let text = format!("{filter:?}");
        let expected = Vec::from_iter(all.iter().filter(|trade| holds(trade)));
        assert!(!expected.is_empty() && expected.len() < all.len(), "{text}");

        let found = trades.all_items().filter(filter.clone()).await.unwrap();
        let mut found: Vec<Trade> = found.try_collect().await.unwrap();
        found.sort_by_key(|trade| trade.number);
        assert_eq!(Vec::from_iter(&found), expected, "{text}");

        let of_one = trades.items(&1).filter(filter.clone()).newest_first();
        let of_one: Vec<Trade> = of_one.await.unwrap().try_collect().await.unwrap();
        let mine = expected.iter().filter(|trade| trade.customer == 1).rev();
        assert_eq!(Vec::from_iter(&of_one), Vec::from_iter(mine.copied()));

        let number = trades.count_all().filter(filter).await.unwrap();
        assert_eq!(number, expected.len() as u64, "{text}");
    }
    let indexes = trades.collection().list_index_names().await.unwrap();
    for index in ["items.atVenue.CITY_1", "items.atVenue.OWNER.name_1"] {
        assert!(indexes.iter().any(|name| name == index), "{indexes:?}");
    }
}

/// A removal by `ne` takes no item of another variant.
#[bucket_testkit::test]
async fn a_removal_leaves_other_variants(db: Live) {
    let (trades, all) = filled(&db).await;
    let removed = trades.remove_all_items(Trade::FIELDS.paid.card.digits.ne("0005"));
    let is_removed =
        |trade: &&Trade| matches!(&trade.paid, Paid::Card { digits, .. } if digits != "0005");
    let expected = all.iter().filter(is_removed).count();
    assert_eq!(removed.await.unwrap(), expected as u64);
    let left = trades.all_items().await.unwrap();
    let left: Vec<Trade> = left.try_collect().await.unwrap();
    assert_eq!(left.len(), all.len() - expected);
    assert!(!left.iter().any(|trade| is_removed(&trade)));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "books", reference = "book", threshold = 3)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[outlier(index(name))]
    author: Owner,
    #[outlier(items)]
    buyers: Vec<Fee>,
}

#[bucket_testkit::test]
async fn parents_are_found_by_nested_fields(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for id in 0..10 {
        let buyers = trade(id).fees;
        let author = owner(id);
        books.insert(&Book { id, author, buyers }).await.unwrap();
    }
    let ids = async |filter: Filter<Book>| {
        let found = books.find(filter).await.unwrap();
        let ids = found.map_ok(|parent| parent.document.id);
        let mut ids: Vec<i32> = ids.try_collect().await.unwrap();
        ids.sort_unstable();
        ids
    };
    let book = Book::FIELDS;
    assert_eq!(ids(book.author.name.eq("owner 3")).await, [3, 8]);
    assert_eq!(ids(book.author.parent.name.eq("parent 0")).await, [0, 4, 8]);
    let dear = Fee::FIELDS.cents.gte(270);
    assert_eq!(ids(book.buyers.any(dear)).await, [7]);
    let parents = db.collection::<Document>("books");
    let indexes = parents.list_index_names().await.unwrap();
    assert!(indexes.contains(&"author.name_1".to_owned()), "{indexes:?}");
}
