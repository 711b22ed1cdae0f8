#![allow(clippy::print_stdout, clippy::unwrap_used)]
use cudalink::code::{ExpandOptions, ImageKind, ObjectCode};
use std::collections::BTreeMap;
use std::time::Instant;
fn main() {
    let unpack = std::env::var_os("UNPACK").is_some();
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let code = ObjectCode::open(path.as_ref()).unwrap();
        let found = code.expand(&ExpandOptions::default());
        let took = start.elapsed();
        let mut by: BTreeMap<String, u32> = BTreeMap::new();
        let mut size = 0;
        let mut containers: BTreeMap<String, std::collections::BTreeSet<(Option<String>, u32)>> =
            BTreeMap::new();
        for image in &found.images {
            *by.entry(format!(
                "{:?} {:?} {}",
                image.kind,
                image.compression,
                image.section.as_deref().unwrap_or("")
            ))
            .or_default() += 1;
            size += if matches!(image.kind, ImageKind::Unknown) {
                0
            } else {
                image.size
            };
            if let Some(c) = image.container {
                containers
                    .entry(image.section.as_deref().unwrap_or("").to_owned())
                    .or_default()
                    .insert((image.member.as_deref().map(str::to_owned), c));
            }
            for w in &image.warnings {
                if by.len() < 50 {
                    println!("  W {} {}", image.id, w.message);
                }
            }
        }
        println!(
            "{path}: {} {:?} images {} size {size} problems {} in {took:?}",
            code.kind(),
            code.classified.format,
            found.images.len(),
            found.problems.len()
        );
        println!(
            "   containers {:?}",
            containers
                .iter()
                .map(|(k, v)| (k, v.len()))
                .collect::<Vec<_>>()
        );
        for (k, n) in by {
            println!("   {n:6} {k}");
        }
        for p in found.problems.iter().take(5) {
            println!(
                "   P {:?} {} {:?} {:x?}",
                p.severity, p.message, p.inputs, p.offset
            );
        }
        if unpack {
            let start = Instant::now();
            let mut total = 0;
            for i in &found.images {
                match i.unpack(Default::default()) {
                    Ok(b) => total += b.len() as u64,
                    Err(e) => {
                        if !matches!(i.data, cudalink::code::ImageData::Opaque { .. }) {
                            println!("   E {e}")
                        }
                    }
                }
            }
            println!("   unpacked {total} in {:?}", start.elapsed());
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for line in status.lines() {
        if line.starts_with("VmHWM") || line.starts_with("RssAnon") || line.starts_with("RssFile") {
            println!("{line}");
        }
    }
}
