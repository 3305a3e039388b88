//! The report as a page: one file of HTML with its pictures, that loads nothing.

mod capacities;
mod fill;
mod growth;
mod heat;
mod html;
mod keys;
mod lengths;
mod section;
mod svg;

use self::html::{code, escape, prose};
use self::section::Section;
use super::picture::Picture;
use super::report::{CORRECTIONS, Findings};

const STYLE: &str = include_str!("page/style.css");

const SCRIPT: &str = include_str!("page/slider.js");

/// Whatever stands in the page, the browser loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The page of a report.
pub(super) fn write(findings: &Findings) -> String {
    let title = format!("{}: advice", findings.namespace);
    frame(
        &title,
        &[
            header(findings),
            pictures(&findings.pictures),
            rest(findings),
        ],
    )
}

/// The page of a struct's collection as it is: the first line as a heading, and the others below
/// the charts.
pub(super) fn write_stats(
    name: &str,
    namespace: &str,
    lines: &[String],
    all: &[Picture],
) -> String {
    let heading = lines.first().map_or(name, |line| line);
    let header = format!(
        "<header>\n<p class=\"source\">{}</p>\n<h1>{}</h1>\n</header>\n",
        escape(&format!("{name} ({namespace})")),
        prose(heading)
    );
    let figures = Section::of_html("The figures as text", code("The figures as text", lines));
    frame(
        &format!("{name}: statistics"),
        &[header, pictures(all), figures.html()],
    )
}

/// The document around these parts.
fn frame(title: &str, parts: &[String]) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{}</main>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        parts.concat()
    )
}

/// The verdict above everything else: what to do, then why.
fn header(findings: &Findings) -> String {
    let (what, why) = findings
        .verdict
        .split_once(": ")
        .unwrap_or((&findings.verdict, ""));
    format!(
        "<header>\n<p class=\"source\">{}</p>\n<h1>{}</h1>\n<p class=\"why\">{}</p>\n<p class=\"read\">{}; \
         {}.</p>\n</header>\n",
        escape(&findings.namespace),
        prose(&capital(what)),
        sentence(why),
        escape(&capital(&findings.reading())),
        findings.holds(),
    )
}

/// The reason as a sentence of its own, if there is one.
fn sentence(why: &str) -> String {
    match why.is_empty() {
        true => String::new(),
        false => format!("{}.", prose(&capital(why))),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.clone()).collect()
}

fn pictures(pictures: &[Picture]) -> String {
    let section = |picture: &Picture| match picture {
        Picture::Keys(picture) => keys::draw(picture),
        Picture::Capacities(picture) => capacities::draw(picture),
        Picture::Lengths(picture) => lengths::draw(picture),
        Picture::Fill(fill) => fill::draw(fill),
        Picture::Heat(picture) => heat::draw(picture),
        Picture::Growth(growth) => growth::draw(growth),
    };
    let sections = pictures.iter().map(|picture| section(picture).html());
    sections.collect()
}

/// The code and the commands; what to correct, and what was weighed; the figures as text.
fn rest(findings: &Findings) -> String {
    let mut all = String::new();
    let lists = [
        ("The struct", &findings.page_code.rust),
        ("Commands", &findings.page_code.commands),
    ];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        all += &Section::of_html(title, code(title, lines)).html();
    }
    let lists = [
        (&*capital(CORRECTIONS), &findings.corrections),
        ("What was weighed", &findings.weighed),
    ];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let items = lines.iter();
        let items: String = items
            .map(|line| format!("<li>{}</li>\n", prose(line)))
            .collect();
        all += &Section::of_html(title, format!("<ul>\n{items}</ul>\n")).html();
    }
    if !findings.figures.is_empty() {
        let text = code("The figures as text", &findings.figures);
        let text =
            format!("<details>\n<summary>As the terminal shows them</summary>\n{text}</details>\n");
        all += &Section::of_html("The figures as text", text).html();
    }
    all
}

#[cfg(test)]
mod tests;
