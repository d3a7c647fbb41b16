//! The same patterns by the plainest means. Rule: looks at whole content, byte by byte, shares no code with the search.

use crate::wildcard::{Cell, Edge, Node, Wildcard};
use crate::{Anchor, Case};

/// A gap is a cut where it is open or varies by more than this.
const GAP_WIDTH_MAX: u32 = 128;

/// A match: start (`None` where the pattern has several segments) and end.
pub(super) type Found = Vec<(Option<u64>, u64)>;

/// All matches of a pattern in content.
pub(super) fn find(wildcard: &Wildcard, case: Case, anchor: Anchor, content: &[u8]) -> Found {
    let mut segments: Vec<&[Node]> = Vec::new();
    let mut links = Vec::new();
    let mut from = 0;
    for (at, node) in wildcard.nodes.iter().enumerate() {
        if let Node::Gap { min, max } = node
            && max.is_none_or(|max| max - min > GAP_WIDTH_MAX)
        {
            segments.push(&wildcard.nodes[from..at]);
            links.push((*min, *max));
            from = at + 1;
        }
    }
    segments.push(&wildcard.nodes[from..]);
    let text = Text { content, case };
    let mut leading: Vec<(usize, usize)> =
        text.matches(segments[0]).into_iter().filter(|(start, _)| anchor.admits(*start as u64)).collect();
    for (segment, (min, max)) in segments[1..].iter().zip(links) {
        let mut following = text.matches(segment);
        following.retain(|(start, _)| {
            leading.iter().any(|(_, end)| {
                *start >= end + min as usize && max.is_none_or(|max| *start <= end + max as usize)
            })
        });
        leading = following;
    }
    let single = segments.len() == 1;
    let mut found: Found =
        leading.into_iter().map(|(start, end)| (single.then_some(start as u64), end as u64)).collect();
    found.sort_unstable();
    found
}

struct Text<'a> {
    content: &'a [u8],
    case: Case,
}

impl Text<'_> {
    /// For each start, the shortest match.
    fn matches(&self, nodes: &[Node]) -> Vec<(usize, usize)> {
        (0..self.content.len())
            .filter_map(|start| Some((start, self.shortest(nodes, start, true)?)))
            .collect()
    }

    fn shortest(&self, nodes: &[Node], at: usize, leftmost: bool) -> Option<usize> {
        if at > self.content.len() {
            return None;
        }
        let Some((node, rest)) = nodes.split_first() else { return Some(at) };
        match node {
            Node::Cell(cell) => self.row(&[*cell], at).then(|| self.shortest(rest, at + 1, false))?,
            Node::Gap { min, max } => (*min..=max.unwrap_or(u32::MAX).min(self.content.len() as u32))
                .filter_map(|gap| self.shortest(rest, at + gap as usize, false))
                .min(),
            Node::Choice(rows) => rows
                .iter()
                .filter(|row| self.row(row, at))
                .filter_map(|row| self.shortest(rest, at + row.len(), false))
                .min(),
            Node::Not(rows) => {
                let fits = !rows.iter().any(|row| self.row(row, at));
                fits.then(|| self.shortest(rest, at + rows[0].len(), false))?
            }
            Node::Edge(edge) => {
                let beside = if leftmost { at.checked_sub(1) } else { Some(at) };
                let byte = beside.and_then(|beside| self.content.get(beside));
                byte.is_none_or(|byte| is_edge(*edge, *byte)).then(|| self.shortest(rest, at, false))?
            }
        }
    }

    fn row(&self, cells: &[Cell], at: usize) -> bool {
        cells.iter().enumerate().all(|(step, cell)| {
            let Some(&byte) = self.content.get(at + step) else { return false };
            match self.case {
                Case::Insensitive if cell.mask == 0xff => byte.eq_ignore_ascii_case(&cell.value),
                _ => byte & cell.mask == cell.value,
            }
        })
    }
}

fn is_edge(edge: Edge, byte: u8) -> bool {
    match edge {
        Edge::Line => byte == b'\r' || byte == b'\n',
        Edge::Word => b"\n\r \"'-/=>_.<@".contains(&byte),
        Edge::NotAlphanumeric => !byte.is_ascii_alphanumeric(),
    }
}
