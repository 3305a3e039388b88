//! Shared by the tests of the outlier pattern: parents of many thresholds and capacities, and an oracle
//! that reads both collections with the raw driver.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use bucket_ops::{OutlierOps, Problem};
use bucket_runtime::{
    Filter, Outlier, Outliers, Result,
    mongodb::bson::{Bson, Document, doc},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::{documents, number};
pub(crate) use crate::support::outliers::{fresh, remove, repaired, verify};

/// A parent whose values are numbers, so that a value can say who pushed it.
pub(crate) trait Book: Outlier<Id = i64, Item = i64> + Clone + Debug + PartialEq {
    fn new(id: i64, buyers: Vec<i64>) -> Self;
}

macro_rules! books {
    ($($name:ident($threshold:literal, $capacity:literal $(, $total:ident)?))+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
        #[outlier(
            collection = "books",
            extras = "extra_books",
            reference = "book_id",
            threshold = $threshold,
            extras_capacity = $capacity
        )]
        pub(crate) struct $name {
            #[serde(rename = "_id")]
            pub(crate) id: i64,
            pub(crate) title: String,
            #[outlier(items)]
            pub(crate) buyers: Vec<i64>,
            $(#[outlier(total)]
            $total: u64,)?
        }

        impl Book for $name {
            fn new(id: i64, buyers: Vec<i64>) -> Self {
                Self { id, title: format!("book {id}"), buyers, $($total: 0)? }
            }
        }
    )+};
}

// By threshold and capacity, since a type fixes both.
books! {
    Book1x1(1, 1) Book1x2(1, 2) Book1x10(1, 10) Book1x1000(1, 1000)
    Book2x2(2, 2) Book2x10(2, 10)
    Book3x2(3, 2) Book3x5(3, 5) Book3x100(3, 100)
    Book4x5(4, 5)
    Book20x10(20, 10) Book20x1000(20, 1000)
    Book50x1(50, 1) Book50x10(50, 10) Book50x100(50, 100) Book50x1000(50, 1000)
    Book1000x10(1000, 10) Book1000x100(1000, 100)
    Counted3x2(3, 2, number) Counted4x5(4, 5, number)
}

/// A condition, on the client and on the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Condition {
    Any,
    Even,
    Is(i64),
    Below(i64),
    /// Above a number, and not this one.
    AboveBut(i64, i64),
}

impl Condition {
    pub(crate) fn holds(self, value: i64) -> bool {
        match self {
            Self::Any => true,
            Self::Even => value % 2 == 0,
            Self::Is(same) => value == same,
            Self::Below(most) => value < most,
            Self::AboveBut(above, not) => value > above && value != not,
        }
    }

    pub(crate) fn filter(self) -> Filter<i64> {
        let item = Book3x2::FIELDS.buyers.item();
        match self {
            Self::Any => Filter::default(),
            Self::Even => item.is(doc! { "$mod": [2, 0] }),
            Self::Is(same) => item.eq(same),
            Self::Below(most) => item.lt(most),
            Self::AboveBut(above, not) => item.gt(above).and(item.ne(not)),
        }
    }
}

/// The problems that are left after a repair that also deletes extras without a parent.
pub(crate) async fn repair<T: Outlier>(of: &Outliers<T>) -> Result<Vec<Problem>> {
    let repair =
        OutlierOps::<T>::in_collections(of.collection().clone(), of.extras_collection().clone())
            .repair();
    let repaired = repair.delete_orphans(true).await;
    repaired.map(|repaired| repaired.left)
}

/// One parent, as the raw driver reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stored {
    pub(crate) parent: Vec<i64>,
    pub(crate) flagged: bool,
    pub(crate) pages: Vec<Document>,
    pub(crate) extras: Vec<i64>,
}

impl Stored {
    /// All values in the order in which a reader must get them.
    pub(crate) fn all(&self) -> Vec<i64> {
        [self.parent.as_slice(), &self.extras].concat()
    }
}

/// Both collections, as the raw driver reads them.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) parents: BTreeMap<i64, Stored>,
    /// The extras documents without a parent, by the id that they refer to.
    pub(crate) orphans: BTreeMap<i64, Vec<Document>>,
    /// The parents with extras and without a flag.
    pub(crate) unflagged: BTreeSet<i64>,
}

/// The numbers in an array.
pub(crate) fn numbers(document: &Document, name: &str) -> Vec<i64> {
    let array = document
        .get_array(name)
        .unwrap_or_else(|error| panic!("{error}: {document}"));
    array.iter().map(|value| number(Some(value))).collect()
}

/// Reads both collections and checks O2 and O4: no parent is too long, counts are correct, and a parent
/// has at most one open page, which is its last.
pub(crate) async fn survey<T: Outlier>(books: &Outliers<T>) -> Survey {
    let spec = T::SPEC;
    let mut found = Survey::default();
    for parent in documents(books.collection()).await {
        let stored = Stored {
            parent: numbers(&parent, spec.items),
            flagged: parent.get(spec.flag) == Some(&Bson::Boolean(true)),
            ..Stored::default()
        };
        let length = stored.parent.len();
        assert!(
            length <= spec.threshold as usize,
            "O2: {length} values in {parent}"
        );
        found.parents.insert(number(parent.get("_id")), stored);
    }
    for page in documents(books.extras_collection()).await {
        let values = numbers(&page, spec.extra_items);
        assert_eq!(number(page.get("count")), values.len() as i64, "O4: {page}");
        assert!(values.len() <= spec.extras_capacity as usize, "O4: {page}");
        let id = number(page.get(spec.reference));
        match found.parents.get_mut(&id) {
            Some(parent) => {
                if !parent.flagged {
                    found.unflagged.insert(id);
                }
                parent.extras.extend(values);
                parent.pages.push(page);
            }
            None => found.orphans.entry(id).or_default().push(page),
        }
    }
    let full = i64::from(spec.extras_capacity);
    let is_open =
        |page: &Document| number(page.get("count")) < full && !page.contains_key("sealed");
    for stored in found.parents.values() {
        let open = stored.pages.iter().position(is_open);
        let last = stored.pages.len().saturating_sub(1);
        assert!(
            open.is_none_or(|open| open == last),
            "O4: {:?}",
            stored.pages
        );
    }
    found
}

/// The survey, with O3: only flagged parents have extras.
pub(crate) async fn stored<T: Outlier>(books: &Outliers<T>) -> BTreeMap<i64, Stored> {
    let found = survey(books).await;
    assert!(found.orphans.is_empty(), "O3: {:?}", found.orphans);
    assert!(found.unflagged.is_empty(), "O3: {:?}", found.unflagged);
    found.parents
}

/// The parents where nothing was ever removed: parents with extras are full, the pages are numbered from 0
/// without a gap, and all but the last are full.
pub(crate) async fn dense<T: Outlier>(books: &Outliers<T>) -> BTreeMap<i64, Stored> {
    let spec = T::SPEC;
    let parents = stored(books).await;
    for (id, stored) in &parents {
        let n = stored.pages.len();
        assert!(
            n == 0 || stored.parent.len() == spec.threshold as usize,
            "{stored:?}"
        );
        for (number, page) in stored.pages.iter().enumerate() {
            assert_eq!(page.get_str("_id").unwrap(), format!("{id}_{number:010}"));
            assert!(!page.contains_key("sealed"), "{page}");
        }
        let capacity = spec.extras_capacity as usize;
        assert_eq!(
            n,
            stored.extras.len().div_ceil(capacity),
            "O4: {id}: {stored:?}"
        );
        let counts = stored
            .pages
            .iter()
            .map(|page| numbers(page, spec.extra_items).len());
        assert!(
            counts.take(n.max(1) - 1).all(|count| count == capacity),
            "O4: {stored:?}"
        );
    }
    parents
}

/// Every way of reading a parent returns exactly what the raw driver found.
pub(crate) async fn reads_agree<T: Book>(books: &Outliers<T>, id: i64, stored: &Stored) {
    let all = stored.all();
    assert_eq!(items(books, id).await, all, "O5: items of {id}");
    assert_eq!(books.count(&id).await.unwrap(), all.len() as u64);
    let parent = books.get(&id).await.unwrap().unwrap();
    assert_eq!(parent.document, T::new(id, stored.parent.clone()));
    assert_eq!(parent.has_extras, stored.flagged);
    assert_eq!(books.get_all(&id).await.unwrap(), Some(T::new(id, all)));
    let pages: Vec<_> = books
        .extras(&id)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let ids: Vec<_> = pages.iter().map(|page| page.id.as_str()).collect();
    let expected = stored.pages.iter().map(|page| page.get_str("_id").unwrap());
    assert_eq!(ids, Vec::from_iter(expected));
    let extras: Vec<_> = pages.into_iter().flat_map(|page| page.items).collect();
    assert_eq!(extras, stored.extras);
}

/// All values of a parent, as the stream yields them.
pub(crate) async fn items<T: Outlier<Id = i64>>(books: &Outliers<T>, id: i64) -> Vec<T::Item> {
    books.items(&id).await.unwrap().try_collect().await.unwrap()
}

/// Each writer's values are in the order in which it pushed them. `of` returns a value's writer.
pub(crate) fn assert_in_order(values: &[i64], of: impl Fn(i64) -> i64) {
    let mut last = BTreeMap::new();
    for value in values {
        let before = last.insert(of(*value), *value);
        assert!(
            before < Some(*value),
            "O5: {value} comes after {before:?} in {values:?}"
        );
    }
}
