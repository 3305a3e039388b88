//! Types that serde writes in one form for people and in another for machines, such as `IpAddr`: they
//! come back unchanged, whichever way they were written.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use bucket_runtime::{
    Bucket, Outlier,
    mongodb::bson::{Binary, DateTime},
};
use futures_util::{TryStreamExt, future::try_join_all};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::support::{
    database::{Live, dense_buckets, items, pages},
    outliers::{fresh, remove, verify},
};

/// A tag that is written as most crates write a UUID: hexadecimal for people, bytes otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tag(u32);

impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&format!("{:08x}", self.0)),
            false => serializer.serialize_bytes(&self.0.to_be_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            let tag = u32::from_str_radix(&text, 16);
            return tag.map(Self).map_err(D::Error::custom);
        }
        let bytes = Binary::deserialize(deserializer)?.bytes.try_into();
        let bytes = bytes.map_err(|_| D::Error::custom("four bytes"))?;
        Ok(Self(u32::from_be_bytes(bytes)))
    }
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "visits", id = "{site}_{at}", capacity = 3)]
struct Visit {
    site: String,
    at: DateTime,
    from: IpAddr,
    to: SocketAddr,
    via: Vec<Ipv6Addr>,
    maybe: Option<IpAddr>,
    tag: Tag,
}

fn visit(n: u32) -> Visit {
    let from: IpAddr = match n % 2 {
        0 => IpAddr::from([127, 0, 0, n as u8]),
        _ => IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n as u16]),
    };
    Visit {
        site: "a_b".into(),
        at: DateTime::from_millis(1_698_335_223_434 + i64::from(n) * 1000),
        from,
        to: SocketAddr::new(from, 27017),
        via: (0..n as u16 % 3).map(|hop| [hop; 8].into()).collect(),
        maybe: n.is_multiple_of(3).then_some(from),
        tag: Tag(n),
    }
}

#[bucket_testkit::test]
async fn addresses_in_items_come_back(db: Live) {
    let visits = Visit::buckets(&db).await.unwrap();
    let all: Vec<_> = (0..40).map(visit).collect();
    // Alone, combined, in a session, and many at once.
    visits.append(&all[0]).await.unwrap();
    let appends = all[1..10].iter();
    let appends = appends.map(|visit| visits.append(visit).into_future());
    try_join_all(appends).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();
    visits.append(&all[10]).session(&mut session).await.unwrap();
    visits.append_many(all[11..].to_vec()).await.unwrap();

    assert_eq!(items(&visits, "a_b").await, all);
    let pages = pages(&visits, "a_b").await;
    let of_pages = pages.into_iter().flat_map(|page| page.items);
    assert_eq!(Vec::from_iter(of_pages), all);
    dense_buckets(&visits).await;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Caller {
    from: IpAddr,
    tag: Tag,
}

fn address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

fn caller(n: u8) -> Caller {
    Caller {
        from: address(n),
        tag: Tag(n.into()),
    }
}

macro_rules! sites {
    ($($test:ident: $name:ident($item:ty, $new:ident);)+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
        #[outlier(collection = "sites", reference = "site", threshold = 3, extras_capacity = 4)]
        struct $name {
            #[serde(rename = "_id")]
            id: i64,
            host: IpAddr,
            #[outlier(items)]
            callers: Vec<$item>,
        }

        #[bucket_testkit::test]
        async fn $test(db: Live) {
            let sites = fresh::<$name>(&db).await;
            let new = |items: std::ops::Range<u8>| $name {
                id: 1, host: address(0), callers: items.map($new).collect(),
            };
            sites.insert(&new(0..5)).await.unwrap();
            for n in 5..9 {
                sites.push(&1, $new(n)).await.unwrap();
            }
            sites.push_many(&1, (9..20).map($new)).await.unwrap();
            assert_eq!(sites.get_all(&1).await.unwrap(), Some(new(0..20)));
            let own = sites.get(&1).await.unwrap().unwrap();
            assert_eq!((own.has_extras, own.document), (true, new(0..3)));

            // A filter finds a value as it is stored: in the parent, and in the extras.
            for n in [1, 12] {
                assert!(remove(&sites, &1, $new(n)).await.unwrap(), "{n}");
                assert!(!remove(&sites, &1, $new(n)).await.unwrap(), "{n}");
            }
            let left = (0..20).filter(|n| ![1, 12].contains(n)).map($new);
            let found: Vec<_> = sites.items(&1).await.unwrap().try_collect().await.unwrap();
            assert_eq!(found, Vec::from_iter(left));
            assert_eq!(verify(&sites).await.unwrap().len(), 0);
        }
    )+};
}

sites! {
    addresses_among_outliers_come_back: Plain(IpAddr, address);
    addresses_within_outliers_come_back: Nested(Caller, caller);
}
