//! What one name means in the whole link: whether its bearers agree, and which definition wins. The rules were
//! measured on nvlink and nvJitLink 11.8 to 13.5, sm_75 to sm_120.

use std::collections::BTreeMap;

use super::collect::Findings;
use super::facts::{KernelFacts, Kind, State, Symbol};
use super::prototype;
use super::table::{NameId, Node, Table};
use crate::code::Space;
use crate::error::Diagnostic;
use crate::link::findings;

/// Which definitions a link takes.
#[derive(Debug)]
pub struct Resolution {
    /// For each name the definition that wins, if there is one.
    winners: Vec<Option<Node>>,
    /// For each node, whether it is a definition whose calls count.
    adopted: Vec<bool>,
}

impl Resolution {
    pub fn new(table: &Table<'_>) -> Self {
        let mut resolution = Self {
            winners: Vec::new(),
            adopted: vec![false; table.nodes().len()],
        };
        for id in table.names() {
            let winner = winner(table, id);
            resolution.winners.push(winner);
            resolution.adopt(table, id);
        }
        resolution
    }

    /// A linker takes up a body when it is the first of its name, and again when a strong one comes after a
    /// weak one. What a replaced weak body calls still counts as needed.
    fn adopt(&mut self, table: &Table<'_>, id: NameId) {
        let mut current: Option<State> = None;
        for node in table.bearers(id) {
            let state = table.symbol(node).state;
            if state == State::Undefined {
                continue;
            }
            if current.is_none() || (current == Some(State::Weak) && state == State::Strong) {
                self.adopted[node as usize] = true;
                current = Some(state);
            }
        }
    }

    pub fn winner(&self, id: NameId) -> Option<Node> {
        self.winners[id as usize]
    }

    /// The node that stands for this one after the link: the winner of its name, or itself.
    pub fn target(&self, table: &Table<'_>, node: Node) -> Node {
        table
            .name_of(node)
            .and_then(|id| self.winner(id))
            .unwrap_or(node)
    }

    /// Whether what this node calls counts: it is static, or a definition that was taken up.
    pub fn counts(&self, table: &Table<'_>, node: Node) -> bool {
        table.name_of(node).is_none() || self.adopted[node as usize]
    }
}

/// The first strong definition, else the largest common one, else the first weak one.
fn winner(table: &Table<'_>, id: NameId) -> Option<Node> {
    let of = |state| {
        table
            .bearers(id)
            .filter(move |&node| table.symbol(node).state == state)
    };
    let largest =
        || of(State::Common).max_by_key(|&node| (table.symbol(node).size, std::cmp::Reverse(node)));
    of(State::Strong)
        .next()
        .or_else(largest)
        .or_else(|| of(State::Weak).next())
}

/// Everything that is wrong with names which several images share.
pub fn conflicts(table: &Table<'_>, findings: &mut Findings) {
    let mut nodes = Vec::new();
    let mut other_bodies = Vec::new();
    for id in table.names() {
        nodes.clear();
        nodes.extend(table.bearers(id));
        if nodes.len() < 2 {
            continue;
        }
        let name = Name {
            table,
            nodes: &nodes,
            name: table.name(id),
        };
        name.judge(findings);
        other_bodies.extend(name.other_bodies());
    }
    findings.extend(weak_bodies(table, &other_bodies));
}

/// One note for all functions of which the first body is taken while another input has another one: pairs of
/// the one that is taken and one that differs. It is legal, and so common that nobody wants a note for each.
fn weak_bodies(table: &Table<'_>, differing: &[(Node, Node)]) -> Option<Diagnostic> {
    const SHOWN: usize = 10;
    let &(taken, other) = differing.first()?;
    let mut finding = findings::weak_bodies(differing.len(), &table.symbol(taken).name);
    for &(taken, other) in differing.iter().take(SHOWN) {
        let [here, there] = [taken, other].map(|node| table.unit(node).name);
        let readable = table.readable(taken);
        finding = finding.detail(format!(
            "`{readable}` is taken from {here}; {there} has another"
        ));
    }
    if differing.len() > SHOWN {
        finding = finding.detail(format!("and {} more", differing.len() - SHOWN));
    }
    Some(with_inputs(table, finding, &[taken, other]))
}

/// A name that several images bear.
struct Name<'t, 'c> {
    table: &'t Table<'c>,
    nodes: &'t [Node],
    name: &'c str,
}

impl<'c> Name<'_, 'c> {
    fn symbols(&self) -> impl Iterator<Item = (Node, &'c Symbol)> {
        self.nodes
            .iter()
            .map(|&node| (node, self.table.symbol(node)))
    }

    fn with_state(&self, state: State) -> impl Iterator<Item = (Node, &'c Symbol)> {
        self.symbols()
            .filter(move |(_, symbol)| symbol.state == state)
    }

    fn judge(&self, found: &mut Findings) {
        if let Some(finding) = self.kinds() {
            // Sizes and signatures of different things need no comparison.
            found.add(finding);
            return;
        }
        found.extend(self.duplicates());
        if self.symbols().any(|(_, symbol)| symbol.is_variable()) {
            let sizes = self.sizes();
            if sizes.is_none() {
                found.extend(self.initial_values());
            }
            found.extend(sizes);
        } else {
            found.extend(self.prototypes());
            found.extend(self.parameters());
        }
    }

    fn unit(&self, node: Node) -> &'c str {
        self.table.unit(node).name
    }

    /// A finding about all nodes that have a value, those of one value together: every input is named, and
    /// each value gets a line that says which inputs have it.
    fn differing<K: Ord>(
        &self,
        finding: Diagnostic,
        value: impl Fn(&'c Symbol) -> Option<K>,
        words: impl Fn(&K) -> String,
    ) -> Option<Diagnostic> {
        const SHOWN: usize = 8;
        let mut groups: BTreeMap<K, Vec<Node>> = BTreeMap::new();
        for (node, symbol) in self.symbols() {
            if let Some(value) = value(symbol) {
                groups.entry(value).or_default().push(node);
            }
        }
        if groups.len() < 2 {
            return None;
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, nodes)| nodes[0]);
        let mut finding = finding;
        for (value, nodes) in groups.iter().take(SHOWN) {
            finding = finding.detail(format!("{}: {}", self.roles(nodes), words(value)));
        }
        if groups.len() > SHOWN {
            finding = finding.detail(format!("and {} more", groups.len() - SHOWN));
        }
        let mut all: Vec<Node> = groups.into_iter().flat_map(|(_, nodes)| nodes).collect();
        all.sort_unstable();
        Some(with_inputs(self.table, finding, &all))
    }

    /// `defined in a.o, declared in b.o and 3 more`.
    fn roles(&self, nodes: &[Node]) -> String {
        const SHOWN: usize = 4;
        let mut words: Vec<String> = nodes
            .iter()
            .take(SHOWN)
            .map(|&node| {
                let role = match self.table.symbol(node).state {
                    State::Undefined => "declared in",
                    State::Common => "common in",
                    State::Weak => "weak in",
                    State::Strong => "defined in",
                };
                format!("{role} {}", self.unit(node))
            })
            .collect();
        if nodes.len() > SHOWN {
            words.push(format!("and {} more", nodes.len() - SHOWN));
        }
        words.join(", ")
    }

    fn kinds(&self) -> Option<Diagnostic> {
        let finding = findings::kind_mismatch(self.name);
        self.differing(
            finding,
            |symbol| match symbol.kind {
                Kind::Unknown => None,
                Kind::Kernel => Some("kernel".to_owned()),
                Kind::Function => Some("device function".to_owned()),
                Kind::Variable(space) => Some(variable(space, symbol.managed)),
            },
            String::clone,
        )
    }

    fn duplicates(&self) -> Option<Diagnostic> {
        let strong: Vec<Node> = self
            .with_state(State::Strong)
            .map(|(node, _)| node)
            .collect();
        if strong.len() < 2 {
            return None;
        }
        let mut finding = findings::duplicate_symbol(self.name)
            .hint("link one of them alone, or make it `static` or `inline`");
        if let Some(equal) = self.are_equal(&strong) {
            let word = if equal { "equal" } else { "different" };
            finding = finding.detail(format!("the definitions are {word}"));
        }
        Some(with_inputs(self.table, finding, &strong))
    }

    /// Whether all these definitions have the same content; `None` when that cannot be told.
    fn are_equal(&self, nodes: &[Node]) -> Option<bool> {
        let (first, others) = nodes.split_first()?;
        let content = |node: &Node| self.table.symbol(*node).content;
        let first = content(first)?;
        let mut all = Some(true);
        for node in others {
            match first.equals(content(node)?) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    }

    fn prototypes(&self) -> Option<Diagnostic> {
        let finding = findings::prototype_mismatch(self.name);
        self.differing(
            finding,
            |symbol| symbol.prototype.as_deref().filter(|_| !symbol.is_kernel()),
            |text| format!("{} (`{text}`)", prototype::in_words(text)),
        )
    }

    /// Sizes must be equal where they are said; common definitions may grow.
    fn sizes(&self) -> Option<Diagnostic> {
        let commons = self
            .with_state(State::Common)
            .map(|(_, symbol)| symbol.size);
        let common = commons.max();
        let of = |state| {
            self.with_state(state)
                .map(|(_, symbol)| symbol.size)
                .filter(|&size| size > 0)
        };
        let strong = self
            .with_state(State::Strong)
            .next()
            .map(|(_, symbol)| symbol);
        let tolerated = match (common, strong) {
            // Commons alone: the largest wins.
            (Some(_), None) if of(State::Weak).chain(of(State::Undefined)).next().is_none() => true,
            // A smaller common gives way to a definition with a value.
            (Some(common), Some(strong)) if strong.initialised && common <= strong.size => {
                of(State::Weak)
                    .chain(of(State::Undefined))
                    .all(|size| size == strong.size)
            }
            _ => false,
        };
        if tolerated {
            return None;
        }
        let finding = findings::size_mismatch(self.name);
        self.differing(
            finding,
            |symbol| Some(symbol.size).filter(|&size| size > 0),
            |size| format!("{size} bytes"),
        )
    }

    /// Of functions with several weak definitions the first is taken: it, and the first that differs from it.
    fn other_bodies(&self) -> Option<(Node, Node)> {
        let mut weak = self
            .with_state(State::Weak)
            .filter(|(_, symbol)| symbol.is_code());
        let (taken, first) = weak.next()?;
        if self.with_state(State::Strong).next().is_some() {
            return None;
        }
        let content = first.content?;
        let (other, _) = weak.find(|(_, symbol)| {
            let other = symbol.content;
            other.is_some_and(|other| content.equals(other) == Some(false))
        })?;
        Some((taken, other))
    }

    /// Of weak variables the first is taken with its value, whatever values the others have.
    fn initial_values(&self) -> Option<Diagnostic> {
        let weak: Vec<Node> = self.with_state(State::Weak).map(|(node, _)| node).collect();
        (self.are_equal(&weak) == Some(false)).then(|| {
            let finding = findings::initial_values(self.name)
                .detail(format!("the one in {} is taken", self.unit(weak[0])));
            with_inputs(self.table, finding, &weak)
        })
    }

    /// Of kernels with several weak definitions the first is taken, whatever the others need at a launch.
    fn parameters(&self) -> Option<Diagnostic> {
        fn kernel(symbol: &Symbol) -> Option<&KernelFacts> {
            symbol.kernel.as_deref().filter(|_| symbol.is_defined())
        }
        let sizes = self.differing(
            findings::parameter_mismatch(self.name),
            |symbol| kernel(symbol).map(|kernel| kernel.param_bytes),
            |bytes| format!("{bytes} bytes of parameters"),
        );
        sizes.or_else(|| {
            self.differing(
                findings::launch_mismatch(self.name),
                |symbol| kernel(symbol).map(KernelFacts::in_words),
                String::clone,
            )
        })
    }
}

fn variable(space: Option<Space>, managed: bool) -> String {
    let managed = if managed { "managed " } else { "" };
    match space {
        Some(space) => format!("{managed}variable in {} memory", space.as_str()),
        None => format!("{managed}variable"),
    }
}

/// Adds the images of `nodes` as the inputs of a finding, each once.
pub fn with_inputs(table: &Table<'_>, mut finding: Diagnostic, nodes: &[Node]) -> Diagnostic {
    const MOST: usize = 1000;
    let mut last = None;
    let mut units: Vec<usize> = nodes.iter().map(|&node| table.unit_index(node)).collect();
    units.retain(|&unit| last.replace(unit) != Some(unit));
    for &unit in units.iter().take(MOST) {
        finding = finding.input(table.units[unit].name);
    }
    if units.len() > MOST {
        finding = finding.detail(format!("and {} more inputs", units.len() - MOST));
    }
    finding
}
