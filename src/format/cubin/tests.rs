use super::*;

/// A section of a file under construction: name, type, flags, bytes, link, info.
#[derive(Clone, Copy)]
struct Part<'a> {
    name: &'a str,
    kind: u32,
    flags: u64,
    bytes: &'a [u8],
    link: u32,
    info: u32,
}

const fn part<'a>(name: &'a str, kind: u32, bytes: &'a [u8]) -> Part<'a> {
    Part {
        name,
        kind,
        flags: 0,
        bytes,
        link: 0,
        info: 0,
    }
}

struct Ident {
    os_abi: u8,
    abi: u8,
    version: u32,
    flags: u32,
}

const ABI_7: Ident = Ident {
    os_abi: 0x33,
    abi: 7,
    version: 129,
    flags: 0x5a_055a,
};

const ABI_8: Ident = Ident {
    os_abi: 0x41,
    abi: 8,
    version: 1,
    flags: 0x0600_5a04,
};

/// An ELF file with the null section, the parts, and the section names last. `extended` writes the
/// counts where files of more than 65,279 sections have them.
fn elf(ident: &Ident, parts: &[Part<'_>], extended: bool) -> Vec<u8> {
    let mut names = vec![0];
    let mut file = vec![0; 64];
    let mut headers: Vec<[u8; 64]> = vec![[0; 64]];
    let mut all: Vec<Part<'_>> = parts.to_vec();
    all.push(part(".shstrtab", 3, &[]));
    let mut name_offsets = Vec::new();
    for part in &all {
        name_offsets.push(names.len() as u32);
        names.extend(part.name.as_bytes());
        names.push(0);
    }
    for (part, name) in all.iter().zip(name_offsets) {
        let bytes = if part.name == ".shstrtab" {
            &names
        } else {
            part.bytes
        };
        let mut header = [0; 64];
        header[0..4].copy_from_slice(&name.to_le_bytes());
        header[4..8].copy_from_slice(&part.kind.to_le_bytes());
        header[8..16].copy_from_slice(&part.flags.to_le_bytes());
        header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        header[40..44].copy_from_slice(&part.link.to_le_bytes());
        header[44..48].copy_from_slice(&part.info.to_le_bytes());
        headers.push(header);
        if SectionKind(part.kind).has_bytes() {
            file.extend(bytes);
        }
    }
    let count = headers.len();
    if extended {
        headers[0][32..40].copy_from_slice(&(count as u64).to_le_bytes());
        headers[0][40..44].copy_from_slice(&(count as u32 - 1).to_le_bytes());
    }
    let table = file.len() as u64;
    file.extend(headers.concat());
    let (shnum, shstrndx) = if extended {
        (0, 0xffff)
    } else {
        (count as u16, count as u16 - 1)
    };
    file[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, ident.os_abi, ident.abi]);
    file[16..18].copy_from_slice(&2_u16.to_le_bytes());
    file[18..20].copy_from_slice(&EM_CUDA.to_le_bytes());
    file[20..24].copy_from_slice(&ident.version.to_le_bytes());
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[48..52].copy_from_slice(&ident.flags.to_le_bytes());
    file[58..60].copy_from_slice(&64_u16.to_le_bytes());
    file[60..62].copy_from_slice(&shnum.to_le_bytes());
    file[62..64].copy_from_slice(&shstrndx.to_le_bytes());
    file
}

fn target(ident: &Ident, parts: &[Part<'_>]) -> String {
    let file = elf(ident, parts, false);
    let target = Cubin::parse(&file).unwrap().target();
    let suffix = target.suffix.map_or(String::new(), String::from);
    format!("{}{suffix} {}", target.number, target.source)
}

/// A note record with the owner that CUDA uses.
fn note(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(12_u32.to_le_bytes());
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(kind.to_le_bytes());
    out.extend(b"NVIDIA Corp\0");
    out.extend(body);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn tkinfo(version: &str, command: &str) -> Vec<u8> {
    let mut strings = vec![0];
    let mut offsets = vec![0];
    for text in ["ptxas", version, "", command] {
        offsets.push(strings.len() as u32);
        strings.extend(text.as_bytes());
        strings.push(0);
    }
    let mut body = 2_u32.to_le_bytes().to_vec();
    for offset in offsets {
        body.extend(offset.to_le_bytes());
    }
    body.extend(strings);
    note(2000, &body)
}

#[test]
fn the_suffix_is_read_where_each_abi_has_it() {
    assert_eq!(target(&ABI_7, &[]), "90 e_flags");
    let with = |flags| Ident { flags, ..ABI_7 };
    assert_eq!(target(&with(0x5a_0d5a), &[]), "90a e_flags");
    // The same bit below sm_90 is a workaround.
    assert_eq!(target(&with(0x3c_0d3c), &[]), "60 e_flags");

    assert_eq!(target(&ABI_8, &[]), "90 e_flags");
    let with = |flags| Ident { flags, ..ABI_8 };
    assert_eq!(target(&with(0x0600_640a), &[]), "100a e_flags");
    let compat = |value| [2, 9, value, 0];
    let plain = compat(0);
    let accelerated = compat(1);
    let section = |bytes| [part(".nv.compat", 0x7000_0086, bytes)];
    assert_eq!(target(&ABI_8, &section(&accelerated)), "90a .nv.compat");
    // The attribute is right where the bit says otherwise.
    assert_eq!(target(&with(0x0600_640a), &section(&plain)), "100 e_flags");

    let family = tkinfo("", "-arch sm_100f -m 64 ");
    let other = tkinfo("", "-arch sm_103f -m 64 ");
    let section = |bytes| [part(".note.nv.tkinfo", 7, bytes)];
    assert_eq!(
        target(&with(0x0600_6402), &section(&family)),
        "100f .note.nv.tkinfo"
    );
    assert_eq!(target(&with(0x0600_6402), &section(&other)), "100 e_flags");

    let may_be_family = |ident: &Ident, parts: &[Part<'_>]| {
        let file = elf(ident, parts, false);
        Cubin::parse(&file).unwrap().may_be_family()
    };
    assert!(may_be_family(&with(0x0600_6402), &[]));
    assert!(!may_be_family(&with(0x0600_6402), &section(&other)));
    assert!(!may_be_family(&ABI_8, &[]));
}

#[test]
fn the_release_is_read_where_each_abi_has_it() {
    let release = |ident: &Ident, parts: &[Part<'_>]| {
        let file = elf(ident, parts, false);
        Cubin::parse(&file)
            .unwrap()
            .release()
            .map(|release| release.to_string())
    };
    assert_eq!(release(&ABI_7, &[]).as_deref(), Some("12.9"));
    assert_eq!(release(&ABI_8, &[]), None);
    let cuinfo = note(1000, &[2, 0, 86, 0, 135, 0, 0, 0]);
    let parts = [part(".note.nv.cuinfo", 7, &cuinfo)];
    assert_eq!(release(&ABI_8, &parts).as_deref(), Some("13.5"));
    let file = elf(&ABI_8, &parts, false);
    assert_eq!(Cubin::parse(&file).unwrap().virtual_number(), Some(86));
    let run = tkinfo("Cuda compilation tools, release 12.8, V12.8.93", "");
    let cuver = note(1000, &[1, 0, 100, 0, 1, 0, 0, 0]);
    let parts = [
        part(".note.nv.tkinfo", 7, &run),
        part(".note.nv.cuver", 7, &cuver),
    ];
    assert_eq!(release(&ABI_8, &parts).as_deref(), Some("12.8"));
}

#[test]
fn zero_fill_sections_have_no_bytes_whatever_lies_at_their_offset() {
    let parts = [
        part(".nv.global", 0x7000_0007, &[1, 2, 3, 4]),
        part(".nv.shared.k", 8, &[5, 6]),
        part(".nv.global.init", 0x7000_0008, &[7, 8]),
    ];
    let file = elf(&ABI_8, &parts, false);
    let cubin = Cubin::parse(&file).unwrap();
    let data = |name| cubin.data(cubin.section(name).unwrap()).unwrap();
    assert!(data(".nv.global").is_empty());
    assert_eq!(cubin.section(".nv.global").unwrap().size, 4);
    assert!(data(".nv.shared.k").is_empty());
    assert_eq!(data(".nv.global.init"), [7, 8]);
}

#[test]
fn counts_beyond_sixteen_bits_stand_in_the_first_section() {
    let symbols = [[0; 24], {
        let mut symbol = [0; 24];
        symbol[4] = 0x12;
        symbol[6] = 0xff;
        symbol[7] = 0xff;
        symbol
    }];
    let symbols = symbols.concat();
    let indices = [0_u32, 70_000].map(u32::to_le_bytes).concat();
    let parts = [
        part(".strtab", 3, &[0]),
        Part {
            link: 1,
            ..part(".symtab", 2, &symbols)
        },
        Part {
            link: 2,
            ..part(".symtab_shndx", 18, &indices)
        },
    ];
    let file = elf(&ABI_8, &parts, true);
    let cubin = Cubin::parse(&file).unwrap();
    assert_eq!(cubin.sections().len(), 5);
    assert_eq!(cubin.sections()[2].name, ".symtab");
    assert_eq!(cubin.symbols().unwrap()[1].place, Place::Section(70_000));
    assert_eq!(cubin.extent(), file.len() as u64);
}

#[test]
fn names_of_any_bytes_stay_apart() {
    let mut file = elf(&ABI_8, &[part(".text.a?", 1, &[])], false);
    let at = file
        .windows(8)
        .position(|window| window == b".text.a?")
        .unwrap()
        + 7;
    file[at] = 0xfe;
    assert_eq!(
        Cubin::parse(&file).unwrap().sections()[1].name,
        ".text.a\\xfe"
    );
}

#[test]
fn damage_is_told_with_its_place() {
    let error = |file: &[u8]| Cubin::parse(file).unwrap_err().to_string();
    assert_eq!(
        error(b"\x7fELF"),
        "at offset 0x0: cubin has 4 bytes, but its header needs 64"
    );
    let file = elf(&ABI_8, &[part(".text.k", 1, &[0; 16])], false);
    assert_eq!(
        error(&file[..file.len() - 1]),
        "at offset 0x63: section header table of 3 entries reaches past the end at 0x122"
    );
    let mut machine = file.clone();
    machine[18] = 62;
    assert_eq!(
        error(&machine),
        "at offset 0x12: ELF file for machine 62, expected 190 (CUDA)"
    );
    let mut size = file.clone();
    let header = file.len() - 2 * 64;
    size[header + 32] = 0xff;
    assert_eq!(
        error(&size),
        "at offset 0x40: section `.text.k` of 255 bytes reaches past the end at 0x123"
    );
    let mut overlapping = vec![part(".a", 1, &[0; 600]); 1];
    overlapping.extend([part(".b", 1, &[]); 9]);
    let mut file = elf(&ABI_8, &overlapping, false);
    let table = file.len() - 12 * 64;
    for index in 2..11 {
        let first = file[table + 64 + 24..table + 64 + 40].to_vec();
        let at = table + 64 * index + 24;
        file[at..at + 16].copy_from_slice(&first);
    }
    assert!(error(&file).ends_with("sections add up to more than four times the file"));
}
