//! Workers whose answers are remembered: the library is not even loaded for what it did before.

use serde::{Deserialize, Serialize};

use super::link::{Answer, Link, Task};
use super::protocol::{self, Step};
use super::{End, Run, Workers};
use crate::bytes::Blob;
use crate::cache::{self, Cache, Key};
use crate::error::Result;
use crate::ffi::nvjitlink::OutputKind;
use crate::toolkit::Candidate;

/// What is kept of a run whose links all succeeded.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    answer: Answer,
    printed: Vec<(Step, String)>,
    step: Step,
    /// Bytes of each result.
    results: Vec<usize>,
}

impl Workers<'_> {
    /// As [`Workers::run`], but for what `cache` knows. Tells whether it did.
    pub fn run_cached(
        &self,
        library: &Candidate,
        task: Task,
        data: &[&[u8]],
        cache: &Cache,
    ) -> Result<(Run<Answer>, bool)> {
        let keys = cache
            .is_on()
            .then(|| Keys::of(library, &task, data, cache))
            .flatten();
        let known = keys.iter().flat_map(Keys::all);
        if let Some(known) = known.flat_map(|key| cache.get(key)).find_map(read) {
            return Ok((known, true));
        }
        let names: Vec<String> = task.inputs.iter().map(|input| input.name.clone()).collect();
        let run = self.run(&library.path, task, data)?;
        if let Some(keys) = keys
            && let Some(bytes) = write(&run)
        {
            cache.put(keys.of_run(&run, &names), &bytes);
        }
        Ok((run, false))
    }
}

/// Hashes of everything that an answer depends on: the library, the calls and the bytes; no limits.
struct Keys {
    /// Without the names of the inputs: the same bytes have other names elsewhere. Linked LTO-IR has none, as it
    /// holds the names.
    nameless: Option<Key>,
    named: Key,
}

impl Keys {
    fn of(library: &Candidate, task: &Task, data: &[&[u8]], cache: &Cache) -> Option<Self> {
        let library = cache::hash_of_library(cache, &library.path)?;
        let key = |purpose: &[u8], task: &Task| {
            let task = serde_json::to_vec(task).ok()?;
            let parts = [purpose, library.as_bytes(), &task];
            Some(Key::of(parts.into_iter().chain(data.iter().copied())))
        };
        let holds_names = |link: &Link| link.output == OutputKind::LtoIr;
        let mut nameless = task.clone();
        nameless
            .inputs
            .iter_mut()
            .for_each(|input| input.name.clear());
        Some(Self {
            nameless: match task.links.iter().any(holds_names) {
                true => None,
                false => Some(key(b"worker", &nameless)?),
            },
            named: key(b"worker with names", task)?,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Key> {
        self.nameless.iter().chain([&self.named])
    }

    /// The one under which a run is kept.
    fn of_run(&self, run: &Run<Answer>, names: &[String]) -> &Key {
        match &self.nameless {
            Some(nameless) if !mentions(run, names) => nameless,
            _ => &self.named,
        }
    }
}

/// Whether an input is named in what the library had to say.
fn mentions(run: &Run<Answer>, names: &[String]) -> bool {
    let End::Answered(answer, _) = &run.end else {
        return false;
    };
    let logs = answer.links.iter();
    let logs = logs.flat_map(|link| [&link.error_log, &link.info_log]);
    let mut texts = logs.chain(run.printed.iter().map(|(_, text)| text));
    let is_in = |text: &String| {
        let mut names = names.iter().filter(|name| !name.is_empty());
        names.any(|name| text.contains(name.as_str()))
    };
    texts.any(is_in)
}

fn write(run: &Run<Answer>) -> Option<Vec<u8>> {
    let End::Answered(answer, results) = &run.end else {
        return None;
    };
    let succeeded = answer.links.iter().all(|link| link.failures.is_empty());
    if !succeeded || answer.links.is_empty() || results.len() != answer.links.len() {
        return None;
    }
    let kept = Kept {
        answer: answer.clone(),
        printed: run.printed.clone(),
        step: run.step,
        results: results.iter().map(|result| result.len()).collect(),
    };
    let mut bytes = serde_json::to_vec(&kept).ok()?;
    bytes.push(b'\n');
    for result in results {
        bytes.extend_from_slice(result);
    }
    Some(bytes)
}

fn read(bytes: Vec<u8>) -> Option<Run<Answer>> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let mut kept: Kept = serde_json::from_slice(&bytes[..end]).ok()?;
    let blob = Blob::from(bytes);
    let payload = blob.slice(end + 1..blob.len())?;
    kept.answer.load_ms = 0.0;
    Some(Run {
        end: End::Answered(kept.answer, protocol::pieces(&payload, kept.results)),
        printed: kept.printed,
        step: kept.step,
    })
}
