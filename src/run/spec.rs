//! From flags to values: the grammar of `--arg` and its relatives. Whatever is wrong here is a usage error.
//!
//! ```text
//! SPEC   = TYPE:VALUE | TYPE:@device | bytes:HEX | bytes:@FILE | in:SOURCE | inout:SOURCE | out:SHAPE | ref:N | null
//! SOURCE = SHAPE=INIT | SHAPE@FILE | FILE.npy
//! INIT   = a number | iota | rand(SEED)
//! SHAPE  = TYPE[D0,D1,…]
//! ```

use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::{Shape, unknown_type};
use super::types::Type;
use crate::ffi::driver::{Attribute, AttributeKind};

/// One `--arg`: what it says and, for messages, how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentSpec {
    pub text: String,
    pub value: ArgumentValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentValue {
    Scalar {
        kind: Type,
        bytes: Vec<u8>,
    },
    /// The ordinal of the device that is launched on, as an integer of this type.
    DeviceOrdinal(Type),
    Bytes(Vec<u8>),
    BytesOf(PathBuf),
    Buffer(Direction, Source),
    /// The buffer of another argument again.
    Ref(usize),
    Null,
}

/// Which way a buffer's contents go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    In,
    InOut,
    Out,
}

/// Where elements come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Init(Shape, Init),
    /// The raw elements of that shape, little-endian.
    Raw(Shape, PathBuf),
    Npy(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Init {
    /// The bytes of every element.
    Value(Vec<u8>),
    /// 0, 1, 2, …
    Iota,
    /// The same numbers everywhere for one seed: floats in [0, 1), integers over their whole range.
    Rand(u64),
}

impl FromStr for ArgumentSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self {
            text: text.to_owned(),
            value: parse_argument(text)?,
        })
    }
}

fn parse_argument(text: &str) -> Result<ArgumentValue, String> {
    if text == "null" {
        return Ok(ArgumentValue::Null);
    }
    let (head, rest) = text.split_once(':').ok_or_else(|| {
        format!("`{text}` is no argument; expected TYPE:VALUE, bytes:HEX, in:SOURCE, inout:SOURCE, out:SHAPE, ref:N or null")
    })?;
    Ok(match head {
        "bytes" => match rest.strip_prefix('@') {
            Some(file) => ArgumentValue::BytesOf(path(file)?),
            None => ArgumentValue::Bytes(hex(rest)?),
        },
        "in" => ArgumentValue::Buffer(Direction::In, rest.parse()?),
        "inout" => ArgumentValue::Buffer(Direction::InOut, rest.parse()?),
        "out" => {
            let shape = Shape::parse(rest)?;
            let zero = vec![0; shape.kind.size()];
            ArgumentValue::Buffer(Direction::Out, Source::Init(shape, Init::Value(zero)))
        }
        "ref" => ArgumentValue::Ref(number(rest)?),
        _ => {
            let kind = Type::from_name(head).ok_or_else(|| unknown_type(head))?;
            match rest {
                "@device" if kind.is_integer() => ArgumentValue::DeviceOrdinal(kind),
                "@device" => return Err(format!("`{text}`: the device's ordinal is an integer")),
                value => ArgumentValue::Scalar {
                    kind,
                    bytes: kind.parse(value)?,
                },
            }
        }
    })
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A shape ends with the first `]`; file names are free.
        if let Some(end) = text.find(']').filter(|_| {
            text.split('[')
                .next()
                .is_some_and(|n| Type::from_name(n).is_some())
        }) {
            let shape = Shape::parse(&text[..=end])?;
            let rest = &text[end + 1..];
            if let Some(file) = rest.strip_prefix('@') {
                return Ok(Self::Raw(shape, path(file)?));
            }
            if let Some(init) = rest.strip_prefix('=') {
                let init = parse_init(shape.kind, init)?;
                return Ok(Self::Init(shape, init));
            }
            return Err(format!(
                "`{text}` says no contents; expected {shape}=INIT or {shape}@FILE"
            ));
        }
        if Path::new(text)
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
        {
            return Ok(Self::Npy(path(text)?));
        }
        Err(format!(
            "`{text}` is no source; expected TYPE[D0,D1,…]=INIT, TYPE[D0,D1,…]@FILE or FILE.npy"
        ))
    }
}

fn parse_init(kind: Type, text: &str) -> Result<Init, String> {
    if text == "iota" {
        return Ok(Init::Iota);
    }
    if let Some(seed) = text
        .strip_prefix("rand(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return Ok(Init::Rand(seed.trim().parse().map_err(|_| {
            format!("`{seed}` is no seed; expected a whole number")
        })?));
    }
    kind.parse(text)
        .map(Init::Value)
        .map_err(|error| format!("{error}; expected a number, iota or rand(SEED)"))
}

/// `--set-global NAME=SPEC`: a scalar or an array for a variable of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetGlobal {
    pub name: String,
    pub text: String,
    pub source: Source,
}

impl FromStr for SetGlobal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = named(text, "NAME=TYPE:VALUE or NAME=SOURCE")?;
        let scalar = value
            .split_once(':')
            .and_then(|(kind, value)| Some((Type::from_name(kind)?, value)));
        let source = match scalar {
            Some((kind, value)) => Source::Init(
                Shape::new(kind, Vec::new())?,
                Init::Value(kind.parse(value)?),
            ),
            None => value.parse()?,
        };
        Ok(Self {
            name: name.to_owned(),
            text: value.to_owned(),
            source,
        })
    }
}

/// `--get-global NAME=TYPE[DIMS]`; a type alone is one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetGlobal {
    pub name: String,
    pub shape: Shape,
}

impl FromStr for GetGlobal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, shape) = named(text, "NAME=TYPE[DIMS]")?;
        let shape = match Type::from_name(shape) {
            Some(kind) => Shape::new(kind, Vec::new())?,
            None => Shape::parse(shape)?,
        };
        Ok(Self {
            name: name.to_owned(),
            shape,
        })
    }
}

/// `--save N=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    pub argument: usize,
    pub path: PathBuf,
}

impl FromStr for Save {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (argument, file) = named(text, "N=FILE")?;
        Ok(Self {
            argument: number(argument)?,
            path: path(file)?,
        })
    }
}

/// `--print N[:COUNT]`: the first elements of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Print {
    pub argument: usize,
    pub count: u64,
}

impl Print {
    pub const DEFAULT_COUNT: u64 = 10;
}

impl FromStr for Print {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (argument, count) = match text.split_once(':') {
            Some((argument, count)) => (
                argument,
                count
                    .parse()
                    .map_err(|_| format!("`{count}` is no count"))?,
            ),
            None => (text, Self::DEFAULT_COUNT),
        };
        Ok(Self {
            argument: number(argument)?,
            count,
        })
    }
}

/// `--expect N=SOURCE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    pub argument: usize,
    pub text: String,
    pub source: Source,
}

impl FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (argument, source) = named(text, "N=SOURCE")?;
        Ok(Self {
            argument: number(argument)?,
            text: source.to_owned(),
            source: source.parse()?,
        })
    }
}

/// `X[,Y[,Z]]`, each at least 1, or `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Dims([u32; 3]),
    /// As many as the device takes at once.
    Max,
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        dims(text).map(Self::Dims)
    }
}

/// `X[,Y[,Z]]`, each at least 1.
pub fn dims(text: &str) -> Result<[u32; 3], String> {
    let mut all = [1; 3];
    let mut parts = text.split(',');
    for (out, part) in all.iter_mut().zip(&mut parts) {
        *out = part
            .trim()
            .parse()
            .map_err(|_| format!("`{text}` is no X[,Y[,Z]] of whole numbers"))?;
        if *out == 0 {
            return Err(format!("`{text}`: each dimension must be at least 1"));
        }
    }
    match parts.next() {
        None => Ok(all),
        Some(_) => Err(format!("`{text}` has more than three dimensions")),
    }
}

/// What the value of an `--attr` looks like.
enum Form {
    Flag,
    Number { low: i64, high: i64 },
    Dims,
    Choice(&'static [(&'static str, u32)]),
}

/// `--attr` names, with what cuda.h calls the values.
const ATTRIBUTES: &[(&str, AttributeKind, Form)] = &[
    ("cooperative", AttributeKind::Cooperative, Form::Flag),
    ("cluster", AttributeKind::Cluster, Form::Dims),
    (
        "cluster-scheduling",
        AttributeKind::ClusterScheduling,
        Form::Choice(&[("default", 0), ("spread", 1), ("load-balancing", 2)]),
    ),
    ("pdl", AttributeKind::Pdl, Form::Flag),
    (
        "priority",
        AttributeKind::Priority,
        Form::Number {
            low: i32::MIN as i64,
            high: i32::MAX as i64,
        },
    ),
    (
        "mem-sync-domain",
        AttributeKind::MemSyncDomain,
        Form::Choice(&[("default", 0), ("remote", 1)]),
    ),
    (
        "preferred-cluster",
        AttributeKind::PreferredCluster,
        Form::Dims,
    ),
    (
        "carveout",
        AttributeKind::Carveout,
        Form::Number { low: 0, high: 100 },
    ),
    (
        "nvlink-util-centric-scheduling",
        AttributeKind::NvlinkUtilCentricScheduling,
        Form::Flag,
    ),
    (
        "portable-cluster-mode",
        AttributeKind::PortableClusterMode,
        Form::Choice(&[
            ("default", 0),
            ("require-portable", 1),
            ("allow-non-portable", 2),
        ]),
    ),
    (
        "shared-memory-mode",
        AttributeKind::SharedMemoryMode,
        Form::Choice(&[
            ("default", 0),
            ("require-portable", 1),
            ("allow-non-portable", 2),
        ]),
    ),
];

/// `--attr NAME=VALUE`; a flag's value may be left out.
pub fn attribute(text: &str) -> Result<Attribute, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let (_, kind, form) = ATTRIBUTES
        .iter()
        .find(|(known, ..)| *known == name)
        .ok_or_else(|| {
            let all: Vec<&str> = ATTRIBUTES.iter().map(|(name, ..)| *name).collect();
            format!(
                "`{name}` is no launch attribute; expected one of {}",
                all.join(" ")
            )
        })?;
    let value = match (value, form) {
        (Some(value), _) => value,
        (None, Form::Flag) => "1",
        (None, _) => return Err(format!("`{name}` needs a value: {name}=VALUE")),
    };
    let number = match form {
        Form::Dims => {
            return Ok(Attribute {
                kind: *kind,
                value: dims(value)?,
            });
        }
        Form::Flag => match value {
            "1" | "on" | "true" => 1,
            "0" | "off" | "false" => 0,
            _ => return Err(format!("`{value}` is neither on nor off for `{name}`")),
        },
        Form::Number { low, high } => {
            let number: i64 = value
                .parse()
                .map_err(|_| format!("`{value}` is no number for `{name}`"))?;
            if !(*low..=*high).contains(&number) {
                return Err(format!(
                    "`{value}` is not within {low} to {high} for `{name}`"
                ));
            }
            // Negative numbers keep their 32 bits.
            number as u32
        }
        Form::Choice(choices) => choices
            .iter()
            .find(|(known, _)| *known == value)
            .map(|(_, number)| *number)
            .ok_or_else(|| {
                let all: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                format!(
                    "`{value}` is no value for `{name}`; expected one of {}",
                    all.join(" ")
                )
            })?,
    };
    Ok(Attribute::new(*kind, number))
}

/// How `--attr` spells an attribute.
pub fn attribute_name(kind: AttributeKind) -> &'static str {
    ATTRIBUTES
        .iter()
        .find(|(_, known, _)| *known == kind)
        .map_or("", |(name, ..)| name)
}

/// Every `--attr` name with what it takes, for the help.
pub fn attribute_help() -> String {
    let one = |(name, _, form): &(&str, AttributeKind, Form)| match form {
        Form::Flag => (*name).to_owned(),
        Form::Number { .. } => format!("{name}=N"),
        Form::Dims => format!("{name}=X,Y,Z"),
        Form::Choice(choices) => {
            let all: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            format!("{name}={}", all.join("|"))
        }
    };
    ATTRIBUTES.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn named<'a>(text: &'a str, expected: &str) -> Result<(&'a str, &'a str), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(format!("`{text}` is not {expected}")),
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no argument number; arguments count from 0"))
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("a file name is missing".to_owned());
    }
    Ok(text.into())
}

/// Bytes from pairs of hexadecimal digits, which `_` and blanks may separate.
fn hex(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is not bytes; expected pairs of hexadecimal digits");
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'_' | b' '))
        .collect();
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let digit = |byte: u8| (byte as char).to_digit(16).ok_or_else(wrong);
    digits
        .chunks(2)
        .map(|pair| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(text: &str) -> ArgumentValue {
        text.parse::<ArgumentSpec>().unwrap().value
    }

    #[test]
    fn every_form_of_an_argument() {
        let shape = |text| Shape::parse(text).unwrap();
        assert_eq!(
            argument("i32:-7"),
            ArgumentValue::Scalar {
                kind: Type::I32,
                bytes: (-7i32).to_le_bytes().to_vec()
            }
        );
        assert_eq!(
            argument("i32:@device"),
            ArgumentValue::DeviceOrdinal(Type::I32)
        );
        assert_eq!(
            argument("bytes:0a_FF 01"),
            ArgumentValue::Bytes(vec![10, 255, 1])
        );
        assert_eq!(
            argument("bytes:@s.bin"),
            ArgumentValue::BytesOf("s.bin".into())
        );
        assert_eq!(
            argument("in:x.npy"),
            ArgumentValue::Buffer(Direction::In, Source::Npy("x.npy".into()))
        );
        assert_eq!(
            argument("inout:f32[4,2]@dir=[1]/x@y"),
            ArgumentValue::Buffer(
                Direction::InOut,
                Source::Raw(shape("f32[4,2]"), "dir=[1]/x@y".into())
            )
        );
        assert_eq!(
            argument("in:u8[3]=rand(42)"),
            ArgumentValue::Buffer(Direction::In, Source::Init(shape("u8[3]"), Init::Rand(42)))
        );
        assert_eq!(
            argument("out:f64[2]"),
            ArgumentValue::Buffer(
                Direction::Out,
                Source::Init(shape("f64[2]"), Init::Value(vec![0; 8]))
            )
        );
        assert_eq!(
            argument("in:odd[name].npy"),
            ArgumentValue::Buffer(Direction::In, Source::Npy("odd[name].npy".into()))
        );
        assert_eq!(
            (argument("ref:2"), argument("null")),
            (ArgumentValue::Ref(2), ArgumentValue::Null)
        );
        for text in [
            "",
            "7",
            "int:7",
            "i32:",
            "i32:1.0",
            "f32:@device",
            "bytes:abc",
            "bytes:zz",
            "bytes:@",
            "in:x.bin",
            "in:f32[4]",
            "in:f32[4]=iota(1)",
            "out:f32",
            "out:f32[4]=1",
            "ref:x",
            "ref:-1",
            "null:1",
            "inout:f32[4]=rand()",
        ] {
            assert!(text.parse::<ArgumentSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn shapes_of_launches() {
        assert_eq!("4".parse(), Ok(Extent::Dims([4, 1, 1])));
        assert_eq!("4,6,8".parse(), Ok(Extent::Dims([4, 6, 8])));
        assert_eq!("max".parse(), Ok(Extent::Max));
        for text in ["0", "-1", "1,0", "1,2,3,4", "", "a", "4294967296", "1,"] {
            assert!(text.parse::<Extent>().is_err(), "{text}");
        }
    }

    #[test]
    fn attributes_by_name() {
        let parsed = |text| attribute(text).unwrap();
        assert_eq!(parsed("pdl"), Attribute::new(AttributeKind::Pdl, 1));
        assert_eq!(
            parsed("priority=-5"),
            Attribute::new(AttributeKind::Priority, -5i32 as u32)
        );
        assert_eq!(parsed("preferred-cluster=4,2").value, [4, 2, 1]);
        assert_eq!(
            parsed("cluster-scheduling=spread"),
            Attribute::new(AttributeKind::ClusterScheduling, 1)
        );
        for text in [
            "nothing=1",
            "carveout=101",
            "carveout",
            "pdl=maybe",
            "sync-policy=spin",
            "cluster=0",
        ] {
            assert!(attribute(text).is_err(), "{text}");
        }
        assert!(attribute_help().contains("carveout=N"));
    }

    #[test]
    fn globals_and_results() {
        let set: SetGlobal = "n=i32:42".parse().unwrap();
        assert_eq!(
            (set.name.as_str(), set.source),
            (
                "n",
                Source::Init(
                    Shape::parse("i32[]").unwrap(),
                    Init::Value(vec![42, 0, 0, 0])
                )
            )
        );
        assert!("table=f32[16]=iota".parse::<SetGlobal>().is_ok());
        assert_eq!("n=i32".parse::<GetGlobal>().unwrap().shape.bytes(), 4);
        assert_eq!(
            "2:100".parse(),
            Ok(Print {
                argument: 2,
                count: 100
            })
        );
        assert_eq!("1=y.npy".parse::<Save>().unwrap().argument, 1);
        assert_eq!("1=f32[4]=3".parse::<Expect>().unwrap().text, "f32[4]=3");
        assert!("=i32:1".parse::<SetGlobal>().is_err() && "x=y.npy".parse::<Save>().is_err());
    }
}
