//! The rules of `#[serde(rename_all = "…")]`, exactly as serde applies them to field names.

/// How a field's stored name follows from its Rust name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenameRule {
    Unchanged,
    Upper,
    Pascal,
    Camel,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl RenameRule {
    /// The names of the rules, as serde spells them.
    pub(crate) const NAMES: [&str; 8] = [
        "lowercase",
        "UPPERCASE",
        "PascalCase",
        "camelCase",
        "snake_case",
        "SCREAMING_SNAKE_CASE",
        "kebab-case",
        "SCREAMING-KEBAB-CASE",
    ];

    /// The rule of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            // serde takes field names for lower-case and snake-case already: these two leave even
            // `someField` as it is.
            "lowercase" | "snake_case" => Self::Unchanged,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => return None,
        })
    }

    /// The stored name of a field.
    pub(crate) fn apply(self, field: &str) -> String {
        match self {
            Self::Unchanged => field.to_owned(),
            Self::Upper | Self::ScreamingSnake => field.to_ascii_uppercase(),
            Self::Pascal => pascal(field),
            Self::Camel => camel(field),
            Self::Kebab => field.replace('_', "-"),
            Self::ScreamingKebab => field.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

/// The stored name of a variant, by the rule of this name, as serde applies it to variants.
pub(crate) fn variant(rule: &str, variant: &str) -> String {
    match rule {
        "lowercase" => variant.to_ascii_lowercase(),
        "UPPERCASE" => variant.to_ascii_uppercase(),
        "camelCase" => with_first(variant, |c| c.to_ascii_lowercase()),
        "snake_case" => snake(variant),
        "SCREAMING_SNAKE_CASE" => snake(variant).to_ascii_uppercase(),
        "kebab-case" => snake(variant).replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => snake(variant).to_ascii_uppercase().replace('_', "-"),
        _ => variant.to_owned(),
    }
}

/// `OverTheCounter` as `over_the_counter`.
pub(crate) fn snake(variant: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in variant.char_indices() {
        if letter.is_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn pascal(field: &str) -> String {
    field
        .split('_')
        .map(|word| with_first(word, |c| c.to_ascii_uppercase()))
        .collect()
}

fn camel(field: &str) -> String {
    with_first(&pascal(field), |c| c.to_ascii_lowercase())
}

fn with_first(word: &str, change: impl Fn(char) -> char) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(change)
        .into_iter()
        .chain(letters)
        .collect()
}
