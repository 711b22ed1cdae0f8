use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::error::{Code, Diagnostic, Severity};

/// Collects findings. A header that every input includes can break ten thousand names at once: of each kind so
/// many are kept that one sees what is wrong, and the others are counted.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
    counts: BTreeMap<(Severity, Code), usize>,
}

/// Findings of one code and severity that are kept.
pub const MOST: usize = 100;

impl Findings {
    pub fn add(&mut self, finding: Diagnostic) {
        let count = self
            .counts
            .entry((finding.severity, finding.code))
            .or_default();
        *count += 1;
        if *count <= MOST {
            self.list.push(finding);
        }
    }

    pub fn extend(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }

    /// Counts a finding that would not be kept, and says so: it need not be made. Expensive ones ask first.
    pub fn count_only(&mut self, severity: Severity, code: Code) -> bool {
        let count = self.counts.entry((severity, code)).or_default();
        let full = *count >= MOST;
        *count += usize::from(full);
        full
    }

    /// Errors first, then warnings, then notes; within each by code, then in the order of finding.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        for (&(severity, code), &count) in &self.counts {
            if count > MOST {
                let message = format!("{} more findings of this kind", count - MOST);
                self.list.push(Diagnostic::new(severity, code, message));
            }
        }
        self.list
            .sort_by_key(|finding| (Reverse(finding.severity), finding.code));
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_findings_are_counted() {
        let mut findings = Findings::default();
        findings.add(Diagnostic::note(Code::StackUnknown, "note"));
        for index in 0..150 {
            if !findings.count_only(Severity::Error, Code::UndefinedSymbol) {
                findings.add(Diagnostic::error(Code::UndefinedSymbol, index.to_string()));
            }
        }
        let list = findings.finish();
        assert_eq!(list.len(), 102);
        assert_eq!(list[100].message, "50 more findings of this kind");
        assert_eq!(list[101].message, "note");
    }
}
