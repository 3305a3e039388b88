//! Keys on their way to the collection and back.

use std::fmt::Debug;

use proptest::prelude::*;

use super::*;

/// The field has this text, and comes back from its text and from its stored value; of another type it is none.
fn comes_back<F: KeyField + PartialEq + Debug>(field: &F, text: &str) {
    assert_eq!(F::id_text(field.borrowed()), text);
    assert_eq!(F::from_id_text(text).as_ref(), Some(field));
    let stored = F::to_bson(field.borrowed());
    assert_eq!(F::from_bson(stored).as_ref(), Some(field));
    assert_eq!(F::from_bson(Bson::MinKey), None);
}

/// The key comes back from its texts and from its stored values; without one of these, the error says which.
fn key_comes_back<K: Key + PartialEq + Debug>(key: &K, texts: &[&str]) {
    let mut each = Vec::new();
    K::texts(key.borrowed(), |text| each.push(text.to_owned()));
    assert_eq!(each, texts);
    assert_eq!(K::from_texts(each).as_ref(), Some(key));
    let parts = K::parts(key.borrowed());
    assert!(parts.iter().map(|part| &part.text).eq(texts));
    let values: Vec<_> = parts.into_iter().map(|part| part.value).collect();
    assert_eq!(K::from_values(values.clone()).as_ref(), Ok(key));
    for at in 0..values.len() {
        let mut values = values.clone();
        values[at] = Bson::MinKey;
        assert_eq!(K::from_values(values), Err(at));
    }
}

proptest! {
    #[test]
    fn fields_come_back(text: String, signed: i64, unsigned: u64, yes: bool, id: [u8; 12], uuid: [u8; 16]) {
        comes_back(&text, &text);
        comes_back(&signed, &signed.to_string());
        comes_back(&unsigned, &unsigned.to_string());
        comes_back(&yes, if yes { "true" } else { "false" });
        let id = ObjectId::from_bytes(id);
        comes_back(&id, &id.to_hex());
        let uuid = Uuid::from_bytes(uuid);
        let hex = format!("{:032x}", u128::from_be_bytes(uuid.bytes()));
        let groups = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        comes_back(&uuid, &groups.join("-"));
    }

    #[test]
    fn keys_come_back(text: String, number: i32, yes: bool) {
        let digits = number.to_string();
        let bool = if yes { "true" } else { "false" };
        key_comes_back(&(text.clone(),), &[&text]);
        key_comes_back(&(text.clone(), number), &[&text, &digits]);
        let six = (number, text.clone(), yes, 7_u8, text.clone(), number);
        key_comes_back(&six, &[&digits, &text, bool, "7", &text, &digits]);
    }
}

#[test]
fn a_field_is_copied_into_a_place_of_its_type() {
    fn copied<F: 'static>(key: &impl Key, at: usize) -> Option<F> {
        let mut place = None::<F>;
        key.copy(at, &mut place);
        place
    }
    let (one, two) = ((7_i64,), (7_i64, "a".to_owned()));
    assert_eq!(
        (copied(&one, 0), copied(&two, 0)),
        (Some(7_i64), Some(7_i64))
    );
    assert_eq!(copied(&two, 1), Some("a".to_owned()));
    assert_eq!(
        (copied::<i64>(&one, 1), copied::<i64>(&two, 1)),
        (None, None)
    );
}

/// The shell writes doubles and 32-bit integers.
#[test]
fn an_integer_is_read_from_any_number_that_is_exactly_one() {
    const LAST: i64 = 1 << 53;
    let double = |float: f64| i64::from_bson(Bson::Double(float));
    assert_eq!(i64::from_bson(Bson::Int32(-7)), Some(-7));
    assert_eq!((double(7.0), double(7.5)), (Some(7), None));
    assert_eq!(
        (double(LAST as f64), double((LAST + 2) as f64)),
        (Some(LAST), None)
    );
    let decimal: Decimal128 = "7".parse().unwrap();
    assert_eq!(i64::from_bson(Bson::Decimal128(decimal)), Some(7));
    assert_eq!(u8::from_bson(Bson::Int64(256)), None);
}
