//! What LLVM assembly defines for others, as far as a look at its lines tells. Whether it is right is for the compiler
//! to say.

use memchr::memmem;

use super::symbols::{Symbol, SymbolKind};
use crate::format::text::text;

/// The kernels and variables that a text defines and that other modules can see. One may come twice.
pub fn exports(assembly: &[u8]) -> Vec<Symbol> {
    let lines = assembly.split(|&byte| byte == b'\n');
    lines
        .filter_map(|line| variable(line).or_else(|| kernel(line)))
        .chain(annotated(assembly).map(function))
        .collect()
}

fn function(name: String) -> Symbol {
    Symbol {
        name,
        kind: SymbolKind::Function,
        defined: true,
        address_space: 0,
        is_kernel: true,
    }
}

/// `define ptx_kernel void @k(…)`
fn kernel(line: &[u8]) -> Option<Symbol> {
    let rest = line.strip_prefix(b"define ")?;
    let at = memchr::memchr(b'@', rest)?;
    let mut words = rest[..at].split(u8::is_ascii_whitespace);
    let is_kernel = words.any(|word| word == b"ptx_kernel");
    is_kernel.then(|| name(&rest[at..]).map(|(name, _)| function(name)))?
}

/// `@v = addrspace(1) global i32 0`
fn variable(line: &[u8]) -> Option<Symbol> {
    let (name, rest) = name(line)?;
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?;
    let words = rest.split(u8::is_ascii_whitespace);
    let mut address_space = 0;
    for word in words {
        match word {
            b"global" | b"constant" if !name.starts_with("llvm.") => {
                return Some(Symbol {
                    name,
                    kind: SymbolKind::Variable,
                    defined: true,
                    address_space,
                    is_kernel: false,
                });
            }
            b"private"
            | b"internal"
            | b"external"
            | b"extern_weak"
            | b"available_externally"
            | b"alias"
            | b"ifunc" => return None,
            _ => {
                let number = word
                    .strip_prefix(b"addrspace(")
                    .and_then(|rest| rest.strip_suffix(b")"));
                let number = number.and_then(|digits| std::str::from_utf8(digits).ok());
                address_space = number
                    .and_then(|digits| digits.parse().ok())
                    .unwrap_or(address_space);
            }
        }
    }
    None
}

/// The first name in each node that has the string `kernel`: `!{void ()* @k, !"kernel", i32 1}`.
fn annotated(assembly: &[u8]) -> impl Iterator<Item = String> {
    /// Longer ones are not looked at: no text may take time that grows with its square.
    const LONGEST_NODE: usize = 4096;
    memmem::find_iter(assembly, b"!\"kernel\"").filter_map(|at| {
        let before = &assembly[at.saturating_sub(LONGEST_NODE)..at];
        let behind = &assembly[at..assembly.len().min(at + LONGEST_NODE)];
        let start = at - before.len() + memmem::rfind(before, b"!{")?;
        let node = &assembly[start..at + memchr::memchr(b'}', behind)?];
        Some(name(&node[memchr::memchr(b'@', node)?..])?.0)
    })
}

/// The name that a text starts with, and what is behind it: `@k`, `@"a b"`, `@"a\22b"`.
fn name(assembly: &[u8]) -> Option<(String, &[u8])> {
    let rest = assembly.strip_prefix(b"@")?;
    let Some(quoted) = rest.strip_prefix(b"\"") else {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"-$._".contains(byte);
        let end = rest.iter().position(|byte| !is_letter(byte));
        let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
        return (!name.is_empty()).then(|| (text(name).into_owned(), rest));
    };
    let end = memchr::memchr(b'"', quoted)?;
    let mut parts = quoted[..end].split(|&byte| byte == b'\\');
    let mut bytes = parts.next()?.to_vec();
    for part in parts {
        let (digits, letters) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        bytes.extend_from_slice(letters);
    }
    Some((text(&bytes).into_owned(), &quoted[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_see_is_found() {
        let assembly = b"@v = addrspace(1) global i32 0\n\
            @\"a\\22b\" = weak_odr dso_local addrspace(4) externally_initialized constant [2 x i8] zeroinitializer\n\
            @hidden = internal global i32 0\n\
            @elsewhere = external addrspace(1) global i32\n\
            @other = alias i32, ptr @v\n\
            @llvm.used = appending global [1 x ptr] [ptr @f]\n\
            define void @f() {\n  ret void\n}\n\
            define weak ptx_kernel void @k(ptr %global) {\n  ret void\n}\n\
            define void @old(i32* %p) {\n  ret void\n}\n\
            !nvvm.annotations = !{!0, !1}\n\
            !0 = !{void (i32*)* @old, !\"maxntidx\", i32 8, !\"kernel\", i32 1}\n\
            !1 = !{void ()* @f, !\"align\", i32 8}\n";
        let found: Vec<(String, u64, bool)> = exports(assembly)
            .into_iter()
            .map(|symbol| (symbol.name, symbol.address_space, symbol.is_kernel))
            .collect();
        let wanted = [
            ("v", 1, false),
            ("a\"b", 4, false),
            ("k", 0, true),
            ("old", 0, true),
        ];
        assert_eq!(
            found,
            wanted.map(|(name, space, kernel)| (name.to_owned(), space, kernel))
        );
    }

    #[test]
    fn what_is_cut_is_left_out() {
        for text in [
            &b"@"[..],
            b"@\"",
            b"@\"a\\2\" = global",
            b"@v =",
            b"define ptx_kernel @",
            b"!\"kernel\"",
            b"!{@, !\"kernel\"}",
        ] {
            assert_eq!(exports(text), [], "{}", String::from_utf8_lossy(text));
        }
    }
}
