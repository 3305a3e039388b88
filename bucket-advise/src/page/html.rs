//! Text as HTML.

/// Text that is safe between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // A NUL is an error in HTML, and others are invisible.
            letter if letter.is_control() && !matches!(letter, '\n' | '\t') => {
                escaped.push('\u{fffd}')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A sentence, with what stands between backticks as code.
pub(super) fn prose(text: &str) -> String {
    let escaped = escape(text);
    let mut parts: Vec<_> = escaped.split('`').map(str::to_owned).collect();
    if parts.len() % 2 == 0 {
        return escaped;
    }
    for part in parts.iter_mut().skip(1).step_by(2) {
        *part = format!("<code>{part}</code>");
    }
    parts.concat()
}

/// Lines as they are, in a box that scrolls if they are long.
pub(super) fn code(name: &str, lines: &[String]) -> String {
    format!(
        "<pre tabindex=\"0\" aria-label=\"{}\"><code>{}</code></pre>\n",
        escape(name),
        escape(&lines.join("\n"))
    )
}

#[cfg(test)]
mod tests {
    use super::{escape, prose};

    #[test]
    fn no_text_becomes_a_tag() {
        let text = "<script>\"a\" & 'b'\0</script>";
        let safe = "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;\u{fffd}&lt;/script&gt;";
        assert_eq!(escape(text), safe);
        assert_eq!(
            prose("by `<b>` and `c`"),
            "by <code>&lt;b&gt;</code> and <code>c</code>"
        );
        assert_eq!(prose("one ` alone"), "one ` alone");
    }
}
