//! Packages: zip files (wheels among them), tar files, and gzip. Only what is asked for is unpacked. Names of
//! members are names, never paths.

use std::io::{self, Cursor, Read};
use std::ops::Range;

use flate2::CrcReader;
use flate2::read::{DeflateDecoder, MultiGzDecoder};
use zip::CompressionMethod;
use zip::read::{ZipArchive, ZipFileEntry};

use super::claims::Claims;
use super::text::text;
use crate::error::Malformed;

/// What a zip or tar file holds, directories and links left out.
#[derive(Debug, Default)]
pub struct Package {
    /// In the order of the file's own list.
    pub members: Vec<Member>,
    /// Members that cannot be read, and what else is wrong.
    pub damage: Vec<Malformed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Where its bytes are in the package, as they are stored.
    pub range: Range<usize>,
    pub deflated: Option<Deflated>,
}

/// What a member stored by `deflate` unpacks to, by the package's own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deflated {
    pub size: u64,
    pub crc: u32,
}

impl Package {
    /// Reads the list of a zip file.
    pub fn zip(bytes: &[u8]) -> Result<Self, Malformed> {
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| Malformed::new(0, format!("zip file is damaged: {error}")))?;
        let mut package = Self::default();
        if zip.has_duplicate_names() {
            package.damage.push(Malformed::new(
                zip.central_directory_start(),
                "two members of the zip file share a name, and only the last of them is read",
            ));
        }
        let mut claims = Claims::default();
        for index in 0..zip.len() {
            let entry = zip
                .by_index_data(index)
                .map_err(|error| Malformed::new(0, format!("zip file is damaged: {error}")))?;
            if !entry.is_file() {
                continue;
            }
            match zip_member(bytes, &entry, &mut claims) {
                Ok(member) => package.members.push(member),
                Err(damage) => package.damage.push(damage),
            }
        }
        Ok(package)
    }

    /// Reads the headers of a tar file. The members before damage are kept.
    pub fn tar(bytes: &[u8]) -> Self {
        let mut package = Self::default();
        if let Err((offset, error)) = package.read_tar(bytes) {
            let message = format!("tar file is damaged: {error}");
            package.damage.push(Malformed::new(offset, message));
        }
        package
    }

    fn read_tar(&mut self, bytes: &[u8]) -> Result<(), (u64, io::Error)> {
        let mut tar = tar::Archive::new(Cursor::new(bytes));
        let mut next = 0;
        for entry in tar.entries_with_seek().map_err(|error| (next, error))? {
            let entry = entry.map_err(|error| (next, error))?;
            let offset = entry.raw_file_position();
            let size = entry.size();
            let kind = entry.header().entry_type();
            let name = text(&entry.path_bytes()).into_owned();
            if kind.is_gnu_sparse() {
                let message =
                    format!("member `{name}` is stored as a sparse file, which is not read");
                self.damage.push(Malformed::new(offset, message));
            } else if kind.is_file() || kind.is_contiguous() {
                match range(bytes, offset, size) {
                    Ok(range) => self.members.push(Member {
                        name,
                        range,
                        deflated: None,
                    }),
                    Err(damage) => self.damage.push(damage.of(&name)),
                }
            }
            next = offset.saturating_add(size);
        }
        Ok(())
    }
}

impl Member {
    /// The unpacked bytes of a deflated member of `package`. The stream ends with an error when size or checksum are
    /// not those that the package claims.
    pub fn unpack<'a>(&self, package: &'a [u8], claim: Deflated) -> impl Read + Send + 'a {
        let stored = package.get(self.range.clone()).unwrap_or_default();
        Checked {
            stream: CrcReader::new(DeflateDecoder::new(stored)),
            left: claim.size,
            crc: claim.crc,
        }
    }
}

/// The unpacked bytes of a gzip file, whose size nothing tells.
pub fn gunzip(bytes: &[u8]) -> impl Read + '_ {
    MultiGzDecoder::new(bytes)
}

fn zip_member(
    bytes: &[u8],
    entry: &ZipFileEntry<'_>,
    claims: &mut Claims,
) -> Result<Member, Malformed> {
    let name = text(entry.name_raw()).into_owned();
    let header = entry.header_start();
    let wrong = |message: &str| Malformed::new(header, format!("member `{name}` {message}"));
    if entry.encrypted() {
        return Err(wrong("is encrypted"));
    }
    let deflated = match entry.compression() {
        CompressionMethod::Stored => None,
        CompressionMethod::Deflated => Some(Deflated {
            size: entry.size(),
            crc: entry.crc32(),
        }),
        other => return Err(wrong(&format!("is stored by {other}, which is not read"))),
    };
    let start = zip_data_start(bytes, header).ok_or_else(|| wrong("has no header in the file"))?;
    let range = range(bytes, start, entry.compressed_size()).map_err(|damage| damage.of(&name))?;
    // What lies in the file once can be unpacked once: members on top of one another are how small files unpack to
    // petabytes.
    if !claims.claim(&range) {
        return Err(wrong("overlaps another member"));
    }
    Ok(Member {
        name,
        range,
        deflated,
    })
}

/// Where the data behind a member's local header starts. That header repeats the name and has extras of its own.
fn zip_data_start(bytes: &[u8], header: u64) -> Option<u64> {
    const LOCAL_HEADER: usize = 30;
    let at = usize::try_from(header).ok()?;
    let fields = bytes.get(at..at.checked_add(LOCAL_HEADER)?)?;
    let length = |at: usize| u64::from(u16::from_le_bytes([fields[at], fields[at + 1]]));
    fields
        .starts_with(b"PK\x03\x04")
        .then(|| header + LOCAL_HEADER as u64 + length(26) + length(28))
}

struct OutOfFile {
    offset: u64,
    size: u64,
    end: usize,
}

impl OutOfFile {
    fn of(self, name: &str) -> Malformed {
        Malformed::new(
            self.offset,
            format!(
                "member `{name}` of {} bytes reaches past the end at {:#x}",
                self.size, self.end
            ),
        )
    }
}

fn range(bytes: &[u8], offset: u64, size: u64) -> Result<Range<usize>, OutOfFile> {
    usize::try_from(offset)
        .ok()
        .zip(usize::try_from(size).ok())
        .and_then(|(offset, size)| Some(offset..offset.checked_add(size)?))
        .filter(|range| range.end <= bytes.len())
        .ok_or(OutOfFile {
            offset,
            size,
            end: bytes.len(),
        })
}

struct Checked<R> {
    stream: CrcReader<R>,
    left: u64,
    crc: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        let wrong = |message: &str| Err(io::Error::new(io::ErrorKind::InvalidData, message));
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return wrong("unpacks to more bytes than its header says"),
        }
        if count == 0 && !buffer.is_empty() {
            if self.left > 0 {
                return wrong("unpacks to fewer bytes than its header says");
            }
            if self.stream.crc().sum() != self.crc {
                return wrong("does not have the checksum that its header says");
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn zip(members: &[(&str, &[u8], CompressionMethod)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes, method) in members {
            let options = SimpleFileOptions::default().compression_method(*method);
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn read(package: &Package, bytes: &[u8]) -> Vec<(String, io::Result<Vec<u8>>)> {
        let read = |member: &Member| {
            let content = match member.deflated {
                None => Ok(bytes[member.range.clone()].to_vec()),
                Some(claim) => {
                    let mut out = Vec::new();
                    let mut stream = member.unpack(bytes, claim);
                    stream.read_to_end(&mut out).map(|_| out)
                }
            };
            (member.name.clone(), content)
        };
        package.members.iter().map(read).collect()
    }

    #[test]
    fn zip_members_stored_and_deflated() {
        let long = b"text ".repeat(1000);
        let bytes = zip(&[
            ("pkg/a.so", b"stored", CompressionMethod::Stored),
            ("../../x", &long, CompressionMethod::Deflated),
            ("folder/", b"", CompressionMethod::Stored),
            ("empty", b"", CompressionMethod::Deflated),
        ]);
        let package = Package::zip(&bytes).unwrap();
        assert_eq!(package.damage, []);
        let read: Vec<_> = read(&package, &bytes)
            .into_iter()
            .map(|(name, content)| (name, content.unwrap()))
            .collect();
        let expected = [
            ("pkg/a.so".to_owned(), b"stored".to_vec()),
            ("../../x".to_owned(), long),
            ("empty".to_owned(), Vec::new()),
        ];
        assert_eq!(read, expected);
        assert!(package.members[0].deflated.is_none());
    }

    fn find(bytes: &[u8], needle: &[u8]) -> Vec<usize> {
        memchr::memmem::find_iter(bytes, needle).collect()
    }

    #[test]
    fn wrong_sizes_sums_and_places_are_told() {
        let text = b"text ".repeat(1000);
        let whole = zip(&[
            ("a", &text, CompressionMethod::Deflated),
            ("b", &text, CompressionMethod::Deflated),
        ]);
        let lists = find(&whole, b"PK\x01\x02");
        for (field, value, message) in [
            (24, 4999_u32, "unpacks to more bytes"),
            (24, 5001, "unpacks to fewer bytes"),
            (16, 7, "does not have the checksum"),
        ] {
            let mut bytes = whole.clone();
            bytes[lists[0] + field..lists[0] + field + 4].copy_from_slice(&value.to_le_bytes());
            let package = Package::zip(&bytes).unwrap();
            let read = read(&package, &bytes);
            let error = read[0].1.as_ref().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
            assert!(read[1].1.is_ok());
        }
        // Both members at one place.
        let mut bytes = whole.clone();
        bytes.copy_within(lists[0] + 42..lists[0] + 46, lists[1] + 42);
        let package = Package::zip(&bytes).unwrap();
        assert_eq!(package.members.len(), 1);
        assert_eq!(
            package.damage[0].message,
            "member `b` overlaps another member"
        );
        // Encrypted, and with a codec of the future.
        for (field, value, message) in [(8, 1, "is encrypted"), (10, 93, "which is not read")] {
            let mut bytes = whole.clone();
            bytes[lists[0] + field] = value;
            let package = Package::zip(&bytes).unwrap();
            assert_eq!(package.members.len(), 1);
            assert!(package.damage[0].message.contains(message));
        }
        // Cut and altered anywhere it must only not panic.
        for at in 0..whole.len() {
            let _ = Package::zip(&whole[..at]);
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            if let Ok(package) = Package::zip(&bytes) {
                drop(read(&package, &bytes));
            }
        }
    }

    #[test]
    fn two_members_of_one_name_are_told() {
        let mut bytes = zip(&[
            ("name.1", b"one", CompressionMethod::Stored),
            ("name.2", b"two", CompressionMethod::Stored),
        ]);
        for at in find(&bytes, b"name.2") {
            bytes[at + 5] = b'1';
        }
        let package = Package::zip(&bytes).unwrap();
        assert!(package.damage[0].message.contains("share a name"));
    }

    fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, name, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn tar_members_long_names_and_cuts() {
        let long = format!("{}/lib.so", "folder".repeat(40));
        let bytes = tar(&[("a.so", b"one"), (&long, b"two")]);
        let package = Package::tar(&bytes);
        assert_eq!(package.damage, []);
        let names: Vec<_> = package.members.iter().map(|m| &*m.name).collect();
        assert_eq!(names, ["a.so", &long]);
        assert_eq!(&bytes[package.members[1].range.clone()], b"two");
        let cut = Package::tar(&bytes[..514]);
        assert_eq!(cut.members.len(), 0);
        assert!(cut.damage[0].message.contains("reaches past the end"));
        for at in 0..bytes.len() {
            let _ = Package::tar(&bytes[..at]);
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x55;
            let _ = Package::tar(&bytes);
        }
    }

    #[test]
    fn gzip_in_several_parts() {
        let mut bytes = Vec::new();
        for part in ["one ", "two"] {
            let mut encoder = flate2::write::GzEncoder::new(&mut bytes, Default::default());
            encoder.write_all(part.as_bytes()).unwrap();
            encoder.finish().unwrap();
        }
        let mut text = String::new();
        gunzip(&bytes).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }
}
