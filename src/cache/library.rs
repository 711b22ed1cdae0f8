use std::fs;
use std::path::Path;

use super::{Cache, Key};

/// A hash of a library's content. It is remembered by what the file system says of the file, since reading a hundred
/// megabytes takes longer than a link.
pub fn hash_of_library(cache: &Cache, path: &Path) -> Option<String> {
    let identity = identity(path)?;
    let key = Key::of([&b"library"[..], identity.as_bytes()]);
    if let Some(known) = cache
        .get(&key)
        .and_then(|bytes| String::from_utf8(bytes).ok())
    {
        return Some(known);
    }
    let mut hasher = blake3::Hasher::new();
    let blob = crate::bytes::open(path).ok()?;
    for piece in blob.chunks(1 << 20) {
        hasher.update(piece);
    }
    let hash = hasher.finalize().to_hex().to_string();
    cache.put(&key, hash.as_bytes());
    Some(hash)
}

/// Path, number, size and times of a file: no program changes a file and all of them stay.
fn identity(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    let path = fs::canonicalize(path).ok()?;
    let modified = meta
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    #[cfg(unix)]
    let more = {
        use std::os::unix::fs::MetadataExt;
        format!(
            "{} {} {}.{}",
            meta.dev(),
            meta.ino(),
            meta.ctime(),
            meta.ctime_nsec()
        )
    };
    #[cfg(not(unix))]
    let more = String::new();
    Some(format!(
        "{} {} {modified:?} {more}",
        path.display(),
        meta.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_hash() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(&place.path().join("cache"), 1 << 20);
        let file = place.path().join("library");
        fs::write(&file, b"one").unwrap();
        let one = hash_of_library(&cache, &file).unwrap();
        assert_eq!(hash_of_library(&cache, &file).unwrap(), one);
        assert_eq!(one, blake3::hash(b"one").to_hex().as_str());
        fs::write(&file, b"two").unwrap();
        assert_ne!(hash_of_library(&cache, &file).unwrap(), one);
        assert_eq!(hash_of_library(&cache, &place.path().join("none")), None);
    }
}
