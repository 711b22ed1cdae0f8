//! NumPy's `.npy` files: a short text header before the raw elements. Written as version 1.0, read up to
//! 3.0 (format: `numpy.lib.format`). An own reader, since only the header is wanted: the elements stay
//! where the file is mapped, whatever their number.

use super::shape::Shape;
use super::types::Type;
use crate::bytes::Reader;
use crate::error::Malformed;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read; NumPy itself stops at 10,000 bytes.
const LONGEST: usize = 64 * 1024;

/// What stands before the elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub shape: Shape,
    pub big_endian: bool,
    /// The first index runs fastest.
    pub fortran: bool,
    /// Where the elements start.
    pub data: usize,
}

impl Header {
    /// Reads the header and checks that exactly the elements follow.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.bytes(MAGIC.len(), "the signature of a .npy file")? != MAGIC {
            return Err(Malformed::new(
                0,
                "no .npy file: expected it to start with `\\x93NUMPY`",
            ));
        }
        let [major, _] = reader.array("the version")?;
        let length = match major {
            1 => usize::from(reader.u16("the header's length")?),
            2 | 3 => reader.u32("the header's length")? as usize,
            _ => {
                return Err(Malformed::new(
                    6,
                    format!("version {major} of .npy; expected 1 to 3"),
                ));
            }
        };
        if length > LONGEST {
            return Err(reader.malformed(format!(
                "the header has {length} bytes, more than {LONGEST}"
            )));
        }
        let at = reader.offset();
        let text = String::from_utf8_lossy(reader.bytes(length, "the header")?);
        let fields = Fields::parse(&text).ok_or_else(|| {
            Malformed::new(
                at,
                "the header is not {'descr': …, 'fortran_order': …, 'shape': (…)}",
            )
        })?;
        let (kind, big_endian) = fields.kind().ok_or_else(|| {
            Malformed::new(
                at,
                format!("elements of type {} cannot be used", fields.descr),
            )
        })?;
        let shape = Shape::new(kind, fields.dims).map_err(|message| Malformed::new(at, message))?;
        let data = reader.position();
        if shape.bytes() != reader.remaining() as u64 {
            return Err(reader.malformed(format!(
                "{shape} has {} bytes, but {} follow the header",
                shape.bytes(),
                reader.remaining()
            )));
        }
        Ok(Self {
            shape,
            big_endian,
            fortran: fields.fortran,
            data,
        })
    }

    /// The header of a file of little-endian elements in C order, padded so that they are aligned.
    pub fn write(shape: &Shape) -> Vec<u8> {
        let dims: String = shape.dims.iter().map(|dim| format!("{dim}, ")).collect();
        // A tuple of one keeps its comma.
        let dims = if shape.dims.len() == 1 {
            dims.trim_end()
        } else {
            dims.trim_end_matches(", ")
        };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}",
            descr(shape.kind)
        );
        const BEFORE: usize = MAGIC.len() + 4;
        let padded = (BEFORE + text.len() + 1).next_multiple_of(64);
        text.extend(std::iter::repeat_n(' ', padded - BEFORE - text.len() - 1));
        text.push('\n');
        let mut out = [MAGIC, &[1, 0]].concat();
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text.as_bytes());
        out
    }
}

/// NumPy's name of a type. It has none for bf16; the `ml_dtypes` package stores it as two raw bytes.
fn descr(kind: Type) -> &'static str {
    match kind {
        Type::I8 => "|i1",
        Type::I16 => "<i2",
        Type::I32 => "<i4",
        Type::I64 => "<i8",
        Type::U8 => "|u1",
        Type::U16 => "<u2",
        Type::U32 => "<u4",
        Type::U64 => "<u8",
        Type::Bool => "|b1",
        Type::F16 => "<f2",
        Type::Bf16 => "<V2",
        Type::F32 => "<f4",
        Type::F64 => "<f8",
        Type::C64 => "<c8",
        Type::C128 => "<c16",
    }
}

/// The header's dictionary.
struct Fields {
    /// As written, for messages.
    descr: String,
    fortran: bool,
    dims: Vec<u64>,
}

impl Fields {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?;
        let (mut descr, mut fortran, mut dims) = (None, None, None);
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(end) = rest.strip_prefix('}') {
                return end.is_empty().then_some(Self {
                    descr: descr?,
                    fortran: fortran?,
                    dims: dims?,
                });
            }
            let (key, after) = quoted(rest)?;
            rest = after.trim_start().strip_prefix(':')?.trim_start();
            match key {
                "descr" if rest.starts_with('[') => {
                    // A structured type; its text is for the message alone.
                    let end = rest.find("],")? + 1;
                    descr = Some(rest[..end].to_owned());
                    rest = &rest[end..];
                }
                "descr" => {
                    let (value, after) = quoted(rest)?;
                    descr = Some(value.to_owned());
                    rest = after;
                }
                "fortran_order" => {
                    let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next()?;
                    fortran = Some(match word {
                        "True" => true,
                        "False" => false,
                        _ => return None,
                    });
                    rest = &rest[word.len()..];
                }
                "shape" => {
                    let (inside, after) = rest.strip_prefix('(')?.split_once(')')?;
                    dims = Some(tuple(inside)?);
                    rest = after;
                }
                _ => return None,
            }
        }
    }

    fn kind(&self) -> Option<(Type, bool)> {
        let order = self.descr.chars().next()?;
        let name = self.descr.get(1..)?;
        let kind = Type::ALL
            .iter()
            .copied()
            .find(|&kind| &descr(kind)[1..] == name)?;
        match order {
            '<' | '|' => Some((kind, false)),
            // One byte has no order.
            '>' => Some((kind, kind.word() > 1)),
            _ => None,
        }
    }
}

/// A string in single or double quotes and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// `3, 4`, `3,` and nothing.
fn tuple(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Some(Vec::new());
    }
    // Python 2 wrote long numbers with an L.
    text.split(',')
        .map(|dim| dim.trim().trim_end_matches('L').parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, text: &str, data: usize) -> Vec<u8> {
        let mut out = [MAGIC, &[version, 0]].concat();
        match version {
            1 => out.extend((text.len() as u16).to_le_bytes()),
            _ => out.extend((text.len() as u32).to_le_bytes()),
        }
        out.extend(text.as_bytes());
        out.resize(out.len() + data, 0);
        out
    }

    #[test]
    fn what_is_written_is_read() {
        for kind in Type::ALL {
            for dims in [vec![], vec![3], vec![2, 5], vec![0, 4]] {
                let shape = Shape::new(*kind, dims).unwrap();
                let mut bytes = Header::write(&shape);
                assert_eq!(bytes.len() % 64, 0);
                let data = bytes.len();
                bytes.resize(data + shape.bytes() as usize, 0);
                let header = Header::parse(&bytes).unwrap();
                assert_eq!(
                    header,
                    Header {
                        shape,
                        big_endian: false,
                        fortran: false,
                        data
                    }
                );
            }
        }
    }

    /// Headers as NumPy 1 and 2 and Python 2 write them.
    #[test]
    fn reads_what_others_write() {
        let read = |version, text, data| Header::parse(&file(version, text, data));
        let header = read(
            1,
            "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }      \n",
            48,
        )
        .unwrap();
        assert!(header.big_endian && header.fortran);
        assert_eq!(header.shape.to_string(), "f64[2,3]");
        assert_eq!(
            read(
                3,
                "{'shape': (), 'fortran_order': False, 'descr': '<c16'}\n",
                16
            )
            .unwrap()
            .shape
            .dims,
            Vec::<u64>::new()
        );
        assert_eq!(
            read(
                2,
                "{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (4L,)}",
                4
            )
            .unwrap()
            .shape
            .dims,
            [4]
        );
    }

    #[test]
    fn refuses_what_it_cannot_use() {
        let refused = |bytes: &[u8]| Header::parse(bytes).unwrap_err().message;
        assert!(refused(b"PK\x03\x04....").contains("no .npy file"));
        assert!(
            refused(&file(
                1,
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                4
            ))
            .contains("[('a', '<f4')]")
        );
        assert!(
            refused(&file(
                1,
                "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
                8
            ))
            .contains("|O")
        );
        assert!(
            refused(&file(
                1,
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
                15
            ))
            .contains("16 bytes, but 15")
        );
        assert!(
            refused(&file(
                1,
                "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
                0
            ))
            .contains("too large")
        );
        assert!(refused(&file(9, "", 0)).contains("version 9"));
        assert!(refused(&file(2, "", 0)[..10]).contains("needs 4 bytes"));
        let good = file(
            1,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
            8,
        );
        for end in 0..good.len() {
            assert!(Header::parse(&good[..end]).is_err(), "{end}");
        }
    }
}
