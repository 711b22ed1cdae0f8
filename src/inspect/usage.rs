use std::fmt::Write;

use super::report::{AnyFunction, ImageReport};
use crate::code::Resources;

/// The lines that `cuobjdump -res-usage` prints for an image, with the numbers that it gets wrong put
/// right: registers of device functions and texture references, both 0 there from sm_90 on.
pub fn resource_usage(image: &ImageReport) -> Vec<String> {
    let mut lines = vec!["Resource usage:".to_owned()];
    if let Some(common) = &image.common {
        lines.push(" Common:".to_owned());
        let mut line = format!("  GLOBAL:{}", common.global);
        for (bank, bytes) in &common.constant {
            // Writing to a String cannot fail.
            let _ = write!(line, " CONSTANT[{bank}]:{bytes}");
        }
        lines.push(line);
    }
    let relocatable = image.relocatable == Some(true);
    for function in image.in_file_order() {
        lines.push(format!(" Function {}:", function.name));
        lines.push(format!("  {}", usage(&function, relocatable)));
    }
    lines
}

fn usage(function: &AnyFunction<'_>, relocatable: bool) -> String {
    let resources: &Resources = function.resources;
    let stack = match resources.stack {
        Some(bytes) => bytes.to_string(),
        // Known only after the link; the vendor's tool says 0.
        None if relocatable => "0".to_owned(),
        None => "UNKNOWN".to_owned(),
    };
    let mut line = format!(
        "REG:{} STACK:{stack} SHARED:{} LOCAL:{}",
        resources.registers.unwrap_or(0),
        resources.shared.unwrap_or(0),
        resources.local.unwrap_or(0),
    );
    for (bank, bytes) in resources.constant.iter().flatten() {
        let _ = write!(line, " CONSTANT[{bank}]:{bytes}");
    }
    let _ = write!(
        line,
        " TEXTURE:{} SURFACE:{} SAMPLER:{}",
        resources.textures.unwrap_or(0),
        resources.surfaces.unwrap_or(0),
        resources.samplers.unwrap_or(0)
    );
    line
}
