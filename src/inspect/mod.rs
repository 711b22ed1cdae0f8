//! Reports about device code: what is in a file, for which architectures, and what its kernels need.
//!
//! [`inspect`] hands one image after the other to a [`Sink`], so that a file with gigabytes of code needs
//! no more memory than its largest images. [`Report`] is the sink that keeps all; its JSON schema is the
//! contract of `cudalink inspect --format json`.

mod build;
mod json;
mod report;
mod select;
mod summary;
mod table;
mod usage;

pub use build::{Detail, Outcome, Request, has_function, inspect};
pub use json::JsonWriter;
pub use report::{
    AnyFunction, ImageReport, Input, RelocationReport, Report, SCHEMA_VERSION, SectionReport, Sink,
    Source, Tool,
};
pub use select::{Glob, Selection};
pub use summary::{Row, Summary};
pub use table::{View, arch_name, csv_line, markdown_line, shape};
pub use usage::resource_usage;
