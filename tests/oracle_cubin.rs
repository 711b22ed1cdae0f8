//! Compares the cubin reader with cuobjdump, field by field.
//!
//! The inputs are the cubins among the fixtures and in `CUDALINK_ORACLE_FILES`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use cudalink::code::{Functions, Resources};
use cudalink::format::cubin::{Binding, Cubin, Place, SectionKind, Space, Stage, SymbolKind};

/// Runs one comparison over every cubin, or says why it cannot.
fn for_each(compare: fn(&Path, &Cubin<'_>, &Path) -> Result<(), String>) {
    let files = common::files(Cubin::is_cubin);
    let Some(tool) = common::cuda_tool("cuobjdump") else {
        return common::skip("cuobjdump is not here");
    };
    if files.is_empty() {
        return common::skip("there are no cubins to compare");
    }
    let mut wrong = Vec::new();
    for (path, bytes) in &files {
        let result = Cubin::parse(bytes)
            .map_err(|error| error.to_string())
            .and_then(|cubin| compare(&tool, &cubin, path));
        if let Err(error) = result {
            wrong.push(format!("{}: {error}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} files differ:\n{}",
        wrong.len(),
        files.len(),
        wrong.join("\n")
    );
    eprintln!("{} files agree", files.len());
}

/// The tool's words, or nothing where it refuses the file.
fn dump(tool: &Path, option: &str, path: &Path) -> Option<String> {
    let output = Command::new(tool).arg(option).arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ok = output.status.success() && !text.is_empty();
    if !ok {
        eprintln!(
            "{}: {option} refused: {}",
            path.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    ok.then_some(text)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{what}: ours {ours:?}, theirs {theirs:?}"))
}

fn usage(resources: &Resources, is_kernel: bool, cubin: &Cubin<'_>) -> BTreeMap<String, String> {
    let old = cubin.target().number < 90;
    let linked = cubin.stage() != Stage::Relocatable;
    let stack = match resources.stack {
        Some(bytes) => bytes.to_string(),
        None if linked => "UNKNOWN".to_owned(),
        None => "0".to_owned(),
    };
    // The tool does not know the registers of device functions, nor references of any function, from
    // sm_90 on; see the format notes in `code::kernel`.
    let registers = if is_kernel || old {
        resources.registers.unwrap_or(0)
    } else {
        0
    };
    let count = |count: Option<u32>| if old { count.unwrap_or(0) } else { 0 }.to_string();
    let mut map = BTreeMap::from([
        ("REG".to_owned(), registers.to_string()),
        ("STACK".to_owned(), stack),
        ("SHARED".to_owned(), resources.shared.unwrap().to_string()),
        ("LOCAL".to_owned(), resources.local.unwrap().to_string()),
        ("TEXTURE".to_owned(), count(resources.textures)),
        ("SURFACE".to_owned(), count(resources.surfaces)),
        ("SAMPLER".to_owned(), count(resources.samplers)),
    ]);
    for (bank, bytes) in resources.constant.as_ref().unwrap() {
        map.insert(format!("CONSTANT[{bank}]"), bytes.to_string());
    }
    map
}

fn fields(line: &str) -> BTreeMap<String, String> {
    line.split_whitespace()
        .filter_map(|field| field.rsplit_once(':'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn resource_usage() {
    for_each(|tool, cubin, path| {
        let Some(text) = dump(tool, "-res-usage", path) else {
            return Ok(());
        };
        let functions = Functions::from_cubin(cubin).map_err(|e| e.to_string())?;
        let kernels = functions
            .kernels
            .iter()
            .map(|k| (k.order, k.name.clone(), usage(&k.resources, true, cubin)));
        let others = functions
            .functions
            .iter()
            .map(|f| (f.order, f.name.clone(), usage(&f.resources, false, cubin)));
        let mut ours: Vec<_> = kernels.chain(others).collect();
        ours.sort();
        let ours: Vec<_> = ours.into_iter().map(|(_, name, map)| (name, map)).collect();

        let mut theirs = Vec::new();
        let mut common = BTreeMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix(" Function ") {
                let name = name.strip_suffix(':').unwrap().to_owned();
                theirs.push((name, fields(lines.next().unwrap())));
            } else if line == " Common:" {
                common = fields(lines.next().unwrap());
            }
        }
        same("functions", &ours.len(), &theirs.len())?;
        for (ours, theirs) in ours.iter().zip(&theirs) {
            same("function", ours, theirs)?;
        }
        let mut ours = BTreeMap::from([("GLOBAL".to_owned(), functions.common.global.to_string())]);
        for (bank, bytes) in &functions.common.constant {
            ours.insert(format!("CONSTANT[{bank}]"), bytes.to_string());
        }
        same("common", &ours, &common)
    });
}

#[test]
fn symbols() {
    for_each(|tool, cubin, path| {
        let Some(text) = dump(tool, "-symbols", path) else {
            return Ok(());
        };
        let ours: Vec<Vec<String>> = cubin
            .symbols()
            .map_err(|e| e.to_string())?
            .iter()
            .skip(1)
            .filter(|symbol| symbol.kind != SymbolKind::Section)
            .map(symbol_line)
            .collect();
        let theirs: Vec<Vec<String>> = text
            .lines()
            .skip_while(|line| *line != "symbols:")
            .skip(1)
            .filter(|line| !line.is_empty())
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        same("symbols", &ours.len(), &theirs.len())?;
        ours.iter()
            .zip(&theirs)
            .try_for_each(|(ours, theirs)| same("symbol", ours, theirs))
    });
}

fn symbol_line(symbol: &cudalink::format::cubin::Symbol<'_>) -> Vec<String> {
    let kind = match symbol.kind {
        SymbolKind::None => "NOTYPE",
        SymbolKind::Object => "OBJECT",
        SymbolKind::Function => "FUNC",
        SymbolKind::Section => "SECTION",
        SymbolKind::File => "FILE",
        SymbolKind::Texture => "CUDA_TEXTURE",
        SymbolKind::Sampler => "CUDA_SAMPLER",
        SymbolKind::Surface => "CUDA_SURFACE",
        SymbolKind::CudaObject => "CUDA_OBJECT",
        SymbolKind::Other(_) => "?",
    };
    let binding = match symbol.binding {
        Binding::Local => "LOCAL",
        Binding::Global => "GLOBAL",
        Binding::Weak => "WEAK",
        Binding::Other(_) => "?",
    };
    let visibility = ["DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED"];
    let mut other = Vec::new();
    if symbol.is_kernel() {
        other.push("ENTRY");
    }
    match symbol.space() {
        Space::Global => other.push("GLOBAL"),
        Space::Shared => other.push("SHARED"),
        Space::Local => other.push("LOCAL"),
        Space::Constant => other.push("CONSTANT"),
        Space::ReservedShared => other.push("RESERVED_SHARED"),
        Space::None | Space::Other(_) => {}
    }
    if symbol.is_managed() {
        other.push("MANAGED");
    }
    let other = if other.is_empty() {
        "-".to_owned()
    } else {
        other.join("|")
    };
    let mut line = vec![
        kind.to_owned(),
        binding.to_owned(),
        visibility[symbol.visibility() as usize].to_owned(),
        other,
    ];
    if symbol.is_undefined() {
        line.push("U".to_owned());
    }
    line.extend(symbol.name.split_whitespace().map(str::to_owned));
    line
}

/// Header, section table, symbol table with values and sections, relocations, call graph, prototypes.
#[test]
fn whole_elf() {
    for_each(|tool, cubin, path| {
        let Some(text) = dump(tool, "-elf", path) else {
            return Ok(());
        };
        same_header(cubin, &text)?;
        same_sections(cubin, &text)?;
        same_symbol_table(cubin, &text)?;
        same_relocations(cubin, &text)?;
        same_graph(cubin, &text)?;
        same_tools(cubin, &text)
    });
}

fn same_header(cubin: &Cubin<'_>, text: &str) -> Result<(), String> {
    // ABI 8: `64-bit ELF: type=ET_REL, ABI=8, sm=90a, toolkit=13.5, flags=0x6005a04`
    // ABI 7: `64bit elf: type=1, abi=7, sm=80, toolkit=124, flags = 0x4b0550`
    let line = text
        .lines()
        .find(|line| line.starts_with("64-bit ELF: ") || line.starts_with("64bit elf: "))
        .ok_or("no header line")?;
    let line = line.to_lowercase().replace(" = ", "=");
    let field = |name: &str| {
        line.split([' ', ','])
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_default()
            .to_owned()
    };
    let stage = match field("type").as_str() {
        "et_rel" | "1" => Stage::Relocatable,
        "et_exec" | "2" => Stage::Executable,
        other => return Err(format!("type {other}")),
    };
    same("type", &cubin.stage(), &stage)?;
    same("abi", &cubin.abi().to_string(), &field("abi"))?;
    let target = cubin.target();
    // The tool does not know `f`.
    let suffix = target.suffix.filter(|&suffix| suffix == 'a');
    let ours = format!(
        "{}{}",
        target.number,
        suffix.map_or(String::new(), String::from)
    );
    same("sm", &ours, &field("sm"))?;
    let ours = cubin.release().map(|release| release.to_string());
    same(
        "toolkit",
        &ours.map(|text| text.replace('.', "")),
        &Some(field("toolkit").replace('.', "")),
    )?;
    same("flags", &format!("{:#x}", cubin.flags()), &field("flags"))
}

fn same_sections(cubin: &Cubin<'_>, text: &str) -> Result<(), String> {
    let theirs: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("Index Offset"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let sections = &cubin.sections()[1..];
    same("sections", &sections.len(), &theirs.len())?;
    for (section, theirs) in sections.iter().zip(&theirs) {
        let kind = match section.kind.name() {
            Some(name) => vec![name.to_owned()],
            None => vec![
                "UNKNOWN:".to_owned(),
                (section.kind.0 as i32)
                    .wrapping_sub(0x7000_0000)
                    .to_string(),
            ],
        };
        let mut ours: Vec<String> = [
            section.index.into(),
            section.offset,
            section.size,
            section.entry_size,
            section.align,
        ]
        .map(|number: u64| format!("{number:x}"))
        .to_vec();
        ours.extend(kind);
        ours.extend(
            [
                section.flags,
                section.link.into(),
                u64::from(section.info & 0x00ff_ffff),
            ]
            .map(|number| format!("{number:x}")),
        );
        ours.extend(section.name.split_whitespace().map(str::to_owned));
        // In the Info column the tool shows a code section's symbol with or without the register byte.
        let at = ours.len() - 2;
        let full = format!("{:x}", section.info);
        if theirs.get(at) == Some(&full.as_str()) {
            ours[at] = full;
        }
        let theirs: Vec<String> = theirs.iter().map(|&word| word.to_owned()).collect();
        same("section", &ours, &theirs)?;
    }
    Ok(())
}

fn same_symbol_table(cubin: &Cubin<'_>, text: &str) -> Result<(), String> {
    let theirs: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| *line != ".section .symtab")
        .skip(2)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let symbols = cubin.symbols().map_err(|e| e.to_string())?;
    same("symbol table", &symbols.len(), &theirs.len())?;
    for (symbol, theirs) in symbols.iter().zip(&theirs).skip(1) {
        let place = match symbol.place {
            Place::Undefined => 0,
            Place::Section(index) => index,
            Place::Common => 0xfff2,
            Place::Absolute => 0xfff1,
            Place::Reserved(number) => number.into(),
        };
        let hex = |number: u64| {
            if number == 0 {
                "0".to_owned()
            } else {
                format!("{number:#x}")
            }
        };
        let mut ours = vec![
            hex(symbol.index.into()),
            hex(symbol.value),
            hex(symbol.size),
        ];
        let line = symbol_line(symbol);
        ours.extend_from_slice(&line[..4]);
        ours.push(hex(place.into()));
        let name = if symbol.name.is_empty() {
            "(null)"
        } else {
            &symbol.name
        };
        ours.extend(name.split_whitespace().map(str::to_owned));
        let theirs: Vec<String> = theirs.iter().map(|&word| word.to_owned()).collect();
        same("symbol", &ours, &theirs)?;
    }
    Ok(())
}

fn same_relocations(cubin: &Cubin<'_>, text: &str) -> Result<(), String> {
    let symbols = cubin.symbols().map_err(|e| e.to_string())?;
    let mut ours: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for section in cubin.relocation_sections() {
        let list = ours.entry(section.name.clone().into_owned()).or_default();
        for relocation in cubin.relocations(section).map_err(|e| e.to_string())? {
            let symbol = &symbols[relocation.symbol as usize];
            let mut line = format!(
                "{:#x} {} {}",
                relocation.offset, symbol.name, relocation.kind
            );
            if let Some(addend) = relocation.addend {
                line.push_str(&format!(" {addend:#x}"));
            }
            list.push(words(&line));
        }
    }
    let mut theirs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix(".section .rel") {
            let (name, _) = rest.rsplit_once('\t').unwrap_or((rest, ""));
            current = Some(theirs.entry(format!(".rel{name}")).or_default());
        } else if line.is_empty() {
            current = None;
        } else if let Some(list) = &mut current {
            list.push(words(line));
        }
    }
    ours.retain(|_, list| !list.is_empty());
    theirs.retain(|_, list| !list.is_empty());
    for (name, list) in &theirs {
        if name.contains("nv.merc") {
            continue;
        }
        same(name, ours.get(name).unwrap_or(&Vec::new()), list)?;
    }
    for name in ours.keys() {
        if !theirs.contains_key(name) {
            return Err(format!("{name} is ours alone"));
        }
    }
    Ok(())
}

/// The words of a line with one blank between them.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn same_graph(cubin: &Cubin<'_>, text: &str) -> Result<(), String> {
    let block = |title: &str| -> Vec<String> {
        text.lines()
            .skip_while(|line| *line != title)
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(|line| line.trim().to_owned())
            .collect()
    };
    let graph = cubin.call_graph().map_err(|e| e.to_string())?;
    let strings = cubin
        .section(".strtab")
        .map(|section| cubin.data(section).unwrap());
    // The tool shows some prototypes as their offset alone.
    let prototype = |at: &str| -> String {
        let bytes = strings.unwrap().get(at.parse::<usize>().unwrap()..);
        let text = std::ffi::CStr::from_bytes_until_nul(bytes.unwrap()).unwrap();
        text.to_str().unwrap().to_owned()
    };
    let mut theirs = Vec::new();
    let mut group = "";
    let lines = block(".nv.callgraph");
    for line in &lines {
        let (first, second) = line.trim_matches(['<', '>']).split_once(',').unwrap();
        // `<12,345(#ii)>`: the offset of the text is no news.
        match second.split_once('(') {
            _ if first == "0" => group = second,
            Some((_, text)) => theirs.push(format!("{first},{}", text.trim_end_matches(')'))),
            None if matches!(group, "-2" | "-3") => {
                theirs.push(format!("{first},{}", prototype(second)));
            }
            None => theirs.push(format!("{first},{second}")),
        }
    }
    let pairs = |list: &[(u32, u32)]| -> Vec<String> {
        list.iter().map(|(a, b)| format!("{a},{b}")).collect()
    };
    let texts = |list: &[(u32, std::borrow::Cow<'_, str>)]| -> Vec<String> {
        list.iter().map(|(a, b)| format!("{a},{b}")).collect()
    };
    let mut ours = pairs(&graph.calls);
    ours.extend(texts(&graph.address_taken));
    ours.extend(texts(&graph.indirect_callers));
    ours.extend(pairs(&graph.takes_address));
    same("call graph", &ours, &theirs)?;
    let prototypes: Vec<String> = cubin
        .prototypes()
        .map_err(|e| e.to_string())?
        .iter()
        .map(|(symbol, prototype)| format!("{symbol},{prototype}"))
        .collect();
    let theirs: Vec<String> = block(".nv.prototype")
        .iter()
        .map(|line| {
            let (pair, prototype) = line.split_once('(').unwrap();
            let (symbol, _) = pair.split_once(',').unwrap();
            format!(
                "{},{}",
                symbol.trim_start_matches('<'),
                prototype.trim_end_matches('>').trim_end_matches(')')
            )
        })
        .collect();
    same("prototypes", &prototypes, &theirs)
}

fn same_tools(cubin: &Cubin<'_>, text: &str) -> Result<(), String> {
    let list = |title: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.trim().strip_prefix(title))
            .map(|value| value.trim().to_owned())
            .collect()
    };
    let runs = cubin.tool_runs().map_err(|e| e.to_string())?;
    let ours = |get: fn(&cudalink::format::cubin::ToolRun<'_>) -> String| -> Vec<String> {
        runs.iter().map(|run| get(run).trim().to_owned()).collect()
    };
    same(
        "tools",
        &ours(|run| run.tool.to_string()),
        &list("Tool Name:"),
    )?;
    same(
        "versions",
        &ours(|run| run.version.to_string()),
        &list("Tool Version:"),
    )?;
    same(
        "commands",
        &ours(|run| run.command.to_string()),
        &list("Tool Command Line Arguments:"),
    )?;
    let note = cubin.cuda_note().map_err(|e| e.to_string())?;
    let ours: Vec<String> = note
        .iter()
        .map(|note| format!("sm_{}", note.virtual_number))
        .collect();
    same("virtual", &ours, &list("CUDA Virtual SM:"))
}

/// Every section that has bytes lies inside the extent, and nothing of the file lies outside it.
#[test]
fn extent_is_the_file() {
    for_each(|_, cubin, path| {
        let size = std::fs::metadata(path).unwrap().len();
        let inside = cubin
            .sections()
            .iter()
            .filter(|section| section.kind != SectionKind::NULL)
            .all(|section| cubin.data(section).is_ok());
        same("sections inside", &inside, &true)?;
        same("extent", &cubin.extent(), &size)
    });
}
