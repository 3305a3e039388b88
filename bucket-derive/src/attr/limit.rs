//! How many items an array may hold: an integer, or a constant.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, ExprPath, Lit, UnOp};

/// `capacity = 10` or `capacity = PAGE`.
pub(crate) enum Limit {
    /// The number, or `None` where it is too large even to be read.
    Literal { node: Expr, number: Option<i128> },
    /// The path of a constant.
    Const(ExprPath),
}

impl Limit {
    pub(crate) fn parse(tokens: TokenStream) -> Option<Self> {
        Self::of(syn::parse2(tokens).ok()?)
    }

    fn of(expr: Expr) -> Option<Self> {
        match expr {
            // A macro may have wrapped what it was given in a group that cannot be seen.
            Expr::Group(group) => Self::of(*group.expr),
            Expr::Path(path) => Some(Self::Const(path)),
            Expr::Lit(ref lit) => match &lit.lit {
                Lit::Int(int) => Some(Self::Literal {
                    number: int.base10_parse().ok(),
                    node: expr,
                }),
                _ => None,
            },
            Expr::Unary(ref unary) if matches!(unary.op, UnOp::Neg(_)) => match &*unary.expr {
                Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_)) => Some(Self::Literal {
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
}
