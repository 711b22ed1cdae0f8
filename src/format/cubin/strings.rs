use crate::error::Malformed;
use crate::format::text::until_nul;

/// Keeps the sum of all parts of one kind in proportion to the file: in a hostile one, every symbol can
/// name the same long string and every section can be the whole file.
pub(super) struct Budget {
    what: &'static str,
    left: usize,
}

impl Budget {
    pub(super) fn new(what: &'static str, file: usize) -> Self {
        Self {
            what,
            left: file.saturating_mul(4),
        }
    }

    pub(super) fn spend(&mut self, name: usize, offset: u64) -> Result<(), Malformed> {
        match self.left.checked_sub(name) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Malformed::new(
                offset,
                format!("{} add up to more than four times the file", self.what),
            )),
        }
    }
}

/// The NUL-terminated string at `at` in `table`.
pub(super) fn string_at<'a>(
    table: &'a [u8],
    table_offset: u64,
    at: u32,
    what: &str,
) -> Result<&'a [u8], Malformed> {
    if at == 0 && table.is_empty() {
        return Ok(&[]);
    }
    let rest = table.get(at as usize..).filter(|rest| !rest.is_empty());
    let rest = rest.ok_or_else(|| {
        Malformed::new(
            table_offset.saturating_add(at.into()),
            format!(
                "{what} lies outside its string table of {} bytes",
                table.len()
            ),
        )
    })?;
    Ok(until_nul(rest))
}
