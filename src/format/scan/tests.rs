use super::*;
use crate::format::testing::{PTX, container, cubin, entry, lto_ir};

fn ptx() -> &'static [u8] {
    &PTX.as_bytes()[3..]
}

fn name(kind: &FoundKind<'_>) -> &'static str {
    match kind {
        FoundKind::Fatbin(_) => "fatbin",
        FoundKind::Cubin => "cubin",
        FoundKind::Ptx => "ptx",
        FoundKind::LtoIr => "lto-ir",
    }
}

fn found(bytes: &[u8]) -> Vec<(&'static str, Range<usize>)> {
    scan(bytes, 0..bytes.len())
        .map(|found| found.unwrap())
        .map(|found| (name(&found.kind), found.range))
        .collect()
}

fn fatbin() -> Vec<u8> {
    let cubin = cubin(90);
    container(&[
        entry(2, 90, &cubin).bytes(),
        entry(1, 90, PTX.as_bytes()).bytes(),
    ])
}

#[test]
fn finds_each_kind_in_order_wherever_it_starts() {
    for gap in [0, 1, 7, 4090, 4096, 70_000] {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        let pieces = [
            ("cubin", cubin(75)),
            ("fatbin", fatbin()),
            ("ptx", ptx().to_vec()),
            ("fatbin", fatbin()),
            ("cubin", cubin(100)),
        ];
        for (kind, piece) in &pieces {
            bytes.extend(std::iter::repeat_n(0xEE, gap));
            // The end of PTX is the first byte that no text has.
            bytes.push(0);
            expected.push((*kind, bytes.len()..bytes.len() + piece.len()));
            bytes.extend(piece);
        }
        bytes.push(0);
        assert_eq!(found(&bytes), expected, "gap {gap}");
    }
}

#[test]
fn no_signature_hides_another() {
    for (_, first) in NEEDLES {
        for (_, second) in NEEDLES {
            for length in 1..first.len().min(second.len()) {
                assert_ne!(first[first.len() - length..], second[..length]);
            }
        }
    }
}

#[test]
fn a_find_is_not_searched() {
    let inner = fatbin();
    let bytes = container(&[entry(16, 90, &inner).bytes()]);
    assert_eq!(found(&bytes), [("fatbin", 0..bytes.len())]);
}

#[test]
fn large_data_is_searched_in_pieces() {
    let mut bytes = vec![0; 9 << 20];
    let piece = fatbin();
    let starts = [
        1_000_000,
        (2 << 20) - 3,
        (3 << 20) - 1,
        5 << 20,
        (9 << 20) - piece.len(),
    ];
    for start in starts {
        bytes[start..start + piece.len()].copy_from_slice(&piece);
    }
    let expected = starts.map(|start| ("fatbin", start..start + piece.len()));
    assert_eq!(found(&bytes), expected);
    let range = starts[1]..starts[3] + piece.len() - 1;
    let inside: Vec<_> = scan(&bytes, range).collect();
    // The last fatbin is cut off, but what is in it is not.
    assert_eq!(inside.len(), 5, "{inside:?}");
    assert!(inside[..2].iter().all(Result::is_ok) && inside[2].is_err());
}

#[test]
fn signatures_alone_are_nothing() {
    let mut bytes = Vec::new();
    bytes.extend(b"\x50\xed\x55\xba\x01\x00\x10\x00\x40\0\0\0\0\0\0\0 no entry at all ");
    bytes.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    bytes.extend(b"\xed\x43\x4e\x7f no LTO-IR");
    bytes.extend(b"gnu.version 1.0 .target sm_90 .version %d.%d\n.target %s\n");
    bytes.extend(b".version 1.2\nof another file\0");
    assert_eq!(found(&bytes), []);
}

#[test]
fn what_starts_well_and_breaks_is_told() {
    let whole = fatbin();
    let mut bytes = whole.clone();
    // The second entry claims more than is there.
    let second = bytes.len() - (64 + PTX.len().next_multiple_of(8));
    bytes[second + 8..second + 16].fill(0xff);
    let all: Vec<_> = scan(&bytes, 0..bytes.len()).collect();
    let Err(error) = &all[0] else {
        panic!("{all:?}");
    };
    assert!(error.message.contains("claims"), "{error}");
    // What is inside the damaged container is still found.
    let inside: Vec<_> = all[1..].iter().flatten().map(|f| name(&f.kind)).collect();
    assert_eq!(inside, ["cubin", "ptx"]);

    let cut = cubin(90);
    let all: Vec<_> = scan(&cut[..cut.len() - 1], 0..cut.len()).collect();
    assert!(matches!(all[..], [Err(_)]), "{all:?}");
}

#[test]
fn ptx_ends_where_its_text_does() {
    let tails = [
        "\0more",
        "attempt to divide by zero}",
        "src/main.rs",
        "}",
        "\x01",
    ];
    for tail in tails {
        let bytes = [ptx(), tail.as_bytes()].concat();
        assert_eq!(found(&bytes), [("ptx", 0..ptx().len())], "{tail:?}");
    }
    let odd = ".version 7.0\n.target sm_52 // {\n.address_size 64\n.file 1 \"a{b.cu\"\n/* ( */\n\
        .global .align 1 .b8 s[3] = {1,\n2, 3};\n.extern .func (.param .b32 r) f\n(\n.param .b32 x\n)\n;\n";
    for tail in ["", "\0", "abc"] {
        let bytes = [odd, tail].concat();
        assert_eq!(found(bytes.as_bytes()), [("ptx", 0..odd.len())], "{tail:?}");
    }
}

#[test]
fn lto_ir_goes_on_to_the_next_find() {
    let blob = lto_ir(90);
    let bytes = [&[0; 5][..], &blob, &lto_ir(100), &fatbin(), &blob].concat();
    let second = 5 + blob.len();
    let third = second + blob.len();
    let fourth = third + fatbin().len();
    let expected = [
        ("lto-ir", 5..second),
        ("lto-ir", second..third),
        ("fatbin", third..fourth),
        ("lto-ir", fourth..bytes.len()),
    ];
    assert_eq!(found(&bytes), expected);
}

/// Each start claims all that follows, which makes a naive search quadratic.
#[test]
fn hostile_data_ends_the_search() {
    let mut fatbins = Vec::new();
    while fatbins.len() < 4 << 20 {
        // A container whose entries go on to the end of the data and then fail.
        let rest = (4 << 20) - fatbins.len() as u64;
        fatbins.extend(b"\x50\xed\x55\xba\x01\x00\x10\x00");
        fatbins.extend(rest.to_le_bytes());
        fatbins.extend(entry(1, 90, b"\x50\xed\x55\xba").bytes());
    }
    let mut texts = Vec::new();
    while texts.len() < 4 << 20 {
        texts.extend(b" .version 8.0 .target x");
    }
    let mut cubins = Vec::new();
    while cubins.len() < 4 << 20 {
        let mut cubin = cubin(90);
        cubin[40..48].copy_from_slice(&(1_u64 << 20).to_le_bytes());
        cubin[60..62].fill(0xff);
        cubins.extend(cubin);
    }
    for bytes in [fatbins, texts, cubins] {
        let start = std::time::Instant::now();
        let all: Vec<_> = scan(&bytes, 0..bytes.len()).collect();
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        assert!(all.len() < 100_000);
    }
}
