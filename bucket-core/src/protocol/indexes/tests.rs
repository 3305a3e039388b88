//! Indexes as an opening finds them: as this library creates them, and as somebody has changed them.

use insta::assert_snapshot;
use mongodb::options::Collation;

use super::*;
use crate::schema::spec::{IdFormat, KeyName};

const KEY: &[KeyName] = &[KeyName::new("sensor")];
const WINDOWS: Ordinal = Ordinal::Window { seconds: 3600 };
const SPEC: BucketSpec = BucketSpec::new("readings", IdFormat::new("", &["_"], WINDOWS), 10, KEY)
    .time("at")
    .indexes(&["sensor", "note"])
    .unique("number")
    .expire_after(60);

/// A struct that asks for no index but the open one.
const PLAIN: BucketSpec = BucketSpec::new(
    "readings",
    IdFormat::new("", &["_"], Ordinal::Number),
    10,
    KEY,
);

/// The indexes of a collection that the struct has opened, under the names that the server gives them.
fn created(spec: &BucketSpec) -> Vec<IndexModel> {
    let mut found = asked_for(&[], spec, Needed::IfMissing).unwrap();
    found.push(open(spec, OpenIndex::first(spec.capacity)));
    found.push(IndexModel::builder().keys(doc! { "_id": 1 }).build());
    for index in &mut found {
        let field = index.keys.keys().next().cloned().unwrap_or_default();
        let name = if field == "_id" {
            "_id_".to_owned()
        } else {
            format!("{field}_1")
        };
        index
            .options
            .get_or_insert_default()
            .name
            .get_or_insert(name);
    }
    found
}

fn names(models: &[IndexModel]) -> Vec<&str> {
    models
        .iter()
        .map(|model| name(model).unwrap_or("unnamed"))
        .collect()
}

#[test]
fn what_was_created_is_found_again() {
    let found = created(&SPEC);
    let needed = |needed| asked_for(&found, &SPEC, needed).unwrap();
    assert!(needed(Needed::IfMissing).is_empty());
    // A `mongos` shows the indexes of one shard.
    assert_eq!(
        names(&needed(Needed::OnEachShard)),
        [UNIQUE_INDEX, EXPIRY_INDEX]
    );
    assert_eq!(open_index(&found, &SPEC), Ok(Some(OpenIndex::first(10))));
    assert_eq!(open_index(&[], &SPEC), Ok(None));
    let (first, changed) = (OpenIndex::first(10), OpenIndex::changed_to(20));
    let changes = [hidden(&PLAIN, first), open(&PLAIN, changed)];
    let found = open_indexes(&changes, &PLAIN);
    assert_eq!(found, Ok(vec![(first, true), (changed, false)]));
    // One that is hidden, or a second one, says that the capacity is changing.
    for some in [&changes[..], &changes[..1]] {
        assert_eq!(open_index(some, &PLAIN), Err(Kind::MissingIndex));
    }
    assert_eq!(open_index(&changes[1..], &PLAIN), Ok(Some(changed)));
}

#[test]
fn an_index_that_begins_with_the_field_serves_and_one_of_another_kind_does_not() {
    let missing = |keys: Document, options: Option<IndexOptions>| {
        let index = IndexModel::builder().keys(keys).options(options).build();
        plain(&[index], ["a".to_owned()]).map(|missing| missing.len())
    };
    assert_eq!(missing(doc! { "a": 1 }, None), Ok(0));
    assert_eq!(missing(doc! { "a": -1.0, "b": 1 }, None), Ok(0));
    assert_eq!(
        missing(
            doc! { "a": 1_i64 },
            IndexOptions::builder().unique(true).build().into()
        ),
        Ok(0)
    );
    assert_eq!(missing(doc! { "a": "hashed" }, None), Ok(1));
    assert_eq!(missing(doc! { "b": 1, "a": 1 }, None), Ok(1));
    let some = || IndexOptions::builder();
    for options in [
        some().sparse(true).build(),
        some().hidden(true).build(),
        some().partial_filter_expression(doc! { "b": 1 }).build(),
        some().collation(collation()).build(),
    ] {
        assert_eq!(missing(doc! { "a": 1 }, Some(options)), Ok(1));
    }
    let ours = some().name("a_1".to_owned()).build();
    assert!(matches!(
        missing(doc! { "b": 1 }, Some(ours)),
        Err(Kind::ForeignIndex { .. })
    ));
}

fn collation() -> Collation {
    Collation::builder().locale("de").build()
}

/// A change to an index that this library has created.
type Change = fn(&mut IndexModel);

const CHANGES: [(&str, Change); 9] = [
    ("not unique", |index| options(index).unique = None),
    ("hidden", |index| options(index).hidden = Some(true)),
    ("sparse", |index| options(index).sparse = Some(true)),
    ("by a locale", |index| {
        options(index).collation = Some(collation())
    }),
    ("of all documents", |index| {
        options(index).partial_filter_expression = None
    }),
    ("of some other documents", |index| {
        let filter = &mut options(index).partial_filter_expression;
        filter.get_or_insert_default().insert("b", 1);
    }),
    ("on another field", |index| {
        index.keys = doc! { "other": 1, SEALED: 1 }
    }),
    ("with one more field", |index| _ = index.keys.insert("b", 1)),
    ("after another time", |index| {
        options(index).expire_after = Some(Duration::from_secs(61))
    }),
];

fn options(index: &mut IndexModel) -> &mut IndexOptions {
    index.options.get_or_insert_default()
}

/// Whether the collection can be opened with an index that was changed, and which it creates then.
fn opened(found: &[IndexModel], spec: &BucketSpec) -> String {
    let asked_for = asked_for(found, spec, Needed::IfMissing);
    match (open_index(found, spec), asked_for) {
        (Ok(open), Ok(missing)) => {
            let open = open.map(|open| (open.name, open.capacity));
            let missing = missing.iter().map(|model| model.keys.to_string());
            format!("{open:?}, lacks {:?}", Vec::from_iter(missing))
        }
        (Err(kind), _) | (_, Err(kind)) => format!("{kind:?}"),
    }
}

#[test]
fn an_index_that_was_changed() {
    let mut shown = String::new();
    let found = created(&SPEC);
    for (at, index) in found.iter().enumerate() {
        shown += &format!("{}\n", name(index).unwrap());
        for (what, change) in CHANGES {
            let mut found = found.clone();
            change(&mut found[at]);
            shown += &format!("    {what}: {}\n", opened(&found, &SPEC));
        }
    }
    assert_snapshot!(shown);
}

#[test]
fn the_indexes_of_another_struct() {
    let mut shown = String::new();
    let others = [
        (
            "other windows",
            BucketSpec {
                id: IdFormat::new("", &["_"], Ordinal::Window { seconds: 60 }),
                ..SPEC
            },
        ),
        ("no windows", PLAIN),
        (
            "another key",
            BucketSpec {
                key: const { &[KeyName::new("device")] },
                ..SPEC
            },
        ),
        ("another count", SPEC.count("n")),
        (
            "no expiry",
            BucketSpec {
                expire_after: None,
                ..SPEC
            },
        ),
        (
            "another capacity",
            BucketSpec {
                capacity: 20,
                ..SPEC
            },
        ),
    ];
    for (what, other) in others {
        shown += &format!(
            "of one with {what}\n    {}\n",
            opened(&created(&other), &SPEC)
        );
        shown += &format!(
            "    and the other way round\n    {}\n",
            opened(&created(&SPEC), &other)
        );
    }
    assert_snapshot!(shown);
}

#[test]
fn the_indexes_of_parents_and_those_of_extras() {
    let parents = OutlierSpec::new("books", "more", "book_id", "buyers", "more_buyers", 50)
        .indexes(&["title"]);
    let missing = of_parents(&[], &parents).unwrap();
    assert_eq!(
        missing.iter().map(|model| &model.keys).collect::<Vec<_>>(),
        [&doc! { "title": 1 }]
    );
    assert!(of_parents(&missing, &parents).unwrap().is_empty());
    let reference = doc! { "book_id": 1, "_id": 1 };
    assert_eq!(of_extras(&[], &parents).unwrap()[0].keys, reference);
    let counted = parents.total("sold");
    let missing = of_extras(&[], &counted).unwrap();
    assert_eq!(missing.len(), 2);
    assert!(of_extras(&missing, &counted).unwrap().is_empty());
    for other in [parents, parents.total("bought")] {
        let refused = of_extras(&missing, &other).unwrap_err();
        assert!(matches!(refused, Kind::KnowsLess { .. }), "{refused:?}");
    }
}

#[test]
fn required_indexes_as_commands_of_the_shell() {
    let parents = OutlierSpec::new("books", "more", "book_id", "buyers", "more_buyers", 50)
        .indexes(&["title"])
        .total("sold");
    let extras = parents.of_extras(const { &[KeyName::new("book_id")] });
    let all = SPEC
        .required_indexes()
        .into_iter()
        .chain(required::of_outlier(&parents, &extras));
    let shown: Vec<_> = all.map(|index| index.to_string()).collect();
    assert_snapshot!(shown.join("\n"));
}
