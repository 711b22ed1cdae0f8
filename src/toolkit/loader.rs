//! The system loader's own knowledge, `ld.so.cache`, read without starting `ldconfig`.

use std::path::{Path, PathBuf};

use super::{Cpu, Environment};
use crate::bytes::Reader;
use crate::error::Malformed;

/// One library that the loader knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// `libcuda.so.1`
    pub soname: String,
    pub path: PathBuf,
}

/// The entries for this machine's processor; none where there is no cache, as with musl or NixOS.
pub(super) fn cached(environment: &Environment) -> Vec<Entry> {
    let path = environment.root.join("etc/ld.so.cache");
    let Ok(bytes) = std::fs::read(path) else {
        return Vec::new();
    };
    // The cache only speeds the loader up; the fixed folders are looked at as well.
    let mut entries = parse(&bytes, environment.platform.cpu).unwrap_or_default();
    for entry in &mut entries {
        entry.path = environment.at_root(&entry.path);
    }
    entries
}

/// The folders that the loader searches when its cache does not help.
pub(super) fn fixed_folders(environment: &Environment) -> Vec<PathBuf> {
    let triple = match environment.platform.cpu {
        Cpu::Aarch64 => "usr/lib/aarch64-linux-gnu",
        _ => "usr/lib/x86_64-linux-gnu",
    };
    let folders = ["lib64", "usr/lib64", "lib", "usr/lib", triple];
    folders.map(|folder| environment.root.join(folder)).into()
}

/// Where drivers lie that no loader configuration names: WSL and NixOS.
pub(super) fn driver_folders(environment: &Environment) -> Vec<PathBuf> {
    ["usr/lib/wsl/lib", "run/opengl-driver/lib"]
        .map(|folder| environment.root.join(folder))
        .into()
}

const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0\0";

/// The layout is glibc's `sysdeps/generic/dl-cache.h`: a header of 48 bytes, entries of 24 bytes, and
/// strings whose offsets count from the header. Older files put a cache of the old form before it.
fn parse(bytes: &[u8], cpu: Cpu) -> Result<Vec<Entry>, Malformed> {
    // The flags of a 64-bit library for libc6, in glibc's `sysdeps/generic/ldconfig.h`.
    let wanted = match cpu {
        Cpu::X86_64 => 0x0303,
        Cpu::Aarch64 => 0x0a03,
        Cpu::Other => return Ok(Vec::new()),
    };
    let start = new_cache_at(bytes)?;
    let cache = bytes.get(start..).unwrap_or_default();
    let mut reader = Reader::with_base(cache, start as u64);
    if reader.bytes(NEW_MAGIC.len(), "the magic number")? != NEW_MAGIC {
        return Err(Malformed::new(
            start as u64,
            "is no cache of glibc's loader",
        ));
    }
    let count = reader.u32("the number of libraries")?;
    reader.skip(24, "the header")?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let flags = reader.u32("an entry")?;
        let key = reader.u32("an entry")?;
        let value = reader.u32("an entry")?;
        reader.skip(12, "an entry")?;
        if flags != wanted {
            continue;
        }
        if let (Some(soname), Some(path)) = (string(cache, key), string(cache, value)) {
            entries.push(Entry {
                soname: soname.to_owned(),
                path: Path::new(path).to_owned(),
            });
        }
    }
    Ok(entries)
}

/// Where the new form begins: at once, or after the old form's entries of 12 bytes, aligned to 8.
fn new_cache_at(bytes: &[u8]) -> Result<usize, Malformed> {
    if !bytes.starts_with(OLD_MAGIC) {
        return Ok(0);
    }
    let mut reader = Reader::new(bytes);
    reader.skip(OLD_MAGIC.len(), "the magic number")?;
    let count = reader.u32("the number of libraries")? as usize;
    let entries = count.saturating_mul(12);
    Ok(reader.position().saturating_add(entries).saturating_add(7) & !7)
}

fn string(cache: &[u8], at: u32) -> Option<&str> {
    let rest = cache.get(at as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(all(test, unix))]
pub(super) mod tests {
    use super::*;

    /// A cache of the new form with these (flags, soname, path).
    pub(in crate::toolkit) fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut strings = Vec::new();
        let mut table = Vec::new();
        let base = 48 + 24 * entries.len();
        for (flags, soname, path) in entries {
            table.extend(flags.to_le_bytes());
            for text in [soname, path] {
                table.extend(u32::try_from(base + strings.len()).unwrap().to_le_bytes());
                strings.extend(text.bytes());
                strings.push(0);
            }
            table.extend([0; 12]);
        }
        let mut out = NEW_MAGIC.to_vec();
        out.extend(u32::try_from(entries.len()).unwrap().to_le_bytes());
        out.extend(u32::try_from(strings.len()).unwrap().to_le_bytes());
        out.extend([0; 20]);
        out.extend(table);
        out.extend(strings);
        out
    }

    #[test]
    fn entries_of_this_processor_are_read() {
        let bytes = cache(&[
            (0x0303, "libcuda.so.1", "/usr/lib/libcuda.so.1"),
            (0x0003, "libcuda.so.1", "/usr/lib32/libcuda.so.1"),
            (0x0a03, "libcuda.so.1", "/usr/lib/aarch64/libcuda.so.1"),
        ]);
        let paths = |cpu| -> Vec<PathBuf> {
            let entries = parse(&bytes, cpu).unwrap();
            entries.into_iter().map(|entry| entry.path).collect()
        };
        assert_eq!(paths(Cpu::X86_64), [Path::new("/usr/lib/libcuda.so.1")]);
        assert_eq!(
            paths(Cpu::Aarch64),
            [Path::new("/usr/lib/aarch64/libcuda.so.1")]
        );

        let mut both = OLD_MAGIC.to_vec();
        both.extend(1u32.to_le_bytes());
        both.extend([0; 12]);
        both.resize(both.len().next_multiple_of(8), 0);
        both.extend(&bytes);
        assert_eq!(parse(&both, Cpu::X86_64).unwrap().len(), 1);
    }

    #[test]
    fn damage_is_no_panic() {
        let bytes = cache(&[(0x0303, "libcuda.so.1", "/usr/lib/libcuda.so.1")]);
        for end in 0..bytes.len() {
            let _ = parse(&bytes[..end], Cpu::X86_64);
        }
        for at in 0..bytes.len() {
            let mut bent = bytes.clone();
            bent[at] ^= 0xff;
            let _ = parse(&bent, Cpu::X86_64);
        }
        let mut old = OLD_MAGIC.to_vec();
        old.extend(u32::MAX.to_le_bytes());
        assert!(parse(&old, Cpu::X86_64).is_err());
    }

    /// The real cache of the machine that runs the test, against the files that it names.
    #[test]
    fn the_cache_of_this_machine() {
        let environment = Environment::of_process();
        if !Path::new("/etc/ld.so.cache").exists() {
            return crate::toolkit::tests::skip("this machine has no ld.so.cache");
        }
        let entries = cached(&environment);
        let libc = entries.iter().find(|entry| entry.soname == "libc.so.6");
        assert!(libc.unwrap().path.exists());
    }
}
