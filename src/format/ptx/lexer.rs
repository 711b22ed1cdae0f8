use crate::error::Malformed;

/// One token. Words keep their dots: `.param`, `ld.param.u64`, `%tid.x`, `_Z3fooi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// Starts with a digit: `16`, `0x1F`, `0f3F800000`.
    Number(&'a str),
    String(&'a [u8]),
    Punct(u8),
}

/// Splits PTX into tokens, dropping blanks and comments. Bytes that are not ASCII can only stand in
/// comments and strings.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    peeked: Option<(Token<'a>, usize)>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self {
            bytes,
            at,
            peeked: None,
        }
    }

    /// Offset of the next token (or of the blanks before it).
    pub(super) fn offset(&self) -> u64 {
        self.peeked.map_or(self.at, |(_, start)| start) as u64
    }

    /// The text from an earlier [`Lexer::offset`] up to the next token.
    pub(super) fn text_since(&self, start: u64) -> &'a [u8] {
        // Offsets come from this lexer, whose text lies in memory.
        let range = start as usize..self.offset() as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    pub(super) fn malformed(&self, message: impl Into<String>) -> Malformed {
        Malformed::new(self.offset(), message)
    }

    pub(super) fn peek(&mut self) -> Result<Option<Token<'a>>, Malformed> {
        if self.peeked.is_none() {
            self.skip_blanks()?;
            let start = self.at;
            self.peeked = self.read()?.map(|token| (token, start));
        }
        Ok(self.peeked.map(|(token, _)| token))
    }

    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, Malformed> {
        let token = self.peek()?;
        self.peeked = None;
        Ok(token)
    }

    /// The next token; the text must not end here. `what` is what was being read.
    pub(super) fn need(&mut self, what: &str) -> Result<Token<'a>, Malformed> {
        match self.next()? {
            Some(token) => Ok(token),
            None => Err(self.malformed(format!("PTX ends within {what}"))),
        }
    }

    /// Takes the next token if it is `punct`.
    pub(super) fn take(&mut self, punct: u8) -> Result<bool, Malformed> {
        let found = self.peek()? == Some(Token::Punct(punct));
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, punct: u8, what: &str) -> Result<(), Malformed> {
        if self.take(punct)? {
            return Ok(());
        }
        Err(self.malformed(format!("expected `{}` in {what}", char::from(punct))))
    }

    /// Takes the next word if there is one.
    pub(super) fn take_word(&mut self) -> Result<Option<&'a str>, Malformed> {
        match self.peek()? {
            Some(Token::Word(word)) => {
                self.peeked = None;
                Ok(Some(word))
            }
            _ => Ok(None),
        }
    }

    fn skip_blanks(&mut self) -> Result<(), Malformed> {
        loop {
            match self.rest() {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, ..] => self.at += 1,
                [b'/', b'/', ..] => {
                    self.at += find(self.rest(), b"\n").unwrap_or(self.rest().len())
                }
                [b'/', b'*', ..] => match find(&self.rest()[2..], b"*/") {
                    Some(length) => self.at += length + 4,
                    None => return Err(self.malformed("comment has no end")),
                },
                _ => return Ok(()),
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn read(&mut self) -> Result<Option<Token<'a>>, Malformed> {
        let rest = self.rest();
        let Some(&first) = rest.first() else {
            return Ok(None);
        };
        if first == b'"' {
            let Some(length) = string_length(&rest[1..]) else {
                return Err(self.malformed("string has no end"));
            };
            self.at += length + 2;
            return Ok(Some(Token::String(&rest[1..=length])));
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%.".contains(byte);
        let length = rest.iter().position(|byte| !is_word(byte));
        let length = length.unwrap_or(rest.len());
        if length == 0 {
            if !first.is_ascii_graphic() {
                return Err(self.malformed(format!("PTX text has a byte {first:#04x} here")));
            }
            self.at += 1;
            return Ok(Some(Token::Punct(first)));
        }
        self.at += length;
        // Only ASCII bytes were taken.
        let text = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        Ok(Some(if first.is_ascii_digit() {
            Token::Number(text)
        } else {
            Token::Word(text)
        }))
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// Bytes before the closing quote; a backslash takes the next byte with it.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The value of an integer literal: decimal, `0x`, `0b`, octal with a leading 0, all with an optional `U`.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = if let Some(hex) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        (hex, 16)
    } else if let Some(binary) = text.strip_prefix("0b").or(text.strip_prefix("0B")) {
        (binary, 2)
    } else if let Some(octal) = text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        (octal, 8)
    } else {
        (text, 10)
    };
    u64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut lexer = Lexer::new(text.as_bytes(), 0);
        let mut out = Vec::new();
        while let Some(token) = lexer.next().unwrap() {
            out.push(match token {
                Token::Word(text) | Token::Number(text) => text.to_owned(),
                Token::String(text) => format!("{:?}", String::from_utf8_lossy(text)),
                Token::Punct(byte) => char::from(byte).to_string(),
            });
        }
        out
    }

    #[test]
    fn words_numbers_strings_and_comments() {
        assert_eq!(
            tokens("ld.param.u64 \t%rd1, [a$b+4]; // x\r\n/* y */@%p1 bra $L;\"a\\\"b\" 0x1F"),
            [
                "ld.param.u64",
                "%rd1",
                ",",
                "[",
                "a$b",
                "+",
                "4",
                "]",
                ";",
                "@",
                "%p1",
                "bra",
                "$L",
                ";",
                "\"a\\\\\\\"b\"",
                "0x1F"
            ]
        );
        assert!(Lexer::new(b"/* ", 0).next().is_err());
        assert!(Lexer::new(b"\"ab", 0).next().is_err());
        assert!(Lexer::new(b"\x01", 0).next().is_err());
    }

    #[test]
    fn integers_of_every_base() {
        for (text, value) in [
            ("0", 0),
            ("16", 16),
            ("0x1F", 31),
            ("010", 8),
            ("0b101", 5),
            ("7U", 7),
        ] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        assert_eq!(integer("0f3F800000"), None);
        assert_eq!(integer("99999999999999999999"), None);
    }
}
