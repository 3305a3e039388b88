//! Conditions on fields inside of values: what the server finds is what Rust finds among the same items.

use bucket_runtime::{
    Bucket, Fields, Filter, Outlier,
    mongodb::bson::{Document, doc},
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
    let named = |name, parent: Option<Owner>| Owner {
        name,
        parent: parent.map(Box::new),
    };
    let parent = (n % 2 == 0).then(|| named(format!("parent {}", n % 4), None));
    named(format!("owner {}", n % 5), parent)
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
    let (field, fee) = (Trade::FIELDS, Fee::FIELDS);
    cases! { |trade: Trade|
        field.at_venue.city.eq("Paris") => trade.city() == Some("Paris");
        field.at_venue.city.ne("Paris") => trade.city() != Some("Paris");
        field.at_venue.owner.name.gte("owner 3") => trade.owner().is_some_and(|it| *it.name >= *"owner 3");
        field.at_venue.owner.parent.name.is_in(["parent 2", "none"])
            => trade.parent().is_some_and(|it| it.name == "parent 2");
        field.at_venue.owner.parent.parent.exists(true) => trade.parent().is_some();
        field.at_venue.eq(None) => trade.at_venue.is_none();
        // Two variants have the field: each condition is about one of them.
        field.paid.cash.cents.gt(200) => matches!(trade.paid, Paid::Cash { cents } if cents > 200);
        field.paid.card.cents.between(..200) => matches!(trade.paid, Paid::Card { cents, .. } if cents < 200);
        !field.paid.card.cents.lt(200) => !matches!(trade.paid, Paid::Card { cents, .. } if cents < 200);
        // `ne` is about items of this variant, and `!` about all items.
        field.paid.card.digits.ne("0005")
            => matches!(&trade.paid, Paid::Card { digits, .. } if digits != "0005");
        field.route.via.city.ne("Nice") => matches!(&trade.route, Route::Via { city } if city != "Nice");
        field.route.named.ne("Nice") => matches!(&trade.route, Route::Named(city) if city != "Nice");
        field.shape.round.radius.ne(5.5) => matches!(trade.shape, Shape::Round { radius } if radius != 5.5);
        field.shape.owned.name.ne("owner 2")
            => matches!(&trade.shape, Shape::Owned(owner) if owner.name != "owner 2");
        !field.route.via.city.eq("Nice") => !matches!(&trade.route, Route::Via { city } if city == "Nice");
        field.paid.cash.cents.exists(true) => matches!(trade.paid, Paid::Cash { .. });
        field.paid.bank_transfer.name.eq("owner 2")
            => matches!(&trade.paid, Paid::BankTransfer(owner) if owner.name == "owner 2");
        field.paid.bank_transfer.matches() => matches!(trade.paid, Paid::BankTransfer(_));
        field.paid.later.matches() => trade.paid == Paid::Later;
        !field.paid.later.matches() => trade.paid != Paid::Later;
        field.route.direct.matches() => trade.route == Route::Direct;
        field.route.via.city.eq("Nice") => matches!(&trade.route, Route::Via { city } if city == "Nice");
        field.route.proxy.parent.name.eq("parent 0")
            => matches!(&trade.route, Route::Proxy(it) if it.parent.as_ref().is_some_and(|it| it.name == "parent 0"));
        field.route.named.lt("M") => matches!(&trade.route, Route::Named(name) if name.as_str() < "M");
        field.shape.eq(Shape::Flat) => trade.shape == Shape::Flat;
        field.shape.round.radius.gte(5.25) => matches!(trade.shape, Shape::Round { radius } if radius >= 5.25);
        field.shape.owned.matches() => matches!(trade.shape, Shape::Owned(_));
        field.shape.owned.parent.eq(None)
            => matches!(&trade.shape, Shape::Owned(owner) if owner.parent.is_none());
        // One and the same element satisfies both conditions.
        field.fees.any(fee.payee.eq("SEC").and(fee.cents.gt(300)))
            => trade.fees.iter().any(|fee| fee.payee == "SEC" && fee.cents > 300);
        field.fees.any(fee.payee.eq("SEC").or(fee.cents.gt(300)))
            => trade.fees.iter().any(|fee| fee.payee == "SEC" || fee.cents > 300);
        field.fees.any(!fee.payee.eq("SEC")) => trade.fees.iter().any(|fee| fee.payee != "SEC");
        !field.fees.any(fee.payee.eq("SEC")) => trade.fees.iter().all(|fee| fee.payee != "SEC");
        field.fees.any(Filter::default()) => !trade.fees.is_empty();
        field.prices.any_item().between(20.0..=40.0)
            => trade.prices.iter().any(|price| (20.0..=40.0).contains(price));
        field.prices.any_item().is_in([0.0, 22.0])
            => trade.prices.iter().any(|price| *price == 0.0 || *price == 22.0);
        field.prices.any_item().ne(0.0) => trade.prices.iter().all(|price| *price != 0.0);
        // With a condition on a key field, and with one another.
        field.customer.eq(1).and(field.at_venue.city.eq("Lyon")).or(field.paid.cash.cents.lt(100))
            => (trade.customer == 1 && trade.city() == Some("Lyon"))
                || matches!(trade.paid, Paid::Cash { cents } if cents < 100);
    }
}

#[bucket_testkit::test]
async fn conditions_on_nested_fields_find_what_rust_finds(db: Live) {
    let trades = Trade::buckets(&db).await.unwrap();
    let mut all = Vec::from_iter((0..60).map(trade));
    trades.append_many(all.clone()).await.unwrap();
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

    // A removal by `ne` takes no item of another variant.
    let removed = trades.remove_all_items(Trade::FIELDS.paid.card.digits.ne("0005"));
    let is_left =
        |trade: &Trade| !matches!(&trade.paid, Paid::Card { digits, .. } if digits != "0005");
    all.retain(is_left);
    assert_eq!(removed.await.unwrap(), 60 - all.len() as u64);
    let left = trades.all_items().await.unwrap();
    let mut left: Vec<Trade> = left.try_collect().await.unwrap();
    left.sort_by_key(|trade| trade.number);
    assert_eq!(left, all);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(collection = "books", reference = "book", threshold = 3)]
struct Book {
    #[serde(rename = "_id")]
    id: u64,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    sub_title: String,
    year: i32,
    #[outlier(index(name))]
    author: Owner,
    #[outlier(items)]
    buyers: Vec<Fee>,
}

#[bucket_testkit::test]
async fn parents_are_found_by_typed_and_nested_fields(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for n in 0..10 {
        let book = Book {
            id: n as u64,
            sub_title: ["", "A Novel"][n as usize % 2].to_owned(),
            year: 2000 + n,
            author: owner(n),
            buyers: trade(n).fees,
        };
        books.insert(&book).await.unwrap();
    }
    let book = Book::FIELDS;
    assert_eq!(book.id.name(), "_id");
    let dear = Fee::FIELDS.cents.gte(270);
    for (filter, expected) in [
        (book.author.name.eq("owner 3"), &[3, 8][..]),
        (book.author.parent.name.eq("parent 0"), &[0, 4, 8]),
        (book.buyers.any(dear), &[7]),
        (book.year.gte(2008), &[8, 9]),
        (book.id.eq(2), &[2]),
        (book.id.lt(u64::MAX), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (book.sub_title.eq(""), &[0, 2, 4, 6, 8]),
        (book.sub_title.ne(""), &[1, 3, 5, 7, 9]),
        (book.year.lt(2001).or(!book.id.lte(8)), &[0, 9]),
    ] {
        let text = format!("{filter:?}");
        let found = books.find(filter).sort(doc! { "_id": 1 }).await.unwrap();
        let ids = found.map_ok(|parent| parent.document.id);
        let ids: Vec<u64> = ids.try_collect().await.unwrap();
        assert_eq!(ids, expected, "{text}");
    }
    let parents = db.collection::<Document>("books");
    let indexes = parents.list_index_names().await.unwrap();
    assert!(indexes.contains(&"author.name_1".to_owned()), "{indexes:?}");
}
