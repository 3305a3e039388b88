//! Any appends in any order result in the pages that a plain list has.

use std::collections::BTreeMap;

use bucket_runtime::{Bucket, Buckets, mongodb::bson::doc};

use crate::{
    read::paging::reads::{CAPACITY, reads_agree},
    support::{
        database::{Live, fresh},
        random::for_any,
        scale::scaled,
        zoo::entries::{Entry, Numbered3, Seconds3},
    },
};

/// A key that has no items.
const NONE: u8 = 0;

/// The pages that one key must have: a plain list of buckets, each under the text of its place.
#[derive(Debug, Default)]
struct Model {
    buckets: BTreeMap<(i64, usize), Vec<i64>>,
    open: Option<(i64, usize)>,
}

impl Model {
    fn append(&mut self, ordinal: Ordinal, seconds: i64, n: i64) {
        let place = self.open.unwrap_or_else(|| match ordinal {
            Ordinal::Time => {
                let earlier = self.buckets.range((seconds, 0)..(seconds + 1, 0)).count();
                (seconds, earlier)
            }
            Ordinal::Number => (self.buckets.len() as i64, 0),
        });
        let bucket = self.buckets.entry(place).or_default();
        bucket.push(n);
        self.open = (bucket.len() < CAPACITY).then_some(place);
    }

    fn pages(&self) -> Vec<Vec<i64>> {
        self.buckets.values().cloned().collect()
    }
}

#[derive(Debug, Clone, Copy)]
enum Ordinal {
    Time,
    Number,
}

async fn differ<T: Entry>(lines: &Buckets<T>, ordinal: Ordinal, appends: &[(u8, i64)]) {
    lines.collection().delete_many(doc! {}).await.unwrap();
    let mut models = BTreeMap::<u8, Model>::new();
    for (n, (k, seconds)) in appends.iter().enumerate() {
        let line = T::new(&k.to_string(), n as i64).at(seconds * 1000);
        lines.append(&line).await.unwrap();
        models
            .entry(*k)
            .or_default()
            .append(ordinal, *seconds, n as i64);
    }
    models.entry(NONE).or_default();
    for (k, model) in models {
        reads_agree(lines, &k.to_string(), &model.pages()).await;
    }
}

#[bucket_testkit::test(multi_thread)]
async fn any_appends_give_the_pages_that_a_plain_list_gives(db: Live) {
    let seconds = fresh::<Seconds3>(&db).await;
    let numbered = Numbered3::buckets_in(db.collection::<()>("numbered"));
    let numbered = numbered.await.unwrap();
    // Keys of all lengths up to three pages, whose items come by turns.
    let all_lengths = (0..9_u8).flat_map(|n| (n + 1..10).map(move |k| (k, i64::from(n))));
    let all_lengths = Vec::from_iter(all_lengths);
    differ(&seconds, Ordinal::Time, &all_lengths).await;
    differ(&numbered, Ordinal::Number, &all_lengths).await;
    let appends = proptest::collection::vec((10..13_u8, -2..3_i64), 0..40);
    for_any(scaled(16), appends, async |appends| {
        differ(&seconds, Ordinal::Time, &appends).await;
        differ(&numbered, Ordinal::Number, &appends).await;
    });
}
