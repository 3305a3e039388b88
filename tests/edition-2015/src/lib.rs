//! Derives in a crate of edition 2015, where a path that begins with `::` starts at the crate's root.
//! The test is that it compiles.
#![deny(warnings)]
#![allow(dead_code)]

extern crate bucket_runtime;
extern crate bucket_runtime as renamed;
extern crate serde;

mod items {
    use bucket_runtime::{bson::DateTime, Bucket, Fields, Part};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, Bucket)]
    #[serde(rename_all = "camelCase")]
    #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    pub struct Trade {
        pub customer_id: i64,
        pub date: DateTime,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub tags: Vec<String>,
        #[bucket(sum)]
        pub quantity: Option<i64>,
        #[bucket(unique, max_len = 20)]
        pub number: String,
        #[bucket(index(city))]
        pub venue: Option<Venue>,
    }

    #[derive(Debug, Clone, Serialize, Deserialize, Fields)]
    pub struct Venue {
        pub city: String,
        pub owner: Option<Owner>,
    }

    #[derive(Debug, Clone, Serialize, Deserialize, Fields)]
    #[serde(tag = "kind")]
    pub enum Owner {
        Person { name: String },
        Firm(Box<Venue>),
    }

    #[derive(Part)]
    #[part(of = Trade)]
    pub struct Quote {
        pub customer_id: i64,
        pub date: DateTime,
        pub tags: Vec<String>,
    }
}

mod parents {
    use bucket_runtime::{Fields, Outlier, Part};
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Outlier)]
    #[outlier(collection = "sales", reference = "book_id", threshold = 50)]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i64,
        #[outlier(items)]
        pub buyers: Vec<Buyer>,
    }

    #[derive(Serialize, Deserialize, Fields)]
    pub struct Buyer {
        #[serde(alias = "nick")]
        pub name: String,
        #[serde(default)]
        pub copies: i64,
    }

    #[derive(Part)]
    #[part(of = Buyer)]
    pub struct Copies {
        pub copies: i64,
    }

    #[derive(Part)]
    #[part(of = Book)]
    pub struct Id {
        pub id: i64,
    }
}

mod under_another_name {
    use renamed::Bucket;

    #[derive(Bucket)]
    #[bucket(collection = "notes", id = "{author}_{#}", capacity = 10, crate = ::renamed)]
    pub struct Note {
        pub author: String,
        pub text: String,
    }
}
