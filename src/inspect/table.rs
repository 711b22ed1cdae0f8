use super::report::{ImageReport, Source};
use super::summary::Row;
use crate::code::{Arch, ImageKind, Kernel, Resources};

/// The tables that a report can be read as. Each row is about one thing; an empty cell is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// One row for each architecture, kind and use.
    Summary,
    Images,
    Kernels,
    /// Kernels and device functions.
    Resources,
    Symbols,
    Sections,
    Relocations,
}

const RESOURCE_COLUMNS: [&str; 12] = [
    "registers",
    "stack",
    "spill_stores",
    "spill_loads",
    "shared",
    "local",
    "constant",
    "barriers",
    "textures",
    "surfaces",
    "samplers",
    "code_bytes",
];

impl View {
    pub fn columns(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Summary => {
                return vec![
                    "input",
                    "arch",
                    "kind",
                    "use",
                    "images",
                    "stored_size",
                    "size",
                    "compression",
                    "versions",
                ];
            }
            Self::Images => &[
                "kind",
                "use",
                "relocatable",
                "compression",
                "stored_size",
                "size",
                "offset",
                "debug",
                "toolkit",
                "tool",
                "ptx_isa",
                "name",
            ],
            Self::Kernels => &[
                "kernel",
                "demangled",
                "binding",
                "params",
                "param_bytes",
                "max_registers",
                "max_threads",
                "required_threads",
                "cluster",
                "max_cluster_rank",
                "min_blocks",
                "uses_grid_sync",
            ],
            Self::Resources => &["function", "demangled", "entry"],
            Self::Symbols => &[
                "symbol",
                "demangled",
                "binding",
                "kind",
                "space",
                "defined",
                "size",
                "section",
                "prototype",
            ],
            Self::Sections => &[
                "index", "name", "type", "flags", "offset", "size", "link", "info", "align",
            ],
            Self::Relocations => &["section", "offset", "type", "symbol", "addend"],
        };
        let mut columns = vec!["input", "image", "arch"];
        columns.extend(own);
        if matches!(self, Self::Kernels | Self::Resources) {
            columns.extend(RESOURCE_COLUMNS);
        }
        columns
    }

    /// The rows of one image. [`View::Summary`] has none: its rows are those of a whole input.
    pub fn rows(self, source: &Source, image: &ImageReport) -> Vec<Vec<String>> {
        let own: Vec<Vec<String>> = match self {
            Self::Summary => return Vec::new(),
            Self::Images => vec![image_cells(image)],
            Self::Kernels => map(&image.kernels, kernel_cells),
            Self::Resources => resource_rows(image),
            Self::Symbols => map(&image.symbols, |symbol| {
                vec![
                    symbol.name.clone(),
                    text(symbol.demangled.as_ref()),
                    symbol.binding.as_str().to_owned(),
                    symbol.kind.as_str().to_owned(),
                    text(symbol.space.map(|space| space.as_str())),
                    symbol.defined.to_string(),
                    symbol.size.to_string(),
                    text(symbol.section.as_ref()),
                    text(symbol.prototype.as_ref()),
                ]
            }),
            Self::Sections => map(&image.sections, |section| {
                vec![
                    section.index.to_string(),
                    section.name.clone(),
                    section.kind.clone(),
                    format!("{:#x}", section.flags),
                    format!("{:#x}", section.offset),
                    section.size.to_string(),
                    section.link.to_string(),
                    format!("{:#x}", section.info),
                    section.align.to_string(),
                ]
            }),
            Self::Relocations => map(&image.relocations, |relocation| {
                vec![
                    relocation.section.to_string(),
                    format!("{:#x}", relocation.offset),
                    relocation.kind.clone(),
                    relocation.symbol.to_string(),
                    text(relocation.addend),
                ]
            }),
        };
        let place = [
            source.path.clone(),
            image.id.clone(),
            arch_name(image.kind, image.arch),
        ];
        own.into_iter()
            .map(|cells| place.iter().cloned().chain(cells).collect())
            .collect()
    }
}

impl Row {
    /// The cells of [`View::Summary`] for an input.
    pub fn cells(&self, source: &Source) -> Vec<String> {
        let compressions: Vec<&str> = self.compressions.iter().map(|c| c.as_str()).collect();
        let versions = self.versions.iter();
        let versions: Vec<String> = versions.map(|(a, b)| format!("{a}.{b}")).collect();
        vec![
            source.path.clone(),
            arch_name(self.kind, self.arch),
            self.kind.as_str().to_owned(),
            self.loadable.as_str().to_owned(),
            self.images.to_string(),
            self.stored.to_string(),
            self.size.to_string(),
            compressions.join(" "),
            versions.join(" "),
        ]
    }
}

/// `sm_90` for machine code, `compute_90` for what is compiled later, nothing when unknown.
pub fn arch_name(kind: ImageKind, arch: Option<Arch>) -> String {
    match (arch, kind) {
        (None, _) => String::new(),
        (Some(arch), ImageKind::Ptx) => arch.compute(),
        (Some(arch), ImageKind::LtoIr) => format!("lto_{}", arch.bare()),
        (Some(arch), _) => arch.to_string(),
    }
}

fn map<T>(list: &Option<Vec<T>>, cells: impl Fn(&T) -> Vec<String>) -> Vec<Vec<String>> {
    list.iter().flatten().map(cells).collect()
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn image_cells(image: &ImageReport) -> Vec<String> {
    vec![
        image.kind.as_str().to_owned(),
        image.loadable.as_str().to_owned(),
        text(image.relocatable),
        image.compression.as_str().to_owned(),
        image.stored_size.to_string(),
        image.size.to_string(),
        format!("{:#x}", image.offset),
        image.debug.to_string(),
        text(image.producer.toolkit.as_ref()),
        text(image.producer.tool.as_ref()),
        text(image.producer.ptx_isa.as_ref()),
        text(image.name.as_ref()),
    ]
}

fn kernel_cells(kernel: &Kernel) -> Vec<String> {
    let mut cells = vec![
        kernel.name.clone(),
        text(kernel.demangled.as_ref()),
        kernel.binding.as_str().to_owned(),
        kernel.params.len().to_string(),
        kernel.param_bytes.to_string(),
        text(kernel.max_registers),
        text(kernel.max_threads.map(shape)),
        text(kernel.required_threads.map(shape)),
        text(kernel.cluster.map(shape)),
        text(kernel.max_cluster_rank),
        text(kernel.min_blocks),
        text(kernel.uses_grid_sync),
    ];
    cells.extend(resource_cells(&kernel.resources));
    cells
}

/// Kernels and device functions in the order of the file.
fn resource_rows(image: &ImageReport) -> Vec<Vec<String>> {
    image
        .in_file_order()
        .into_iter()
        .map(|function| {
            let mut cells = vec![
                function.name.to_owned(),
                text(function.demangled),
                function.is_kernel.to_string(),
            ];
            cells.extend(resource_cells(function.resources));
            cells
        })
        .collect()
}

fn resource_cells(resources: &Resources) -> Vec<String> {
    vec![
        text(resources.registers),
        text(resources.stack),
        text(resources.spills.map(|spills| spills.stores)),
        text(resources.spills.map(|spills| spills.loads)),
        text(resources.shared),
        text(resources.local),
        text(resources.constant.as_ref().map(banks)),
        text(resources.barriers),
        text(resources.textures),
        text(resources.surfaces),
        text(resources.samplers),
        text(resources.code_bytes),
    ]
}

/// `0:536 2:16`: bytes of each bank.
fn banks(constant: &std::collections::BTreeMap<u8, u64>) -> String {
    let banks: Vec<String> = constant
        .iter()
        .map(|(bank, bytes)| format!("{bank}:{bytes}"))
        .collect();
    banks.join(" ")
}

/// `128x1x1`.
pub fn shape(dimensions: [u32; 3]) -> String {
    let [x, y, z] = dimensions;
    format!("{x}x{y}x{z}")
}

/// One CSV line (RFC 4180).
pub fn csv_line<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| {
            let cell = cell.as_ref();
            if cell.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.to_owned()
            }
        })
        .collect();
    cells.join(",") + "\n"
}

/// One line of a Markdown table.
pub fn markdown_line<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| {
            let one_line = cell.as_ref().replace(['\n', '\r'], " ");
            one_line
                .replace('\\', "\\\\")
                .replace('|', "\\|")
                .replace('<', "\\<")
        })
        .collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(
            csv_line(&["a", "f(int, int)", "\"x\""]),
            "a,\"f(int, int)\",\"\"\"x\"\"\"\n"
        );
        assert_eq!(markdown_line(&["a|b", "f<int>"]), "| a\\|b | f\\<int> |\n");
    }
}
