use super::*;
use crate::format::testing::{container, entry};

type Seen = (u64, Vec<Result<(u16, u64), u64>>);

/// Containers with the kinds and offsets of their entries; errors are their offsets.
fn seen(bytes: &[u8], base: u64) -> Vec<Result<Seen, u64>> {
    containers(bytes, base)
        .map(|container| {
            let container = container.map_err(|error| error.offset)?;
            let entries = container.entries().map(|entry| match entry {
                Ok(entry) => Ok((entry.kind, entry.offset)),
                Err(error) => Err(error.offset),
            });
            Ok((container.offset, entries.collect()))
        })
        .collect()
}

fn only_entry(bytes: &[u8]) -> Entry<'_> {
    let container = Container::parse(bytes, 0, 0).unwrap();
    let mut entries = container.entries();
    let entry = entries.next().unwrap().unwrap();
    assert!(entries.next().is_none());
    entry
}

#[test]
fn containers_follow_one_another_with_gaps_and_empty_ones() {
    let first = container(&[
        entry(2, 90, b"12345678").bytes(),
        entry(1, 90, b"ptx").bytes(),
    ]);
    let last = container(&[entry(8, 75, b"lto").bytes()]);
    let bytes = [
        &[0; 24][..],
        &first,
        &container(&[]),
        &[0; 8],
        &last,
        &[0; 5],
    ]
    .concat();
    let at = |offset: usize| 1000 + offset as u64;
    let empty = 24 + first.len();
    let expected = [
        Ok((at(24), vec![Ok((2, at(40))), Ok((1, at(40 + 72)))])),
        Ok((at(empty), vec![])),
        Ok((at(empty + 24), vec![Ok((8, at(empty + 40)))])),
    ];
    assert_eq!(seen(&bytes, 1000), expected);
    assert_eq!(seen(&[], 0), []);
    assert_eq!(seen(&[0; 100], 0), []);
}

#[test]
fn a_longer_container_header_is_honoured() {
    let mut bytes = container(&[entry(2, 90, b"12345678").bytes()]);
    bytes[6] = 24;
    bytes.splice(16..16, [9; 8]);
    assert_eq!(seen(&bytes, 0), [Ok((0, vec![Ok((2, 24))]))]);
    bytes[6] = 15;
    assert_eq!(seen(&bytes, 0), [Err(6)]);
}

#[test]
fn every_field() {
    let mut bytes = container(&[crate::format::testing::Entry {
        unpacked: 77,
        name: "dir/a.cu",
        options: "-O3 --compile-only ",
        ..entry(1, 90, b"12345")
    }
    .bytes()]);
    // Flags: debug, zstd, accelerated; field 48.
    bytes[16 + 40..16 + 48].copy_from_slice(&0x10_8013_u64.to_le_bytes());
    bytes[16 + 48] = 6;
    let entry = only_entry(&bytes);
    assert_eq!((entry.offset, entry.kind, entry.version), (16, 1, 0x0101));
    assert_eq!((entry.arch, entry.code_version), (90, (9, 5)));
    assert!(entry.is_accelerated() && !entry.is_family() && entry.is_debug());
    assert_eq!((entry.flags, entry.scramble), (0x10_8013, 6));
    assert_eq!((entry.codec(), entry.unpacked_size()), (Codec::Zstd, 77));
    assert_eq!(entry.compressed_size, 5);
    assert_eq!(entry.stored().unwrap(), b"12345");
    assert_eq!(entry.stored_size(), bytes.len() as u64 - 16);
    assert_eq!(entry.payload_offset(), bytes.len() as u64 - 8);
    assert_eq!(entry.identifier().unwrap(), b"dir/a.cu");
    assert_eq!(entry.aux().unwrap(), b"-O3 --compile-only ");
}

/// Up to CUDA 12 the aux descriptor comes first, and an empty one is `{0, 0}`.
#[test]
fn extras_in_any_order() {
    let mut extras = Vec::new();
    extras.extend([87, 0, 0, 0, 3, 0, 0, 0]);
    extras.extend(b"name\0\0\0\0 hole  -v \0pad!");
    let raw = crate::format::testing::Entry {
        name: "name",
        ..entry(1, 90, b"")
    };
    let bytes = container(&[raw.with_header(&extras, 64, 72)]);
    let found = only_entry(&bytes);
    assert_eq!(found.identifier().unwrap(), b"name");
    assert_eq!(found.aux().unwrap(), b"-v ");

    let bytes = container(&[entry(1, 90, b"").with_header(&[0; 8], 64, 0)]);
    let found = only_entry(&bytes);
    assert_eq!((found.identifier(), found.aux()), (None, None));
}

#[test]
fn codecs_in_the_order_of_the_tools() {
    for (flags, codec) in [
        (0x11, Codec::None),
        (0x1_0011, Codec::Scrambled),
        (0x1_8000, Codec::Scrambled),
        (0xF000, Codec::Zlib),
        (0xE000, Codec::Lz4),
        (0xC000, Codec::Zstd),
        (0x4000, Codec::Unknown),
    ] {
        let raw = crate::format::testing::Entry {
            flags,
            ..entry(8, 90, b"payload")
        };
        assert_eq!(
            only_entry(&container(&[raw.bytes()])).codec(),
            codec,
            "{flags:#x}"
        );
    }
}

#[test]
fn wrong_sizes_hide_nothing_that_follows() {
    let one = container(&[
        entry(2, 90, b"12345678").bytes(),
        entry(1, 90, b"12345678").bytes(),
    ]);
    let second = one.len() as u64;
    let good = Ok((second, vec![Ok((2, second + 16)), Ok((1, second + 88))]));
    let damaged = |at: usize, value: u64| {
        let mut bytes = [&one[..], &one].concat();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        seen(&bytes, 0)
    };
    let whole = || vec![Ok((2, 16)), Ok((1, 88))];
    // The container's size: beyond the end, into the next container, too small for its entries.
    for size in [u64::MAX, 1 << 40] {
        let mut entries = whole();
        entries.push(Err(second));
        assert_eq!(damaged(8, size), [Ok((0, entries)), good.clone()]);
    }
    let mut entries = whole();
    entries.push(Err(second));
    assert_eq!(damaged(8, 144 + 32), [Ok((0, entries)), good.clone()]);
    // What is left of the entry that is cut is given, and its damage.
    let cut = vec![Ok((2, 16)), Err(16)];
    assert_eq!(damaged(8, 70), [Ok((0, cut)), good.clone()]);
    // The size of the first entry's payload.
    for size in [u64::MAX, 1 << 40, 1000] {
        let cut = vec![Ok((2, 16)), Err(16)];
        assert_eq!(damaged(16 + 8, size), [Ok((0, cut)), good.clone()]);
    }
    // The size of its header.
    let no_header = vec![Err(16 + 4)];
    assert_eq!(damaged(16, 63 << 32), [Ok((0, no_header)), good.clone()]);
    // The magic.
    assert_eq!(damaged(0, 0x10_0001_BA55_ED51), [Err(0), good]);
}

#[test]
fn a_cut_entry_is_given_as_far_as_it_goes() {
    let mut raw = entry(2, 90, b"1234567812345678");
    raw.name = "kernels.cu";
    let whole = container(&[raw.bytes()]);
    for cut in 0..whole.len() {
        let found: Vec<_> = containers(&whole[..cut], 0).collect();
        if cut < 16 {
            assert_eq!(found.is_empty(), cut == 0, "{cut}");
            assert!(found.iter().all(Result::is_err), "{cut}");
            continue;
        }
        let [Ok(container)] = &found[..] else {
            panic!("{cut}: {found:?}");
        };
        assert!(container.damage.is_some());
        let entries: Vec<_> = container.entries().collect();
        match &entries[..] {
            [] => assert_eq!(cut, 16),
            [Err(_)] => assert!(cut < 16 + 64, "{cut}"),
            [Ok(entry), Err(_)] => {
                let name = (cut >= 16 + 64 + 10).then_some(&b"kernels.cu"[..]);
                assert_eq!((entry.arch, entry.identifier()), (90, name), "{cut}");
                let payload = cut.saturating_sub(16 + 64 + 16);
                assert_eq!(entry.stored().unwrap().len(), payload);
            }
            other => panic!("{cut}: {other:?}"),
        }
    }
}

#[test]
fn damaged_extras_leave_the_rest() {
    let raw = crate::format::testing::Entry {
        name: "a.cu",
        options: "-v",
        ..entry(1, 90, b"text")
    };
    let plain = container(&[raw.bytes(), entry(2, 80, b"cubin").bytes()]);
    // Identifier offset and length, aux offset, aux data's offset and length.
    for at in [32, 36, 20, 72, 76] {
        let mut bytes = plain.clone();
        bytes[16 + at..16 + at + 4].fill(0xFF);
        let container = Container::parse(&bytes, 0, 0).unwrap();
        let entries: Vec<_> = container.entries().collect();
        let [Ok(first), Err(damage), Ok(second)] = &entries[..] else {
            panic!("{at}: {entries:?}");
        };
        assert_eq!((first.kind, second.kind, damage.offset), (1, 2, 16));
        assert_eq!(first.stored().unwrap(), b"text\0\0\0\0");
        assert!(first.identifier().is_none() || first.aux().is_none());
    }
}

#[test]
fn a_compressed_stream_lies_within_its_payload() {
    let raw = crate::format::testing::Entry {
        flags: 0x8011,
        unpacked: 10,
        ..entry(1, 90, b"1234567")
    };
    let mut bytes = container(&[raw.bytes()]);
    assert_eq!(only_entry(&bytes).stored().unwrap(), b"1234567");
    bytes[16 + 16] = 9;
    let error = only_entry(&bytes).stored().unwrap_err();
    assert_eq!(error.offset, 32, "{error}");
}

#[test]
fn an_entry_alone_is_a_container() {
    let raw = crate::format::testing::Entry {
        flags: 0x1_8011,
        name: "x",
        ..entry(8, 90, b"scrambled")
    };
    let one = container(&[raw.bytes()]);
    let both = container(&[entry(2, 90, b"cubin").bytes(), raw.bytes()]);
    let container = Container::parse(&both, 0, 0).unwrap();
    let second = container.entries().nth(1).unwrap().unwrap();
    assert_eq!(second.as_container(), one);
}

/// The table as `fatbinary -concat` of CUDA 13.5 writes it: names, and options for PTX.
fn concatenated() -> Vec<u8> {
    let mut table = Vec::new();
    for (kind, start, size, options) in [
        (1, 0_u32, 952_u64, " --generate-line-info "),
        (1, 952, 960, ""),
        (2, 1912, 4968, ""),
    ] {
        let raw = crate::format::testing::Entry {
            name: "a.cu",
            options,
            ..entry(kind, 90, b"")
        };
        let mut bytes = raw.bytes();
        bytes[4..8].copy_from_slice(&start.to_le_bytes());
        bytes[8..16].copy_from_slice(&size.to_le_bytes());
        table.extend(bytes);
    }
    let mut extras = 3_u32.to_le_bytes().to_vec();
    extras.extend((table.len() as u32 + 8).to_le_bytes());
    extras.extend(table);
    let raw = crate::format::testing::Entry {
        flags: 0x8011,
        unpacked: 6880,
        ..entry(256, 0, b"zstd frame")
    };
    container(&[raw.with_header(&extras, 64, 0)])
}

#[test]
fn members_of_a_concatenated_entry() {
    let bytes = concatenated();
    let entry = only_entry(&bytes);
    assert_eq!((entry.aux(), entry.codec()), (None, Codec::Zstd));
    let members = entry.members().unwrap();
    let seen: Vec<_> = members
        .iter()
        .map(|member| {
            let entry = &member.entry;
            let options = entry.aux().unwrap_or_default();
            (
                entry.kind,
                member.start,
                member.size,
                entry.identifier().unwrap(),
                options,
            )
        })
        .collect();
    let name = &b"a.cu"[..];
    let expected = [
        (1, 0, 952, name, &b" --generate-line-info "[..]),
        (1, 952, 960, name, b""),
        (2, 1912, 4968, name, b""),
    ];
    assert_eq!(seen, expected);
    assert_eq!(members[0].entry.offset, 16 + 64 + 8);

    for (at, value) in [(64, 4), (64, 0xFF), (68, 4), (68, 0xFF), (20, 0xFF)] {
        let mut bytes = concatenated();
        bytes[16 + at..16 + at + 4].fill(value);
        assert!(only_entry(&bytes).members().is_err(), "{at} {value}");
    }
}

#[test]
fn wrappers() {
    let mut section = Vec::new();
    for (version, data) in [(1_u32, 0x1000_u64), (2, 0)] {
        section.extend(Wrapper::MAGIC.to_le_bytes());
        section.extend(version.to_le_bytes());
        section.extend(data.to_le_bytes());
        section.extend([0; 8]);
    }
    section.extend([0; 24]);
    section.extend(&section[..20].to_vec());
    let expected = [(1, 0x1000), (2, 0)].map(|(version, data)| Wrapper { version, data });
    assert_eq!(Wrapper::all(&section), expected);
}
