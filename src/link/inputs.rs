use crate::code::{Expansion, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error};
use crate::format::Kind;
use crate::link::report::{ImageChoice, InputReport};
use crate::link::select::is_code;

/// Why an input of this kind cannot be linked, if it cannot.
pub(super) fn unlinkable(input: &ObjectCode) -> Option<Error> {
    let error = |message: String| {
        let finding = Diagnostic::error(Code::KindUnknown, message).input(&input.name);
        Some(Error::new(Category::Damaged, finding))
    };
    match input.kind() {
        Kind::Empty => error("is empty, expected device code".to_owned())
            .map(|error| error.hint("look at the command that should have written it")),
        Kind::Unknown => error(format!(
            "is of no kind that can be linked: {}",
            input.classified.evidence
        ))
        .map(|error| error.hint("say what it is with `--kind KIND=FILE`")),
        kind @ (Kind::Directory | Kind::Wheel | Kind::Zip | Kind::Tar | Kind::Gzip) => {
            error(format!("is a {kind}, which cannot be linked")).map(|error| {
                error.hint("take the images out first: `cudalink extract FILE -o DIR`")
            })
        }
        _ => None,
    }
}

pub(super) fn input_report(input: &ObjectCode, expansion: &Expansion) -> InputReport {
    let images = expansion.images.iter().map(|image| ImageChoice {
        id: image.id(),
        kind: image.kind,
        arch: image.arch,
        taken: false,
        reason: if is_code(image.kind) {
            "does not take part".to_owned()
        } else {
            format!("is {}, which is not linked", image.kind.as_str())
        },
    });
    InputReport {
        path: input.name.clone(),
        kind: input.kind(),
        format: input.classified.format.clone(),
        evidence: input.classified.evidence.clone(),
        size: input.blob.len() as u64,
        images: images.collect(),
    }
}
