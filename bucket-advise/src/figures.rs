//! Figures as text.

/// A part of the whole in percent, with a digit after the point where that tells more.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    match percent {
        0.0 => "0 %".to_owned(),
        percent if (10.0..=99.0).contains(&percent) => format!("{percent:.0} %"),
        percent if part == whole => format!("{percent:.0} %"),
        percent if percent > 99.94 => ">99.9 %".to_owned(),
        percent if percent < 0.05 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// A share in percent, always with one digit after the point, as a column needs it. Only nothing is
/// 0, and only all is
/// 100.
pub(super) fn tenths(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    let shown = match part {
        0 => 0.0,
        part if part >= whole => percent,
        _ => percent.clamp(0.1, 99.9),
    };
    format!("{shown:.1} %")
}

/// Bytes, such as 1.2 MB.
pub(super) fn bytes(number: u64) -> String {
    let (unit, size) = match number {
        0..1000 => return format!("{number} B"),
        1000..1_000_000 => ("kB", 1e3),
        1_000_000..1_000_000_000 => ("MB", 1e6),
        _ => ("GB", 1e9),
    };
    let value = number as f64 / size;
    match value < 10.0 {
        true => format!("{value:.1} {unit}"),
        false => format!("{value:.0} {unit}"),
    }
}

/// A span of time in its largest unit, such as 3 days.
pub(super) fn span(millis: i64) -> String {
    let units = [
        (86_400_000, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1000, "second"),
    ];
    let found = units.iter().find(|(length, _)| millis >= *length);
    match found {
        Some((length, unit)) if millis / length == 1 => format!("1 {unit}"),
        Some((length, unit)) => format!("{} {unit}s", thousands((millis / length) as u64)),
        None => format!("{millis} milliseconds"),
    }
}

/// The length of a window in its largest unit, as id formats say it.
pub(super) fn window(seconds: u64) -> String {
    let units = [(86_400, 'd'), (3600, 'h'), (60, 'm')];
    let unit = units
        .into_iter()
        .find(|(length, _)| seconds.is_multiple_of(*length));
    let (length, unit) = unit.unwrap_or((1, 's'));
    format!("{}{unit}", seconds / length)
}

/// A table: each column as wide as its widest cell, numbers to the right, the last column to the
/// left.
pub(super) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

/// A number of things, such as "1 item" and "2,000 items".
pub fn counted(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        _ => format!("{} {thing}s", thousands(n)),
    }
}

/// A number with commas, such as 1,234,567.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::{bytes, counted, percent, span, tenths, thousands};

    #[test]
    fn figures_are_short() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        let counts = [0, 1, 1000].map(|n| counted(n, "key"));
        assert_eq!(counts, ["0 keys", "1 key", "1,000 keys"]);
        assert_eq!(
            [percent(1, 3), percent(1, 1), percent(0, 0)],
            ["33 %", "100 %", "0 %"]
        );
        assert_eq!(
            [percent(1, 30_000), percent(29_999, 30_000)],
            ["<0.1 %", ">99.9 %"]
        );
        assert_eq!(
            [bytes(999), bytes(1234), bytes(56_000_000)],
            ["999 B", "1.2 kB", "56 MB"]
        );
        assert_eq!(
            [span(90_000), span(86_400_000), span(5)],
            ["1 minute", "1 day", "5 milliseconds"]
        );
    }
    #[test]
    fn a_share_is_nothing_or_all_only_if_it_is() {
        let shares = [(0, 10_000), (1, 10_000), (9_999, 10_000), (10_000, 10_000)];
        let shown = shares.map(|(part, all)| tenths(part, all));
        assert_eq!(shown, ["0.0 %", "0.1 %", "99.9 %", "100.0 %"]);
    }
}
