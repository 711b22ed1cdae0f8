//! Who calls whom across the whole link, what of it is live, and what live code lacks.

use super::facts::State;
use super::resolve::Resolution;
use super::table::{Node, Table};
use std::collections::HashMap;

const NONE: u32 = u32::MAX;

/// The call graph over the symbols of a [`Table`]. A call through a pointer goes by way of a node for its
/// signature, which leads to every function of that signature whose address is taken; these nodes have
/// numbers above those of the symbols.
#[derive(Debug)]
pub struct CallGraph {
    edges: Edges,
    /// Functions whose address is taken.
    pub taken: Vec<Node>,
    /// Number of nodes that are symbols.
    symbols: u32,
}

/// Adjacency lists in one array.
#[derive(Debug)]
struct Edges {
    starts: Vec<u32>,
    targets: Vec<Node>,
}

impl Edges {
    /// `pairs` of source and target, in any order; those of one source keep theirs.
    fn new(count: usize, pairs: &[(Node, Node)]) -> Self {
        let mut starts = vec![0; count + 1];
        for &(source, _) in pairs {
            starts[source as usize + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; pairs.len()];
        for &(source, target) in pairs {
            let slot = &mut next[source as usize];
            targets[*slot as usize] = target;
            *slot += 1;
        }
        Self { starts, targets }
    }

    fn of(&self, node: Node) -> &[Node] {
        let start = self.starts[node as usize] as usize;
        let end = self.starts[node as usize + 1] as usize;
        &self.targets[start..end]
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn reversed(&self) -> Self {
        let mut pairs = Vec::with_capacity(self.targets.len());
        for source in 0..self.count() as u32 {
            pairs.extend(self.of(source).iter().map(|&target| (target, source)));
        }
        Self::new(self.count(), &pairs)
    }
}

impl CallGraph {
    pub fn new(table: &Table<'_>, resolution: &Resolution) -> Self {
        let symbols = table.nodes().len() as u32;
        let mut pairs = Vec::new();
        let mut taken = Vec::new();
        let mut signatures: HashMap<&str, Node> = HashMap::new();
        for (unit, facts) in table.units.iter().enumerate() {
            let Some(facts) = &facts.facts else { continue };
            // A caller whose body lost against another one calls nothing.
            let caller = |place| {
                let node = table.node(unit, place);
                resolution
                    .counts(table, node)
                    .then(|| resolution.target(table, node))
            };
            let target = |place| resolution.target(table, table.node(unit, place));
            let mut signature = |text| {
                let new = symbols + signatures.len() as u32;
                *signatures.entry(text).or_insert(new)
            };
            for &(from, to) in &facts.calls {
                pairs.extend(caller(from).map(|from| (from, target(to))));
            }
            for (from, text) in &facts.indirect {
                pairs.extend(caller(*from).map(|from| (from, signature(text))));
            }
            for (function, text) in &facts.taken {
                let function = target(*function);
                taken.push(function);
                pairs.push((signature(text), function));
            }
        }
        let count = symbols as usize + signatures.len();
        Self {
            edges: Edges::new(count, &pairs),
            taken,
            symbols,
        }
    }

    /// All nodes, those of signatures included.
    pub fn count(&self) -> usize {
        self.edges.count()
    }

    pub fn is_symbol(&self, node: Node) -> bool {
        node < self.symbols
    }

    /// What `roots` reach, with the way there.
    pub fn reach(&self, roots: impl IntoIterator<Item = Node>) -> Reach {
        Reach::new(&self.edges, self.symbols, roots)
    }

    /// What reaches `targets`, with the way there. Later targets do not take nodes from earlier ones.
    pub fn callers_of(&self) -> Callers {
        Callers {
            edges: self.edges.reversed(),
            symbols: self.symbols,
        }
    }

    pub fn calls(&self, node: Node) -> &[Node] {
        self.edges.of(node)
    }

    /// Every node from which a cycle of calls can be reached, by stripping the nodes that call nothing until
    /// none is left.
    pub fn recursive(&self) -> Vec<bool> {
        let callers = self.edges.reversed();
        let mut calls: Vec<u32> = (0..self.count() as u32)
            .map(|node| self.edges.of(node).len() as u32)
            .collect();
        let mut recursive = vec![true; self.count()];
        let mut leaves: Vec<Node> = (0..self.count() as u32)
            .filter(|&node| calls[node as usize] == 0)
            .collect();
        while let Some(leaf) = leaves.pop() {
            recursive[leaf as usize] = false;
            for &caller in callers.of(leaf) {
                let left = &mut calls[caller as usize];
                *left -= 1;
                if *left == 0 {
                    leaves.push(caller);
                }
            }
        }
        recursive
    }
}

/// The callers of each node.
#[derive(Debug)]
pub struct Callers {
    edges: Edges,
    symbols: u32,
}

impl Callers {
    /// All that reach `targets`, each by its shortest way to the first target that it reaches.
    pub fn reach(&self, targets: impl IntoIterator<Item = Node>) -> Reach {
        Reach::new(&self.edges, self.symbols, targets)
    }
}

/// The result of a walk over a graph from several roots, one after the other.
#[derive(Debug)]
pub struct Reach {
    /// The node before each one on its way from a root; a root leads to itself; `NONE` when not reached.
    before: Vec<u32>,
    symbols: u32,
}

impl Reach {
    /// Breadth first from each root in turn, so that a way is the shortest one from the first root that leads
    /// to a node.
    fn new(edges: &Edges, symbols: u32, roots: impl IntoIterator<Item = Node>) -> Self {
        let mut reach = Self {
            before: vec![NONE; edges.count()],
            symbols,
        };
        let mut queue = std::collections::VecDeque::new();
        for root in roots {
            if reach.before[root as usize] != NONE {
                continue;
            }
            reach.before[root as usize] = root;
            queue.push_back(root);
            while let Some(node) = queue.pop_front() {
                for &next in edges.of(node) {
                    if reach.before[next as usize] == NONE {
                        reach.before[next as usize] = node;
                        queue.push_back(next);
                    }
                }
            }
        }
        reach
    }

    pub fn contains(&self, node: Node) -> bool {
        self.before[node as usize] != NONE
    }

    /// The way from a node back to its root, both included, without the nodes of signatures.
    pub fn way(&self, node: Node) -> Vec<Node> {
        let mut way = Vec::new();
        let mut at = node;
        while self.contains(at) {
            if at < self.symbols {
                way.push(at);
            }
            let before = self.before[at as usize];
            if before == at {
                break;
            }
            at = before;
        }
        way
    }
}

/// Kernels, which the host launches, in link order; one for each name.
pub fn kernels(table: &Table<'_>, resolution: &Resolution) -> Vec<Node> {
    table
        .nodes()
        .filter(|&node| {
            let symbol = table.symbol(node);
            symbol.is_kernel() && symbol.is_defined() && resolution.target(table, node) == node
        })
        .collect()
}

/// A name without definition that live code needs.
#[derive(Debug)]
pub struct Missing {
    /// Every image's reference to it.
    pub references: Vec<Node>,
    /// From a kernel (or a function whose address is taken) to it; empty for a variable.
    pub way: Vec<Node>,
    pub live: bool,
}

/// Names that no image defines, but for those that `provided` takes. Variables must be defined whoever reads
/// them; functions when live code calls them, or when anything takes their address.
pub fn missing(
    table: &Table<'_>,
    resolution: &Resolution,
    graph: &CallGraph,
    live: &Reach,
    provided: impl Fn(&str) -> bool,
) -> Vec<Missing> {
    let mut taken = vec![false; table.nodes().len()];
    for &node in &graph.taken {
        taken[node as usize] = true;
    }
    let mut list = Vec::new();
    for id in table.names() {
        if resolution.winner(id).is_some() || provided(table.name(id)) {
            continue;
        }
        let references: Vec<Node> = table.bearers(id).collect();
        let symbols = || references.iter().map(|&node| table.symbol(node));
        if symbols().any(super::facts::Symbol::is_dynamic_shared) {
            continue;
        }
        let is_function = symbols().any(|symbol| symbol.kind == super::facts::Kind::Function);
        let reached = references.iter().copied().find(|&node| live.contains(node));
        list.push(Missing {
            live: !is_function
                || reached.is_some()
                || references.iter().any(|&node| taken[node as usize]),
            way: reached.map(|node| live.way(node)).unwrap_or_default(),
            references,
        });
    }
    debug_assert!(list.iter().all(|missing| {
        missing
            .references
            .iter()
            .all(|&node| table.symbol(node).state == State::Undefined)
    }));
    list
}
