//! The elements that a [`Source`] names, made or read part by part, so that a buffer of any size needs no
//! copy of it on the host.

use std::path::Path;

use rayon::prelude::*;

use super::npy;
use super::shape::Shape;
use super::spec::{Init, Source};
use super::types::Type;
use crate::bytes::{self, Blob};
use crate::error::{Category, Code, Diagnostic, Error, Result};

/// Elements of a known shape.
#[derive(Debug, Clone)]
pub struct Data {
    pub shape: Shape,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Init(Init),
    Stored {
        elements: Blob,
        big_endian: bool,
        fortran: bool,
    },
}

/// Parts below this many bytes are made on one thread.
const PARALLEL_FROM: usize = 1 << 20;
/// Elements that one thread makes at a time.
const PIECE: usize = 1 << 16;

impl Data {
    /// Opens the files that `source` names and checks their sizes.
    pub fn open(source: &Source) -> Result<Self> {
        match source {
            Source::Init(shape, init) => Ok(Self {
                shape: shape.clone(),
                content: Content::Init(init.clone()),
            }),
            Source::Raw(shape, path) => {
                let elements = open(path)?;
                if elements.len() as u64 != shape.bytes() {
                    let message = format!(
                        "has {} bytes, but {shape} is {} bytes",
                        elements.len(),
                        shape.bytes()
                    );
                    return Err(Error::failed(Code::LaunchRefused, message)
                        .input(path.display().to_string()));
                }
                Ok(Self::stored(shape.clone(), elements, false, false))
            }
            Source::Npy(path) => {
                let blob = open(path)?;
                let header = npy::Header::parse(&blob)
                    .map_err(|malformed| malformed.in_input(path.display().to_string()))?;
                let elements = blob
                    .slice(header.data..blob.len())
                    .unwrap_or_else(|| Vec::new().into());
                Ok(Self::stored(
                    header.shape,
                    elements,
                    header.big_endian,
                    header.fortran,
                ))
            }
        }
    }

    fn stored(shape: Shape, elements: Blob, big_endian: bool, fortran: bool) -> Self {
        // With one dimension or none both orders are one.
        let fortran = fortran && shape.dims.len() > 1;
        Self {
            shape,
            content: Content::Stored {
                elements,
                big_endian,
                fortran,
            },
        }
    }

    /// The bytes that all elements consist of, where these are 1, 2 or 4: the driver can set them itself.
    pub fn pattern(&self) -> Option<Vec<u8>> {
        let Content::Init(Init::Value(value)) = &self.content else {
            return None;
        };
        if value.iter().all(|byte| *byte == value[0]) {
            return Some(vec![value[0]]);
        }
        matches!(value.len(), 2 | 4).then(|| value.clone())
    }

    /// Writes the bytes from `at` on; `at` and the length are multiples of the element's size.
    pub fn fill(&self, at: u64, out: &mut [u8]) {
        let kind = self.shape.kind;
        let size = kind.size();
        let first = at / size as u64;
        let piece = |number: usize, out: &mut [u8]| {
            let first = first + (number * PIECE) as u64;
            match &self.content {
                Content::Init(init) => fill_init(kind, init, first, out),
                Content::Stored {
                    elements,
                    big_endian,
                    fortran,
                } => {
                    if *fortran {
                        self.fill_fortran(elements, first, out);
                    } else {
                        // `open` checked that the file has every byte of the shape.
                        let start = first as usize * size;
                        out.copy_from_slice(&elements[start..start + out.len()]);
                    }
                    if *big_endian {
                        out.chunks_exact_mut(kind.word()).for_each(<[u8]>::reverse);
                    }
                }
            }
        };
        if out.len() < PARALLEL_FROM {
            out.chunks_mut(PIECE * size)
                .enumerate()
                .for_each(|(number, out)| piece(number, out));
        } else {
            out.par_chunks_mut(PIECE * size)
                .enumerate()
                .for_each(|(number, out)| piece(number, out));
        }
    }

    fn fill_fortran(&self, elements: &[u8], first: u64, out: &mut [u8]) {
        let size = self.shape.kind.size();
        for (at, out) in (first..).zip(out.chunks_exact_mut(size)) {
            let (mut place, mut stride) = (0, 1);
            for (index, dim) in self.shape.index(at).into_iter().zip(&self.shape.dims) {
                place += index * stride;
                stride *= dim;
            }
            let start = place as usize * size;
            out.copy_from_slice(&elements[start..start + size]);
        }
    }
}

fn open(path: &Path) -> Result<Blob> {
    if path == Path::new("-") {
        return Err(Error::new(
            Category::Usage,
            Diagnostic::error(
                Code::OptionConflict,
                "arguments cannot be read from standard input; name a file",
            ),
        ));
    }
    bytes::open(path)
}

fn fill_init(kind: Type, init: &Init, first: u64, out: &mut [u8]) {
    match init {
        Init::Value(value) => repeat(value, out),
        Init::Iota => kind.write_counts(first, out),
        Init::Rand(seed) => {
            let elements = (first..).zip(out.chunks_exact_mut(kind.size()));
            elements.for_each(|(at, out)| random(kind, *seed, at, out));
        }
    }
}

/// Fills `out` with `value` again and again, doubling what is there: as fast as memory is.
fn repeat(value: &[u8], out: &mut [u8]) {
    let mut done = value.len().min(out.len());
    out[..done].copy_from_slice(&value[..done]);
    while done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
}

/// Element `at` of the sequence that SplitMix64 gives for `seed`.
fn random(kind: Type, seed: u64, at: u64, out: &mut [u8]) {
    if kind.is_complex() {
        let (re, im) = out.split_at_mut(kind.word());
        let part = if kind == Type::C64 {
            Type::F32
        } else {
            Type::F64
        };
        random(part, seed, at * 2, re);
        random(part, seed, at * 2 + 1, im);
        return;
    }
    let mut bits = seed.wrapping_add((at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // As many bits as the type holds exactly, so that 1 itself never comes out.
    let fraction = |count: u32| (bits >> (64 - count)) as f64 / (1u64 << count) as f64;
    match kind {
        Type::F16 => out.copy_from_slice(&half::f16::from_f64(fraction(11)).to_le_bytes()),
        Type::Bf16 => out.copy_from_slice(&half::bf16::from_f64(fraction(8)).to_le_bytes()),
        Type::F32 => out.copy_from_slice(&(fraction(24) as f32).to_le_bytes()),
        Type::F64 => out.copy_from_slice(&fraction(53).to_le_bytes()),
        Type::Bool => out[0] = (bits >> 63) as u8,
        _ => out.copy_from_slice(&bits.to_le_bytes()[..kind.size()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &Data) -> Vec<u8> {
        let mut out = vec![0xee; data.shape.bytes() as usize];
        data.fill(0, &mut out);
        out
    }

    fn texts(data: &Data) -> Vec<String> {
        let kind = data.shape.kind;
        all(data)
            .chunks(kind.size())
            .map(|element| kind.text(element))
            .collect()
    }

    fn made(text: &str) -> Data {
        Data::open(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn parts_are_the_whole() {
        for kind in Type::ALL {
            for init in ["1", "iota", "rand(7)"] {
                // More than one piece, with an odd end, so that both ways of filling are used.
                let data = made(&format!(
                    "{kind}[{}]={init}",
                    (1 << 20) / kind.size() + 90_003
                ));
                let whole = all(&data);
                let start = 12_345 * kind.size();
                let mut part = vec![0; 70_001 * kind.size()];
                data.fill(start as u64, &mut part);
                assert_eq!(part, whole[start..start + part.len()], "{kind} {init}");
            }
        }
    }

    #[test]
    fn random_numbers_are_the_same_everywhere() {
        // The sequence of SplitMix64 for seed 1234567, from its reference implementation.
        assert_eq!(
            texts(&made("u64[3]=rand(1234567)")),
            [
                "6457827717110365317",
                "3203168211198807973",
                "9817491932198370423"
            ]
        );
        for kind in ["f16", "bf16", "f32", "f64"] {
            let data = made(&format!("{kind}[10000]=rand(3)"));
            let sum: f64 = texts(&data)
                .iter()
                .map(|text| text.parse::<f64>().unwrap())
                .inspect(|v| assert!((0.0..1.0).contains(v)))
                .sum();
            assert!((4800.0..5200.0).contains(&sum), "{kind}: {sum}");
        }
    }

    #[test]
    fn patterns_for_the_driver() {
        assert_eq!(made("f64[4]=0").pattern(), Some(vec![0]));
        assert_eq!(
            made("f32[4]=1").pattern(),
            Some(1f32.to_le_bytes().to_vec())
        );
        assert_eq!(made("f64[4]=1").pattern(), None);
        assert_eq!(made("f32[4]=iota").pattern(), None);
    }

    #[test]
    fn numpy_files_of_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, descr: &str, fortran: &str, elements: &[u8]| {
            let text =
                format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3), }}");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text.as_bytes());
            bytes.extend(elements);
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            made(path.to_str().unwrap())
        };
        let count = ["0", "1", "2", "3", "4", "5"];
        let little: Vec<u8> = (0..6u16).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = (0..6u16).flat_map(u16::to_be_bytes).collect();
        assert_eq!(texts(&write("c.npy", "<u2", "False", &little)), count);
        assert_eq!(texts(&write("b.npy", ">u2", "False", &big)), count);
        let fortran: Vec<u8> = [0u16, 3, 1, 4, 2, 5]
            .into_iter()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(texts(&write("f.npy", ">u2", "True", &fortran)), count);
        let complex: Vec<u8> = (0..12).flat_map(|n| (n as f32).to_be_bytes()).collect();
        assert_eq!(texts(&write("z.npy", ">c8", "False", &complex))[1], "2+3i");
    }

    #[test]
    fn raw_files_must_have_the_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1, 2, 3]).unwrap();
        let source = |shape: &str| {
            format!("{shape}@{}", file.path().display())
                .parse()
                .unwrap()
        };
        assert_eq!(
            texts(&Data::open(&source("u8[3]")).unwrap()),
            ["1", "2", "3"]
        );
        assert_eq!(
            Data::open(&source("u8[4]")).unwrap_err().diagnostics[0].message,
            "has 3 bytes, but u8[4] is 4 bytes"
        );
    }
}
