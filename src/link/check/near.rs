//! Who nearly defines what a link lacks: hints for an undefined symbol.

use std::cell::Cell;
use std::collections::HashMap;

use super::names::{is_in_devrt, provided_since};
use super::resolve::Resolution;
use super::table::{Node, Table};
use crate::code::demangled;
use crate::error::Diagnostic;
use crate::toolkit::Version;

/// A definition that the link cannot use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// As mangled in the file.
    pub symbol: String,
    /// As messages call it.
    pub place: String,
    pub why: Why,
}

/// What keeps a definition out of the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It is for another architecture, as it is spelt: `sm_80`.
    OtherArch(String),
    /// It was compiled without relocatable device code.
    NotRelocatable,
    /// It is a function of the host.
    HostOnly,
    /// It lies in a library that was not given, to be given as this option.
    NotGiven(String),
}

/// An index of everything that could be meant by an undefined name. Building it takes longer than the check
/// itself, so it is only made for a link that fails.
#[derive(Debug)]
pub struct Near<'t, 'c> {
    table: &'t Table<'c>,
    /// Defined functions and variables by their name without parameters.
    by_base: HashMap<String, Vec<Node>>,
    elsewhere: HashMap<&'t str, Vec<&'t Elsewhere>>,
    /// How many more names may be compared with all others.
    guesses_left: Cell<usize>,
}

/// A name is compared with every other one, so a link that lacks thousands gets guesses for the first alone.
const MOST_GUESSES: usize = 20;

impl<'t, 'c> Near<'t, 'c> {
    pub fn new(table: &'t Table<'c>, resolution: &Resolution, elsewhere: &'t [Elsewhere]) -> Self {
        let mut near = Self {
            table,
            by_base: HashMap::new(),
            elsewhere: HashMap::new(),
            guesses_left: Cell::new(MOST_GUESSES),
        };
        for node in table.nodes() {
            let symbol = table.symbol(node);
            if symbol.is_defined() && resolution.target(table, node) == node {
                near.by_base
                    .entry(base(&symbol.name))
                    .or_default()
                    .push(node);
            }
        }
        for found in elsewhere {
            near.elsewhere.entry(&found.symbol).or_default().push(found);
        }
        near
    }

    /// Adds to a finding about `name` what else it could be. The surest come first, and guesses only where
    /// nothing is sure.
    pub fn add_hints(&self, mut finding: Diagnostic, name: &str, linker: Version) -> Diagnostic {
        const MOST: usize = 3;
        let mut hints: Vec<String> = known(name, linker).into_iter().collect();
        let elsewhere = self.elsewhere.get(name).into_iter().flatten();
        hints.extend(elsewhere.map(|found| found.hint()));
        let base = base(name);
        let mut same_base = self.by_base.get(&base).cloned().unwrap_or_default();
        // Those of the same parameters first.
        let wanted = public(name);
        same_base.sort_by_key(|&node| public(&self.table.symbol(node).name) != wanted);
        let same_base = same_base.into_iter().take(MOST);
        hints.extend(same_base.map(|node| self.same_base(node, name)));
        if hints.is_empty() {
            hints.extend(self.similar(&base).map(|node| {
                let (readable, unit) = (self.table.readable(node), self.table.unit(node).name);
                format!("`{readable}`, which {unit} defines, has a similar name")
            }));
        }
        hints.dedup();
        for hint in hints.into_iter().take(MOST) {
            finding = finding.hint(hint);
        }
        finding
    }

    /// `node` has the same name, but for parameters or visibility.
    fn same_base(&self, node: Node, name: &str) -> String {
        let symbol = self.table.symbol(node);
        let (readable, unit) = (public(&symbol.name), self.table.unit(node).name);
        if symbol.is_static && symbol.name.contains("_GLOBAL__N_") {
            return format!(
                "{unit} has `{readable}` in an unnamed namespace: take it out to let other inputs use it"
            );
        }
        if symbol.is_static {
            return format!(
                "{unit} has a static `{readable}`: drop `static` to let other inputs use it"
            );
        }
        let is_mangled = |name: &str| demangled(name).is_some();
        if is_mangled(&symbol.name) != is_mangled(name) {
            return format!(
                "{unit} defines `{}`: declare both `extern \"C\"`, or neither",
                symbol.name
            );
        }
        format!("{unit} defines `{readable}`: give both the same signature")
    }

    /// The defined name closest to `base`, if it is close.
    fn similar(&self, base: &str) -> Option<Node> {
        self.guesses_left
            .set(self.guesses_left.get().checked_sub(1)?);
        let most = match base.chars().count() {
            0..4 => return None,
            4..8 => 1,
            _ => 2,
        };
        let distances = self
            .by_base
            .iter()
            .filter_map(|(other, nodes)| Some((distance(base, other, most)?, nodes[0])));
        distances.min().map(|(_, node)| node)
    }
}

impl Elsewhere {
    fn hint(&self) -> String {
        let place = &self.place;
        match &self.why {
            Why::OtherArch(arch) => {
                format!("{place} defines it for {arch} alone: build it for the target as well")
            }
            Why::NotRelocatable => {
                format!("{place} defines it, but was compiled without `-rdc=true`")
            }
            Why::HostOnly => {
                format!("{place} defines it for the host alone: mark it `__device__`")
            }
            Why::NotGiven(option) => format!("{place} defines it: add `{option}`"),
        }
    }
}

/// What is known of a name that no input of any link defines by itself.
fn known(name: &str, linker: Version) -> Option<String> {
    if let Some(since) = provided_since(name) {
        return Some(format!(
            "linkers of CUDA {since} and later provide it; this one is {}",
            linker.release()
        ));
    }
    is_in_devrt(name).then(|| "link libcudadevrt as well: add `-l cudadevrt`".to_owned())
}

/// The readable name as it would be without `static` and unnamed namespaces, for which compilers put the function
/// into scopes of its file: `f(int)` for `_INTERNAL_26ea21ef_4_a_cu::f(int)`.
fn public(name: &str) -> String {
    let text = demangled(name).unwrap_or_else(|| name.to_owned());
    ["_INTERNAL_", "_GLOBAL__N_", "(anonymous namespace)"]
        .iter()
        .fold(text, |text, scope| without_scope(&text, scope))
}

/// `text` without the scopes that start with `start`.
fn without_scope(text: &str, start: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(start)
        && let Some(end) = rest[at..].find("::")
    {
        out.push_str(&rest[..at]);
        rest = &rest[at + end + 2..];
    }
    out + rest
}

/// [`public`] without parameters, return type and template arguments: `ns::f` for `int ns::f<float>(float)`.
fn base(name: &str) -> String {
    let text = public(name);
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            ' ' if depth == 0 => out.clear(),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    if out.is_empty() { text } else { out }
}

/// The number of letters to insert, drop or change, if it is at most `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        let mut least = row[0];
        for (j, right) in b.iter().enumerate() {
            let change = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
            least = least.min(row[j + 1]);
        }
        if least > most {
            return None;
        }
    }
    row.last().copied().filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_names() {
        for (name, wanted) in [
            ("f", "f"),
            ("_Z1fi", "f"),
            ("_ZN2ns1fIfEEiT_", "ns::f"),
            ("_ZN12_GLOBAL__N_11gEi", "g"),
            ("_ZN39_INTERNAL_26ea21ef_10_my_file_cu__Z1kPi2sfEi", "sf"),
            (
                "_ZN34_INTERNAL_a87f052c_4_a_cu_db3d90f636_GLOBAL__N__a87f052c_4_a_cu_db3d90f66hiddenEi",
                "hidden",
            ),
            ("_INTERNAL_", "_INTERNAL_"),
        ] {
            assert_eq!(base(name), wanted, "{name}");
        }
    }

    #[test]
    fn distances() {
        assert_eq!(distance("axpy", "axpy", 2), Some(0));
        assert_eq!(distance("axpy", "saxpy", 1), Some(1));
        assert_eq!(distance("reduce_sum", "reduce_smu", 2), Some(2));
        assert_eq!(distance("reduce_sum", "reduce_max", 2), None);
        assert_eq!(distance("a", "abcdef", 2), None);
    }
}
