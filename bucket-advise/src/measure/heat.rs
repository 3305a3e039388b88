//! When the largest keys got their items.

use bucket_runtime::bson::{Bson, Document, doc};

use super::whole;

/// So many of the largest keys have a row.
const KEYS: usize = 10;

/// The maximum number of windows in a span of time.
const MAX_WINDOWS: i64 = 40;

/// Lengths of windows in milliseconds: a second, a minute, ten, an hour, six, a day, a week, 30
/// days, a year.
const WIDTHS: [i64; 9] = [
    1000,
    60_000,
    600_000,
    3_600_000,
    21_600_000,
    86_400_000,
    604_800_000,
    2_592_000_000,
    31_536_000_000,
];

/// Where the documents hold key, time and number of items.
#[derive(Debug, Clone)]
pub(crate) struct HeatFields {
    pub(crate) key: Vec<String>,
    /// An expression for a document's time.
    pub(crate) time: Bson,
    /// An expression for a document's number of items.
    pub(crate) items: Bson,
}

/// The items of the largest keys in each window of time.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Heat {
    /// The first window's begin, in milliseconds.
    pub(crate) begin: i64,
    /// The length of each window in milliseconds.
    pub(crate) width: i64,
    /// The items in each window, for each key; the largest key is the first.
    pub(crate) keys: Vec<Vec<u64>>,
}

/// The largest keys with the span of their times.
#[derive(Debug)]
pub(crate) struct HeatKeys {
    ids: Vec<Document>,
    begin: i64,
    width: i64,
    windows: usize,
}

/// A note on the time that counts for a bucket's items.
pub(crate) const BY_FIRST: &str = " All items of a bucket count for the window of its first one.";

impl HeatFields {
    /// Those of buckets, whose items are not unwound.
    pub(crate) fn of_buckets(key: Vec<String>, items: &str, count: &str, time: &str) -> Self {
        Self {
            key,
            time: super::fill::first_of(items, time).into(),
            items: format!("${count}").into(),
        }
    }

    /// Stages whose rows are the largest keys, each with its first and last time.
    pub(crate) fn key_stages(&self) -> Vec<Document> {
        let mut stages = self.timed();
        stages.extend([
            doc! { "$group": {
                "_id": "$key", "items": { "$sum": "$items" },
                "first": { "$min": "$time" }, "last": { "$max": "$time" },
            } },
            doc! { "$sort": { "items": -1, "_id": 1 } },
            doc! { "$limit": KEYS as i64 },
        ]);
        stages
    }

    /// Stages whose rows count the items of these keys in each window.
    pub(crate) fn window_stages(&self, keys: &HeatKeys) -> Vec<Document> {
        let of_key = |id: &Document| -> Document {
            let values = self.key.iter().zip(id.values());
            values
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        let any: Vec<_> = keys.ids.iter().map(of_key).collect();
        let since = doc! { "$subtract": [{ "$toLong": "$time" }, keys.begin] };
        let window = doc! { "$floor": { "$divide": [since, keys.width] } };
        let mut stages = vec![doc! { "$match": { "$or": any } }];
        stages.extend(self.timed());
        stages.push(doc! { "$group": {
            "_id": { "key": "$key", "window": window }, "items": { "$sum": "$items" },
        } });
        stages
    }

    /// Every document that has a time, as key, time and number of items.
    fn timed(&self) -> Vec<Document> {
        let key = self.key.iter().enumerate();
        let key: Document = key
            .map(|(at, name)| (format!("k{at}"), Bson::String(format!("${name}"))))
            .collect();
        vec![
            doc! { "$project": {
                "_id": 0, "key": key, "time": self.time.clone(), "items": self.items.clone(),
            } },
            doc! { "$match": { "time": { "$type": "date" } } },
        ]
    }
}

impl HeatKeys {
    /// The keys of these rows; `None` if there are none, or they have one moment.
    pub(crate) fn of_rows(rows: &[Document]) -> Option<Self> {
        let millis = |name| {
            let of = move |row: &Document| Some(row.get_datetime(name).ok()?.timestamp_millis());
            rows.iter().filter_map(of)
        };
        let (first, last) = (millis("first").min()?, millis("last").max()?);
        let is_narrow =
            |width: &i64| last.div_euclid(*width) - first.div_euclid(*width) >= MAX_WINDOWS;
        let widest = WIDTHS[WIDTHS.len() - 1];
        let mut width = WIDTHS.into_iter().find(|width| !is_narrow(width));
        // Times may lie centuries apart.
        let width = *width.get_or_insert((last.saturating_sub(first) / MAX_WINDOWS).max(widest));
        let ids = rows.iter().map(|row| row.get_document("_id").cloned());
        let keys = Self {
            ids: ids.collect::<Result<_, _>>().ok()?,
            begin: first.div_euclid(width) * width,
            width,
            windows: (last.div_euclid(width) - first.div_euclid(width) + 1) as usize,
        };
        (last > first).then_some(keys)
    }

    /// The items in each window, from the rows of the window stages.
    pub(crate) fn heat(&self, rows: &[Document]) -> Heat {
        let mut keys = vec![vec![0; self.windows]; self.ids.len()];
        for row in rows {
            let Ok(id) = row.get_document("_id") else {
                continue;
            };
            let key = id.get_document("key").ok();
            let rank = self.ids.iter().position(|id| Some(id) == key);
            let cell = rank.and_then(|rank| keys[rank].get_mut(whole(id, "window") as usize));
            if let Some(cell) = cell {
                *cell += whole(row, "items");
            }
        }
        Heat {
            begin: self.begin,
            width: self.width,
            keys,
        }
    }
}

impl Heat {
    /// The number of windows.
    pub(crate) fn windows(&self) -> usize {
        self.keys.first().map_or(0, Vec::len)
    }

    /// The most items of a key in a window.
    pub(crate) fn most(&self) -> u64 {
        self.keys.iter().flatten().copied().max().unwrap_or(0)
    }

    /// The begin of a window in milliseconds.
    pub(crate) fn begin_of(&self, window: usize) -> i64 {
        self.begin
            .saturating_add(self.width.saturating_mul(window as i64))
    }
}

#[cfg(test)]
mod tests {
    use bucket_runtime::bson::{DateTime, Document, doc};

    use super::{Heat, HeatKeys};

    const DAY: i64 = 86_400_000;

    fn key(id: i32, first: i64, last: i64) -> Document {
        let [first, last] = [first, last].map(DateTime::from_millis);
        doc! { "_id": { "k0": id }, "items": 5, "first": first, "last": last }
    }

    #[test]
    fn windows_are_the_shortest_of_which_there_are_not_too_many() {
        let keys = HeatKeys::of_rows(&[key(7, DAY + 5, 3 * DAY), key(8, 2 * DAY, 11 * DAY)]);
        let keys = keys.map(|keys| (keys.begin, keys.width, keys.windows));
        // 41 windows of six hours would be too many.
        assert_eq!(keys, Some((DAY, DAY, 11)));
        let far = HeatKeys::of_rows(&[key(7, i64::MIN / 4, i64::MAX / 4)]);
        assert!(far.is_some_and(|keys| keys.windows <= 42));
        for rows in [vec![], vec![key(7, 9, 9)]] {
            assert!(HeatKeys::of_rows(&rows).is_none());
        }
    }

    #[test]
    fn each_row_is_a_cell_of_its_key() {
        let cell = |id: i32, window: f64, items: i64| doc! { "_id": { "key": { "k0": id }, "window": window }, "items": items };
        let keys = HeatKeys::of_rows(&[key(7, 0, 20 * DAY), key(8, 0, DAY)]);
        let rows = [
            cell(8, 1.0, 3),
            cell(7, 0.0, 2),
            cell(9, 0.0, 1),
            cell(7, 999.0, 1),
        ];
        let heat = keys.map_or_else(Heat::default, |keys| keys.heat(&rows));
        assert_eq!(
            (heat.windows(), heat.most(), heat.begin_of(1)),
            (21, 3, DAY)
        );
        assert_eq!((heat.keys[0][0], heat.keys[1][1]), (2, 3));
        assert_eq!(heat.keys.iter().flatten().sum::<u64>(), 5);
    }
}
