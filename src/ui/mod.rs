//! Everything that is printed goes through [`Printer`]: stdout is data, stderr is talk.

mod diagnostics;
mod printer;
mod sanitize;
pub mod table;

pub use diagnostics::text as diagnostic_text;
pub use printer::{ColorChoice, MessageFormat, Printer};
pub use sanitize::sanitize;
