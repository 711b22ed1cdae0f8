use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Key, Store};

/// A folder of files, one a result. Files appear whole, so any number of processes may use it at once and be killed at
/// any time; each carries a hash of itself and its key, so a damaged one counts as not there.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    limit: u64,
}

/// Changes when the layout does.
const LAYOUT: &str = "v1";

/// What a folder holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stats {
    pub files: u64,
    pub bytes: u64,
    /// Bytes above which the oldest are removed.
    pub limit: u64,
}

impl Folder {
    pub fn new(path: &Path, limit: u64) -> Self {
        Self {
            path: path.join(LAYOUT),
            limit,
        }
    }

    fn file(&self, key: &Key) -> PathBuf {
        let name = key.hex();
        self.path.join(&name[..2]).join(&name[2..])
    }

    pub fn stats(&self) -> Stats {
        let files = self.files();
        Stats {
            files: files.len() as u64,
            bytes: files.iter().map(|file| file.size).sum(),
            limit: self.limit,
        }
    }

    /// Removes everything; returns what there was.
    pub fn clear(&self) -> std::io::Result<Stats> {
        let stats = self.stats();
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(stats),
        }
    }

    fn files(&self) -> Vec<Kept> {
        let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
        entries(&self.path)
            .flat_map(|folder| entries(&folder.path()).collect::<Vec<_>>())
            .filter_map(|file| {
                let meta = file.metadata().ok()?;
                Some(Kept {
                    path: file.path(),
                    size: meta.len(),
                    used: meta.modified().ok()?,
                })
            })
            .collect()
    }

    /// Removes what was not used for longest until all fits, with some room so that this is not done each time.
    fn trim(&self) {
        let mut files = self.files();
        let mut total: u64 = files.iter().map(|file| file.size).sum();
        if total <= self.limit {
            return;
        }
        files.sort_by_key(|file| file.used);
        for file in files {
            if total <= self.limit / 10 * 9 {
                break;
            }
            // Another process may have removed it.
            if fs::remove_file(&file.path).is_ok() {
                total -= file.size;
            }
        }
    }
}

struct Kept {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

fn seal(key: &Key, value: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_keyed(&key.0)
        .update(value)
        .finalize()
        .as_bytes()
}

impl Store for Folder {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, String> {
        let path = self.file(key);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let Some(at) = bytes.len().checked_sub(32) else {
            return Err("it is cut off".to_owned());
        };
        let sealed = bytes.split_off(at);
        if sealed != seal(key, &bytes) {
            // If it stays, it is found damaged again.
            let _ = fs::remove_file(&path);
            return Err("it is damaged".to_owned());
        }
        // A used file stays longer; if its time cannot be set, it goes earlier.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(bytes))
    }

    fn put(&self, key: &Key, value: &[u8]) -> Result<(), String> {
        if value.len() as u64 > self.limit / 4 {
            return Ok(());
        }
        let path = self.file(key);
        let folder = path.parent().unwrap_or(&self.path);
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(value)?;
            file.write_all(&seal(key, value))?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| error.to_string())?;
        // Looking through all files each time would cost more than it frees.
        if key.0[0] < 8 || value.len() as u64 > self.limit / 100 {
            self.trim();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::of([text.as_bytes()])
    }

    #[test]
    fn what_was_put_comes_back_and_damage_does_not() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), 1 << 20);
        assert_eq!(folder.get(&key("a")), Ok(None));
        folder.put(&key("a"), b"value").unwrap();
        folder.put(&key("empty"), b"").unwrap();
        assert_eq!(folder.get(&key("a")).unwrap().unwrap(), b"value");
        assert_eq!(folder.get(&key("empty")).unwrap().unwrap(), b"");
        assert_eq!((folder.stats().files, folder.stats().bytes), (2, 69));
        let file = folder.file(&key("a"));
        let bytes = fs::read(&file).unwrap();
        for cut in [0, 5, bytes.len() - 1] {
            fs::write(&file, &bytes[..cut]).unwrap();
            assert!(folder.get(&key("a")).is_err(), "cut at {cut}");
            fs::write(&file, &bytes).unwrap();
        }
        // Under another name it is not what it claims to be.
        fs::create_dir_all(folder.file(&key("b")).parent().unwrap()).unwrap();
        fs::rename(&file, folder.file(&key("b"))).unwrap();
        assert!(folder.get(&key("b")).is_err());
        assert_eq!(folder.get(&key("b")), Ok(None), "it was removed");
        assert_eq!(folder.clear().unwrap().files, 1);
        assert_eq!(folder.stats().files, 0);
        folder.clear().unwrap();
    }

    #[test]
    fn the_oldest_go_when_it_is_full() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), 100_000);
        let value = vec![1; 10_000];
        for number in 0..40 {
            let key = key(&number.to_string());
            folder.put(&key, &value).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number);
            File::open(folder.file(&key))
                .unwrap()
                .set_modified(time)
                .unwrap();
        }
        folder.trim();
        let stats = folder.stats();
        assert!(stats.bytes <= 100_000 && stats.files > 5, "{stats:?}");
        assert!(folder.get(&key("39")).unwrap().is_some());
        assert_eq!(folder.get(&key("0")), Ok(None));
        folder.put(&key("large"), &vec![0; 60_000]).unwrap();
        assert_eq!(
            folder.get(&key("large")),
            Ok(None),
            "it would push out all others"
        );
    }
}
