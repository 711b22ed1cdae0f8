use crate::code::{ImageKind, Kernel, Loadable, Resources};
use crate::error::{Diagnostic, Result};
use crate::inspect::{
    Detail, ImageReport, Request, Row, Sink, Source, Summary, View, arch_name, resource_usage,
    shape,
};
use crate::ui::table::{Table, human_bytes, wrap};
use crate::ui::{Printer, sanitize};

/// The report for people: a summary, or the details asked for, image by image.
pub(super) struct TextSink<'a> {
    printer: Printer,
    views: &'a [View],
    request: &'a Request,
    source: Option<Source>,
    summary: Summary,
    images: Table,
}

impl<'a> TextSink<'a> {
    pub(super) fn new(printer: Printer, views: &'a [View], request: &'a Request) -> Self {
        Self {
            printer,
            views,
            request,
            source: None,
            summary: Summary::default(),
            images: images_table(),
        }
    }

    fn print(&self, table: &Table) -> Result<()> {
        const INDENT: &str = "  ";
        let width = self.printer.width() - INDENT.len();
        let mut out = String::new();
        for line in table.render_within(width).lines() {
            out.push_str(format!("{INDENT}{line}").trim_end());
            out.push('\n');
        }
        self.printer.data(out)
    }

    /// One line, broken where it is too long.
    fn line(&self, indent: &str, text: &str) -> Result<()> {
        let text = sanitize(text);
        let mut out = String::new();
        for (index, piece) in wrap(&text, self.printer.width() - indent.len() - 2)
            .into_iter()
            .enumerate()
        {
            let more = if index > 0 { "  " } else { "" };
            out.push_str(&format!("{indent}{more}{piece}\n"));
        }
        self.printer.data(out)
    }

    fn detail(&self, image: &ImageReport, view: View) -> Result<()> {
        match view {
            View::Summary | View::Images => Ok(()),
            View::Kernels => self.kernels(image),
            View::Resources => self.resources(image),
            View::Symbols => self.symbols(image),
            View::Sections => self.sections(image),
            View::Relocations => self.relocations(image),
        }
    }

    fn kernels(&self, image: &ImageReport) -> Result<()> {
        let Some(kernels) = &image.kernels else {
            return Ok(());
        };
        if kernels.is_empty() {
            return self.line("  ", "no kernels");
        }
        let mut table = Table::new([
            ">regs", ">stack", ">spill", ">shared", ">param", ">code", "kernel",
        ]);
        for kernel in kernels {
            let resources = &kernel.resources;
            table.row([
                number(resources.registers),
                number(resources.stack),
                number(resources.spills.map(|spills| spills.stores + spills.loads)),
                number(resources.shared),
                kernel.param_bytes.to_string(),
                number(resources.code_bytes),
                kernel.demangled.as_ref().unwrap_or(&kernel.name).clone(),
            ]);
            if kernel.demangled.is_some() {
                table.row(below(&kernel.name));
            }
            let more = remarks(kernel);
            if !more.is_empty() {
                table.row(below(&more));
            }
        }
        self.print(&table)
    }

    fn resources(&self, image: &ImageReport) -> Result<()> {
        if image.common.is_none() {
            return Ok(());
        }
        let lines = resource_usage(image);
        let lines = lines.iter().map(|line| format!("{}\n", sanitize(line)));
        self.printer.data(lines.collect::<String>())
    }

    fn symbols(&self, image: &ImageReport) -> Result<()> {
        let Some(symbols) = &image.symbols else {
            return Ok(());
        };
        let mut table = Table::new(["binding", "kind", "space", "", ">size", "symbol"]);
        for symbol in symbols {
            table.row([
                symbol.binding.as_str().to_owned(),
                symbol.kind.as_str().to_owned(),
                symbol.space.map_or("-", |space| space.as_str()).to_owned(),
                if symbol.defined { "" } else { "undefined" }.to_owned(),
                symbol.size.to_string(),
                symbol.demangled.as_ref().unwrap_or(&symbol.name).clone(),
            ]);
            if symbol.demangled.is_some() {
                let cells = ["", "", "", "", ""].map(str::to_owned);
                table.row(cells.into_iter().chain([symbol.name.clone()]));
            }
        }
        self.print(&table)
    }

    fn sections(&self, image: &ImageReport) -> Result<()> {
        let Some(sections) = &image.sections else {
            return Ok(());
        };
        let columns = [
            ">index", "type", ">offset", ">size", ">flags", ">link", ">info", "name",
        ];
        let mut table = Table::new(columns);
        for section in sections {
            table.row([
                section.index.to_string(),
                section.kind.clone(),
                format!("{:#x}", section.offset),
                section.size.to_string(),
                format!("{:#x}", section.flags),
                section.link.to_string(),
                format!("{:#x}", section.info),
                section.name.clone(),
            ]);
        }
        self.print(&table)
    }

    fn relocations(&self, image: &ImageReport) -> Result<()> {
        let relocations = image.relocations.iter().flatten();
        let mut current = None;
        let mut table = relocation_table();
        for relocation in relocations {
            if current != Some(&relocation.section) {
                self.print_unless_empty(&table)?;
                table = relocation_table();
                self.line("  ", &relocation.section)?;
                current = Some(&relocation.section);
            }
            let symbol = match relocation.addend {
                None | Some(0) => relocation.symbol.to_string(),
                Some(addend) => {
                    let sign = if addend < 0 { '-' } else { '+' };
                    format!("{} {sign} {:#x}", relocation.symbol, addend.unsigned_abs())
                }
            };
            table.row([
                format!("{:#x}", relocation.offset),
                relocation.kind.clone(),
                symbol,
            ]);
        }
        self.print_unless_empty(&table)
    }

    fn print_unless_empty(&self, table: &Table) -> Result<()> {
        if table.is_empty() {
            return Ok(());
        }
        self.print(table)
    }

    /// Details of images stand alone, unless all were asked for.
    fn shows_summary(&self) -> bool {
        self.views.is_empty() || self.request.detail == Detail::ALL
    }
}

impl Sink for TextSink<'_> {
    fn source(&mut self, source: &Source) -> Result<()> {
        let mut line = format!("{}: {}", source.path, source.kind);
        if !source.format.is_empty() {
            line.push_str(&format!(", {}", source.format));
        }
        line.push_str(&format!(", {}", human_bytes(source.size)));
        self.source = Some(source.clone());
        self.summary = Summary::default();
        self.images = images_table();
        self.line("", &line)
    }

    fn image(&mut self, image: ImageReport) -> Result<()> {
        self.summary.add(&image);
        if self.views.contains(&View::Images) {
            let path = self.source.as_ref().map_or("", |source| &source.path);
            self.images.row(image_row(&image, path));
        }
        if self.views.iter().any(|&view| view != View::Images) {
            self.line("", &format!("{}: {}", image.id, what(&image)))?;
        }
        self.views
            .iter()
            .try_for_each(|&view| self.detail(&image, view))
    }

    fn end(&mut self, _: Vec<Diagnostic>) -> Result<()> {
        self.print_unless_empty(&self.images)?;
        let Some(source) = self.source.take().filter(|_| self.shows_summary()) else {
            return Ok(());
        };
        self.print_unless_empty(&summary_table(&self.summary))?;
        let whole = self.request.selection == Default::default();
        for note in self.summary.notes(source.kind) {
            // A part of the images does not tell what the whole can do.
            if whole {
                self.line("  ", &format!("note: {note}"))?;
            }
        }
        Ok(())
    }
}

fn images_table() -> Table {
    Table::new([
        "arch",
        "kind",
        "use",
        ">stored",
        ">unpacked",
        "codec",
        "version",
        "image",
    ])
}

fn relocation_table() -> Table {
    Table::new([">offset", "type", "symbol"])
}

fn summary_table(summary: &Summary) -> Table {
    let mut table = Table::new([
        "arch",
        "kind",
        "use",
        ">images",
        ">stored",
        ">unpacked",
        "codec",
        "version",
    ]);
    for row in summary.rows() {
        let compressions: Vec<&str> = row
            .compressions
            .iter()
            .map(|codec| codec.as_str())
            .collect();
        table.row([
            arch_name(row.kind, row.arch),
            row.kind.as_str().to_owned(),
            usable(row.loadable, row.kind).to_owned(),
            row.images.to_string(),
            human_bytes(row.stored),
            human_bytes(row.size),
            compressions.join("+"),
            versions(row),
        ]);
    }
    table
}

/// `13.5`, or the oldest and the newest: `7.0-9.0`.
fn versions(row: &Row) -> String {
    let text = |(major, minor): &(u16, u16)| format!("{major}.{minor}");
    match (row.versions.first(), row.versions.last()) {
        (Some(first), Some(last)) if first != last => format!("{}-{}", text(first), text(last)),
        (Some(first), _) => text(first),
        (None, _) => "-".to_owned(),
    }
}

fn usable(loadable: Loadable, kind: ImageKind) -> &'static str {
    match (loadable, kind) {
        (Loadable::Yes, _) => "loadable",
        (Loadable::RelocatableOnly, _) => "linkable",
        (Loadable::Unregistered, _) => "unknown",
        (Loadable::No, ImageKind::LtoIr | ImageKind::NvvmIr) => "linkable",
        (Loadable::No, _) => "-",
    }
}

fn image_row(image: &ImageReport, path: &str) -> [String; 8] {
    let mut summary = Summary::default();
    summary.add(image);
    let version = summary.rows().next().map_or(String::new(), versions);
    let short = image
        .id
        .strip_prefix(path)
        .map(|rest| rest.trim_start_matches(':'));
    let mut id = short
        .filter(|id| !id.is_empty())
        .unwrap_or(&image.id)
        .to_owned();
    if let Some(name) = &image.name {
        id.push_str(&format!(" ({name})"));
    }
    [
        arch_name(image.kind, image.arch),
        image.kind.as_str().to_owned(),
        usable(image.loadable, image.kind).to_owned(),
        human_bytes(image.stored_size),
        human_bytes(image.size),
        image.compression.as_str().to_owned(),
        version,
        id,
    ]
}

/// `sm_90 cubin, relocatable, 12 kernels, by ptxas of CUDA 13.5`
fn what(image: &ImageReport) -> String {
    let kind = match image.kind_number {
        Some(number) => format!("kind {number}"),
        None => image.kind.as_str().to_owned(),
    };
    let arch = arch_name(image.kind, image.arch);
    let mut parts = vec![format!("{arch} {kind}").trim().to_owned()];
    if image.relocatable == Some(true) {
        parts.push("relocatable".to_owned());
    }
    if image.debug {
        parts.push("with debug information".to_owned());
    }
    let producer = &image.producer;
    let toolkit = producer
        .toolkit
        .as_ref()
        .map(|release| format!("CUDA {release}"));
    parts.extend(match (&producer.tool, toolkit) {
        (Some(tool), Some(toolkit)) => Some(format!("by {tool} of {toolkit}")),
        (Some(tool), None) => Some(format!("by {tool}")),
        (None, Some(toolkit)) => Some(format!("by {toolkit}")),
        (None, None) => None,
    });
    parts.extend(producer.ptx_isa.as_ref().map(|isa| format!("PTX {isa}")));
    parts.join(", ")
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

/// A row of the kernel table that only continues the name column.
fn below(text: &str) -> [String; 7] {
    let mut cells = [const { String::new() }; 7];
    text.clone_into(&mut cells[6]);
    cells
}

/// What else there is to know of a kernel, if it is out of the ordinary.
fn remarks(kernel: &Kernel) -> String {
    let mut out = Vec::new();
    let Resources {
        local,
        constant,
        barriers,
        textures,
        surfaces,
        samplers,
        ..
    } = &kernel.resources;
    let counts = [
        (*barriers, "barriers"),
        (*textures, "textures"),
        (*surfaces, "surfaces"),
        (*samplers, "samplers"),
    ];
    out.extend(
        kernel
            .max_threads
            .map(|block| format!("block up to {}", shape(block))),
    );
    out.extend(
        kernel
            .required_threads
            .map(|block| format!("block {}", shape(block))),
    );
    out.extend(
        kernel
            .cluster
            .map(|cluster| format!("cluster {}", shape(cluster))),
    );
    if kernel.explicit_cluster && kernel.cluster.is_none() {
        out.push("needs a cluster shape".to_owned());
    }
    out.extend(
        kernel
            .max_cluster_rank
            .map(|rank| format!("cluster up to {rank} blocks")),
    );
    if kernel.blocks_are_clusters {
        out.push("grid counts clusters".to_owned());
    }
    out.extend(
        kernel
            .min_blocks
            .map(|blocks| format!("{blocks} blocks a multiprocessor")),
    );
    out.extend(
        kernel
            .max_registers
            .map(|cap| format!("register cap {cap}")),
    );
    if kernel.uses_grid_sync == Some(true) {
        out.push("synchronises the grid".to_owned());
    }
    for (count, what) in counts {
        let count = count.filter(|&count| count > 0);
        out.extend(count.map(|count| format!("{what} {count}")));
    }
    out.extend(
        local
            .filter(|&bytes| bytes > 0)
            .map(|bytes| format!("{bytes} bytes local")),
    );
    for (bank, bytes) in constant.iter().flatten().filter(|(bank, _)| **bank != 0) {
        out.push(format!("constant {bank}: {bytes}"));
    }
    out.join(", ")
}
