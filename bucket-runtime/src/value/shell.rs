//! Values as MongoDB's shell writes them.

use mongodb::bson::Bson;

/// A value that commands hold, in the shell's language.
pub(crate) fn shell(value: &Bson) -> String {
    match value {
        Bson::Document(fields) => {
            let field = |(name, value): (&String, &Bson)| format!("{name:?}: {}", shell(value));
            format!(
                "{{ {} }}",
                fields.iter().map(field).collect::<Vec<_>>().join(", ")
            )
        }
        Bson::Array(elements) => {
            let elements = elements.iter().map(shell).collect::<Vec<_>>();
            format!("[{}]", elements.join(", "))
        }
        Bson::Int64(number) => format!("Long(\"{number}\")"),
        Bson::DateTime(time) => format!("new Date({})", time.timestamp_millis()),
        // JavaScript reads Rust's escapes.
        Bson::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{DateTime, doc};

    use super::*;

    #[test]
    fn a_value_is_what_the_shell_reads() {
        let value = doc! {
            "a.b": 1,
            "long": 5_i64,
            "at": DateTime::from_millis(-1000),
            "text": "a \"b\"\n",
            "all": [true, { "x": null }, 0.5],
        };
        assert_eq!(
            shell(&value.into()),
            r#"{ "a.b": 1, "long": Long("5"), "at": new Date(-1000), "text": "a \"b\"\n", "all": [true, { "x": null }, 0.5] }"#,
        );
    }
}
