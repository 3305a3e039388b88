//! A limit: an integer, or the path of a constant.

use std::fmt::Display;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Expr, ExprPath, Lit, LitInt, UnOp};

use crate::errors::Errors;

/// `capacity = 10` or `capacity = PAGE`.
pub(crate) enum Limit {
    /// An integer; `number` is `None` if it does not fit.
    Literal { node: Expr, number: Option<i128> },
    /// The path of a constant.
    Const(ExprPath),
}

impl Limit {
    /// The value of a key; `usage` shows how one is written.
    pub(super) fn read(
        key: &Ident,
        value: &TokenStream,
        usage: impl Display,
        errors: &mut Errors,
    ) -> Option<Self> {
        let limit = syn::parse2(value.clone()).ok().and_then(Self::of);
        if limit.is_none() {
            let message = format!("`{key}` must be an integer or the path of a constant");
            errors.push(value, message, usage);
        }
        limit
    }

    fn of(expr: Expr) -> Option<Self> {
        match expr {
            // A macro wraps an expression that it passes on in an invisible group.
            Expr::Group(group) => Self::of(*group.expr),
            Expr::Path(path) => Some(Self::Const(path)),
            Expr::Lit(ref lit) => match &lit.lit {
                Lit::Int(int) if is_integer(int) => Some(Self::Literal {
                    number: int.base10_parse().ok(),
                    node: expr,
                }),
                _ => None,
            },
            Expr::Unary(ref unary) if matches!(unary.op, UnOp::Neg(_)) => match &*unary.expr {
                Expr::Lit(lit) if matches!(&lit.lit, Lit::Int(int) if is_integer(int)) => {
                    Some(Self::Literal {
                        number: format!("-{}", lit.lit.to_token_stream())
                            .parse()
                            .ok()
                            .or(Some(-1)),
                        node: expr,
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether the suffix, if there is one, is that of an integer type.
fn is_integer(int: &LitInt) -> bool {
    let types = [
        "", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    ];
    types.contains(&int.suffix())
}
