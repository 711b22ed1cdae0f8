//! `--expect`: whether elements are what they should be, and which are furthest off.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::types::{Type, Value};

/// How far off an element may be: `|got - expected| <= absolute + relative * |expected|`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerance {
    #[serde(rename = "rtol")]
    pub relative: f64,
    #[serde(rename = "atol")]
    pub absolute: f64,
}

impl Tolerance {
    /// What is taken where nothing is said: none for integers and booleans, and for floats the values that
    /// PyTorch's `assert_close` uses.
    pub fn default_for(kind: Type) -> Self {
        let (relative, absolute) = match kind {
            Type::F16 => (1e-3, 1e-5),
            Type::Bf16 => (1.6e-2, 1e-5),
            Type::F32 | Type::C64 => (1.3e-6, 1e-5),
            Type::F64 | Type::C128 => (1e-7, 1e-7),
            _ => (0.0, 0.0),
        };
        Self { relative, absolute }
    }
}

/// The outcome of one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub argument: usize,
    /// As written: `y.npy`, `f32[16]=3`.
    pub source: String,
    pub equal: bool,
    pub elements: u64,
    pub different: u64,
    #[serde(flatten)]
    pub tolerance: Tolerance,
    /// The elements furthest off, worst first.
    pub worst: Vec<Difference>,
}

/// One element that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    pub index: Vec<u64>,
    pub got: String,
    pub expected: String,
    /// How far apart the two are, as a number; `inf` where one is no finite number.
    pub off_by: String,
}

/// How many of the worst elements are kept.
const WORST: usize = 5;

/// A comparison under way; parts come in order.
#[derive(Debug)]
pub struct Comparer {
    expected: Data,
    tolerance: Tolerance,
    found: Found,
    scratch: Vec<u8>,
}

/// Differences so far: the count, and the worst with how far each is past what is allowed.
#[derive(Debug, Default)]
struct Found {
    different: u64,
    worst: Vec<Off>,
}

#[derive(Debug)]
struct Off {
    /// Larger is worse; infinite where a NaN or an infinity is involved.
    badness: f64,
    distance: f64,
    at: u64,
    got: Vec<u8>,
    expected: Vec<u8>,
}

impl Found {
    fn add(&mut self, off: Off) {
        self.different += 1;
        self.keep(off);
    }

    fn keep(&mut self, off: Off) {
        // The first of equals stays first.
        let place = self
            .worst
            .partition_point(|known| known.badness >= off.badness);
        if place < WORST {
            self.worst.insert(place, off);
            self.worst.truncate(WORST);
        }
    }

    fn merge(mut self, later: Self) -> Self {
        self.different += later.different;
        later.worst.into_iter().for_each(|off| self.keep(off));
        self
    }
}

impl Comparer {
    pub fn new(expected: Data, tolerance: Tolerance) -> Self {
        Self {
            expected,
            tolerance,
            found: Found::default(),
            scratch: Vec::new(),
        }
    }

    /// Compares the bytes from `at` on, which are whole elements.
    pub fn consume(&mut self, at: u64, got: &[u8]) {
        const PIECE: usize = 1 << 16;
        let kind = self.expected.shape.kind;
        let size = kind.size();
        self.scratch.resize(got.len(), 0);
        self.expected.fill(at, &mut self.scratch);
        let first = at / size as u64;
        let tolerance = self.tolerance;
        let pieces = got
            .par_chunks(PIECE * size)
            .zip(self.scratch.par_chunks(PIECE * size))
            .enumerate();
        let found = pieces
            .map(|(number, (got, expected))| {
                let first = first + (number * PIECE) as u64;
                compare_piece(kind, tolerance, first, got, expected)
            })
            .reduce(Found::default, Found::merge);
        self.found = std::mem::take(&mut self.found).merge(found);
    }

    pub fn finish(self, argument: usize, source: String) -> Comparison {
        let shape = &self.expected.shape;
        let kind = shape.kind;
        let worst = self.found.worst.iter().map(|off| Difference {
            index: shape.index(off.at),
            got: kind.text(&off.got),
            expected: kind.text(&off.expected),
            off_by: Type::F64.text(&off.distance.to_le_bytes()),
        });
        Comparison {
            argument,
            source,
            equal: self.found.different == 0,
            elements: shape.elements(),
            different: self.found.different,
            tolerance: self.tolerance,
            worst: worst.collect(),
        }
    }
}

fn compare_piece(
    kind: Type,
    tolerance: Tolerance,
    first: u64,
    got: &[u8],
    expected: &[u8],
) -> Found {
    let mut found = Found::default();
    if got == expected {
        return found;
    }
    let size = kind.size();
    for (at, (got, expected)) in
        (first..).zip(got.chunks_exact(size).zip(expected.chunks_exact(size)))
    {
        if got == expected {
            continue;
        }
        let (distance, allowed) = distance(kind.decode(got), kind.decode(expected), tolerance);
        if distance <= allowed {
            continue;
        }
        let badness = if allowed > 0.0 {
            distance / allowed
        } else {
            distance
        };
        found.add(Off {
            badness,
            distance,
            at,
            got: got.to_vec(),
            expected: expected.to_vec(),
        });
    }
    found
}

/// How far apart two values are and how far they may be. A NaN equals a NaN and nothing else; an infinity
/// equals the same infinity and nothing else.
fn distance(got: Value, expected: Value, tolerance: Tolerance) -> (f64, f64) {
    match (got, expected) {
        (Value::Int(got), Value::Int(expected)) => {
            let distance = (got - expected).unsigned_abs() as f64;
            (
                distance,
                tolerance.absolute + tolerance.relative * expected.unsigned_abs() as f64,
            )
        }
        (Value::Float(got), Value::Float(expected)) => float_distance(got, expected, tolerance),
        (Value::Complex(re, im), Value::Complex(expected_re, expected_im)) => {
            let plain = [re, im, expected_re, expected_im]
                .iter()
                .all(|part| part.is_finite());
            if plain {
                let size = expected_re.hypot(expected_im);
                let distance = (re - expected_re).hypot(im - expected_im);
                return (distance, tolerance.absolute + tolerance.relative * size);
            }
            let a = float_distance(re, expected_re, tolerance);
            let b = float_distance(im, expected_im, tolerance);
            if a.0 - a.1 > b.0 - b.1 { a } else { b }
        }
        (Value::Bool(got), Value::Bool(expected)) => (f64::from(u8::from(got != expected)), 0.0),
        // Both were decoded as one type.
        _ => (f64::INFINITY, 0.0),
    }
}

fn float_distance(got: f64, expected: f64, tolerance: Tolerance) -> (f64, f64) {
    if got == expected || got.is_nan() && expected.is_nan() {
        return (0.0, 0.0);
    }
    if !got.is_finite() || !expected.is_finite() {
        return (f64::INFINITY, 0.0);
    }
    (
        (got - expected).abs(),
        tolerance.absolute + tolerance.relative * expected.abs(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(got: &str, expected: &str, tolerance: Option<(f64, f64)>) -> Comparison {
        let open = |text: &str| Data::open(&text.parse().unwrap()).unwrap();
        let (got, expected) = (open(got), open(expected));
        let mut bytes = vec![0; got.shape.bytes() as usize];
        got.fill(0, &mut bytes);
        let tolerance = tolerance.map_or(
            Tolerance::default_for(got.shape.kind),
            |(relative, absolute)| Tolerance { relative, absolute },
        );
        let mut comparer = Comparer::new(expected, tolerance);
        let half = bytes.len() / 2 / 16 * 16;
        comparer.consume(0, &bytes[..half]);
        comparer.consume(half as u64, &bytes[half..]);
        comparer.finish(0, "test".into())
    }

    #[test]
    fn tolerances_and_special_values() {
        let equal = |got: &str, expected: &str, tolerance| compare(got, expected, tolerance).equal;
        assert!(equal("f32[4]=1", "f32[4]=1.000001", None));
        assert!(!equal("f32[4]=1", "f32[4]=1.0001", None));
        assert!(equal("f32[4]=1", "f32[4]=1.0001", Some((1e-3, 0.0))));
        assert!(equal("f64[4]=nan", "f64[4]=nan", None));
        assert!(equal("f32[4]=0x7fc00001", "f32[4]=nan", None));
        assert!(!equal("f64[4]=nan", "f64[4]=1", Some((1e9, 1e9))));
        assert!(!equal("f64[4]=1", "f64[4]=nan", Some((1e9, 1e9))));
        assert!(equal("f64[4]=-inf", "f64[4]=-inf", None));
        assert!(!equal("f64[4]=inf", "f64[4]=-inf", Some((1e9, 1e9))));
        assert!(!equal("f64[4]=1e300", "f64[4]=inf", Some((1e9, 1e9))));
        assert!(equal("f64[4]=-0", "f64[4]=0", Some((0.0, 0.0))));
        assert!(!equal(
            "i64[4]=9007199254740993",
            "i64[4]=9007199254740992",
            None
        ));
        assert!(equal("i32[4]=100", "i32[4]=101", Some((0.01, 0.0))));
        assert!(equal("c64[4]=1+1i", "c64[4]=1.000001+1i", None));
        assert!(!equal("c64[4]=nan+1i", "c64[4]=nan+2i", None));
        assert!(equal("c64[4]=nan+1i", "c64[4]=nan+1.0000001i", None));
        assert!(!equal("bool[4]=1", "bool[4]=0", Some((9.0, 9.0))));
    }

    #[test]
    fn the_worst_come_first_with_their_places() {
        let outcome = compare("i32[100,100]=iota", "i32[100,100]=5000", None);
        assert_eq!(
            (outcome.equal, outcome.different, outcome.elements),
            (false, 9999, 10_000)
        );
        let worst: Vec<_> = outcome
            .worst
            .iter()
            .map(|off| (off.index.clone(), off.got.as_str(), off.off_by.as_str()))
            .collect();
        assert_eq!(worst[0], (vec![0, 0], "0", "5000"));
        assert_eq!(worst[1], (vec![0, 1], "1", "4999"));
        assert_eq!(worst[2], (vec![99, 99], "9999", "4999"));
        assert_eq!(worst.len(), WORST);
    }
}
