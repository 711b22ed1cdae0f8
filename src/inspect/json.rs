use std::io::Write;

use serde::Serialize;

use super::report::{ImageReport, SCHEMA_VERSION, Sink, Source, Tool};
use crate::error::{Category, Code, Diagnostic, Error, Result};

/// Writes a [`Report`](super::Report) as JSON while it is made, one image a line.
#[derive(Debug)]
pub struct JsonWriter<W> {
    out: W,
    inputs: usize,
    images: usize,
}

impl<W: Write> JsonWriter<W> {
    pub fn new(mut out: W) -> Result<Self> {
        let head = serde_json::json!({ "schema_version": SCHEMA_VERSION, "tool": Tool::this() });
        open_object(&mut out, &head)?;
        write(&mut out, b",\"inputs\":[")?;
        Ok(Self {
            out,
            inputs: 0,
            images: 0,
        })
    }

    /// Ends the document and gives the writer back.
    pub fn finish(mut self) -> Result<W> {
        write(&mut self.out, b"]}\n")?;
        self.out.flush().map_err(|error| failed(&error))?;
        Ok(self.out)
    }
}

impl<W: Write> Sink for JsonWriter<W> {
    fn source(&mut self, source: &Source) -> Result<()> {
        write(&mut self.out, if self.inputs == 0 { b"\n" } else { b",\n" })?;
        self.inputs += 1;
        self.images = 0;
        open_object(&mut self.out, source)?;
        write(&mut self.out, b",\"images\":[")
    }

    fn image(&mut self, image: ImageReport) -> Result<()> {
        write(&mut self.out, if self.images == 0 { b"\n" } else { b",\n" })?;
        self.images += 1;
        value(&mut self.out, &image)
    }

    fn end(&mut self, warnings: Vec<Diagnostic>) -> Result<()> {
        write(&mut self.out, b"],\"warnings\":")?;
        value(&mut self.out, &warnings)?;
        write(&mut self.out, b"}")
    }
}

/// Writes an object without its closing brace, for more keys to follow.
fn open_object(out: &mut impl Write, object: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(object).map_err(|error| failed(&error))?;
    write(out, text.strip_suffix('}').unwrap_or(&text).as_bytes())
}

fn value(out: &mut impl Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(out, value).map_err(|error| failed(&error))
}

fn write(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    let message = format!("cannot write the report: {error}");
    Error::new(
        Category::Failed,
        Diagnostic::error(Code::OutputUnwritable, message),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Kind;
    use crate::inspect::Report;
    use crate::inspect::report::tests::image;

    fn fill(sink: &mut dyn Sink, inputs: &[&[&str]]) {
        for images in inputs {
            let source = Source {
                path: "a \"b\"".to_owned(),
                kind: Kind::Fatbin,
                format: String::new(),
                host_arch: None,
                size: 9,
            };
            sink.source(&source).unwrap();
            for id in *images {
                sink.image(image(id)).unwrap();
            }
            sink.end(vec![Diagnostic::note(Code::NoDeviceCode, "none")])
                .unwrap();
        }
    }

    #[test]
    fn what_is_written_piece_by_piece_is_the_report() {
        let all: [&[&[&str]]; 4] = [&[], &[&[]], &[&["x"]], &[&["x", "y"], &[], &["z"]]];
        for inputs in all {
            let mut report = Report::default();
            fill(&mut report, inputs);
            let mut writer = JsonWriter::new(Vec::new()).unwrap();
            fill(&mut writer, inputs);
            let written: serde_json::Value =
                serde_json::from_slice(&writer.finish().unwrap()).unwrap();
            assert_eq!(written, serde_json::to_value(&report).unwrap());
        }
    }
}
