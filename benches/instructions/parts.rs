//! The parts whose instructions are counted.

use std::hint::black_box;

use bucket_runtime::{ItemToken, bson::Bson};

use crate::{
    pure::{self, PreparedKey},
    trade::{ByHand, Trade1000, by_hand, of_one_key},
};

/// A part of a call that needs no server.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// The number of items, or of tokens, that the counted run goes through.
    pub(crate) each: usize,
    /// Makes the input, and gives the run that is counted.
    pub(crate) prepare: fn() -> Box<dyn FnMut()>,
}

/// The number of items of a bucket.
const ITEMS: usize = 1000;

pub(crate) const PARTS: [Part; 7] = [
    Part {
        name: "element",
        what: "write an item as its element",
        each: ITEMS,
        prepare: || {
            let (items, key) = (items(), key());
            Box::new(move || {
                for item in &items {
                    black_box(pure::element(item, &key));
                }
            })
        },
    },
    Part {
        name: "append_1",
        what: "build the statement that appends one element, which is at hand",
        each: 1,
        prepare: || append(1),
    },
    Part {
        name: "append_100",
        what: "the same for a hundred elements, each",
        each: 100,
        prepare: || append(100),
    },
    Part {
        name: "pack",
        what: "divide items of any size among buckets, each item",
        each: ITEMS,
        prepare: || {
            let key = key();
            Box::new(move || {
                black_box(pure::pack(&key, (0..ITEMS).map(|nth| 40 + nth * 7 % 60)));
            })
        },
    },
    Part {
        name: "read",
        what: "read the bytes of a bucket as items, each item",
        each: ITEMS,
        prepare: || {
            let bucket = bucket();
            Box::new(move || {
                black_box(pure::read::<Trade1000>(&bucket));
            })
        },
    },
    Part {
        name: "read_by_hand",
        what: "the same by serde into structs with serde's derive",
        each: ITEMS,
        prepare: || {
            let bucket = bucket();
            Box::new(move || {
                let read = pure::by_serde::<ByHand>(&bucket);
                black_box(read);
            })
        },
    },
    Part {
        name: "token",
        what: "read the text of a token of a list, hash the eight items next to it, and write its text",
        each: 1,
        prepare: || {
            let bucket = bucket();
            Box::new(move || {
                let token: Result<ItemToken, _> = black_box(TOKEN).parse();
                black_box(pure::fingerprints::<Trade1000>(&bucket, 8));
                black_box(token.map(|token| token.to_string()).ok());
            })
        },
    },
];

/// A token with eight neighbours, each 0x01020304.
const TOKEN: &str = "ARJxsoN1RLprAAAACAgBAgMEAQIDBAECAwQBAgMEAQIDBAECAwQBAgMEAQIDBDE2OTgzMzUyMjM";

fn append(elements_of_statement: usize) -> Box<dyn FnMut()> {
    let (key, elements) = (key(), elements(elements_of_statement));
    // The run that does not count takes elements, too, and to copy them is no part of the call.
    let mut inputs = vec![elements.clone(), elements];
    Box::new(move || {
        let elements = inputs.pop().unwrap_or_default();
        black_box(pure::append(&key, "1_1698300000", elements));
    })
}

fn items() -> Vec<Trade1000> {
    let trades = of_one_key(0..ITEMS);
    trades.into_iter().map(Trade1000::from).collect()
}

fn key() -> PreparedKey {
    PreparedKey::of(&items()[0])
}

fn elements(number: usize) -> Vec<Bson> {
    let key = key();
    let items = items().into_iter().take(number);
    items.map(|item| pure::element(&item, &key)).collect()
}

fn bucket() -> Vec<u8> {
    let buckets = by_hand(&of_one_key(0..ITEMS), ITEMS);
    pure::written(&buckets[0])
}
