use object::write::{Object as Writer, SectionId};
use object::{BinaryFormat, Endianness, SectionKind};

use super::*;

fn writer(format: BinaryFormat, architecture: Architecture, endian: Endianness) -> Writer<'static> {
    Writer::new(format, architecture, endian)
}

fn add(
    writer: &mut Writer<'static>,
    segment: &str,
    name: &str,
    kind: SectionKind,
    data: &[u8],
) -> SectionId {
    let section = writer.add_section(segment.into(), name.into(), kind);
    writer.append_section_data(section, data, 8);
    section
}

fn roles<'a>(host: &'a Host<'_>, bytes: &'a [u8]) -> Vec<(&'a str, Role, &'a [u8])> {
    host.sections
        .iter()
        .map(|section| (&*section.name, section.role, &bytes[section.range.clone()]))
        .collect()
}

#[test]
fn elf_objects_of_both_sizes_and_orders() {
    let targets = [
        (Architecture::X86_64, Endianness::Little, "x86-64"),
        (Architecture::Aarch64, Endianness::Little, "aarch64"),
        (Architecture::I386, Endianness::Little, "i386"),
        (Architecture::PowerPc64, Endianness::Little, "ppc64le"),
        (Architecture::PowerPc64, Endianness::Big, "ppc64"),
        (Architecture::PowerPc, Endianness::Big, "ppc"),
        (Architecture::S390x, Endianness::Big, "s390x"),
    ];
    for (architecture, endian, name) in targets {
        let mut writer = writer(BinaryFormat::Elf, architecture, endian);
        add(&mut writer, "", ".text", SectionKind::Text, b"code");
        add(
            &mut writer,
            "",
            ".nv_fatbin",
            SectionKind::ReadOnlyData,
            b"fat",
        );
        add(
            &mut writer,
            "",
            "__nv_relfatbin",
            SectionKind::ReadOnlyData,
            b"rel",
        );
        add(
            &mut writer,
            "",
            ".nvFatBinSegment",
            SectionKind::Data,
            b"wrap",
        );
        add(&mut writer, "", "__nv_module_id", SectionKind::Data, b"id");
        add(
            &mut writer,
            "",
            ".rodata",
            SectionKind::ReadOnlyData,
            b"data",
        );
        add(&mut writer, "", ".debug_str", SectionKind::Debug, b"debug");
        let bss = writer.add_section(Vec::new(), b".bss".to_vec(), SectionKind::UninitializedData);
        writer.append_section_bss(bss, 1 << 40, 8);
        let bytes = writer.write().unwrap();
        let host = Host::parse(&bytes).unwrap();
        assert_eq!((&*host.arch, &host.damage[..]), (name, &[][..]));
        let interesting: Vec<_> = roles(&host, &bytes)
            .into_iter()
            .filter(|(name, ..)| !name.is_empty() && !name.contains("tab"))
            .collect();
        let expected: [(&str, Role, &[u8]); 8] = [
            (".text", Role::Code, b"code"),
            (".nv_fatbin", Role::Fatbin, b"fat"),
            ("__nv_relfatbin", Role::RelocatableFatbin, b"rel"),
            (".nvFatBinSegment", Role::Wrappers, b"wrap"),
            ("__nv_module_id", Role::ModuleIds, b"id"),
            (".rodata", Role::Data, b"data"),
            (".debug_str", Role::Bookkeeping, b"debug"),
            (".bss", Role::Bookkeeping, b""),
        ];
        assert_eq!(interesting, expected, "{name}");
        assert_eq!(Linkage::parse(&bytes).unwrap(), Linkage::default());
    }
}

#[test]
fn coff_and_mach_o_objects() {
    let mut coff = writer(BinaryFormat::Coff, Architecture::X86_64, Endianness::Little);
    add(&mut coff, "", ".text", SectionKind::Text, b"code");
    add(
        &mut coff,
        "",
        ".nvFatBinSegment",
        SectionKind::Data,
        b"wrap",
    );
    add(&mut coff, "", ".nv_fatb", SectionKind::Data, b"fat");
    add(&mut coff, "", ".rdata", SectionKind::ReadOnlyData, b"data");
    let bytes = coff.write().unwrap();
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.arch, "x86-64");
    let expected: [(&str, Role, &[u8]); 4] = [
        (".text", Role::Code, b"code"),
        (".nvFatBinSegment", Role::Wrappers, b"wrap"),
        (".nv_fatb", Role::Fatbin, b"fat"),
        (".rdata", Role::Data, b"data"),
    ];
    assert_eq!(roles(&host, &bytes), expected);

    let mut mach = writer(
        BinaryFormat::MachO,
        Architecture::Aarch64,
        Endianness::Little,
    );
    add(&mut mach, "__TEXT", "__text", SectionKind::Text, b"code");
    add(
        &mut mach,
        "__TEXT",
        "__const",
        SectionKind::ReadOnlyData,
        b"data",
    );
    add(
        &mut mach,
        "__NV_CUDA",
        "__nv_fatbin",
        SectionKind::Data,
        b"fat",
    );
    add(
        &mut mach,
        "__NV_CUDA",
        "__fatbin",
        SectionKind::Data,
        b"wrap",
    );
    let bytes = mach.write().unwrap();
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.arch, "aarch64");
    let expected: [(&str, Role, &[u8]); 4] = [
        ("__TEXT,__text", Role::Code, b"code"),
        ("__TEXT,__const", Role::Data, b"data"),
        ("__NV_CUDA,__nv_fatbin", Role::Fatbin, b"fat"),
        ("__NV_CUDA,__fatbin", Role::Wrappers, b"wrap"),
    ];
    assert_eq!(roles(&host, &bytes), expected);
}

/// An object of MSVC's `/bigobj` with one section; `object` cannot write these.
fn big_object(name: &[u8; 8], data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend([0, 0, 0xff, 0xff, 2, 0, 0x64, 0x86]);
    out.extend(0_u32.to_le_bytes());
    out.extend(object::pe::ANON_OBJECT_HEADER_BIGOBJ_CLASS_ID.0);
    out.extend([0; 16]);
    out.extend(1_u32.to_le_bytes());
    out.extend([0; 8]);
    out.extend(name);
    out.extend([0; 8]);
    out.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    out.extend(96_u32.to_le_bytes());
    out.extend([0; 12]);
    out.extend(0x4000_0040_u32.to_le_bytes());
    assert_eq!(out.len(), 96);
    out.extend(data);
    out
}

#[test]
fn big_objects() {
    let bytes = big_object(b".nv_fatb", b"fatbin");
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.arch, "x86-64");
    let expected: [(&str, Role, &[u8]); 1] = [(".nv_fatb", Role::Fatbin, b"fatbin")];
    assert_eq!(roles(&host, &bytes), expected);
}

#[test]
fn more_sections_than_a_short_can_count() {
    let mut elf = writer(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for index in 0..70_000 {
        add(
            &mut elf,
            "",
            &format!(".data.{index}"),
            SectionKind::Data,
            b"d",
        );
    }
    add(&mut elf, "", ".nv_fatbin", SectionKind::Data, b"fat");
    let bytes = elf.write().unwrap();
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.damage, []);
    let fatbin = host.with_role(Role::Fatbin).next().unwrap();
    assert_eq!(&bytes[fatbin.range.clone()], b"fat");
}

/// A small ELF object with one `.nv_fatbin` and one `.rodata`, and the offset of its section table.
fn small_elf() -> (Vec<u8>, usize) {
    let mut elf = writer(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    add(&mut elf, "", ".rodata", SectionKind::ReadOnlyData, &[7; 64]);
    add(
        &mut elf,
        "",
        ".nv_fatbin",
        SectionKind::ReadOnlyData,
        &[8; 64],
    );
    let bytes = elf.write().unwrap();
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap());
    (bytes, usize::try_from(table).unwrap())
}

fn set(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn sections_that_overlap_or_run_out_of_the_file_are_told() {
    let (whole, table) = small_elf();
    let (rodata, fatbin) = (table + 64, table + 2 * 64);
    let offset_of = |bytes: &[u8], header: usize| {
        u64::from_le_bytes(bytes[header + 24..header + 32].try_into().unwrap())
    };
    let mut bytes = whole.clone();
    set(&mut bytes, rodata + 24, offset_of(&whole, fatbin) + 8);
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.damage.len(), 1);
    assert_eq!(
        host.damage[0].message,
        "section `.rodata` overlaps another section"
    );
    assert_eq!(host.with_role(Role::Fatbin).next().unwrap().range.len(), 64);

    let mut bytes = whole.clone();
    set(&mut bytes, fatbin + 32, u64::MAX);
    let host = Host::parse(&bytes).unwrap();
    assert!(host.damage[0].message.contains("reaches past the end"));
    let fatbin_range = host.with_role(Role::Fatbin).next().unwrap().range.clone();
    assert_eq!(fatbin_range.end, bytes.len());

    let mut bytes = whole.clone();
    set(&mut bytes, fatbin + 8, object::elf::SHF_COMPRESSED.0);
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(
        host.damage[0].message,
        "section `.nv_fatbin` is compressed, which hides its device code"
    );
}

#[test]
fn without_a_section_table_the_segments_are_read() {
    let mut bytes = vec![0_u8; 64 + 2 * 56 + 16];
    bytes[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    bytes[20] = 1;
    set(&mut bytes, 32, 64);
    bytes[52..56].copy_from_slice(&[64, 0, 56, 0]);
    bytes[56] = 2;
    for (index, flags) in [4_u8, 5].into_iter().enumerate() {
        let at = 64 + index * 56;
        bytes[at] = 1;
        bytes[at + 4] = flags;
        set(&mut bytes, at + 8, 176 + 8 * index as u64);
        set(&mut bytes, at + 32, 8);
    }
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.damage, []);
    let found: Vec<_> = host
        .sections
        .iter()
        .map(|section| (&*section.name, section.role, section.range.clone()))
        .collect();
    let expected = [
        ("segment 0", Role::Data, 176..184),
        ("segment 1", Role::Code, 184..192),
    ];
    assert_eq!(found, expected);
    // A section table that is not there is damage, but the segments are.
    set(&mut bytes, 40, 0x10_0000);
    bytes[58..62].copy_from_slice(&[64, 0, 3, 0]);
    let host = Host::parse(&bytes).unwrap();
    assert_eq!((host.damage.len(), host.sections.len()), (1, 2));
    assert_eq!(host.damage[0].offset, 0x10_0000);
}

#[test]
fn fat_mach_o_parts() {
    let mut parts = Vec::new();
    for architecture in [Architecture::X86_64, Architecture::Aarch64] {
        let mut mach = writer(BinaryFormat::MachO, architecture, Endianness::Little);
        add(&mut mach, "__DATA", "__data", SectionKind::Data, b"data");
        parts.push(mach.write().unwrap());
    }
    let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2];
    let starts = [4096, 4096 + parts[0].len().next_multiple_of(4096)];
    for (index, cpu) in [0x0100_0007_u32, 0x0100_000c].into_iter().enumerate() {
        for field in [cpu, 3, starts[index] as u32, parts[index].len() as u32, 12] {
            bytes.extend(field.to_be_bytes());
        }
    }
    for (start, part) in starts.iter().zip(&parts) {
        bytes.resize(*start, 0);
        bytes.extend(part);
    }
    let found = slices(&bytes).unwrap().unwrap();
    let arches: Vec<_> = found.iter().map(|slice| &*slice.arch).collect();
    assert_eq!(arches, ["x86-64", "aarch64"]);
    for slice in &found {
        let host = Host::parse(&bytes[slice.range.clone()]).unwrap();
        assert_eq!(host.arch, slice.arch);
    }
    // Both parts at one place, and a part outside.
    let mut twice = bytes.clone();
    twice.copy_within(16..20, 36);
    assert!(slices(&twice).unwrap().is_err());
    assert!(slices(&bytes[..starts[1] + 1]).unwrap().is_err());
    assert!(slices(&parts[0]).is_none());
    assert!(Host::parse(&bytes).is_err());
}

#[test]
fn this_program_is_a_host_file() {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let host = Host::parse(&bytes).unwrap();
    assert_eq!(host.damage, []);
    assert!(!host.arch.is_empty());
    assert!(host.sections.iter().any(|s| s.role == Role::Code));
    assert!(host.sections.iter().any(|s| s.role == Role::Data));
    assert!(!Linkage::parse(&bytes).unwrap().needed.is_empty());
    // A second opinion.
    if let goblin::Object::Elf(elf) = goblin::Object::parse(&bytes).unwrap() {
        assert_eq!(elf.section_headers.len(), host.sections.len());
    }
}

#[test]
fn no_damage_makes_it_panic() {
    let (elf, _) = small_elf();
    let mut coff = writer(BinaryFormat::Coff, Architecture::X86_64, Endianness::Little);
    add(
        &mut coff,
        "",
        ".a_name_for_the_table",
        SectionKind::Data,
        b"wrap",
    );
    let mut mach = writer(
        BinaryFormat::MachO,
        Architecture::X86_64,
        Endianness::Little,
    );
    add(&mut mach, "__DATA", "__data", SectionKind::Data, b"data");
    let files = [
        elf,
        coff.write().unwrap(),
        mach.write().unwrap(),
        big_object(b".nv_fatb", b"fatbin"),
        crate::format::testing::dll(&[(b".nv_fatb", b"fatbin")]),
    ];
    for whole in files {
        for at in 0..whole.len() {
            let _ = Host::parse(&whole[..at]).map(drop);
            let _ = Linkage::parse(&whole[..at]);
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = Host::parse(&bytes).map(drop);
                let _ = Linkage::parse(&bytes);
                let _ = slices(&bytes).map(drop);
            }
        }
    }
}
