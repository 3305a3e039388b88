//! Buckets that are filled by the budget, against the bytes that they take.

use mongodb::bson::Bson;
use proptest::prelude::*;

use super::*;
use crate::{
    protocol::{
        command::KeyScope,
        pack::{Pack, Packer, packs},
        whole_bucket::{Summary, WholeBucket},
    },
    schema::{
        key::KeyPart,
        open_index::OpenIndex,
        spec::{BucketSpec, IdFormat, KeyName, Ordinal},
    },
    value::element::{document_size, raw, value_size},
};

const CAPACITY: u32 = 10;
const MAX: u32 = 4096;
const SPEC: BucketSpec = BucketSpec::new(
    "notes",
    IdFormat::new("", &["_"], Ordinal::Seconds),
    CAPACITY,
    &[KeyName::new("user")],
)
.max_bytes(MAX);

fn scope(open: OpenIndex) -> IndexedScope {
    KeyScope::new(&SPEC, vec![KeyPart::of::<String>("somebody")]).by(open)
}

fn first() -> IndexedScope {
    scope(OpenIndex::first(CAPACITY))
}

/// An element that takes this many bytes.
fn element(bytes: usize) -> Bson {
    let text = doc! { "text": "x".repeat(bytes - value_size(&doc! { "text": "" }.into())) };
    assert_eq!(document_size(&text), bytes);
    text.into()
}

fn bucket(scope: &IndexedScope, sizes: &[usize], pack: Pack, sealed: bool) -> Document {
    let id = scope.id("9999999999_999999");
    let whole = WholeBucket {
        scope,
        id: &id,
        count: sizes.len(),
        elements: Vec::from_iter(sizes.iter().map(|bytes| element(*bytes))),
        summary: Summary::empty(&SPEC),
        oversize: pack.oversize,
        sealed,
    };
    raw(&whole).unwrap().to_document().unwrap()
}

/// Sizes of few large items among small ones.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![3 => 20..120_usize, 2 => 120..900_usize, 1 => 900..3800_usize];
    proptest::collection::vec(size, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_bucket_takes_as_many_items_as_its_bytes_allow(sizes in sizes()) {
        let scope = first();
        let budget = Budget::of(&scope).unwrap();
        let packs = packs(&scope, sizes.iter().copied());
        prop_assert_eq!(packs.iter().map(|pack| pack.len).sum::<usize>(), sizes.len());
        let mut rest = &sizes[..];
        for pack in packs {
            let (items, later) = rest.split_at(pack.len);
            rest = later;
            let oversize = |sizes: &[usize]| sizes.iter().map(|size| budget.oversize(*size)).sum::<i64>();
            prop_assert_eq!(pack.oversize, oversize(items));
            // A sealed bucket is as large as it can become.
            let sealed = document_size(&bucket(&scope, items, pack, true));
            prop_assert!(sealed <= MAX as usize, "{items:?} take {sealed}");
            prop_assert!(budget.is_document(sealed, true));
            prop_assert!(budget.holds(items.iter().map(|size| budget.cost(*size)).sum()));
            let is_full = pack.len == CAPACITY as usize;
            if let (Some(next), false) = (later.first(), is_full) {
                let with_next = pack.oversize + budget.oversize(*next);
                prop_assert!(with_next > budget.most);
                prop_assert!(!budget.takes(pack.oversize, budget.oversize(*next)));
            }
        }
    }

    /// The bytes of an existing bucket count like those that were added.
    #[test]
    fn an_existing_bucket_goes_on_where_it_was_left(sizes in sizes(), at: proptest::sample::Index) {
        let scope = first();
        let mut whole = Packer::of(&scope);
        let taken = Vec::from_iter(sizes.into_iter().take_while(|size| {
            let takes = whole.takes(*size);
            if takes {
                whole.add(*size);
            }
            takes
        }));
        let (before, after) = taken.split_at(at.index(taken.len()));
        let mut start = Packer::of(&scope);
        before.iter().for_each(|size| start.add(*size));
        let room = CAPACITY as usize - before.len();
        let exists = (!before.is_empty()).then(|| start.pack().oversize);
        let mut rest = Packer::with_room(&scope, room, exists);
        for size in after {
            prop_assert!(rest.takes(*size));
            rest.add(*size);
        }
        prop_assert_eq!(start.pack().oversize + rest.pack().oversize, whole.pack().oversize);
    }
}

#[test]
fn the_largest_item_fills_a_bucket() {
    let scope = first();
    assert_eq!(packs(&scope, []), []);
    let budget = Budget::of(&scope).unwrap();
    let Err(Kind::ItemTooLarge { bytes, most, max }) = budget.check(MAX as usize) else {
        panic!("it takes all bytes");
    };
    assert_eq!((bytes, max), (MAX as usize, MAX));
    let largest = most as usize;
    assert_eq!(budget.check(largest), Ok(()));
    assert!(budget.check(largest + 1).is_err());
    assert!(budget.holds(budget.cost(largest)) && !budget.holds(budget.cost(largest + 1)));
    let new = Packer::of(&scope);
    assert!(new.takes(largest));
    // An existing bucket has no room for it, even without oversize.
    assert!(!Packer::with_room(&scope, 9, Some(0)).takes(largest));
    let pack = Pack {
        len: 1,
        oversize: budget.oversize(largest),
    };
    // The id has room for a sign and three more digits, twice, a key field may be stored in 11 bytes more, and another
    // program may store the count in 4 more.
    let sealed = document_size(&bucket(&scope, &[largest], pack, true));
    assert_eq!(sealed + 2 * 4 + 11 + 4, MAX as usize);
}

#[test]
fn an_unsealed_document_keeps_room_to_be_sealed() {
    let scope = first();
    let budget = Budget::of(&scope).unwrap();
    let max = MAX as usize;
    assert!(budget.is_document(max, true) && !budget.is_document(max + 1, true));
    let (open, sealed) = (
        Pack {
            len: 1,
            oversize: 0,
        },
        Pack {
            len: 1,
            oversize: 1,
        },
    );
    let grown = document_size(&bucket(&scope, &[99], sealed, true))
        - document_size(&bucket(&scope, &[99], open, false));
    // The id may be four characters longer.
    let most = max - grown - 4;
    assert!(budget.is_document(most, false) && !budget.is_document(most + 1, false));
}

#[test]
fn what_a_bucket_keeps_about_its_items_takes_bytes_as_well() {
    const EXPIRING: BucketSpec = SPEC.expire_after(60);
    let room = |spec| {
        Budget::of(&KeyScope::new(spec, vec![]).by(OpenIndex::first(CAPACITY)))
            .unwrap()
            .room
    };
    assert_eq!(room(&SPEC) - room(&EXPIRING), signed(EXPIRING.kept()));
    assert_eq!(EXPIRING.kept(), field("newest", 8));
}
