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
