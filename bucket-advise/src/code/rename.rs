//! serde's rules for names.

use super::names::{capitalized, plain};

/// A rule of serde for the names of fields or variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rename {
    Camel,
    Pascal,
    Kebab,
    Lower,
    Upper,
}

impl Rename {
    const FOR_FIELDS: [Self; 3] = [Self::Camel, Self::Pascal, Self::Kebab];
    const FOR_VARIANTS: [Self; 3] = [Self::Lower, Self::Upper, Self::Camel];

    /// The name of the rule.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Camel => "camelCase",
            Self::Pascal => "PascalCase",
            Self::Kebab => "kebab-case",
            Self::Lower => "lowercase",
            Self::Upper => "UPPERCASE",
        }
    }

    /// The stored name of a field.
    fn of_field(self, field: &str) -> String {
        let pascal: String = field.split('_').map(capitalized).collect();
        match self {
            Self::Camel => uncapitalized(&pascal),
            Self::Kebab => field.replace('_', "-"),
            _ => pascal,
        }
    }

    /// The stored name of a variant.
    fn of_variant(self, variant: &str) -> String {
        match self {
            Self::Lower => variant.to_ascii_lowercase(),
            Self::Upper => variant.to_ascii_uppercase(),
            _ => uncapitalized(variant),
        }
    }
}

fn uncapitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters
        .next()
        .map(|first| first.to_ascii_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The rule that saves the most attributes on fields, each a name of Rust and a stored name.
pub(super) fn rule_of_fields(fields: &[(String, String)]) -> Option<Rename> {
    let saved = |rule: &Rename| {
        let follow = |of_rule: bool| {
            let fields = fields.iter().filter(|(field, stored)| {
                let field = plain(field);
                let expected = if of_rule {
                    rule.of_field(field)
                } else {
                    field.to_owned()
                };
                expected == *stored
            });
            fields.count()
        };
        follow(true).saturating_sub(follow(false))
    };
    let best = Rename::FOR_FIELDS.into_iter().max_by_key(saved)?;
    (saved(&best) >= 2).then_some(best)
}

/// The rule that all variants follow, each a name of Rust and a stored name.
pub(super) fn rule_of_variants(variants: &[(String, String)]) -> Option<Rename> {
    let follow = |rule: &Rename| {
        variants
            .iter()
            .all(|(variant, stored)| rule.of_variant(variant) == *stored)
    };
    Rename::FOR_VARIANTS.into_iter().find(follow)
}

/// The stored name of a field under a rule.
pub(super) fn stored(field: &str, rule: Option<Rename>) -> String {
    let field = plain(field);
    rule.map_or(field.to_owned(), |rule| rule.of_field(field))
}

#[cfg(test)]
mod tests {
    use super::{Rename, rule_of_fields};

    #[test]
    fn a_rule_pays_where_it_saves_attributes() {
        let fields = |all: &[(&str, &str)]| {
            let own = |(field, stored): &(&str, &str)| ((*field).to_owned(), (*stored).to_owned());
            rule_of_fields(&all.iter().map(own).collect::<Vec<_>>())
        };
        assert_eq!(
            fields(&[
                ("customer_id", "customerId"),
                ("unit_price", "unitPrice"),
                ("a", "a")
            ]),
            Some(Rename::Camel)
        );
        assert_eq!(fields(&[("customer_id", "customerId"), ("a", "a")]), None);
        assert_eq!(
            fields(&[("customer_id", "customer_id"), ("unit_price", "unit_price")]),
            None
        );
    }
}
