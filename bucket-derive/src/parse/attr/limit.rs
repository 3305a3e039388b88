//! A limit: an integer, or the path of a constant.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Expr, ExprPath, Lit, LitInt, Result, UnOp};

/// `capacity = 10` or `capacity = PAGE`.
pub(crate) enum Limit {
    /// An integer; `number` is `None` if it does not fit.
    Literal { node: Expr, number: Option<i128> },
    /// The path of a constant.
    Const(ExprPath),
}

impl Limit {
    pub(super) fn parse(tokens: TokenStream) -> Result<Self> {
        let limit = syn::parse2(tokens.clone()).ok().and_then(Self::of);
        limit.ok_or_else(|| Error::new_spanned(tokens, "not a limit"))
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
