use crate::link::Report;
use crate::ui::table::Table;

/// A plan for people: what would be linked, with what, and why.
pub fn text(report: &Report, width: usize) -> String {
    let mut facts = Table::new(["what", "is"]);
    let mut fact = |what: &str, is: String| facts.row([what.to_owned(), is]);
    if let Some(target) = report.target {
        fact("target", target.to_string());
    }
    let relocatable = if report.relocatable {
        "relocatable "
    } else {
        ""
    };
    fact("result", format!("{relocatable}{}", report.emit.as_str()));
    if let Some(lto) = report.lto {
        fact(
            "link-time optimisation",
            if lto { "on" } else { "off" }.to_owned(),
        );
    }
    fact(
        "library",
        match &report.backend {
            Some(backend) => {
                let version = backend
                    .version
                    .map_or(String::new(), |version| format!(" {version}"));
                // Where it lies is in the report; here it would only be broken over lines.
                match backend.name.as_str() {
                    "builtin" => format!("built-in linker, {}", backend.reason),
                    _ => format!("nvJitLink{version}, {}", backend.reason),
                }
            }
            None => "nvJitLink would be fetched".to_owned(),
        },
    );
    for (number, step) in (1..).zip(&report.steps) {
        fact(&format!("options of step {number}"), step.options.join(" "));
        fact(&format!("inputs of step {number}"), step.inputs.join(" "));
    }
    let mut images = Table::new(["image", "kind", "arch", "linked", "why"]);
    for image in report.inputs.iter().flat_map(|input| &input.images) {
        images.row([
            image.id.clone(),
            image.kind.as_str().to_owned(),
            image.arch.map_or("?".to_owned(), |arch| arch.to_string()),
            if image.taken { "yes" } else { "no" }.to_owned(),
            image.reason.clone(),
        ]);
    }
    format!(
        "{}\n{}",
        facts.render_within(width),
        images.render_within(width)
    )
}
