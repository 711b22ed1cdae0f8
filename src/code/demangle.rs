use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The readable form of an Itanium (C++) or Rust symbol; `None` when it is neither.
pub fn demangled(name: &str) -> Option<String> {
    // Hostile names may nest arbitrarily deep; real ones stay far below this.
    const LONGEST: usize = 16 * 1024;
    if name.len() > LONGEST {
        return None;
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return Some(format!("{rust:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let mut out = Bounded {
        text: String::new(),
    };
    symbol
        .structured_demangle(&mut out, &cpp_demangle::DemangleOptions::default())
        .ok()?;
    Some(out.text)
}

/// Text that stops growing: a few hundred letters of back references can stand for gigabytes.
struct Bounded {
    text: String,
}

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        const LONGEST: usize = 64 * 1024;
        if self.text.len() + part.len() > LONGEST {
            return Err(std::fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Demangles many names, of which most come back: one kernel has the same name for every architecture.
#[derive(Debug, Default)]
pub struct Demangler {
    known: Mutex<HashMap<String, Option<String>>>,
}

impl Demangler {
    /// See [`demangled`].
    pub fn get(&self, name: &str) -> Option<String> {
        /// Keeps a file with millions of names from filling the memory.
        const MOST: usize = 1 << 16;
        if !name.starts_with('_') {
            return None;
        }
        // A thread that panicked cannot have left the map half changed.
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(name) {
            return known.clone();
        }
        let readable = demangled(name);
        let mut known = lock();
        if known.len() < MOST {
            known.insert(name.to_owned(), readable.clone());
        }
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpp_rust_and_plain() {
        assert_eq!(
            demangled("_Z4axpyPfi").as_deref(),
            Some("axpy(float*, int)")
        );
        assert_eq!(
            demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE").as_deref(),
            Some("core::fmt::Write::write_fmt")
        );
        assert_eq!(demangled("kernel"), None);
        assert_eq!(demangled("_Z"), None);
        let demangler = Demangler::default();
        for _ in 0..2 {
            assert_eq!(demangler.get("_Z1fv").as_deref(), Some("f()"));
            assert_eq!(demangler.get("kernel"), None);
        }
    }

    #[test]
    fn a_short_name_of_a_long_text_is_left_mangled() {
        // Each argument is a template of the one before, twice.
        let mut name = "_Z1f1AIiiE".to_owned();
        for digit in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars() {
            name.push_str(&format!("S_IS{digit}_S{digit}_E"));
        }
        assert_eq!(demangled(&name), None);
    }
}
