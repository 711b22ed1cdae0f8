use std::collections::HashMap;
use std::ops::Range;

use super::facts::{Facts, Symbol};
use crate::code::demangled;

/// A symbol of an image, numbered through the whole link: images in link order, symbols in file order.
pub type Node = u32;

/// A name that more than one image can see, numbered in order of appearance.
pub type NameId = u32;

const NONE: u32 = u32::MAX;

/// An image of a link with what was read from it.
#[derive(Debug)]
pub struct Unit<'a> {
    /// As messages call it: `libx.a(b.o):.nv_fatbin[3]`.
    pub name: &'a str,
    /// Which input of the command line it came from.
    pub input: usize,
    pub input_name: &'a str,
    /// `None` for LTO-IR that nobody has looked into.
    pub facts: Option<Facts>,
}

/// All symbols of a link, and under each shared name the symbols that bear it.
#[derive(Debug)]
pub struct Table<'c> {
    pub units: &'c [Unit<'c>],
    /// First node of each unit.
    starts: Vec<Node>,
    /// The unit of each node.
    unit_of: Vec<u32>,
    /// The name of each node; `NONE` for static ones.
    names: Vec<NameId>,
    /// The next node of the same name; `NONE` for the last.
    next: Vec<Node>,
    /// The first and the last node of each name.
    ends: Vec<(Node, Node)>,
}

impl<'c> Table<'c> {
    pub fn new(units: &'c [Unit<'c>]) -> Self {
        let mut table = Self {
            units,
            starts: Vec::with_capacity(units.len()),
            unit_of: Vec::new(),
            names: Vec::new(),
            next: Vec::new(),
            ends: Vec::new(),
        };
        let mut ids = HashMap::new();
        for (index, unit) in (0..).zip(units) {
            table.starts.push(table.names.len() as u32);
            for symbol in unit.facts.iter().flat_map(|facts| &facts.symbols) {
                table.unit_of.push(index);
                table.add(symbol, &mut ids);
            }
        }
        table
    }

    fn add(&mut self, symbol: &'c Symbol, ids: &mut HashMap<&'c str, NameId>) {
        // A symbol takes far more than a byte of memory, so 32 bits number all of them.
        let node = self.names.len() as u32;
        self.next.push(NONE);
        if symbol.is_static {
            self.names.push(NONE);
            return;
        }
        let new = self.ends.len() as u32;
        let id = *ids.entry(&*symbol.name).or_insert(new);
        self.names.push(id);
        if id == new {
            self.ends.push((node, node));
        } else {
            let (_, last) = &mut self.ends[id as usize];
            self.next[*last as usize] = node;
            *last = node;
        }
    }

    /// Every name, in order of appearance.
    pub fn names(&self) -> Range<NameId> {
        0..self.ends.len() as u32
    }

    /// The place of a node's unit among the units.
    pub fn unit_index(&self, node: Node) -> usize {
        self.unit_of[node as usize] as usize
    }

    pub fn unit(&self, node: Node) -> &'c Unit<'c> {
        &self.units[self.unit_index(node)]
    }

    /// The node of a symbol that is given by its place in the facts of a unit.
    pub fn node(&self, unit: usize, place: u32) -> Node {
        self.starts[unit] + place
    }

    pub fn nodes_of(&self, unit: usize) -> Range<Node> {
        let end = self.starts.get(unit + 1).copied();
        self.starts[unit]..end.unwrap_or(self.names.len() as u32)
    }

    pub fn nodes(&self) -> Range<Node> {
        0..self.names.len() as u32
    }

    pub fn symbol(&self, node: Node) -> &'c Symbol {
        let unit = self.unit_index(node);
        // Nodes are only made for units with facts.
        let symbols = self.units[unit]
            .facts
            .as_ref()
            .map_or(&[][..], |facts| &facts.symbols);
        &symbols[(node - self.starts[unit]) as usize]
    }

    /// The shared name of a node; none for a static one.
    pub fn name_of(&self, node: Node) -> Option<NameId> {
        Some(self.names[node as usize]).filter(|&id| id != NONE)
    }

    pub fn name(&self, id: NameId) -> &'c str {
        let (first, _) = self.ends[id as usize];
        &self.symbol(first).name
    }

    /// The nodes of a name in link order.
    pub fn bearers(&self, id: NameId) -> impl Iterator<Item = Node> + use<'_> {
        let (first, _) = self.ends[id as usize];
        std::iter::successors(Some(first), |&node| {
            Some(self.next[node as usize]).filter(|&next| next != NONE)
        })
    }

    /// The readable name of a node.
    pub fn readable(&self, node: Node) -> String {
        let name = &self.symbol(node).name;
        demangled(name).unwrap_or_else(|| name.clone())
    }

    /// Whether the symbols of every image are known.
    pub fn is_complete(&self) -> bool {
        self.units.iter().all(|unit| unit.facts.is_some())
    }
}
