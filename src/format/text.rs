//! Names as files hold them: bytes of any value, shown as text without losing any.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt::Write;

/// Text of a name. Bytes that are not UTF-8 become `\xff`, so that two names stay two.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// The bytes before the first NUL, or all of them.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_lost() {
        assert_eq!(text(b"_Z1fv"), "_Z1fv");
        assert_eq!(text(b"a\xff\xfeb"), "a\\xff\\xfeb");
        assert_eq!(until_nul(b"ab\0c"), b"ab");
        assert_eq!(until_nul(b"ab"), b"ab");
    }
}
