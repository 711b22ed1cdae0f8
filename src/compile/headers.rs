//! Which headers a compilation read, from the compiler's own time trace: NVRTC has no option that lists them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::toolkit::Version;

/// From this release of NVRTC on the trace names headers (measured on 12.9 to 13.5).
pub(super) const SINCE: Version = Version::new(13, 1);

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Arguments,
}

#[derive(Deserialize, Default)]
struct Arguments {
    #[serde(default)]
    detail: String,
}

/// The headers in a trace, in order of their names. What is no file is built into the compiler.
pub(super) fn in_trace(trace: &[u8], builtin: Option<&Path>) -> Option<Vec<PathBuf>> {
    let trace: Trace = serde_json::from_slice(trace).ok()?;
    let headers = trace.events.into_iter();
    let headers: BTreeSet<PathBuf> = headers
        .filter(|event| event.name == "Processing Header File")
        .map(|event| PathBuf::from(event.args.detail))
        .filter(|path| builtin.is_none_or(|folder| !path.starts_with(folder)))
        .filter(|path| path.is_file())
        .collect();
    Some(headers.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_files_and_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let (own, builtin) = (folder.path().join("a.h"), folder.path().join("cache/b.h"));
        std::fs::create_dir(folder.path().join("cache")).unwrap();
        for path in [&own, &builtin] {
            std::fs::write(path, "").unwrap();
        }
        let event = |name: &str, detail: &Path| serde_json::json!({"name": name, "ph": "X", "args": {"detail": detail}});
        let header = "Processing Header File";
        let trace = serde_json::json!({"traceEvents": [
            {"ph": "M"},
            {"name": "process_name", "args": {"name": "x"}},
            event(header, &own),
            event(header, &own),
            event(header, &builtin),
            event(header, Path::new("__nv_nvrtc_builtin_header.h")),
            event("Scanning Function Body", &folder.path().join("cache/b.h")),
        ]});
        let trace = trace.to_string();
        let builtin = folder.path().join("cache");
        assert_eq!(in_trace(trace.as_bytes(), Some(&builtin)), Some(vec![own]));
        assert_eq!(in_trace(b"{", None), None);
    }
}
