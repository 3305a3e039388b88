use crate::{
    bucket,
    parse::{
        id_format::{IdFormat, Ordinal, Suffix},
        length::{Wrong, seconds},
    },
};

fn parse(text: &str) -> IdFormat {
    let (format, errors) = IdFormat::parse(text);
    assert_eq!(errors, [], "{text}");
    format
}

fn messages(text: &str) -> Vec<String> {
    let (_, errors) = IdFormat::parse(text);
    errors.into_iter().map(|error| error.message).collect()
}

#[test]
fn key_and_time() {
    let format = parse("{customer_id}_{date}");
    assert_eq!(format.head(), "");
    assert_eq!(format.keys().collect::<Vec<_>>(), ["customer_id"]);
    assert_eq!(format.after_key(), ["_"]);
    let time = Ordinal::Time {
        field: "date",
        suffix: None,
    };
    assert_eq!(format.ordinal(), Some(time));
}

#[test]
fn several_keys_and_a_head() {
    let format = parse("t:{a}|{r#type}-.{at:millis}");
    assert_eq!(format.head(), "t:");
    assert_eq!(format.keys().collect::<Vec<_>>(), ["a", "type"]);
    assert_eq!(format.after_key(), ["|", "-."]);
    let time = Ordinal::Time {
        field: "at",
        suffix: Some(&Suffix::Unit("millis".to_owned())),
    };
    assert_eq!(format.ordinal(), Some(time));
}

#[test]
fn numbers() {
    let format = parse("{a}_{#}");
    assert_eq!(format.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(format.ordinal(), Some(Ordinal::Number));
}

#[test]
fn no_ordinal_where_text_follows() {
    let format = parse("{a}_{b}_");
    assert_eq!(format.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(format.ordinal(), None);
    assert_eq!(parse("").ordinal(), None);
}

#[test]
fn windows_are_in_the_grammar() {
    let format = parse("{a}_{date/1h}");
    let time = Ordinal::Time {
        field: "date",
        suffix: Some(&Suffix::Window("1h".to_owned())),
    };
    assert_eq!(format.ordinal(), Some(time));
}

#[test]
fn every_syntax_error_is_found() {
    assert_eq!(
        messages("{{a}_{}_{ }_}{#:1}_{b"),
        [
            "`{{` is not an escape: an id format cannot hold braces",
            "`}` without `{` in the id format",
            "`{}` in the id format names no field",
            "`{ }` in the id format names no field",
            "`}` without `{` in the id format",
            "`{#:1}`: a number has no unit and no window",
            "`{b` in the id format is not closed",
        ],
    );
}

#[test]
fn an_unclosed_placeholder_does_not_hide_the_next() {
    let (format, errors) = IdFormat::parse("{a_{#}");
    assert_eq!(errors.len(), 1);
    // What separates it from the next stays outside.
    assert_eq!(errors[0].help, "close it: `{a}_`");
    assert_eq!(format.ordinal(), Some(Ordinal::Number));
}

#[test]
fn lengths_of_windows() {
    for (text, length) in [
        ("1s", 1),
        ("15m", 900),
        ("1h", 3600),
        ("024h", 86_400),
        ("1d", 86_400),
        ("4294967295s", u32::MAX),
        ("49710d", 4_294_944_000),
    ] {
        assert_eq!(seconds(text), Ok(length), "{text}");
    }
    for text in ["", "1", "h", "-1h", "+1h", " 1h", "hour"] {
        assert_eq!(seconds(text), Err(Wrong::NoLength), "{text}");
    }
    for (text, unit) in [
        ("1x", "x"),
        ("1H", "H"),
        ("1.5h", ".5h"),
        ("1 h", " h"),
        ("1hour", "hour"),
    ] {
        assert_eq!(seconds(text), Err(Wrong::Unit(unit.to_owned())), "{text}");
    }
    for text in ["0s", "00d"] {
        assert_eq!(seconds(text), Err(Wrong::Zero), "{text}");
    }
    for text in [
        "4294967296s",
        "49711d",
        "99999999999999999999999d",
        "18446744073709551615d",
    ] {
        assert_eq!(seconds(text), Err(Wrong::TooLong), "{text}");
    }
}

/// Where the compiler can point into a literal: today's stable one points at the whole.
#[test]
fn a_mistake_stands_at_its_part_of_the_format() {
    let input = r#"
        #[bucket(collection = "c", id = "{a}_{b:sec}", capacity = 10)]
        struct Item { a: i64, b: DateTime }
    "#;
    let output = bucket(input.parse().unwrap());
    let at = output.into_iter().next().unwrap().span();
    assert_eq!(at.source_text().unwrap(), "{b:sec}");
}
