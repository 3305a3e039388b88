//! Derives without a prelude, with the runtime renamed, and among names that shadow everything that
//! generated code could mean. The test is that it compiles.
#![no_implicit_prelude]
#![deny(warnings)]
#![allow(dead_code, missing_docs, reason = "nothing here is used")]

/// Names of the prelude, of the runtime and of serde, with other meanings.
pub mod shadows {
    pub struct Option;
    pub struct Some;
    pub struct None;
    pub struct Result;
    pub struct Ok;
    pub struct Err;
    pub struct String;
    pub struct Vec;
    pub struct Box;
    pub struct Default;
    pub struct PhantomData;
    pub struct DateTime;
    pub struct BucketSpec;
    pub struct OutlierSpec;
    pub struct IdRef;
    pub struct IdFormat;
    pub struct KeyName;
    pub struct Ordinal;
    pub struct RollupName;
    pub struct FieldRollup;
    pub struct Bson;
    pub trait Send {}
    pub trait Sync {}
    pub trait Clone {}
    pub trait Key {}
    pub trait KeyField {}
    pub trait TimeField {}
    pub trait RollupField {}
    pub trait SumField {}
    pub trait RollupFields {}
    pub trait From {}
    pub trait ItemsField {}
    pub trait FlagField {}
    pub trait Serialize {}
    pub trait Serializer {}
    pub trait Deserialize {}
    pub trait Deserializer {}
    pub trait DeserializeOwned {}
    pub mod core {}
    pub mod std {}
    pub mod serde {}
    pub mod bucket_runtime {}
    pub mod mongodb {}
}

pub mod absolute_path {
    use super::shadows::*;

    pub const PAGE: u8 = 10;

    #[derive(::persistence::Bucket)]
    #[bucket(
        crate = ::persistence,
        collection = "trades",
        id = "{customer}_{kind}_{date}",
        capacity = PAGE,
        items = "history"
    )]
    pub struct Trade {
        pub customer: i64,
        pub kind: ::std::string::String,
        pub date: ::persistence::mongodb::bson::DateTime,
        #[bucket(sum, max)]
        pub price: ::core::option::Option<f64>,
        // Names that a binding of the generated code could have.
        #[bucket(min)]
        pub key: i32,
        pub element: i32,
        pub serializer: i32,
        pub time: i32,
        pub item: i32,
    }

    #[derive(::persistence::Bucket)]
    #[bucket(
        crate = ::persistence,
        collection = "readings",
        id = "{sensor}_{at/1h}",
        capacity = PAGE,
        window = "hour",
        rollup = "totals"
    )]
    pub struct Reading {
        pub sensor: i64,
        #[bucket(min)]
        pub at: ::persistence::mongodb::bson::DateTime,
        #[bucket(sum)]
        #[serde(skip_serializing_if = "is_zero", default)]
        pub fields: i32,
        #[serde(with = "::persistence::bson_date")]
        pub until: ::core::option::Option<::persistence::mongodb::bson::DateTime>,
    }

    #[derive(::persistence::Part)]
    #[part(crate = ::persistence, of = Reading)]
    pub struct Part {
        pub sensor: i64,
        pub at: ::persistence::mongodb::bson::DateTime,
        pub fields: i32,
        pub until: ::core::option::Option<::persistence::mongodb::bson::DateTime>,
    }

    fn is_zero(fields: &i32) -> bool {
        *fields == 0
    }

    // Traits of these names are in scope only by glob, and the derive cannot use them.
    fn shadowed(_: (Option, Result, DateTime)) {}
}

pub mod bare_path {
    use ::persistence;

    #[derive(persistence::Bucket)]
    #[bucket(crate = persistence, collection = "numbers", id = "{sensor}_{#}", capacity = 100)]
    pub struct Reading {
        pub sensor: bool,
        pub value: f64,
    }

    #[derive(persistence::Bucket)]
    #[bucket(
        crate = "persistence",
        collection = "numbers",
        id = "{sensor}_{#}",
        capacity = 100
    )]
    pub struct InString {
        pub sensor: u32,
        pub value: f64,
    }
}

pub mod nested {
    use ::persistence::__private::serde as real;

    use super::shadows::*;

    #[derive(::persistence::Bucket)]
    #[bucket(crate = ::persistence, collection = "readings", id = "{sensor}_{#}", capacity = 100)]
    pub struct Reading {
        pub sensor: i64,
        #[bucket(index(city))]
        pub place: ::core::option::Option<Place>,
    }

    #[derive(::persistence::Fields, real::Serialize, real::Deserialize)]
    #[fields(crate = ::persistence)]
    #[serde(crate = "::persistence::__private::serde")]
    pub struct Place {
        pub city: ::std::string::String,
        pub owner: ::std::boxed::Box<Owner>,
    }

    #[derive(::persistence::Fields, real::Serialize, real::Deserialize)]
    #[fields(crate = ::persistence)]
    #[serde(crate = "::persistence::__private::serde", tag = "type")]
    pub enum Owner {
        Some { name: ::std::string::String },
        Self_(Firm),
        None,
    }

    #[derive(::persistence::Fields, real::Serialize, real::Deserialize)]
    #[fields(crate = ::persistence)]
    #[serde(crate = "::persistence::__private::serde")]
    pub struct Firm {
        pub name: ::std::string::String,
        #[serde(default, with = "::persistence::bson_date")]
        pub until: ::core::option::Option<::persistence::mongodb::bson::DateTime>,
    }

    #[derive(::persistence::Part)]
    #[part(crate = ::persistence, of = Firm)]
    pub struct Until {
        pub until: ::core::option::Option<::persistence::mongodb::bson::DateTime>,
    }

    // Traits of these names are in scope only by glob, and the derive cannot use them.
    fn shadowed(_: (Option, Result, DateTime)) {}
}

/// The derive finds the runtime's name in the manifest.
pub mod by_manifest {
    #[derive(::persistence::Bucket)]
    #[bucket(collection = "readings", id = "{sensor}_{at}", capacity = 100)]
    pub struct Reading {
        pub sensor: u32,
        pub at: ::persistence::mongodb::bson::DateTime,
    }

    #[derive(::persistence::Part)]
    #[part(of = self::Reading)]
    pub struct Part {
        pub at: ::persistence::mongodb::bson::DateTime,
    }
}

pub mod generics {
    use super::shadows::*;

    #[derive(::persistence::Bucket)]
    #[bucket(crate = ::persistence, collection = "a", id = "{key}_{at:millis}", capacity = 100)]
    pub struct Generic<K, D, T, U, const N: usize>
    where
        T: ::core::clone::Clone,
    {
        pub key: K,
        pub at: D,
        pub value: ::std::vec::Vec<T>,
        pub nothing: ::core::marker::PhantomData<U>,
    }

    #[derive(::persistence::Bucket)]
    #[serde(default)]
    #[bucket(crate = ::persistence, collection = "b", id = "{key}_{#}", capacity = 100)]
    pub struct Defaults<T> {
        pub key: i64,
        pub value: T,
        #[serde(skip)]
        pub cached: u8,
    }

    impl<T: ::core::default::Default> ::core::default::Default for Defaults<T> {
        fn default() -> Self {
            Self {
                key: 0,
                value: ::core::default::Default::default(),
                cached: 0,
            }
        }
    }

    fn shadowed(_: (Option, PhantomData, Default)) {}

    fn is_bucket<B: ::persistence::Bucket>() {}

    fn are_buckets() {
        is_bucket::<Generic<i64, ::persistence::mongodb::bson::DateTime, bool, (), 3>>();
        is_bucket::<Defaults<i64>>();
    }
}

/// A type parameter and a struct that have the names of the traits.
pub mod names {
    #[derive(::persistence::Bucket)]
    #[bucket(crate = ::persistence, collection = "c", id = "{key}_{#}", capacity = 100)]
    pub struct Bucket<Serialize> {
        pub key: i64,
        pub value: Serialize,
    }
}

pub mod outliers {
    use ::persistence::__private::serde as real;

    use super::shadows::*;

    pub const MANY: u8 = 50;

    #[derive(real::Serialize, real::Deserialize, ::persistence::Outlier)]
    #[serde(crate = "::persistence::__private::serde")]
    #[outlier(
        crate = ::persistence,
        collection = "sales",
        reference = "book",
        threshold = MANY,
        extras_capacity = MANY
    )]
    pub struct Book {
        #[serde(rename = "_id")]
        pub key: i64,
        #[outlier(items)]
        pub items: ::std::vec::Vec<::std::string::String>,
        #[serde(default)]
        #[outlier(flag)]
        pub flag: bool,
    }

    #[derive(real::Serialize, real::Deserialize, ::persistence::Outlier)]
    #[serde(crate = "::persistence::__private::serde")]
    #[outlier(
        crate = "::persistence",
        collection = "a",
        reference = "b",
        threshold = 10
    )]
    pub struct Outlier<Item, Id> {
        pub _id: Id,
        #[outlier(items)]
        pub items: ::std::vec::Vec<Item>,
    }

    #[derive(real::Serialize, real::Deserialize, ::persistence::Outlier)]
    #[serde(crate = "::persistence::__private::serde")]
    #[outlier(
        crate = ::persistence,
        collection = "sales",
        reference = "book",
        threshold = 10
    )]
    pub struct Bounded {
        pub _id: i64,
        #[outlier(max_len = 10)]
        pub title: ::std::string::String,
        #[outlier(items, max_len = 10)]
        pub readers: ::std::vec::Vec<::std::string::String>,
        #[serde(default, skip_serializing_if = "::core::option::Option::is_none")]
        pub note: ::core::option::Option<::std::string::String>,
    }

    fn shadowed(_: (Vec, String, OutlierSpec)) {}

    fn is_outlier<O: ::persistence::Outlier>() {}

    fn are_outliers() {
        is_outlier::<Book>();
        is_outlier::<Outlier<bool, i64>>();
    }
}
