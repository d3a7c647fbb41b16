//! Tables on a terminal and in a file: [`Table`]. Rule: what is printed is what was measured, nothing is kept from before.

/// A table with a title.
pub struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With its column heads.
    pub fn new(title: &str, heads: &[&str]) -> Self {
        Self { title: title.to_owned(), rows: vec![heads.iter().map(|h| (*h).to_owned()).collect()] }
    }

    /// One more row; it is told at once, since the next may take a while.
    pub fn row(&mut self, name: &str, cells: &[String]) {
        eprintln!("{}: {name}: {}", self.title, cells.join("  "));
        self.rows.push(std::iter::once(name.to_owned()).chain(cells.iter().cloned()).collect());
    }

    /// As Markdown, which reads well on a terminal too.
    pub fn print(&self) {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        println!("\n## {}\n", self.title);
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            println!("| {} |", cells.join(" | "));
            if at == 0 {
                println!("|{}|", widths.iter().map(|w| "-".repeat(w + 2)).collect::<Vec<_>>().join("|"));
            }
        }
    }
}

/// The middle one; of an even number, the greater of the two in the middle.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
