//! The JSON schemas that are checked in are those of the code. `BLESS=1` rewrites them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

fn is_current(name: &str, schema: &schemars::Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/schema")
        .join(name);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == text,
        "tests/schema/{name} is not what the code says: look at the change, then run with BLESS=1"
    );
}

#[test]
fn inspect() {
    is_current("inspect.json", &cudalink::inspect::Report::schema());
}
