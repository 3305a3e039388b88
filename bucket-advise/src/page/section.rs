//! A section of the page: a heading, a chart beside its table, or any other content.

use super::html::{escape, prose};

/// A section of the page.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) title: String,
    /// A sentence on the chart.
    pub(super) note: String,
    /// The chart, and what controls it.
    pub(super) chart: String,
    pub(super) tables: Vec<Table>,
}

/// The figures of a chart.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    /// Whether it is what the report recommends.
    pub(super) is_recommended: bool,
    /// The stop of the slider that shows this row.
    pub(super) stop: Option<Stop>,
}

/// A stop of the slider.
#[derive(Debug)]
pub(super) struct Stop {
    /// The cursor's place on the chart.
    pub(super) place: f64,
    /// The sentence below it.
    pub(super) sentence: String,
}

impl Row {
    pub(super) fn of(cells: impl Into<Vec<String>>) -> Self {
        Self {
            cells: cells.into(),
            ..Self::default()
        }
    }
}

impl Section {
    /// A section without a chart.
    pub(super) fn of_html(title: &str, content: String) -> Self {
        Self {
            title: title.to_owned(),
            chart: content,
            ..Self::default()
        }
    }

    pub(super) fn html(&self) -> String {
        let note = match self.note.is_empty() {
            true => String::new(),
            false => format!("<p class=\"note\">{}</p>\n", prose(&self.note)),
        };
        let tables: String = self.tables.iter().map(Table::html).collect();
        let content = match (self.chart.is_empty(), tables.is_empty()) {
            (_, true) => self.chart.clone(),
            (true, false) => tables,
            _ => format!(
                "<div class=\"pair\">\n<figure>\n{}</figure>\n<div>\n{tables}</div>\n</div>\n",
                self.chart
            ),
        };
        format!(
            "<section>\n<h2>{}</h2>\n{note}{content}</section>\n",
            prose(&self.title)
        )
    }
}

impl Table {
    fn html(&self) -> String {
        let head = self.head.iter();
        let head: String = head
            .map(|cell| format!("<th scope=\"col\">{}</th>", escape(cell)))
            .collect();
        let rows: String = self.rows.iter().map(Row::html).collect();
        let caption = escape(&self.caption);
        format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table>\n\
             <caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        )
    }
}

impl Row {
    fn html(&self) -> String {
        let stop = self.stop.as_ref().map(|stop| {
            let said = escape(&stop.sentence);
            format!(" data-place=\"{:.1}\" data-said=\"{said}\"", stop.place)
        });
        let class = if self.is_recommended {
            " class=\"recommended\""
        } else {
            ""
        };
        let mark = if self.is_recommended {
            "<span class=\"hidden\"> (recommended)</span>"
        } else {
            ""
        };
        let mut cells = self.cells.iter().map(|cell| escape(cell));
        let first = cells.next().unwrap_or_default();
        let others: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
        format!(
            "<tr{class}{}><th scope=\"row\">{first}{mark}</th>{others}</tr>\n",
            stop.unwrap_or_default()
        )
    }
}
