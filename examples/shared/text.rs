//! Text on the terminal: paragraphs, numbers and dates.

use std::{env, fmt::Display, io, io::IsTerminal};

use bucket_runtime::mongodb::bson::DateTime;

/// The maximum length of a line.
const WIDTH: usize = 100;

/// The indentation of every line but a headline.
const INDENT: &str = "   ";

/// The width of a note's label.
const LABEL: usize = 7;

/// The width of a note's text.
pub(crate) const NOTE_WIDTH: usize = WIDTH - INDENT.len() - LABEL;

/// Prints a paragraph.
pub(crate) fn paragraph(text: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = INDENT.len() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && longer > WIDTH {
            println!("{INDENT}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    println!("{INDENT}{line}");
}

/// Prints text beside a label of at most six letters.
pub(crate) fn note(label: &str, text: &str) {
    let mut label = label;
    for line in text.lines() {
        println!("{INDENT}{label:<LABEL$}{line}");
        label = "";
    }
}

/// Prints text that is already laid out, such as a table; a line that is too long is wrapped.
pub fn table(text: impl Display) {
    println!();
    for line in text.to_string().lines() {
        match INDENT.len() + line.chars().count() <= WIDTH {
            true => println!("{}", format!("{INDENT}{line}").trim_end()),
            false => paragraph(line),
        }
    }
}

/// A number with a comma after its thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A moment in UTC, to the second.
pub fn moment(date: DateTime) -> String {
    iso(date)
        .chars()
        .take(19)
        .collect::<String>()
        .replace('T', " ")
}

/// A moment in the shell's notation, always with milliseconds.
pub(crate) fn iso(date: DateTime) -> String {
    let text = date
        .try_to_rfc3339_string()
        .unwrap_or_else(|_| date.to_string());
    let text = text.trim_end_matches('Z');
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}.{fraction:0<3}Z")
}

/// Text in bold, if the terminal shows styles (see no-color.org).
pub(crate) fn bold(text: &str) -> String {
    let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match plain || !io::stdout().is_terminal() {
        true => text.to_owned(),
        false => format!("\x1b[1m{text}\x1b[0m"),
    }
}
