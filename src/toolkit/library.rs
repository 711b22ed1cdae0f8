//! What a file says of itself without being loaded: which machine it is for, and which release.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use object::{NameOrOrdinal, Object};

use super::{Component, Cpu, Os, Platform, Version};

/// Why the file at `path` cannot be the component on this machine, or `None` when it can.
pub(super) fn unfit(path: &Path, component: Component, platform: Platform) -> Option<String> {
    let mut head = Vec::new();
    // Asked before opening: opening a pipe would wait for whoever writes to it.
    let read = path.metadata().and_then(|metadata| {
        if metadata.is_file() {
            File::open(path)?.take(4096).read_to_end(&mut head)?;
        }
        Ok(metadata.is_file())
    });
    match read {
        Ok(true) => {}
        Ok(false) => return Some("it is no regular file".to_owned()),
        Err(error) => return Some(format!("it cannot be read: {error}")),
    }
    let expected = |right: bool, what: &str| (!right).then(|| format!("it is no {what}"));
    match component {
        Component::Libdevice => expected(
            head.starts_with(b"BC\xc0\xde") || head.starts_with(b"\xde\xc0\x17\x0b"),
            "LLVM bitcode",
        ),
        Component::Cudadevrt => expected(head.starts_with(b"!<arch>\n"), "archive"),
        _ if component.is_tool() => expected(is_executable(path), "executable file"),
        _ => machine(&head, platform),
    }
}

const EM_X86_64: u16 = 0x3e;
const EM_AARCH64: u16 = 0xb7;
const IMAGE_FILE_MACHINE_AMD64: u16 = 0x8664;
const IMAGE_FILE_MACHINE_ARM64: u16 = 0xaa64;

/// The first bytes of a library against the machine it must run on.
fn machine(head: &[u8], platform: Platform) -> Option<String> {
    let (magic, what, at) = match platform.os {
        Os::Windows => {
            let start = head
                .get(0x3c..0x40)
                .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize);
            (
                b"MZ".as_slice(),
                "DLL",
                start.and_then(|start| start.checked_add(4)),
            )
        }
        _ => (
            b"\x7fELF\x02\x01".as_slice(),
            "64-bit ELF library",
            Some(18),
        ),
    };
    let code = at
        .and_then(|at| head.get(at..at.checked_add(2)?))
        .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let (true, Some(code)) = (head.starts_with(magic), code) else {
        return Some(format!("it is no {what}"));
    };
    let built_for = match code {
        EM_X86_64 | IMAGE_FILE_MACHINE_AMD64 => Cpu::X86_64,
        EM_AARCH64 | IMAGE_FILE_MACHINE_ARM64 => Cpu::Aarch64,
        _ => Cpu::Other,
    };
    (built_for != platform.cpu || built_for == Cpu::Other)
        .then(|| format!("it is built for {built_for}, and this is {}", platform.cpu))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("exe"))
}

/// The release of an nvJitLink library, from the newest of the names that it exports: each release
/// adds `__nvJitLinkCreate_13_5` to those of its major version (seen in 12.0 to 13.5).
pub(super) fn nvjitlink_release(path: &Path) -> Option<Version> {
    let bytes = crate::bytes::open(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let exports = file.exports().ok()?;
    exports
        .filter_map(|export| match export.ok()?.name() {
            NameOrOrdinal::Name(name) => release_in_symbol(name),
            NameOrOrdinal::Ordinal(_) => None,
        })
        .max()
}

fn release_in_symbol(name: &[u8]) -> Option<Version> {
    let numbers = std::str::from_utf8(name.strip_prefix(b"__nvJitLinkCreate_")?).ok()?;
    let (major, minor) = numbers.split_once('_')?;
    Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_other_machines_are_refused() {
        let linux = |cpu| Platform { os: Os::Linux, cpu };
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = 0x3e;
        assert_eq!(machine(&elf, linux(Cpu::X86_64)), None);
        assert_eq!(
            machine(&elf, linux(Cpu::Aarch64)).unwrap(),
            "it is built for x86_64, and this is aarch64"
        );
        assert!(machine(b"", linux(Cpu::X86_64)).is_some());
        assert!(machine(b"\x7fELF\x02\x01", linux(Cpu::X86_64)).is_some());
        assert_eq!(
            machine(b"INPUT(libnvrtc.so.13)", linux(Cpu::X86_64)).unwrap(),
            "it is no 64-bit ELF library"
        );

        let windows = Platform {
            os: Os::Windows,
            cpu: Cpu::X86_64,
        };
        let mut pe = vec![0; 0x100];
        pe[..2].copy_from_slice(b"MZ");
        pe[0x3c] = 0x80;
        pe[0x84..0x86].copy_from_slice(&0x8664u16.to_le_bytes());
        assert_eq!(machine(&pe, windows), None);
        pe[0x3c..0x40].fill(0xff);
        assert_eq!(machine(&pe, windows).unwrap(), "it is no DLL");
    }

    #[test]
    fn the_newest_exported_name_is_the_release() {
        assert_eq!(
            release_in_symbol(b"__nvJitLinkCreate_13_5"),
            Some(Version::new(13, 5))
        );
        assert_eq!(release_in_symbol(b"nvJitLinkCreate"), None);
        assert_eq!(release_in_symbol(b"__nvJitLinkCreate_13_x"), None);
    }
}
