//! The tables of attributes in the docs list what the derives read.

use std::{collections::BTreeSet, fs, path::Path};

use crate::parse::attr::{BUCKET, OUTLIER};

/// The names in the first column of the table whose header begins so.
fn names_in_table<'d>(docs: &'d str, header: &str) -> BTreeSet<&'d str> {
    let rows = docs.split(header).nth(1).expect("there is such a table");
    let rows = rows.lines().skip(2).take_while(|row| row.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(|name| name.trim_end_matches(" = …")).collect()
}

#[test]
fn the_tables_of_attributes_are_those_of_the_derives() {
    for derive in [BUCKET, OUTLIER] {
        let attribute = derive.attribute;
        let file = format!("../bucket-runtime/src/docs/{attribute}.md");
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let docs = fs::read_to_string(docs).expect("the docs are there");
        let named = |table: &[(&'static str, _)]| table.iter().map(|(name, _)| *name).collect();

        let keys: BTreeSet<_> = named(derive.keys);
        let on_struct = names_in_table(&docs, &format!("| `#[{attribute}(…)]` on the struct "));
        assert_eq!(on_struct, keys);

        let mut words: BTreeSet<_> = named(derive.limits);
        words.extend(derive.words);
        let on_field = names_in_table(&docs, &format!("| `#[{attribute}(…)]` on a field "));
        assert_eq!(on_field, words);
    }
}
