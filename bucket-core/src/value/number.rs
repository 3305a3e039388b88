//! Whole numbers, whatever numeric type another tool has written.

use mongodb::bson::{Bson, RawDocument};

/// A value as text; two texts are equal if the server takes the values for equal.
pub fn comparable(value: &Bson) -> String {
    match whole(value) {
        Some(number) => number.to_string(),
        None => value.to_string(),
    }
}

/// The whole number in a field.
pub fn whole_in(row: &RawDocument, name: &str) -> Option<u64> {
    let number = whole(&Bson::try_from(row.get(name).ok()??).ok()?)?;
    number.try_into().ok()
}

/// A whole number of any numeric type, since other tools write other types.
pub fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(int) => Some((*int).into()),
        Bson::Int64(int) => Some(*int),
        Bson::Double(float) if float.fract() == 0.0 => Some(*float as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_fraction_is_whole() {
        assert_eq!((whole(&2.0.into()), whole(&2.5.into())), (Some(2), None));
        assert_eq!(
            (
                whole(&Bson::Int32(2)),
                whole(&Bson::Int64(2)),
                whole(&"2".into())
            ),
            (Some(2), Some(2), None)
        );
        assert_eq!(comparable(&2.0.into()), comparable(&Bson::Int32(2)));
    }
}
