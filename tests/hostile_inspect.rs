//! Files made to harm whoever inspects them. The program may use 512 MB of address space and a few seconds; it says
//! what is wrong and shows the rest.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Answer {
    status: Option<i32>,
    out: String,
    err: String,
}

fn cudalink(folder: &Path, arguments: &[&str]) -> Answer {
    let limited = r#"ulimit -v 524288 && exec "$0" "$@""#;
    let mut child = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_cudalink")])
        .args(arguments)
        .current_dir(folder)
        // Each thread reserves address space; what is bounded here is what files make it take.
        .env("RAYON_NUM_THREADS", "2")
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(folder.join("stdout")).unwrap())
        .stderr(std::fs::File::create(folder.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{arguments:?} did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read = |name| String::from_utf8(std::fs::read(folder.join(name)).unwrap()).unwrap();
    Answer {
        status: status.code(),
        out: read("stdout"),
        err: read("stderr"),
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name);
    std::fs::read(path).unwrap()
}

/// A container of one entry: its kind, its flags, its payload and what it claims to unpack to.
fn fatbin(flags: u64, payload: &[u8], unpacked: u64) -> Vec<u8> {
    let mut entry = vec![0; 64];
    entry[0] = 2;
    entry[2..4].copy_from_slice(&[1, 1]);
    entry[4] = 64;
    let padded = payload.len().next_multiple_of(8);
    entry[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    entry[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    entry[28] = 90;
    entry[40..48].copy_from_slice(&flags.to_le_bytes());
    entry[56..64].copy_from_slice(&unpacked.to_le_bytes());
    entry.extend(payload);
    entry.resize(64 + padded, 0);
    let mut out = b"\x50\xed\x55\xba\x01\x00\x10\x00".to_vec();
    out.extend((entry.len() as u64).to_le_bytes());
    out.extend(entry);
    out
}

const LZ4: u64 = 0x2011;
const ZSTD: u64 = 0x8011;

/// Inspects a file in every way and extracts it: each time it is damaged, says `message`, and is done soon.
fn is_damaged(name: &str, bytes: &[u8], message: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    for arguments in [
        &["inspect", "--all", name][..],
        &["inspect", "--all", "--format", "json", name],
        &["inspect", "--kernels", "--format", "csv", name],
        &["extract", name, "-o", "out"],
    ] {
        let answer = cudalink(folder.path(), arguments);
        assert_eq!(answer.status, Some(4), "{arguments:?}: {}", answer.err);
        assert!(
            answer.err.contains(message),
            "{arguments:?}: {}",
            answer.err
        );
    }
}

#[test]
fn planted_sizes() {
    let tebibyte = 1 << 40;
    is_damaged(
        "zstd.fatbin",
        &fatbin(ZSTD, b"\x28\xb5\x2f\xfd", tebibyte),
        "more than the limit",
    );
    is_damaged(
        "lz4.fatbin",
        &fatbin(LZ4, &[0; 4096], tebibyte),
        "more than the limit",
    );
    is_damaged(
        "ratio.fatbin",
        &fatbin(LZ4, &[0; 4096], 1 << 30),
        "no encoder",
    );
    for (at, what) in [(8, "fatbin"), (16 + 8, "entry")] {
        let mut bytes = fixture("whole.fatbin");
        bytes[at..at + 8].copy_from_slice(&(u64::MAX - 7).to_le_bytes());
        is_damaged("huge.fatbin", &bytes, what);
    }
    for (at, value) in [(40, u64::MAX - 63), (40, 1 << 62), (60, 0xffff)] {
        let mut bytes = fixture("whole.cubin");
        bytes[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
        is_damaged("x.cubin", &bytes, "error[damaged]: x.cubin");
    }
}

#[test]
fn bombs() {
    // As small as zstd makes it, and honest about its size.
    let zeros = vec![0; 400 << 20];
    let stored = zstd::bulk::compress(&zeros, 3).unwrap();
    is_damaged(
        "z.fatbin",
        &fatbin(ZSTD, &stored, zeros.len() as u64),
        "no encoder",
    );
    // Many that each keep within the limits are not held at once. What follows each frame is none, which shows only
    // when all of it is unpacked.
    let zeros = &zeros[..100 << 20];
    let mut stored = zstd::bulk::compress(zeros, 1).unwrap();
    stored.resize(zeros.len() / 4000, 0);
    let one = fatbin(ZSTD, &stored, zeros.len() as u64);
    is_damaged(
        "many.fatbin",
        &one.repeat(6),
        "error[damaged]: many.fatbin[5]",
    );

    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let deflated = zip::write::SimpleFileOptions::default();
    zip.start_file("k.cubin", deflated).unwrap();
    zip.write_all(&fixture("whole.cubin")).unwrap();
    for _ in 0..300 {
        zip.write_all(&zeros[..1 << 20]).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    is_damaged("bomb.whl", &zip, "as no library does");
}

#[test]
fn what_points_at_itself() {
    // A thin archive that is its own member, under both ways to write its name.
    for name in ["self.a/", "./self.a/"] {
        let mut thin = b"!<thin>\n".to_vec();
        writeln!(
            thin,
            "{name:<16}0           0     0     644     100       `"
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("self.a"), &thin).unwrap();
        let answer = cudalink(folder.path(), &["inspect", "--all", "self.a"]);
        assert!(matches!(answer.status, Some(0 | 4)), "{}", answer.err);
    }
    // All sections at one place.
    let mut object = fixture("whole.o");
    let table = u64::from_le_bytes(object[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes([object[60], object[61]]));
    let size = object.len() as u64;
    for index in 1..count {
        let at = table + index * 64;
        object[at + 24..at + 32].fill(0);
        object[at + 32..at + 40].copy_from_slice(&size.to_le_bytes());
    }
    is_damaged("overlap.o", &object, "error[damaged]: overlap.o");
}

#[test]
fn names_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("in")).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in [
        "../../evil.cubin",
        "/tmp/evil.cubin",
        "a\u{1b}]0;owned\u{7}.cubin",
    ] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(&fixture("axpy.cubin")).unwrap();
    }
    std::fs::write(path.join("in/x.whl"), zip.finish().unwrap().into_inner()).unwrap();
    let ptx = "//\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    std::fs::write(path.join("in/\u{1b}[31m.ptx"), ptx).unwrap();
    // The name of its kernel clears the screen.
    let mut cubin = fixture("axpy.cubin");
    let places: Vec<usize> = (0..cubin.len() - 4)
        .filter(|&at| &cubin[at..at + 4] == b"axpy")
        .collect();
    assert!(!places.is_empty());
    for at in places {
        cubin[at..at + 4].copy_from_slice(b"\x1b[2J");
    }
    std::fs::write(path.join("in/k.cubin"), cubin).unwrap();

    for (arguments, shown) in [
        (&["inspect", "in"][..], ""),
        (&["inspect", "--all", "in"], "\\u{1b}[2J"),
        (&["inspect", "--resources", "in"], "\\u{1b}[2J"),
        (
            &["inspect", "--kernels", "--format", "csv", "in"],
            "\\u{1b}[2J",
        ),
        (
            &["inspect", "--kernels", "--format", "markdown", "in"],
            "\\\\u{1b}[2J",
        ),
        (
            &["inspect", "--all", "--format", "json", "in"],
            "\\u001b[2J",
        ),
        (&["extract", "in", "-o", "deep/er/out"], ""),
    ] {
        let answer = cudalink(path, arguments);
        assert_eq!(answer.status, Some(0), "{arguments:?}: {}", answer.err);
        assert!(answer.out.contains(shown), "{arguments:?}: {}", answer.out);
        for text in [answer.out, answer.err] {
            let mut characters = text.chars();
            assert!(
                !characters.any(|c| c.is_control() && c != '\n'),
                "{arguments:?}: {text}"
            );
        }
    }
    let mut written: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path.join("deep/er/out")).unwrap() {
        written.push(entry.unwrap().path());
    }
    assert_eq!(written.len(), 5, "{written:?}");
    for folder in ["", "deep", "deep/er"] {
        let names = std::fs::read_dir(path.join(folder)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !names
                .iter()
                .any(|name| name.to_string_lossy().contains("evil")),
            "{names:?}"
        );
    }
}
