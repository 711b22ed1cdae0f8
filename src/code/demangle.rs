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
    symbol.demangle().ok()
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
    }
}
