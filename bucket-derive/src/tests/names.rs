use crate::parse::rename::{self, RenameRule};

/// Has serde write a struct with these fields under each rule, and compares.
macro_rules! same_as_serde {
    ($($rule:literal),* ; $fields:tt) => {$(
        same_as_serde!(@one $rule $fields);
    )*};
    (@one $rule:literal [$($field:ident),*]) => {{
        #[derive(serde::Serialize, Default)]
        #[serde(rename_all = $rule)]
        #[allow(non_snake_case)]
        struct Fields {
            $($field: (),)*
        }
        let serde_json::Value::Object(written) = serde_json::to_value(Fields::default()).unwrap() else {
            panic!("a struct is an object");
        };
        let rule = RenameRule::named($rule).unwrap();
        $(
            let name = rule.apply(stringify!($field).trim_start_matches("r#"));
            assert!(written.contains_key(&name), "{name} is not in {written:?} ({})", $rule);
        )*
    }};
}

#[test]
fn every_rule_names_fields_as_serde_does() {
    same_as_serde!(
        "lowercase", "UPPERCASE", "PascalCase", "camelCase", "snake_case", "SCREAMING_SNAKE_CASE",
        "kebab-case", "SCREAMING-KEBAB-CASE";
        [
            a, ab, customer_id, a_b_c, _leading, trailing_, double__inside, __both__, x1, x_1, x1_y2,
            http_url, HTTPServer, camelCase, PascalCase, SCREAMING_CASE, r#type, r#fn, id2name, _1,
            groß_schreibung, a_über, naïve_Élan
        ]
    );
}

/// Has serde write an enum with these variants under each rule, and compares.
macro_rules! variants_same_as_serde {
    ($($rule:literal),* ; $variants:tt) => {$(
        variants_same_as_serde!(@one $rule $variants);
    )*};
    (@one $rule:literal [$($variant:ident),*]) => {{
        #[derive(serde::Serialize)]
        #[serde(rename_all = $rule)]
        #[allow(non_camel_case_types)]
        enum Variants {
            $($variant,)*
        }
        $(
            let name = rename::variant($rule, stringify!($variant).trim_start_matches("r#"));
            assert_eq!(serde_json::to_value(Variants::$variant).unwrap(), name, "{}", $rule);
        )*
    }};
}

#[test]
fn every_rule_names_variants_as_serde_does() {
    variants_same_as_serde!(
        "lowercase", "UPPERCASE", "PascalCase", "camelCase", "snake_case", "SCREAMING_SNAKE_CASE",
        "kebab-case", "SCREAMING-KEBAB-CASE";
        [A, Ab, OverTheCounter, HTTPServer, X1, X1Y, snake_name, _Leading, Loop, NaïveÉlan, r#type]
    );
}

#[test]
fn all_rules_are_listed() {
    for name in RenameRule::NAMES {
        assert!(RenameRule::named(name).is_some(), "{name}");
    }
    assert_eq!(RenameRule::named("camelcase"), None);
}
