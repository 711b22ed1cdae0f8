//! How long work tells whoever watches what it finds and how far it is, without knowing of terminals.

use crate::error::Diagnostic;

/// Receives findings and progress. The command line prints them, tests collect them.
pub trait Observer: Sync {
    /// A finding that does not end the work.
    fn diagnostic(&self, diagnostic: &Diagnostic);

    /// One line about a step or a decision, for `-v`.
    fn detail(&self, line: &str);

    /// One line about work that takes long or changes something, such as a download; `-q` hides it.
    fn status(&self, _line: &str) {}

    /// Work that takes long enough to want a progress bar begins; `total` is in bytes, where known.
    fn progress(&self, what: &str, total: Option<u64>) -> Box<dyn Progress>;
}

/// One running piece of work; dropping it ends the bar.
pub trait Progress: Send {
    /// Bytes (or steps) done so far, in all.
    fn set(&self, done: u64);
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn diagnostic(&self, _: &Diagnostic) {}
    fn detail(&self, _: &str) {}
    fn progress(&self, _: &str, _: Option<u64>) -> Box<dyn Progress> {
        Box::new(Silent)
    }
}

impl Progress for Silent {
    fn set(&self, _: u64) {}
}
