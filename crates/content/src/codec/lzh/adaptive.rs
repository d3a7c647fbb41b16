//! `lh1`: a Huffman tree that changes with each symbol, and distances by a code that does not. Rule: the tree is the packer's
//! at every symbol, so it changes as LZHUF's does.

use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::code::Code;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol};
use lockgate_model::Reason;

/// Bytes, and lengths from 3 to 60.
const SYMBOLS: usize = 256 + 58;
/// Nodes of the tree: those from here on stand for symbols.
const NODES: usize = 2 * SYMBOLS - 1;
const ROOT: usize = NODES - 1;
/// Where all frequencies are halved.
const FREQUENCY_MAX: u16 = 0x8000;
const MATCH_BYTES_MIN: usize = 3;
const MATCH_BYTES_MAX: usize = 60;
/// Symbols may take as many bits as the tree is high, which frequencies bound; and 14 for a distance.
const BITS_MAX: usize = 128;
/// How many of the 64 upper parts of distances have codes of three bits, four, and so on.
pub(super) const DISTANCE_CODES: [usize; 6] = [1, 3, 8, 12, 24, 16];
const LOW_BITS: u32 = 6;

/// The state of one stream.
pub(super) struct Adaptive {
    tree: Box<Tree>,
    distance: Code,
}

/// Nodes in order of frequency.
pub(super) struct Tree {
    /// How often; one more as a mark.
    frequencies: [u16; NODES + 1],
    /// The parent of each node, then of each symbol.
    parents: [u16; NODES + SYMBOLS],
    /// The first of two children that stand side by side, or a symbol from [`NODES`] on.
    children: [u16; NODES],
}

impl Adaptive {
    pub(super) fn new() -> Self {
        let mut lengths = Vec::new();
        for (bits, count) in (3..).zip(DISTANCE_CODES) {
            lengths.extend(std::iter::repeat_n(bits, count));
        }
        let mut distance = Code::new();
        // The lengths are a code's.
        let _ = distance.build(&lengths);
        Self { tree: Box::new(Tree::new()), distance }
    }
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut tree =
            Self { frequencies: [1; NODES + 1], parents: [0; NODES + SYMBOLS], children: [0; NODES] };
        for symbol in 0..SYMBOLS {
            tree.children[symbol] = (symbol + NODES) as u16;
            tree.parents[symbol + NODES] = symbol as u16;
        }
        for (pair, node) in (SYMBOLS..NODES).enumerate() {
            let first = pair * 2;
            tree.frequencies[node] = tree.frequencies[first] + tree.frequencies[first + 1];
            tree.children[node] = first as u16;
            (tree.parents[first], tree.parents[first + 1]) = (node as u16, node as u16);
        }
        tree.frequencies[NODES] = u16::MAX;
        tree
    }

    fn take(&mut self, bits: &mut Bits) -> usize {
        let mut node = usize::from(self.children[ROOT]);
        let mut height = 0;
        while node < NODES {
            node = usize::from(self.children[node + usize::from(bits.is_set())]);
            height += 1;
            if height > NODES {
                break;
            }
        }
        let symbol = node.saturating_sub(NODES);
        self.update(symbol);
        symbol
    }

    /// The bits that lead to a symbol.
    #[cfg(test)]
    pub(super) fn path(&self, symbol: usize) -> Vec<u8> {
        let mut path = Vec::new();
        let mut child = symbol + NODES;
        while child != ROOT {
            let parent = usize::from(self.parents[child]);
            let node = if child >= NODES { parent } else { child };
            // A symbol's parent is the node that stands for it.
            if child < NODES {
                path.push((node - usize::from(self.children[parent])) as u8);
            }
            child = parent;
        }
        path.reverse();
        path
    }

    /// The symbol was met once more: it and all above it, each moved behind those that it overtakes.
    pub(super) fn update(&mut self, symbol: usize) {
        if self.frequencies[ROOT] == FREQUENCY_MAX {
            self.halve();
        }
        let mut node = usize::from(self.parents[symbol + NODES]);
        loop {
            self.frequencies[node] += 1;
            let frequency = self.frequencies[node];
            if frequency > self.frequencies[node + 1] {
                let mut last = node + 1;
                while frequency > self.frequencies[last + 1] {
                    last += 1;
                }
                self.frequencies.swap(node, last);
                self.children.swap(node, last);
                self.adopt(last);
                self.adopt(node);
                node = last;
            }
            node = usize::from(self.parents[node]);
            if node == 0 {
                return;
            }
        }
    }

    /// The children of a node have it as their parent.
    fn adopt(&mut self, node: usize) {
        let child = usize::from(self.children[node]);
        self.parents[child] = node as u16;
        if child < NODES {
            self.parents[child + 1] = node as u16;
        }
    }

    /// Halves how often symbols were met, and builds the tree above them anew.
    fn halve(&mut self) {
        let mut leaves = 0;
        for node in 0..NODES {
            if usize::from(self.children[node]) >= NODES {
                self.frequencies[leaves] = self.frequencies[node].div_ceil(2);
                self.children[leaves] = self.children[node];
                leaves += 1;
            }
        }
        for (pair, node) in (SYMBOLS..NODES).enumerate() {
            let first = pair * 2;
            let frequency = self.frequencies[first] + self.frequencies[first + 1];
            let place = (0..node).rev().find(|at| frequency >= self.frequencies[*at]).map_or(0, |at| at + 1);
            self.frequencies.copy_within(place..node, place + 1);
            self.children.copy_within(place..node, place + 1);
            self.frequencies[place] = frequency;
            self.children[place] = first as u16;
        }
        (0..NODES).for_each(|node| self.adopt(node));
    }
}

impl Scheme for Adaptive {
    fn bits_needed(&self) -> usize {
        BITS_MAX
    }

    fn bytes_made_max(&self) -> usize {
        MATCH_BYTES_MAX
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        let symbol = self.tree.take(bits);
        if symbol < 256 {
            window.push(symbol as u8);
            return Ok(Symbol::Read);
        }
        let high = self.distance.take(bits)? << LOW_BITS;
        let distance = high | bits.take(LOW_BITS) as usize;
        window.copy(distance + 1, symbol - 256 + MATCH_BYTES_MIN)?;
        Ok(Symbol::Read)
    }
}
