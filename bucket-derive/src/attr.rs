//! Parses `#[bucket(…)]`: which keys there are, and of what kind their values must be.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{
    Attribute, DeriveInput, Expr, ExprPath, Lit, LitStr, Meta, Path, UnOp, parse::Parser,
    parse_quote,
};

use crate::{
    errors::{Errors, did_you_mean},
    list::{self, Entry, Value},
};

/// Every key with its correct spelling, as help lines show it.
pub(crate) const KEYS: [(&str, &str); 6] = [
    ("collection", r#"collection = "trades""#),
    ("id", r#"id = "{customer_id}_{date}""#),
    ("capacity", "capacity = 100"),
    ("items", r#"items = "history""#),
    ("count", r#"count = "size""#),
    ("crate", "crate = ::bucket_runtime"),
];

/// A value together with the key before it: what is wrong with either is reported at that one.
pub(crate) struct Spanned<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// `#[bucket(…)]`, as far as it could be read.
#[derive(Default)]
pub(crate) struct BucketAttr {
    /// `bucket`, the name of the first such attribute.
    pub(crate) name: Option<Path>,
    pub(crate) collection: Option<Spanned<LitStr>>,
    pub(crate) id: Option<Spanned<LitStr>>,
    pub(crate) capacity: Option<Spanned<Capacity>>,
    pub(crate) items: Option<Spanned<LitStr>>,
    pub(crate) count: Option<Spanned<LitStr>>,
    pub(crate) krate: Option<Spanned<Path>>,
    /// Every key that was written, those misspelled or with a bad value included: none of them
    /// shall be called missing.
    pub(crate) written: Vec<String>,
    /// Something could not be read at all, so nobody knows which keys it was to give.
    pub(crate) unreadable: bool,
}

/// `capacity = 10` or `capacity = PAGE`.
pub(crate) enum Capacity {
    /// The number, or `None` where it is too large even to be read.
    Literal { node: Expr, number: Option<i128> },
    /// The path of a constant.
    Const(ExprPath),
}

impl BucketAttr {
    pub(crate) fn parse(input: &DeriveInput, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        for attr in input
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("bucket"))
        {
            parsed.unreadable |= !check_is_list(attr, errors);
            parsed.name.get_or_insert_with(|| attr.path().clone());
        }
        for entry in list::of_attributes(&input.attrs, "bucket") {
            parsed.add(entry, errors);
        }
        parsed
    }

    /// Whether a value was meant to be given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.unreadable || self.written.iter().any(|written| written == key)
    }

    /// The path of the runtime.
    pub(crate) fn krate(&self) -> Path {
        self.krate.as_ref().map_or_else(
            || parse_quote!(::bucket_runtime),
            |krate| krate.value.clone(),
        )
    }

    fn add(&mut self, entry: Entry, errors: &mut Errors) {
        let Some(key) = entry.key.clone() else {
            self.unreadable = true;
            errors.push(&entry.tokens, "expected `key = value`", KEYS[0].1);
            return;
        };
        let name = key.to_string();
        let Some((_, usage)) = KEYS.iter().find(|(known, _)| *known == name) else {
            self.written
                .extend(unknown_key(&key, errors).map(str::to_owned));
            return;
        };
        // Of two values neither can be told to be the one that was meant.
        if self.written.contains(&name) {
            errors.push(
                &key,
                format_args!("`{name}` is given twice"),
                format_args!("keep one `{usage}`"),
            );
            return;
        }
        self.written.push(name.clone());
        let tokens = match entry.value {
            Value::Assigned(tokens) if !tokens.is_empty() => tokens,
            _ => {
                errors.push(&entry.tokens, format_args!("`{name}` needs a value"), usage);
                return;
            }
        };
        match name.as_str() {
            "collection" => self.collection = string(key, tokens, usage, errors),
            "id" => self.id = string(key, tokens, usage, errors),
            "items" => self.items = string(key, tokens, usage, errors),
            "count" => self.count = string(key, tokens, usage, errors),
            "capacity" => self.capacity = capacity(key, tokens, errors),
            _ => self.krate = path(key, tokens, errors),
        }
    }
}

/// `#[bucket]` is read as an empty list; `#[bucket = …]` cannot be read at all.
fn check_is_list(attr: &Attribute, errors: &mut Errors) -> bool {
    let Meta::NameValue(meta) = &attr.meta else {
        return true;
    };
    errors.push(
        meta,
        "`bucket` takes a list in parentheses",
        r#"#[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 100)]"#,
    );
    false
}

/// Reports the key, and returns the one that was meant.
fn unknown_key(key: &Ident, errors: &mut Errors) -> Option<&'static str> {
    let name = key.to_string();
    let keys = KEYS.map(|(known, _)| known);
    let meant = did_you_mean(&name, keys);
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the keys are `{}`", keys.join("`, `")),
    };
    errors.push(key, format_args!("unknown key `{name}`"), help);
    meant
}

fn string(
    key: Ident,
    tokens: TokenStream,
    usage: &str,
    errors: &mut Errors,
) -> Option<Spanned<LitStr>> {
    match syn::parse2(tokens.clone()) {
        Ok(value) => Some(Spanned { key, value }),
        Err(_) => {
            errors.push(
                tokens,
                format_args!("`{key}` must be a string literal"),
                usage,
            );
            None
        }
    }
}

fn capacity(key: Ident, tokens: TokenStream, errors: &mut Errors) -> Option<Spanned<Capacity>> {
    let value = syn::parse2::<Expr>(tokens.clone())
        .ok()
        .and_then(capacity_of);
    if value.is_none() {
        errors.push(
            tokens,
            "`capacity` must be an integer or the path of a constant",
            "capacity = 100",
        );
    }
    value.map(|value| Spanned { key, value })
}

fn capacity_of(expr: Expr) -> Option<Capacity> {
    match expr {
        // A macro may have wrapped what it was given in a group that cannot be seen.
        Expr::Group(group) => capacity_of(*group.expr),
        Expr::Path(path) => Some(Capacity::Const(path)),
        Expr::Lit(ref lit) => match &lit.lit {
            Lit::Int(int) => Some(Capacity::Literal {
                number: int.base10_parse().ok(),
                node: expr,
            }),
            _ => None,
        },
        Expr::Unary(ref unary) if matches!(unary.op, UnOp::Neg(_)) => match &*unary.expr {
            Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_)) => Some(Capacity::Literal {
                number: format!("-{}", lit.lit.to_token_stream())
                    .parse()
                    .ok()
                    .or(Some(-1)),
                node: expr,
            }),
            _ => None,
        },
        _ => None,
    }
}

/// `crate = path`, or the path in a string as serde has it.
fn path(key: Ident, tokens: TokenStream, errors: &mut Errors) -> Option<Spanned<Path>> {
    let path = match syn::parse2::<LitStr>(tokens.clone()) {
        Ok(text) => text.parse_with(Path::parse_mod_style),
        Err(_) => Path::parse_mod_style.parse2(tokens.clone()),
    };
    if path.is_err() {
        errors.push(tokens, "`crate` must be a path", "crate = ::bucket_runtime");
    }
    Some(Spanned {
        key,
        value: path.ok()?,
    })
}
