//! A curve as SVG: [`write_lines`]. Rule: drawn from the figures given, with axes that start at zero.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 50.0;
const COLOURS: [&str; 4] = ["#1b6ca8", "#c0392b", "#27815b", "#8e44ad"];

/// Draws a table of name, x, y (tab-separated, one head line): a line for each name.
pub fn write_lines(table: &str, path: &Path, title: &str) -> std::io::Result<()> {
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in table.lines().skip(1) {
        let mut cells = row.split('\t');
        let (Some(name), Some(x), Some(y)) = (cells.next(), cells.next(), cells.next()) else { continue };
        if let (Ok(x), Ok(y)) = (x.parse(), y.parse()) {
            lines.entry(name).or_default().push((x, y));
        }
    }
    let most = |pick: fn(&(f64, f64)) -> f64| lines.values().flatten().map(pick).fold(1.0, f64::max);
    let (x_max, y_max) = (most(|p| p.0), most(|p| p.1));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/><text x=\"{MARGIN}\" y=\"20\">{title}</text>"
    );
    let x_of = |x: f64| MARGIN + x / x_max * (WIDTH - 2.0 * MARGIN);
    let y_of = |y: f64| HEIGHT - MARGIN - y / y_max * (HEIGHT - 2.0 * MARGIN);
    for step in 0..=4 {
        let (x, y) = (x_max * f64::from(step) / 4.0, y_max * f64::from(step) / 4.0);
        let _ = write!(
            svg,
            "<line x1=\"{MARGIN}\" x2=\"{0}\" y1=\"{1}\" y2=\"{1}\" stroke=\"#ddd\"/><text x=\"5\" y=\"{1}\">{y:.0}</text>\
             <text x=\"{2}\" y=\"{3}\">{x:.0} s</text>",
            WIDTH - MARGIN,
            y_of(y),
            x_of(x),
            HEIGHT - MARGIN + 18.0
        );
    }
    for ((name, points), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let path: Vec<String> =
            points.iter().map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), y_of(*y))).collect();
        let (x, y) = points.last().copied().unwrap_or_default();
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            path.join(" "),
            x_of(x) + 4.0,
            y_of(y)
        );
    }
    svg.push_str("</svg>\n");
    std::fs::write(path, svg)
}
