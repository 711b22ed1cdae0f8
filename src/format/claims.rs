use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of a file that have an owner. Giving each byte to one owner alone keeps the work in proportion to the
/// file, however many headers point at the same bytes.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// Disjoint: start to end.
    taken: BTreeMap<usize, usize>,
}

impl Claims {
    /// Whether all of `range` was free. If so it no longer is.
    pub(super) fn claim(&mut self, range: &Range<usize>) -> bool {
        if range.is_empty() {
            return true;
        }
        let before = self.taken.range(..range.end).next_back();
        let free = before.is_none_or(|(_, &end)| end <= range.start);
        if free {
            self.taken.insert(range.start, range.end);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_one_owner() {
        let mut claims = Claims::default();
        assert!(claims.claim(&(10..20)));
        assert!(claims.claim(&(20..30)) && claims.claim(&(0..10)));
        for taken in [0..1, 5..15, 19..21, 29..40, 0..50] {
            assert!(!claims.claim(&taken), "{taken:?}");
        }
        assert!(claims.claim(&(15..15)) && claims.claim(&(30..31)));
    }
}
