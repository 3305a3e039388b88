//! The attribute `test` of `bucket-testkit`, which documents it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitInt, LitStr, Token, Visibility};

/// Runs an asynchronous function as a test, with what it takes set up on a
/// MongoDB server. The crate `bucket-testkit` documents it.
#[proc_macro_attribute]
pub fn test(
    arguments: proc_macro::TokenStream,
    function: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(arguments.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

fn expand(arguments: TokenStream, function: TokenStream) -> syn::Result<TokenStream> {
    let Arguments { server, workers } = syn::parse2(arguments)?;
    let Function {
        attributes,
        visibility,
        name,
        rest,
    } = syn::parse2(function)?;
    let server = server.map_or(quote!(None), |server| quote!(Some(#server)));
    let workers = workers.map_or(quote!(None), |workers| quote!(Some(#workers)));
    Ok(quote! {
        #(#attributes)*
        #[::core::prelude::v1::test]
        #visibility fn #name() {
            async fn #name #rest
            let name = ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name));
            ::bucket_testkit::__private::run(name, #server, #workers, #name)
        }
    })
}

/// The settings in the attribute.
#[derive(Default)]
struct Arguments {
    server: Option<LitStr>,
    workers: Option<TokenStream>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            let word = Ident::parse_any(input)?;
            let is_again = match word.to_string().as_str() {
                "server" => {
                    input.parse::<Token![=]>()?;
                    arguments.server.replace(input.parse()?).is_some()
                }
                "multi_thread" => arguments.workers.replace(quote!(0)).is_some(),
                "worker_threads" => {
                    input.parse::<Token![=]>()?;
                    let number: LitInt = input.parse()?;
                    arguments.workers.replace(quote!(#number)).is_some()
                }
                _ => {
                    let help = "expected `server = \"…\"`, `multi_thread` or `worker_threads = …`";
                    return Err(syn::Error::new(word.span(), help));
                }
            };
            if is_again {
                return Err(syn::Error::new(word.span(), "this was said before"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

/// A function, as far as it has to be known here.
struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    /// Its parameters, its output and its body.
    rest: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = Attribute::parse_outer(input)?;
        let visibility = input.parse()?;
        if !input.peek(Token![async]) {
            return Err(input.error("a test on a server is an `async fn`"));
        }
        input.parse::<Token![async]>()?;
        input.parse::<Token![fn]>()?;
        Ok(Self {
            attributes,
            visibility,
            name: input.parse()?,
            rest: input.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::quote;

    use super::expand;

    fn error(arguments: TokenStream, function: TokenStream) -> String {
        expand(arguments, function).unwrap_err().to_string()
    }

    #[test]
    fn attributes_and_the_name_stay_with_the_test() {
        let arguments = quote!(server = "8.2", worker_threads = 4);
        let function = quote! {
            /// Why.
            #[ignore = "slow"]
            async fn pets(db: Database) -> Result<(), Error> { Ok(()) }
        };
        let test = expand(arguments, function).unwrap().to_string();
        let expected = quote! {
            /// Why.
            #[ignore = "slow"]
            #[::core::prelude::v1::test]
            fn pets() {
                async fn pets (db: Database) -> Result<(), Error> { Ok(()) }
                let name = ::core::concat!(::core::module_path!(), "::", ::core::stringify!(pets));
                ::bucket_testkit::__private::run(name, Some("8.2"), Some(4), pets)
            }
        };
        assert_eq!(test, expected.to_string());
    }

    #[test]
    fn mistakes_are_explained() {
        let test = quote! { async fn pets() {} };
        assert!(error(quote!(), quote! { fn pets() {} }).contains("`async fn`"));
        assert!(error(quote!(), quote! { struct Pets; }).contains("`async fn`"));
        assert!(error(quote!(version = "8.2"), test.clone()).contains("expected `server"));
        assert!(error(quote!(multi_thread, worker_threads = 2), test.clone()).contains("before"));
        assert!(error(quote!(server = 8.2), test).contains("string"));
    }
}
