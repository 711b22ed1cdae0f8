//! `@file` on the command line: the arguments in a file, as compilers and linkers take them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::error::{Category, Code, Diagnostic, Error, Result};

/// Response files within response files; more is a cycle.
const DEPTH: usize = 16;

/// Puts the arguments of response files in their place. They are split at blanks; single and double quotes and
/// backslashes keep blanks, as in GNU's tools. A name that begins with `@` itself is written `./@name`. The files are
/// added to `files`.
///
/// # Errors
/// A file that cannot be read, that is no text, or that ends within quotes.
pub fn expand(
    arguments: impl IntoIterator<Item = OsString>,
    files: &mut Vec<PathBuf>,
) -> Result<Vec<OsString>> {
    let mut out = Vec::new();
    for argument in arguments {
        one(argument, 0, &mut out, files)?;
    }
    Ok(out)
}

fn one(
    argument: OsString,
    depth: usize,
    out: &mut Vec<OsString>,
    files: &mut Vec<PathBuf>,
) -> Result<()> {
    let name = argument
        .to_str()
        .and_then(|text| text.strip_prefix('@'))
        .filter(|name| !name.is_empty());
    let Some(name) = name else {
        out.push(argument);
        return Ok(());
    };
    if depth == DEPTH {
        return Err(Error::usage(format!(
            "response files lie more than {DEPTH} deep in one another, the last is `{name}`"
        )));
    }
    let blob = bytes::open(Path::new(name))?;
    files.push(PathBuf::from(name));
    let text = std::str::from_utf8(&blob).map_err(|error| {
        let finding = Diagnostic::error(Code::Damaged, "is no response file: it is not UTF-8");
        Error::new(
            Category::Damaged,
            finding.input(name).offset(error.valid_up_to() as u64),
        )
    })?;
    let words = split(text).map_err(|offset| {
        let finding = Diagnostic::error(Code::Damaged, "the quotes that begin here do not end");
        Error::new(Category::Damaged, finding.input(name).offset(offset as u64))
    })?;
    words
        .into_iter()
        .try_for_each(|word| one(word.into(), depth + 1, out, files))
}

/// The words of a text; the offset of quotes that do not end.
fn split(text: &str) -> std::result::Result<Vec<String>, usize> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<(char, usize)> = None;
    let mut chars = text.char_indices();
    while let Some((offset, c)) = chars.next() {
        match (c, quote) {
            ('\\', Some(('"', _)) | None) => {
                let escaped = chars.next().map_or('\\', |(_, c)| c);
                word.get_or_insert_default().push(escaped);
            }
            (_, Some((open, _))) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some((c, offset));
                word.get_or_insert_default();
            }
            (_, None) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        Some((_, offset)) => Err(offset),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let words = split("a.o  'b c.o'\n\"d\\\"e\" f\\ g ''\t-o'ut x'").unwrap();
        assert_eq!(words, ["a.o", "b c.o", "d\"e", "f g", "", "-out x"]);
        assert_eq!(split("a 'b"), Err(2));
        assert!(split("").unwrap().is_empty());
    }

    #[test]
    fn files_within_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("inner"), "b c").unwrap();
        std::fs::write(path("outer"), format!("a @{}", path("inner").display())).unwrap();
        std::fs::write(path("cycle"), format!("@{}", path("cycle").display())).unwrap();
        std::fs::write(path("binary"), [0xff, 0xfe]).unwrap();
        let expand = |name: &str| {
            let mut files = Vec::new();
            let words = expand([format!("@{}", path(name).display()).into()], &mut files)?;
            Ok::<_, Error>((words, files))
        };
        let (words, files) = expand("outer").unwrap();
        assert_eq!(words, ["a", "b", "c"]);
        assert_eq!(files, [path("outer"), path("inner")]);
        assert_eq!(expand("cycle").unwrap_err().category, Category::Usage);
        assert_eq!(expand("binary").unwrap_err().category, Category::Damaged);
        assert_eq!(expand("none").unwrap_err().category, Category::Damaged);
        assert_eq!(super::expand(["@".into()], &mut Vec::new()).unwrap(), ["@"]);
    }
}
