use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::path::Path;

use object::write::Object as Writer;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::code::{Compression, ImageData, ImageKind};
use crate::error::Severity;
use crate::format::archive::tests::{archive, header, member};
use crate::format::compress::Limits;
use crate::format::testing::{Entry, PTX, container, cubin, dll, entry, lto_ir};

const THIN: &[u8] = b"!<thin>\n";

fn code(name: &str, bytes: Vec<u8>) -> ObjectCode {
    ObjectCode::from_blob(name, bytes.into())
}

fn expand(name: &str, bytes: Vec<u8>) -> Expansion {
    code(name, bytes).expand(&ExpandOptions::default())
}

fn ids(expansion: &Expansion) -> Vec<String> {
    expansion.images.iter().map(Image::id).collect()
}

fn messages(expansion: &Expansion) -> Vec<String> {
    let message = |problem: &Diagnostic| format!("{}: {}", problem.inputs[0], problem.message);
    expansion.problems.iter().map(message).collect()
}

/// An ELF object with the sections given by name and content, all of them data.
fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut elf = Writer::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, bytes) in sections {
        let kind = if *name == ".text" {
            SectionKind::Text
        } else {
            SectionKind::ReadOnlyData
        };
        let section = elf.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
        elf.append_section_data(section, bytes, 8);
    }
    elf.write().unwrap()
}

/// A container with a cubin and PTX for one architecture.
fn fatbin(number: u8) -> Vec<u8> {
    let ptx = Entry {
        name: "a.cu",
        options: "--generate-line-info ",
        ..entry(1, number.into(), PTX.as_bytes())
    };
    container(&[entry(2, number.into(), &cubin(number)).bytes(), ptx.bytes()])
}

fn zip(members: &[(&str, &[u8], CompressionMethod)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, method) in members {
        let options = SimpleFileOptions::default().compression_method(*method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn a_host_file_shows_named_sections_then_what_its_data_hides() {
    let hidden = [
        b"some data   ",
        &fatbin(80)[..],
        &cubin(75),
        &PTX.as_bytes()[3..],
    ]
    .concat();
    let bytes = elf(&[
        (".rodata", &hidden),
        (".text", &fatbin(70)),
        ("__nv_relfatbin", &fatbin(100)),
        (
            ".nv_fatbin",
            &[fatbin(90), vec![0; 24], fatbin(120)].concat(),
        ),
    ]);
    let found = expand("lib.o", bytes.clone());
    assert_eq!(found.problems, []);
    let summary: Vec<_> = found
        .images
        .iter()
        .map(|image| {
            let at = usize::try_from(image.offset).unwrap();
            assert!(bytes.len() > at);
            let arch = image.arch.unwrap().bare();
            (
                image.id(),
                image.kind,
                arch,
                image.loadable,
                image.container,
            )
        })
        .collect();
    use ImageKind::{Cubin, Ptx};
    use Loadable::{RelocatableOnly, Unregistered, Yes};
    let text = |text: &str| text.to_owned();
    let expected = [
        (text("lib.o:.nv_fatbin[0]"), Cubin, text("90"), Yes, Some(0)),
        (text("lib.o:.nv_fatbin[1]"), Ptx, text("90"), Yes, Some(0)),
        (
            text("lib.o:.nv_fatbin[2]"),
            Cubin,
            text("120"),
            Yes,
            Some(1),
        ),
        (text("lib.o:.nv_fatbin[3]"), Ptx, text("120"), Yes, Some(1)),
        (
            text("lib.o:__nv_relfatbin[0]"),
            Cubin,
            text("100"),
            RelocatableOnly,
            Some(2),
        ),
        (
            text("lib.o:__nv_relfatbin[1]"),
            Ptx,
            text("100"),
            RelocatableOnly,
            Some(2),
        ),
        (
            text("lib.o:.rodata[0]"),
            Cubin,
            text("80"),
            Unregistered,
            Some(3),
        ),
        (
            text("lib.o:.rodata[1]"),
            Ptx,
            text("80"),
            Unregistered,
            Some(3),
        ),
        (
            text("lib.o:.rodata[2]"),
            Cubin,
            text("75"),
            Unregistered,
            None,
        ),
        (
            text("lib.o:.rodata[3]"),
            Ptx,
            text("90a"),
            Unregistered,
            None,
        ),
    ];
    assert_eq!(summary, expected);
    let ptx = &found.images[1];
    assert_eq!(ptx.name.as_deref(), Some("a.cu"));
    assert_eq!(ptx.options.as_deref(), Some("--generate-line-info"));
    assert_eq!(ptx.producer.ptx_isa.as_deref(), Some("9.5"));
    assert_eq!(ptx.section.as_deref(), Some(".nv_fatbin"));
    assert_eq!(ptx.arch_source, Some("fatbin entry"));
    assert_eq!(found.images[9].arch_source, Some(".target"));
    for image in &found.images {
        let bytes = image.unpack(Limits::default()).unwrap();
        assert_eq!(bytes.len() as u64, image.size, "{}", image.id());
    }
}

#[test]
fn sections_and_members_of_one_name_stay_apart() {
    let twice = elf(&[(".nv_fatbin", &fatbin(80)), (".nv_fatbin", &fatbin(90))]);
    let found = expand("a.o", twice);
    let expected = [
        "a.o:.nv_fatbin[0]",
        "a.o:.nv_fatbin[1]",
        "a.o:.nv_fatbin#2[0]",
        "a.o:.nv_fatbin#2[1]",
    ];
    assert_eq!(ids(&found), expected);

    let object = |number| {
        elf(&[(
            ".nv_fatbin",
            &container(&[entry(2, 75, &cubin(number)).bytes()]),
        )])
    };
    let bytes = archive(&[
        member("/", &[0; 4]),
        member("b.o/", &object(75)),
        member("b.o/", &object(75)),
        member("k.cubin/", &cubin(90)),
        member("k.ptx/", PTX.as_bytes()),
        member("k.ltoir/", &lto_ir(90)),
        member("k.fatbin/", &fatbin(90)),
        member("readme/", b"text"),
        member("inner.a/", &archive(&[member("c.o/", &object(75))])),
    ]);
    let found = expand("libx.a", bytes);
    assert_eq!(found.problems, []);
    let expected = [
        "libx.a(b.o):.nv_fatbin[0]",
        "libx.a(b.o#2):.nv_fatbin[0]",
        "libx.a(k.cubin)",
        "libx.a(k.ptx)",
        "libx.a(k.ltoir)",
        "libx.a(k.fatbin)[0]",
        "libx.a(k.fatbin)[1]",
        "libx.a(inner.a(c.o)):.nv_fatbin[0]",
    ];
    assert_eq!(ids(&found), expected);
    assert_eq!(found.images[7].member.as_deref(), Some("inner.a(c.o)"));
    assert_eq!(found.images[4].loadable, Loadable::No);
    assert_eq!(found.images[4].arch_source, Some("LTO-IR header"));
}

#[test]
fn compressed_images_unpack_to_what_was_packed() {
    let cubin = cubin(90);
    let padded_ptx = [PTX.as_bytes(), b"\0"].concat();
    let packed = |kind, flags, payload: Vec<u8>, unpacked: usize| {
        Entry {
            flags,
            unpacked: unpacked as u64,
            ..entry(kind, 90, &payload)
        }
        .bytes()
    };
    let zstd = zstd::bulk::compress(&cubin, 3).unwrap();
    let lz4 = lz4_flex::block::compress(&padded_ptx);
    let bytes = container(&[
        packed(2, 0x8011, zstd.clone(), cubin.len()),
        packed(1, 0x2011, lz4, padded_ptx.len()),
        packed(2, 0x8011, zstd.clone(), cubin.len() + 1),
        packed(2, 0x8011, zstd.clone(), 1 << 50),
        packed(2, 0x4011, zstd, cubin.len()),
        packed(8, 0x1_2011, b"scrambled".to_vec(), 1000),
    ]);
    let found = expand("a.fatbin", bytes.clone());
    assert_eq!(found.problems, []);
    let unpack = |index: usize| found.images[index].unpack(Limits::default());
    assert_eq!(*unpack(0).unwrap(), cubin);
    assert_eq!(*unpack(1).unwrap(), *PTX.as_bytes());
    for (index, message) in [
        (2, "unpacks to"),
        (3, "claims to unpack"),
        (4, "unknown"),
        (5, "NVIDIA"),
    ] {
        let error = unpack(index).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.diagnostics[0].inputs, [format!("a.fatbin[{index}]")]);
    }
    let ImageData::Opaque { entry } = &found.images[5].data else {
        panic!("{:?}", found.images[5]);
    };
    let again = fatbin::single_entry_container(entry, &[]);
    let again = expand("again", again);
    assert_eq!(again.images[0].compression, Compression::Opaque);
    assert_eq!(again.images[0].stored_size, found.images[5].stored_size);
    let stored: u64 = found.images.iter().map(|image| image.stored_size).sum();
    assert_eq!(stored, bytes.len() as u64 - 16);
}

/// An entry as `fatbinary -concat` writes it: a table of sub-headers, and all payloads compressed as one.
fn concatenated(members: &[Entry<'_>]) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut table = Vec::new();
    for member in members {
        let mut header = member.bytes();
        let size = member.payload.len().next_multiple_of(8);
        header.truncate(header.len() - size);
        header[4..8].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        table.extend(header);
        payload.extend(member.payload);
        payload.resize(payload.len().next_multiple_of(8), 0);
    }
    let mut extras = u32::try_from(members.len()).unwrap().to_le_bytes().to_vec();
    extras.extend((table.len() as u32 + 8).to_le_bytes());
    extras.extend(table);
    let packed = zstd::bulk::compress(&payload, 3).unwrap();
    Entry {
        flags: 0x8011,
        unpacked: payload.len() as u64,
        ..entry(256, 0, &packed)
    }
    .with_header(&extras, 64, 0)
}

#[test]
fn images_compressed_together_are_images_each() {
    let (old, new) = (cubin(75), cubin(90));
    let named = Entry {
        name: "kernel.cu",
        options: "-v ",
        ..entry(1, 90, PTX.as_bytes())
    };
    let group = concatenated(&[entry(2, 75, &old), entry(2, 90, &new), named]);
    let bytes = container(&[entry(2, 75, &old).bytes(), group.clone(), group]);
    let found = expand("a.fatbin", bytes.clone());
    assert_eq!(found.problems, []);
    let expected: Vec<_> = (0..7).map(|index| format!("a.fatbin[{index}]")).collect();
    assert_eq!(ids(&found), expected);
    let offsets: BTreeSet<_> = found.images.iter().map(|image| image.offset).collect();
    assert_eq!(offsets.len(), 7);
    for images in [&found.images[1..4], &found.images[4..7]] {
        for (image, expected) in images.iter().zip([&old[..], &new, PTX.as_bytes()]) {
            assert_eq!(*image.unpack(Limits::default()).unwrap(), *expected);
            assert_eq!(image.compression, Compression::Zstd);
        }
    }
    let ptx = &found.images[3];
    assert_eq!(ptx.name.as_deref(), Some("kernel.cu"));
    assert_eq!(ptx.options.as_deref(), Some("-v"));
    let stored: u64 = found.images.iter().map(|image| image.stored_size).sum();
    assert_eq!(stored, bytes.len() as u64 - 16);
}

#[test]
fn an_entry_that_disagrees_with_its_cubin_is_told() {
    let mut relocatable = cubin(90);
    relocatable[16] = 1;
    let bytes = container(&[
        entry(2, 80, &cubin(90)).bytes(),
        entry(2, 90, b"this is no cubin").bytes(),
        entry(2, 90, &relocatable).bytes(),
        Entry {
            flags: 0x10_0011,
            ..entry(2, 90, &cubin(90))
        }
        .bytes(),
        entry(77, 90, b"something new").bytes(),
    ]);
    let found = expand("a.fatbin", bytes);
    let warnings: Vec<_> = found
        .images
        .iter()
        .map(|image| {
            image
                .warnings
                .first()
                .map(|warning| warning.message.clone())
        })
        .collect();
    let told = |message: &str| Some(message.to_owned());
    let expected = [
        told("fatbin entry is for sm_80, but its cubin is for sm_90"),
        told("fatbin entry claims to be a cubin, but: cubin has 16 bytes, but its header needs 64"),
        None,
        None,
        None,
    ];
    assert_eq!(warnings, expected);
    assert_eq!(found.images[2].loadable, Loadable::RelocatableOnly);
    assert_eq!(found.images[3].arch.unwrap().bare(), "90a");
    let unknown = &found.images[4];
    assert_eq!(
        (unknown.kind, unknown.kind_number),
        (ImageKind::Unknown, Some(77))
    );
}

#[test]
fn code_for_a_link_is_nothing_to_load_wherever_it_sits() {
    let mut relocatable = cubin(90);
    relocatable[16] = 1;
    let packed = |flags, plain: &[u8], stored: Vec<u8>| {
        let unpacked = plain.len() as u64;
        Entry {
            flags,
            unpacked,
            ..entry(2, 90, &stored)
        }
        .bytes()
    };
    let whole = cubin(90);
    let ptx = |options| {
        Entry {
            options,
            ..entry(1, 90, PTX.as_bytes())
        }
        .bytes()
    };
    let bytes = container(&[
        packed(
            0x8011,
            &relocatable,
            zstd::bulk::compress(&relocatable, 3).unwrap(),
        ),
        packed(
            0x2011,
            &relocatable,
            lz4_flex::block::compress(&relocatable),
        ),
        packed(0x8011, &whole, zstd::bulk::compress(&whole, 3).unwrap()),
        packed(0x2011, &whole, lz4_flex::block::compress(&whole)),
        ptx("-maxrregcount=96 --compile-only "),
        ptx("-maxrregcount=96"),
        entry(64, 90, PTX.as_bytes()).bytes(),
    ]);
    let loadable: Vec<_> = expand("a.fatbin", bytes)
        .images
        .iter()
        .map(|image| image.loadable == Loadable::Yes)
        .collect();
    assert_eq!(loadable, [false, false, true, true, false, true, false]);
}

#[test]
fn a_damaged_part_does_not_hide_the_rest() {
    let mut broken = fatbin(90);
    let first = 64 + cubin(90).len();
    let second = 16 + first;
    broken[second + 4] = 1;
    let object = elf(&[(".nv_fatbin", &[broken, fatbin(120)].concat())]);
    let bytes = archive(&[
        member("bad.o/", &object[..100]),
        member("a.o/", &object),
        member("b.o/", &elf(&[(".nv_fatbin", &fatbin(80))])),
    ]);
    let found = expand("libx.a", bytes.clone());
    let expected = [
        "libx.a(a.o):.nv_fatbin[0]",
        "libx.a(a.o):.nv_fatbin[1]",
        "libx.a(a.o):.nv_fatbin[2]",
        "libx.a(b.o):.nv_fatbin[0]",
        "libx.a(b.o):.nv_fatbin[1]",
    ];
    assert_eq!(ids(&found), expected);
    let told = messages(&found);
    assert!(told[0].starts_with("libx.a(bad.o): "), "{told:?}");
    assert_eq!(
        told.last().unwrap(),
        "libx.a(a.o): entry header size is 1, expected 64 or more"
    );
    let offset = usize::try_from(found.problems.last().unwrap().offset.unwrap()).unwrap();
    assert_eq!(object[offset], 1);
    assert!(found.problems.iter().all(|p| p.severity == Severity::Error));

    // Cut within the last member: what is there of it is shown.
    let found = expand("libx.a", bytes[..bytes.len() - 600].to_vec());
    assert!(found.images.len() >= 3);
    assert!(
        messages(&found).iter().any(|m| m.contains("cut off")),
        "{found:?}"
    );
}

#[test]
fn problems_of_one_file_are_limited() {
    let bytes = [
        &container(&[])[..],
        &b"\x50\xed\x55\xba\0\0\0\0".repeat(5000),
    ]
    .concat();
    let found = expand("a.fatbin", bytes);
    assert_eq!(found.problems.len(), 21);
}

#[test]
fn packages_within_packages() {
    let object = elf(&[(".nv_fatbin", &fatbin(90))]);
    let library = archive(&[member("a.o/", &object)]);
    let wheel = zip(&[
        ("pkg/stored.so", &object, CompressionMethod::Stored),
        ("pkg/deflated.so", &object, CompressionMethod::Deflated),
        ("pkg/libx.a", &library, CompressionMethod::Deflated),
        ("../../evil.cubin", &cubin(90), CompressionMethod::Deflated),
        ("pkg/readme.txt", b"nothing", CompressionMethod::Deflated),
        (
            "pkg-1.dist-info/WHEEL",
            b"Wheel-Version: 1.0",
            CompressionMethod::Deflated,
        ),
    ]);
    let input = code("x.whl", wheel.clone());
    assert_eq!(input.kind(), Kind::Wheel);
    let found = input.expand(&ExpandOptions::default());
    assert_eq!(found.problems, []);
    let expected = [
        "x.whl(pkg/stored.so):.nv_fatbin[0]",
        "x.whl(pkg/stored.so):.nv_fatbin[1]",
        "x.whl(pkg/deflated.so):.nv_fatbin[0]",
        "x.whl(pkg/deflated.so):.nv_fatbin[1]",
        "x.whl(pkg/libx.a(a.o)):.nv_fatbin[0]",
        "x.whl(pkg/libx.a(a.o)):.nv_fatbin[1]",
        "x.whl(../../evil.cubin)",
    ];
    assert_eq!(ids(&found), expected);
    // A stored member is a part of the package's own bytes.
    let ImageData::Plain(stored) = &found.images[0].data else {
        panic!("{:?}", found.images[0]);
    };
    assert!(input.blob.as_ptr_range().contains(&stored.as_ptr()));

    let inner = tar(&[("dist/x.whl", &wheel), ("k.cubin", &cubin(75))]);
    let found = expand("all.tar.gz", gzip(&inner));
    assert_eq!(found.problems, []);
    assert_eq!(found.images.len(), 8);
    assert_eq!(
        found.images[4].id(),
        "all.tar.gz(dist/x.whl(pkg/libx.a(a.o))):.nv_fatbin[0]"
    );
    assert_eq!(found.images[7].id(), "all.tar.gz(k.cubin)");
    assert_eq!(ids(&expand("k.gz", gzip(&cubin(75)))), ["k.gz"]);
}

#[test]
fn a_deep_nest_has_an_end() {
    let mut bytes = cubin(90);
    for depth in 0..8 {
        let found = expand("x", bytes.clone());
        if depth <= 4 {
            assert_eq!(
                (found.images.len(), found.problems.len()),
                (1, 0),
                "{depth}"
            );
        } else {
            assert_eq!(found.images.len(), 0);
            assert!(
                messages(&found)[0].contains("more than 4 archives"),
                "{found:?}"
            );
        }
        bytes = archive(&[member("x/", &bytes)]);
    }
}

#[test]
fn what_members_and_bombs_may_cost_is_limited() {
    let lib = elf(&[(".nv_fatbin", &fatbin(90)), (".data", &vec![0; 1 << 20])]);
    let deflated = CompressionMethod::Deflated;
    let members = [
        ("a.so", &lib[..], deflated),
        ("b.so", &lib, deflated),
        ("c.so", &lib, deflated),
    ];
    let package = code("x.zip", zip(&members));
    let options = ExpandOptions {
        unpacked: 5 << 19,
        ..ExpandOptions::default()
    };
    let found = package.expand(&options);
    assert_eq!(found.images.len(), 4);
    assert_eq!(
        messages(&found),
        ["x.zip(c.so): takes what is unpacked of this input above 2621440 bytes"]
    );
    let options = ExpandOptions {
        members: 2,
        ..ExpandOptions::default()
    };
    let found = package.expand(&options);
    assert_eq!(found.images.len(), 4);
    assert_eq!(
        messages(&found),
        ["x.zip: holds more than 2 members, the rest is not read"]
    );

    let mut zeros = cubin(90);
    zeros.resize(80 << 20, 0);
    let found = expand("bomb.zip", zip(&[("k.cubin", &zeros, deflated)]));
    assert_eq!(found.images.len(), 0);
    assert!(
        messages(&found)[0].ends_with("as no library does"),
        "{found:?}"
    );
    let found = expand("bomb.gz", gzip(&zeros));
    assert_eq!(found.images.len(), 0);
    assert!(
        messages(&found)[0].ends_with("as no package does"),
        "{found:?}"
    );
    let found = expand("bomb.zip.gz", gzip(&zip(&[("k.cubin", &zeros, deflated)])));
    assert_eq!((found.images.len(), found.problems.len()), (0, 1));
}

#[test]
fn a_package_that_lies_is_told() {
    let library = elf(&[(".nv_fatbin", &fatbin(90)), (".data", &vec![1; 10_000])]);
    let mut bytes = zip(&[("a.so", &library, CompressionMethod::Deflated)]);
    let list = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
    bytes[list + 16] ^= 1;
    let found = expand("x.zip", bytes.clone());
    assert_eq!(
        messages(&found),
        ["x.zip(a.so): cannot be unpacked: does not have the checksum that its header says"]
    );
    let cut = gzip(&library);
    let found = expand("x.gz", cut[..cut.len() / 2].to_vec());
    assert!(
        messages(&found)[0].starts_with("x.gz: cannot be unpacked"),
        "{found:?}"
    );
    let found = expand("x.zip", bytes[..bytes.len() - 30].to_vec());
    assert!(
        messages(&found)[0].starts_with("x.zip: zip file is damaged"),
        "{found:?}"
    );
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn thin(names: &[&str]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut headers = Vec::new();
    for name in names {
        headers.extend(header(&format!("/{}", table.len()), 1));
        table.extend(format!("{name}/\n").bytes());
    }
    [THIN, &member("//", &table), &headers].concat()
}

#[test]
fn thin_archives_reach_below_their_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let inside = root.join("lib");
    write(
        &inside.join("obj/a.o"),
        &elf(&[(".nv_fatbin", &fatbin(90))]),
    );
    write(
        &root.join("outside.o"),
        &elf(&[(".nv_fatbin", &fatbin(80))]),
    );
    let absolute = root.join("outside.o");
    let mut names = vec![
        "obj/a.o",
        "obj/../obj/a.o",
        "missing.o",
        "../outside.o",
        "obj",
    ];
    names.push(absolute.to_str().unwrap());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../outside.o", inside.join("link.o")).unwrap();
        names.push("link.o");
    }
    write(&inside.join("libx.a"), &thin(&names));
    let input = ObjectCode::open(&inside.join("libx.a")).unwrap();
    assert_eq!(input.kind(), Kind::ThinArchive);
    let found = input.expand(&ExpandOptions::default());
    let name = &input.name;
    let expected = [
        format!("{name}(obj/a.o):.nv_fatbin[0]"),
        format!("{name}(obj/a.o):.nv_fatbin[1]"),
        format!("{name}(obj/../obj/a.o):.nv_fatbin[0]"),
        format!("{name}(obj/../obj/a.o):.nv_fatbin[1]"),
    ];
    assert_eq!(ids(&found), expected);
    let told = messages(&found);
    let missing = inside.join("missing.o");
    assert_eq!(
        told[0],
        format!(
            "{name}(missing.o): cannot read `{}`, a file of a thin archive: no such file",
            missing.display()
        )
    );
    assert!(
        told[1].ends_with("names `../outside.o`, which is outside its folder"),
        "{told:?}"
    );
    assert!(told[2].ends_with("not a file"), "{told:?}");
    assert!(
        told[3..]
            .iter()
            .all(|told| told.contains("outside its folder")),
        "{told:?}"
    );
    assert_eq!(told.len(), names.len() - 2);

    let options = ExpandOptions {
        thin_members_anywhere: true,
        ..ExpandOptions::default()
    };
    let found = input.expand(&options);
    assert_eq!(found.problems.len(), 2);
    assert_eq!(found.images.len(), 2 * (names.len() - 2));
    // Without a folder there is nothing to look below.
    let found = expand("<stdin>", thin(&["a.o"]));
    assert!(messages(&found)[0].contains("no folder"), "{found:?}");
}

#[test]
fn directories_are_walked_in_order_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("site");
    let object = elf(&[(
        ".nv_fatbin",
        &container(&[entry(2, 90, &cubin(90)).bytes()]),
    )]);
    write(&root.join("b/lib.so"), &object);
    write(&root.join("a/k.cubin"), &cubin(80));
    write(&root.join("a.cubin"), &cubin(75));
    write(
        &root.join("x.whl"),
        &zip(&[("k.cubin", &cubin(100), CompressionMethod::Deflated)]),
    );
    write(&root.join("readme"), b"text");
    write(&root.join("libthin.a"), &thin(&["b/lib.so"]));
    write(&folder.path().join("other/k.cubin"), &cubin(120));
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("..", root.join("a/loop")).unwrap();
        symlink("lib.so", root.join("b/lib.so.1")).unwrap();
        symlink("../other/k.cubin", root.join("linked")).unwrap();
        symlink("../other/k.cubin", root.join("linked again")).unwrap();
        symlink("../other", root.join("outside")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
    }
    let input = ObjectCode::open(&root).unwrap();
    assert_eq!(input.kind(), Kind::Directory);
    let found = input.expand(&ExpandOptions::default());
    let name = |inside: &str| format!("{}/{inside}", root.display());
    let mut expected = vec![
        name("a/k.cubin"),
        name("a.cubin"),
        name("b/lib.so:.nv_fatbin[0]"),
        name("libthin.a(b/lib.so):.nv_fatbin[0]"),
    ];
    if cfg!(unix) {
        expected.push(name("linked"));
    }
    expected.push(name("x.whl(k.cubin)"));
    assert_eq!(ids(&found), expected);
    assert_eq!(found.images[2].member.as_deref(), Some("b/lib.so"));
    if cfg!(unix) {
        let expected = [
            format!("{}: cannot be read: no such file", name("dangling")),
            format!(
                "{}: is a link to a directory, which is not followed",
                name("outside")
            ),
        ];
        assert_eq!(messages(&found), expected);
    }
    let options = ExpandOptions {
        members: 2,
        ..ExpandOptions::default()
    };
    assert_eq!(input.expand(&options).problems.len(), 1);
}

#[test]
fn a_dll_has_short_section_names() {
    let bytes = dll(&[
        (b".rdata", &fatbin(80)),
        (b".nvFatBi", &[0; 24]),
        (b".nv_fatb", &fatbin(90)),
        (b"__nv_rel", &fatbin(100)),
    ]);
    let input = code("x.dll", bytes);
    assert_eq!(input.kind(), Kind::SharedLibrary);
    let found = input.expand(&ExpandOptions::default());
    assert_eq!(found.problems, []);
    let summary: Vec<_> = found
        .images
        .iter()
        .map(|image| (image.id(), image.loadable))
        .collect();
    let expected = [
        ("x.dll:.nv_fatb[0]", Loadable::Yes),
        ("x.dll:.nv_fatb[1]", Loadable::Yes),
        ("x.dll:__nv_rel[0]", Loadable::RelocatableOnly),
        ("x.dll:__nv_rel[1]", Loadable::RelocatableOnly),
        ("x.dll:.rdata[0]", Loadable::Unregistered),
        ("x.dll:.rdata[1]", Loadable::Unregistered),
    ];
    assert_eq!(
        summary,
        expected.map(|(id, loadable)| (id.to_owned(), loadable))
    );
}

#[test]
fn fat_mach_o_parts_are_members() {
    let part = |architecture| {
        let mut mach = Writer::new(BinaryFormat::MachO, architecture, Endianness::Little);
        let section = mach.add_section(
            b"__NV_CUDA".to_vec(),
            b"__nv_fatbin".to_vec(),
            SectionKind::Data,
        );
        mach.append_section_data(section, &fatbin(90), 8);
        mach.write().unwrap()
    };
    let parts = [part(Architecture::X86_64), part(Architecture::Aarch64)];
    let mut bytes = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2];
    let second = 64 + parts[0].len();
    for (cpu, start, part) in [
        (0x0100_0007_u32, 64, &parts[0]),
        (0x0100_000c, second, &parts[1]),
    ] {
        for field in [cpu, 3, start as u32, part.len() as u32, 0] {
            bytes.extend(field.to_be_bytes());
        }
    }
    bytes.resize(64, 0);
    bytes.extend(parts.concat());
    let found = expand("libx.dylib", bytes);
    let expected = [
        "libx.dylib(x86-64):__NV_CUDA,__nv_fatbin[0]",
        "libx.dylib(x86-64):__NV_CUDA,__nv_fatbin[1]",
        "libx.dylib(aarch64):__NV_CUDA,__nv_fatbin[0]",
        "libx.dylib(aarch64):__NV_CUDA,__nv_fatbin[1]",
    ];
    assert_eq!(ids(&found), expected);
}

/// Whatever is done to the bytes: no panic, and no two images of one name.
#[test]
fn no_damage_makes_it_panic() {
    let group = container(&[concatenated(&[
        entry(2, 90, &cubin(90)),
        entry(1, 90, PTX.as_bytes()),
    ])]);
    let object = elf(&[(".nv_fatbin", &group), (".rodata", &fatbin(90))]);
    let library = archive(&[member("a.o/", &object), member("a.o/", &cubin(90))]);
    let inputs = [
        zip(&[
            ("a.a", &library, CompressionMethod::Stored),
            ("b.o", &object, CompressionMethod::Deflated),
        ]),
        tar(&[("a.a", &library)]),
        gzip(&object),
    ];
    for whole in inputs {
        assert!(!expand("x", whole.clone()).images.is_empty());
        for at in 0..whole.len() {
            check(&whole[..at]);
            for value in [0, 0xff, whole[at] ^ 1] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                check(&bytes);
            }
        }
    }
}

fn check(bytes: &[u8]) {
    let found = expand("x", bytes.to_vec());
    let mut ids = BTreeSet::new();
    for image in &found.images {
        assert!(ids.insert(image.id()), "{}", image.id());
        let _ = image.unpack(Limits {
            size: 1 << 20,
            ..Limits::default()
        });
    }
}
