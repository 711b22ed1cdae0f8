//! Fixed-width tables for people. Numbers are right-aligned, the last column may run on.

use super::sanitize;

/// A table under construction. Cells are sanitised when it is rendered.
#[derive(Debug, Default)]
pub struct Table {
    header: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Column titles; one that starts with `>` is right-aligned.
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut table = Self::default();
        for column in columns {
            table.right.push(column.starts_with('>'));
            table.header.push(column.trim_start_matches('>').to_owned());
        }
        table
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table, each ending in a newline, without trailing blanks.
    pub fn render(&self) -> String {
        self.render_within(usize::MAX)
    }

    /// As [`Table::render`], with the last column broken over several lines where it would reach past
    /// `width`. Nothing is cut off.
    pub fn render_within(&self, width: usize) -> String {
        let rows: Vec<Vec<String>> = std::iter::once(&self.header)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| sanitize(cell).into_owned()).collect())
            .collect();
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                rows.iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let last = widths.len().saturating_sub(1);
        let indent: usize = widths[..last].iter().map(|width| width + 2).sum();
        let room = width.saturating_sub(indent).max(NARROWEST);
        let mut out = String::new();
        for row in &rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                if column == last && !self.right[column] {
                    let breaks = format!("\n{}", " ".repeat(indent));
                    line.push_str(&wrap(cell, room).join(&breaks));
                    continue;
                }
                let pad = " ".repeat(widths[column] - cell.chars().count());
                if self.right[column] {
                    line.push_str(&pad);
                    line.push_str(cell);
                } else {
                    line.push_str(cell);
                    line.push_str(&pad);
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// However little room is left, a name gets this much.
const NARROWEST: usize = 20;

/// Breaks text into pieces of at most `room` characters, after a separator where one is near.
pub fn wrap(text: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    // The byte at which `room` characters end.
    while let Some((limit, _)) = rest.char_indices().nth(room) {
        let head = &rest[..limit];
        let separator = head.rfind([' ', ',', '<', '>', ':', '(', '/', '.', '_']);
        let at = match separator {
            // A break in the first half would waste the line.
            Some(at) if at >= limit / 2 => at + 1,
            _ => limit,
        };
        pieces.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    pieces.push(rest);
    pieces
}

/// `1536` → `1.5 KiB`; never longer than eight characters.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_and_trims() {
        let mut table = Table::new(["name", ">bytes", "note"]);
        table.row(["a".into(), "1234".into(), String::new()]);
        table.row(["long".into(), "5".into(), "x\ny".into()]);
        assert_eq!(
            table.render(),
            "name  bytes  note\na      1234\nlong      5  x\\ny\n"
        );
    }

    #[test]
    fn long_names_are_broken_and_not_cut() {
        assert_eq!(wrap("short", 10), ["short"]);
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(
            wrap("f(int, float, double)", 10),
            ["f(int,", "float,", "double)"]
        );
        assert_eq!(wrap("äöüäöüäöüäöü", 5), ["äöüäö", "üäöüä", "öü"]);
        let mut table = Table::new([">n", "name"]);
        table.row(["1".into(), "kernel<int, float, double, 4>".into()]);
        assert_eq!(
            table.render_within(24),
            "n  name\n1  kernel<int, float,\n   double, 4>\n"
        );
    }

    #[test]
    fn bytes_for_people() {
        assert_eq!(human_bytes(1023), "1023 B");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(human_bytes(999 * 1024), "999 KiB");
        assert_eq!(human_bytes(1000 * 1024), "1.0 MiB");
        assert_eq!(human_bytes(u64::MAX), "16.0 EiB");
    }
}
