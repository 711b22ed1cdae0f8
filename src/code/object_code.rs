//! What a user names on the command line, classified by content.

use std::path::{Path, PathBuf};

use crate::bytes::{self, Blob};
use crate::error::Result;
use crate::format::{Classified, Kind, classify};

/// One linkable or inspectable thing: a cubin, PTX, LTO-IR, fatbin, host object, archive, package…
#[derive(Debug, Clone)]
pub struct ObjectCode {
    /// As the user wrote it, `<stdin>` for standard input; the start of every image's name.
    pub name: String,
    /// Where it was read from; members of a thin archive lie beside it. None for stdin and buffers.
    pub path: Option<PathBuf>,
    pub classified: Classified,
    pub blob: Blob,
}

impl ObjectCode {
    /// Opens and classifies a file, or standard input for `-`. A directory has no bytes of its own.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self {
                name: path.display().to_string(),
                path: Some(path.to_owned()),
                classified: Classified {
                    kind: Kind::Directory,
                    format: String::new(),
                    evidence: "is a directory".to_owned(),
                },
                blob: Vec::new().into(),
            });
        }
        let stdin = path == Path::new("-");
        let name = if stdin {
            bytes::STDIN_NAME.to_owned()
        } else {
            path.display().to_string()
        };
        let blob = bytes::open(path)?;
        Ok(Self {
            path: (!stdin).then(|| path.to_owned()),
            ..Self::from_blob(name, blob)
        })
    }

    /// Classifies bytes that are already here; `name` is how messages call them.
    pub fn from_blob(name: impl Into<String>, blob: Blob) -> Self {
        Self {
            name: name.into(),
            path: None,
            classified: classify(&blob),
            blob,
        }
    }

    /// The same bytes, taken for `kind` whatever they look like (`--kind`).
    pub fn with_kind(mut self, kind: Kind) -> Self {
        if kind != self.classified.kind {
            self.classified = Classified {
                kind,
                format: String::new(),
                evidence: "said by --kind".to_owned(),
            };
        }
        self
    }

    pub fn kind(&self) -> Kind {
        self.classified.kind
    }
}
