//! The same patterns by the plainest means. Rule: looks at whole content, byte by byte, shares no code with the search.

use crate::wildcard::{Cell, CountedBy, Edge, Node, Wildcard};
use crate::{Anchor, Case};
use std::collections::BTreeSet;

/// A gap is a cut where it is open or varies by more than this.
const GAP_WIDTH_MAX: u32 = 128;

/// A match: start (`None` where the pattern has several segments) and end.
pub(super) type Found = Vec<(Option<u64>, u64)>;

/// All matches of a pattern in content.
pub(super) fn find(wildcard: &Wildcard, case: Case, anchor: Anchor, content: &[u8]) -> Found {
    let by_ends = wildcard.counted_by == CountedBy::Ends;
    let mut segments: Vec<&[Node]> = Vec::new();
    let mut links = Vec::new();
    let mut from = 0;
    for (at, node) in wildcard.nodes.iter().enumerate() {
        let width_max = if by_ends && !segments.is_empty() { 0 } else { GAP_WIDTH_MAX };
        if let Node::Gap { min, max } = node
            && max.is_none_or(|max| max - min > width_max)
        {
            segments.push(&wildcard.nodes[from..at]);
            links.push((*min, *max));
            from = at + 1;
        }
    }
    segments.push(&wildcard.nodes[from..]);
    let varies = |node: &Node| matches!(node, Node::Gap { min, max } if *max != Some(*min));
    let by_ends = by_ends && segments[0].iter().any(varies);
    let text = Text { content, case };
    let mut leading: Vec<(usize, usize)> = text.matches(segments[0], by_ends);
    leading.retain(|(start, _)| anchor.admits(*start as u64));
    if by_ends {
        leading.sort_unstable_by_key(|(start, end)| (*end, *start));
        leading.dedup_by_key(|(_, end)| *end);
    }
    for (segment, (min, max)) in segments[1..].iter().zip(links) {
        let mut following = text.matches(segment, false);
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
    /// For each start, the shortest match or all.
    fn matches(&self, nodes: &[Node], all: bool) -> Vec<(usize, usize)> {
        let ends = |start| self.ends(nodes, start, true).into_iter().take(if all { usize::MAX } else { 1 });
        (0..self.content.len()).flat_map(|start| ends(start).map(move |end| (start, end))).collect()
    }

    fn ends(&self, nodes: &[Node], at: usize, leftmost: bool) -> BTreeSet<usize> {
        if at > self.content.len() {
            return BTreeSet::new();
        }
        let Some((node, rest)) = nodes.split_first() else { return BTreeSet::from([at]) };
        let after = |length: usize| self.ends(rest, at + length, false);
        match node {
            Node::Cell(cell) if self.row(&[*cell], at) => after(1),
            Node::Gap { min, max } => (*min..=max.unwrap_or(u32::MAX).min(self.content.len() as u32))
                .flat_map(|gap| after(gap as usize))
                .collect(),
            Node::Near { min, max } => (*min..=*max).flat_map(|gap| after(gap as usize)).collect(),
            Node::Choice(rows) => {
                rows.iter().filter(|row| self.row(row, at)).flat_map(|row| after(row.len())).collect()
            }
            Node::Not(rows) if !rows.iter().any(|row| self.row(row, at)) => after(rows[0].len()),
            Node::Edge(edge) => {
                let beside = if leftmost { at.checked_sub(1) } else { Some(at) };
                let byte = beside.and_then(|beside| self.content.get(beside));
                if byte.is_none_or(|byte| is_edge(*edge, *byte)) { after(0) } else { BTreeSet::new() }
            }
            Node::Cell(_) | Node::Not(_) => BTreeSet::new(),
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
