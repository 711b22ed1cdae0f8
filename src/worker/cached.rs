//! Workers whose answers are remembered: the library is not even loaded for what it did before.

use serde::{Deserialize, Serialize};

use super::link::{Answer, Task};
use super::protocol::{self, Step};
use super::{End, Run, Workers};
use crate::bytes::Blob;
use crate::cache::{self, Cache, Key};
use crate::error::Result;
use crate::toolkit::Candidate;

/// What is kept of a run whose links all succeeded. Names of inputs are kept as their numbers: the same bytes have
/// other names elsewhere.
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
        let key = cache
            .is_on()
            .then(|| key(library, &task, data, cache))
            .flatten();
        let names: Vec<String> = task.inputs.iter().map(|input| input.name.clone()).collect();
        if let Some(known) = key
            .and_then(|key| cache.get(&key))
            .and_then(|bytes| read(bytes, &names))
        {
            return Ok((known, true));
        }
        let run = self.run(&library.path, task, data)?;
        if let Some(key) = key
            && let Some(bytes) = write(&run, &names)
        {
            cache.put(&key, &bytes);
        }
        Ok((run, false))
    }
}

/// Everything that an answer depends on: the library, the calls and the bytes; neither names nor limits.
fn key(library: &Candidate, task: &Task, data: &[&[u8]], cache: &Cache) -> Option<Key> {
    let library = cache::hash_of_library(cache, &library.path)?;
    let mut task = task.clone();
    for input in &mut task.inputs {
        input.name.clear();
    }
    let task = serde_json::to_vec(&task).ok()?;
    let parts = [b"worker", library.as_bytes(), &task];
    Some(Key::of(parts.into_iter().chain(data.iter().copied())))
}

fn write(run: &Run<Answer>, names: &[String]) -> Option<Vec<u8>> {
    let End::Answered(answer, results) = &run.end else {
        return None;
    };
    let succeeded = answer.links.iter().all(|link| link.failures.is_empty());
    if !succeeded || answer.links.is_empty() || results.len() != answer.links.len() {
        return None;
    }
    let mut kept = Kept {
        answer: answer.clone(),
        printed: run.printed.clone(),
        step: run.step,
        results: results.iter().map(|result| result.len()).collect(),
    };
    kept.texts(|text| to_numbers(text, names));
    let mut bytes = serde_json::to_vec(&kept).ok()?;
    bytes.push(b'\n');
    for result in results {
        bytes.extend_from_slice(result);
    }
    Some(bytes)
}

fn read(bytes: Vec<u8>, names: &[String]) -> Option<Run<Answer>> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let mut kept: Kept = serde_json::from_slice(&bytes[..end]).ok()?;
    let blob = Blob::from(bytes);
    let payload = blob.slice(end + 1..blob.len())?;
    kept.texts(|text| to_names(text, names));
    kept.answer.load_ms = 0.0;
    Some(Run {
        end: End::Answered(kept.answer, protocol::pieces(&payload, kept.results)),
        printed: kept.printed,
        step: kept.step,
    })
}

impl Kept {
    fn texts(&mut self, change: impl Fn(&str) -> String) {
        for link in &mut self.answer.links {
            link.error_log = change(&link.error_log);
            link.info_log = change(&link.info_log);
        }
        for (_, text) in &mut self.printed {
            *text = change(text);
        }
    }
}

/// Stands around the number of an input; texts have no such character.
const MARK: char = '\u{1f}';

fn to_numbers(text: &str, names: &[String]) -> String {
    let mut numbered: Vec<(usize, &String)> = names.iter().enumerate().collect();
    // A name may be a part of a longer one.
    numbered.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    let mut out = text.to_owned();
    for (number, name) in numbered.into_iter().filter(|(_, name)| !name.is_empty()) {
        if out.contains(name.as_str()) {
            out = out.replace(name.as_str(), &format!("{MARK}{number}{MARK}"));
        }
    }
    out
}

fn to_names(text: &str, names: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split(MARK).enumerate() {
        let name = part
            .parse::<usize>()
            .ok()
            .and_then(|number| names.get(number));
        match name {
            Some(name) if index % 2 == 1 => out.push_str(name),
            _ => out.push_str(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_and_go() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let (here, there) = (names(&["a.o", "x/a.o", ""]), names(&["b", "c", ""]));
        let kept = to_numbers("in 'a.o' and 'x/a.o', 7 times", &here);
        assert!(!kept.contains("a.o"), "{kept:?}");
        assert_eq!(to_names(&kept, &there), "in 'b' and 'c', 7 times");
    }
}
