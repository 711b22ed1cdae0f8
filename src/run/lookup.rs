//! Finding one name among many: by its mangled form, its readable form, or a part that only one has.

use std::collections::BTreeSet;

use crate::code::demangled;
use crate::error::{Code, Error, Result};

/// Names shown where a name is not found or not unique.
const SHOWN: usize = 8;

/// The one of `names` (mangled) that `wanted` means. What fits exactly goes before what merely contains it.
/// `what` is how messages call such a name: `kernel`, `variable`.
///
/// # Errors
/// `unknown-kernel` with the nearest names, or with all that fit when there are several.
pub fn find<'n>(what: &str, names: &BTreeSet<&'n str>, wanted: &str) -> Result<&'n str> {
    if let Some(exact) = names.get(wanted) {
        return Ok(exact);
    }
    let readable: Vec<(&'n str, String)> = names
        .iter()
        .map(|&name| (name, demangled(name).unwrap_or_else(|| name.to_owned())))
        .collect();
    type Fits<'a> = &'a dyn Fn(&str, &str) -> bool;
    let steps: [Fits<'_>; 4] = [
        &|_, text| text == wanted,
        &|_, text| function_name(text) == wanted,
        &|_, text| last_part(function_name(text)) == wanted,
        &|name, text| name.contains(wanted) || text.contains(wanted),
    ];
    for fits in steps {
        let found: Vec<_> = readable
            .iter()
            .filter(|(name, text)| fits(name, text))
            .collect();
        match found.as_slice() {
            [] => {}
            [(name, _)] => return Ok(name),
            several => return Err(ambiguous(what, wanted, several)),
        }
    }
    Err(unknown(what, wanted, &readable))
}

/// The readable name without its parameters and return type: `void ns::scale<float>(float*)` gives
/// `ns::scale<float>`.
fn function_name(text: &str) -> &str {
    let mut depth = 0;
    let (mut start, mut end) = (0, text.len());
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ' ' if depth == 0 => start = at + 1,
            '(' if depth == 0 && !text[at..].starts_with("(anonymous namespace)") => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    text.get(start..end).unwrap_or(text)
}

/// `ns::scale<float>` gives `scale`.
fn last_part(name: &str) -> &str {
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit("::").next().unwrap_or(plain)
}

fn ambiguous(what: &str, wanted: &str, several: &[&(&str, String)]) -> Error {
    let mut error = Error::failed(
        Code::UnknownKernel,
        format!("`{wanted}` fits {} {what}s", several.len()),
    )
    .hint("write more of the name; the mangled one is always unique");
    for (name, text) in several.iter().take(SHOWN) {
        error = error.detail(both(name, text));
    }
    more(error, several.len())
}

fn unknown(what: &str, wanted: &str, readable: &[(&str, String)]) -> Error {
    let mut error = Error::failed(
        Code::UnknownKernel,
        format!("there is no {what} `{wanted}`"),
    );
    if readable.is_empty() {
        return error.detail(format!("there is no {what} at all"));
    }
    let mut near: Vec<_> = readable
        .iter()
        .map(|(name, text)| {
            let short = last_part(function_name(text));
            (
                distance(wanted, short).min(distance(wanted, text)),
                name,
                text,
            )
        })
        .collect();
    near.sort();
    for (_, name, text) in near.iter().take(SHOWN) {
        error = error.detail(both(name, text));
    }
    more(error, near.len())
}

fn more(error: Error, count: usize) -> Error {
    match count.checked_sub(SHOWN) {
        Some(hidden) if hidden > 0 => error.detail(format!("… and {hidden} more")),
        _ => error,
    }
}

fn both(name: &str, text: &str) -> String {
    if name == text {
        name.to_owned()
    } else {
        format!("{text}  [{name}]")
    }
}

/// How many letters must be put in, taken out or changed to make one text the other.
fn distance(a: &str, b: &str) -> usize {
    // Far longer names than anyone types; the cost is the product of both lengths.
    const LONGEST: usize = 256;
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "_ZN2ns5scaleIfEEvPT_i", // void ns::scale<float>(float*, int)
        "_ZN2ns5scaleIdEEvPT_i", // void ns::scale<double>(double*, int)
        "_Z4axpyPfi",            // axpy(float*, int)
        "_Z5axpy2Pfi",           // axpy2(float*, int)
        "kernel",
        "kernel_0d1d2d",
    ];

    fn look(wanted: &str) -> Result<&'static str> {
        find("kernel", &NAMES.iter().copied().collect(), wanted)
    }

    #[test]
    fn from_exact_to_part() {
        assert_eq!(look("kernel").unwrap(), "kernel");
        assert_eq!(look("_Z4axpyPfi").unwrap(), "_Z4axpyPfi");
        assert_eq!(look("axpy(float*, int)").unwrap(), "_Z4axpyPfi");
        assert_eq!(look("axpy").unwrap(), "_Z4axpyPfi");
        assert_eq!(look("ns::scale<float>").unwrap(), "_ZN2ns5scaleIfEEvPT_i");
        assert_eq!(look("<double>").unwrap(), "_ZN2ns5scaleIdEEvPT_i");
        assert_eq!(look("0d1d").unwrap(), "kernel_0d1d2d");
    }

    #[test]
    fn several_and_none() {
        let several = look("scale").unwrap_err().diagnostics.remove(0);
        assert_eq!(several.message, "`scale` fits 2 kernels");
        assert!(several.details[0].contains("ns::scale<"));
        let none = look("kernle").unwrap_err().diagnostics.remove(0);
        assert_eq!(
            (none.code, none.message.as_str()),
            (Code::UnknownKernel, "there is no kernel `kernle`")
        );
        assert_eq!(none.details[0], "kernel");
        let empty = find("kernel", &BTreeSet::new(), "x").unwrap_err();
        assert_eq!(empty.diagnostics[0].details, ["there is no kernel at all"]);
    }
}
