use std::str::FromStr;

use crate::code::{Arch, ImageKind};

/// Which images and which of their functions a command is about. Empty lists take everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub archs: Vec<Arch>,
    pub kinds: Vec<ImageKind>,
    pub kernels: Vec<Glob>,
}

impl Selection {
    pub fn takes_image(&self, kind: ImageKind, arch: Option<Arch>) -> bool {
        let arch_fits = || arch.is_some_and(|arch| self.archs.contains(&arch));
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.archs.is_empty() || arch_fits())
    }

    /// Whether a function of this name is meant, by its mangled or its readable form.
    pub fn takes_function(&self, name: &str, demangled: Option<&str>) -> bool {
        self.kernels.is_empty()
            || self.kernels.iter().any(|glob| {
                glob.matches(name) || demangled.is_some_and(|demangled| glob.matches(demangled))
            })
    }
}

/// A pattern for names: `*` stands for any text, `?` for one character. Without either it must be the
/// whole name; for a readable name with parameters, the part before the parenthesis is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a pattern must not be empty".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl Glob {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn matches(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let all: Vec<char> = name.chars().collect();
        matches(&pattern, &all)
            || without_parameters(name)
                .is_some_and(|name| matches(&pattern, &name.chars().collect::<Vec<_>>()))
    }
}

/// `ns::f<int>` for `void ns::f<int>(int*)`: what a user would call the function.
fn without_parameters(name: &str) -> Option<&str> {
    let before = &name[..name.find('(')?];
    // A return type stands before templates: the name starts after the last blank outside of `<>`.
    let mut depth = 0_i32;
    let start = before
        .rmatch_indices(['<', '>', ' '])
        .find_map(|(at, found)| {
            match found {
                ">" => depth += 1,
                "<" => depth -= 1,
                _ if depth == 0 => return Some(at + 1),
                _ => {}
            }
            None
        });
    Some(&before[start.unwrap_or(0)..])
}

/// Goes back to the last `*` alone, which is enough and keeps the time at worst quadratic.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut in_pattern) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[at] => {
                at += 1;
                in_pattern += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    in_pattern = star_at + 1;
                    at = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        let takes = |pattern: &str, name: &str| pattern.parse::<Glob>().unwrap().matches(name);
        assert!(takes("axpy", "axpy"));
        assert!(!takes("axpy", "axpy2"));
        assert!(takes("*gemm*_nt?", "sm80_gemm_f32_nt4"));
        assert!(takes("axpy", "axpy(float, int)"));
        assert!(takes("ns::f<int>", "void ns::f<int>(int*)"));
        assert!(takes("ns::f*", "void ns::f<a b>(int*)"));
        assert!(takes("**", ""));
        assert!(!takes("?", ""));
        assert!("".parse::<Glob>().is_err());
        // Hostile to a matcher that tries every split.
        assert!(!takes(&"*a".repeat(30), &"a".repeat(29)));
    }

    #[test]
    fn selections() {
        let all = Selection::default();
        assert!(all.takes_image(ImageKind::Unknown, None));
        let some = Selection {
            archs: vec![Arch::new(90)],
            kinds: vec![ImageKind::Cubin],
            kernels: Vec::new(),
        };
        assert!(some.takes_image(ImageKind::Cubin, Some(Arch::new(90))));
        assert!(!some.takes_image(ImageKind::Cubin, Some(Arch::accelerated(90))));
        assert!(!some.takes_image(ImageKind::Ptx, Some(Arch::new(90))));
        assert!(!some.takes_image(ImageKind::Cubin, None));
    }
}
