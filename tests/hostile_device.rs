//! Damaged files: any answer is right, except a panic, a hang or memory without bound.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use cudalink::code::{Functions, ObjectCode, Producer, Symbols};
use cudalink::error::{Diagnostic, Result};
use cudalink::format::cubin::Cubin;
use cudalink::format::ptx::Ptx;
use cudalink::format::{Kind, classify};
use cudalink::inspect::{Detail, ImageReport, Request, Sink, Source, inspect};
use cudalink::observe::Silent;

/// A small generator: the same damage in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Cuts, flips, overwrites with telling numbers, or repeats a piece.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const TELLING: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0xffff_ffff, u64::MAX, 1 << 63];
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = random.next() as u8,
            3 | 4 => {
                let width = 1 << random.below(4);
                let value = TELLING[random.below(TELLING.len())].to_le_bytes();
                for (to, from) in bytes[at..].iter_mut().zip(&value[..width]) {
                    *to = *from;
                }
            }
            _ => {
                let piece = bytes[at..(at + 64).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
}

fn read_everything(bytes: &[u8]) {
    if let Ok(ptx) = Ptx::parse(bytes) {
        Functions::from_ptx(&ptx);
        Symbols::from_ptx(&ptx);
        Producer::from_ptx(&ptx);
    }
    let Ok(cubin) = Cubin::parse(bytes) else {
        return;
    };
    assert!(cubin.extent() <= bytes.len() as u64);
    let _ = (cubin.target(), cubin.virtual_number(), cubin.debug());
    let _ = (cubin.is_texmode_independent(), cubin.compat().count());
    Producer::from_cubin(&cubin);
    let _ = Functions::from_cubin(&cubin);
    let _ = Symbols::from_cubin(&cubin);
    for section in cubin.relocation_sections() {
        if let Ok(relocations) = cubin.relocations(section) {
            relocations.for_each(drop);
        }
    }
}

const ROUNDS: usize = 20_000;

/// Takes a report and lets it go.
struct Nowhere;

impl Sink for Nowhere {
    fn source(&mut self, _: &Source) -> Result<()> {
        Ok(())
    }

    fn image(&mut self, image: ImageReport) -> Result<()> {
        assert!(!image.id.is_empty());
        Ok(())
    }

    fn end(&mut self, _: Vec<Diagnostic>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn damaged_containers() {
    let is_container = |bytes: &[u8]| {
        use Kind::{Archive, Executable, Fatbin, Object, SharedLibrary, Wheel, Zip};
        let kind = classify(bytes).kind;
        [
            Archive,
            Executable,
            Fatbin,
            Object,
            SharedLibrary,
            Wheel,
            Zip,
        ]
        .contains(&kind)
    };
    let files: Vec<_> = common::files(is_container)
        .into_iter()
        .filter(|(_, bytes)| bytes.len() < 100_000)
        .collect();
    if files.is_empty() {
        return common::skip("there is no container to damage");
    }
    let request = Request {
        detail: Detail::ALL,
        demangle: true,
        ..Request::default()
    };
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for round in 0..ROUNDS {
        let (path, original) = &files[round % files.len()];
        let mut bytes = original.clone();
        damage(&mut bytes, &mut random);
        let name = path.file_name().unwrap().to_string_lossy();
        let object = ObjectCode::from_blob(name, bytes.into());
        inspect(&[object], &request, &mut Nowhere, &Silent).unwrap();
    }
}

#[test]
fn damaged_device_code() {
    let files = common::files(|bytes| Cubin::is_cubin(bytes) || Ptx::is_ptx(bytes));
    // Large ones would only slow the test down.
    let files: Vec<_> = files
        .into_iter()
        .filter(|(_, bytes)| bytes.len() < 100_000)
        .collect();
    if files.is_empty() {
        return common::skip("there is no device code to damage");
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..ROUNDS {
        let (_, original) = &files[round % files.len()];
        let mut bytes = original.clone();
        // Half of the damage goes to the header tables, which random places seldom hit.
        if round % 2 == 0 && Cubin::is_cubin(original) {
            let tables = original.len() - original.len() / 8;
            let mut tail = bytes.split_off(tables);
            damage(&mut tail, &mut random);
            bytes.extend(tail);
        } else {
            damage(&mut bytes, &mut random);
        }
        read_everything(&bytes);
    }
}
