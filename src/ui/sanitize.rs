use std::borrow::Cow;
use std::fmt::Write;

/// Makes text from a file harmless on a terminal: control characters and the ones that change the
/// reading direction become `\u{1b}` escapes. Newlines and tabs are escaped as well, since a name is one line.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hostile(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_terminal_obeys() {
        assert_eq!(sanitize("plain_ñame"), "plain_ñame");
        assert_eq!(sanitize("a\x1b[31mred\nb"), "a\\u{1b}[31mred\\nb");
        assert_eq!(sanitize("x\u{202e}y"), "x\\u{202e}y");
    }
}
