//! The spellings of nvlink and nvcc, turned into cudalink's own before the command line is read.

use std::ffi::OsString;

/// How a spelling is turned.
#[derive(Clone, Copy)]
enum Turn {
    /// To this; a value goes along.
    To(&'static str),
    /// To this, with this value where none is given with `=`.
    Default(&'static str, &'static str),
    /// To these words.
    Words(&'static [&'static str]),
    /// It asks for what is always so.
    Nothing,
}

use Turn::{Default, Nothing, To, Words};

/// What stands between the dashes and `=`. A single dash and two dashes mean the same to NVIDIA's tools.
const TABLE: &[(&str, Turn)] = &[
    ("###", To("--dry-run")),
    ("arch", To("--arch")),
    ("gpu-architecture", To("--arch")),
    ("maxrregcount", To("--max-registers")),
    ("max-registers", To("--max-registers")),
    ("kernels-used", To("--keep-kernel")),
    ("variables-used", To("--keep-variable")),
    ("optimize-unused-variables", To("--drop-unused-variables")),
    ("dlto", Words(&["--lto=on"])),
    ("lto", Default("--lto", "on")),
    ("link-time-opt", Words(&["--lto=on"])),
    ("dlink-time-opt", Words(&["--lto=on"])),
    ("emit-ptx", Words(&["--emit=ptx"])),
    ("ptx", Words(&["--emit=ptx"])),
    ("relocatable-device-link", Words(&["-r"])),
    ("relocatable-link", Words(&["-r"])),
    ("debug", Words(&["-g"])),
    ("device-debug", Words(&["-g"])),
    ("G", Words(&["-g"])),
    ("lineinfo", To("--lineinfo")),
    ("generate-line-info", To("--lineinfo")),
    ("ftz", Default("--ftz", "true")),
    ("prec-div", Default("--prec-div", "true")),
    ("prec-sqrt", Default("--prec-sqrt", "true")),
    ("fma", Default("--fma", "true")),
    ("fmad", Default("--fma", "true")),
    ("Ofc", To("--ofast-compile")),
    ("Ofast-compile", To("--ofast-compile")),
    ("split-compile", To("--split-compile")),
    ("split-compile-extended", To("--split-compile-extended")),
    ("jump-table-density", To("--jump-table-density")),
    (
        "device-stack-protector",
        Default("--device-stack-protector", "true"),
    ),
    ("nvvm-latest", To("--nvvm-latest")),
    ("Xptxas", To("--Xptxas")),
    ("ptxas-options", To("--Xptxas")),
    ("Xnvvm", To("--Xnvvm")),
    ("Xnvrtc", To("--Xnvrtc")),
    ("std", To("--std")),
    ("time", To("--time")),
    ("output-file", To("--output")),
    ("library", To("--library")),
    ("library-path", To("--library-path")),
    ("options-file", To("--options-file")),
    (
        "use-fast-math",
        Words(&[
            "--ftz=true",
            "--prec-div=false",
            "--prec-sqrt=false",
            "--fma=true",
        ]),
    ),
    (
        "use_fast_math",
        Words(&[
            "--ftz=true",
            "--prec-div=false",
            "--prec-sqrt=false",
            "--fma=true",
        ]),
    ),
    ("no-cache", To("--no-cache")),
    ("MD", To("--MD")),
    ("MF", To("--depfile")),
    ("MT", To("--MT")),
    ("MP", To("--MP")),
    // There is no other machine any more.
    ("m64", Nothing),
];

/// Turns the arguments after `link`. What is not known is left for the command line to judge.
pub fn turn(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut arguments = arguments.into_iter();
    for argument in arguments.by_ref() {
        if argument == "--" {
            out.push(argument);
            break;
        }
        match argument.to_str().and_then(one) {
            Some(words) => out.extend(words.into_iter().map(OsString::from)),
            None => out.push(argument),
        }
    }
    out.extend(arguments);
    out
}

fn one(argument: &str) -> Option<Vec<String>> {
    let bare = argument.strip_prefix('-')?;
    let name = bare.strip_prefix('-').unwrap_or(bare);
    let (name, value) = match name.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (name, None),
    };
    let &(_, turn) = TABLE.iter().find(|(spelling, _)| *spelling == name)?;
    Some(match (turn, value) {
        (To(own), None) => vec![own.to_owned()],
        (To(own) | Default(own, _), Some(value)) => vec![format!("{own}={value}")],
        (Default(own, value), None) => vec![format!("{own}={value}")],
        (Words(words), None) => words.iter().map(|&word| word.to_owned()).collect(),
        (Nothing, None) => Vec::new(),
        // These take no value: the command line says so.
        (Words(_) | Nothing, Some(_)) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(line: &str) -> String {
        let words = turn(line.split_whitespace().map(OsString::from));
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn foreign_spellings_become_our_own() {
        for (foreign, own) in [
            ("-arch=sm_90 -o x a.o", "--arch=sm_90 -o x a.o"),
            ("-arch sm_90", "--arch sm_90"),
            (
                "-maxrregcount=32 --maxrregcount 32",
                "--max-registers=32 --max-registers 32",
            ),
            (
                "-kernels-used=k -variables-used v",
                "--keep-kernel=k --keep-variable v",
            ),
            ("-dlto -lto --lto=off", "--lto=on --lto=on --lto=off"),
            ("-ftz -fmad=false", "--ftz=true --fma=false"),
            ("-Xptxas=-v -Xptxas -O3", "--Xptxas=-v --Xptxas -O3"),
            (
                "-emit-ptx -r -g -O3 -lfoo -Ldir -l:x",
                "--emit=ptx -r -g -O3 -lfoo -Ldir -l:x",
            ),
            ("-### --unknown -- -lto", "--dry-run --unknown -- -lto"),
            ("-m64 -", "-"),
            ("-MD -MF x.d -MT=y -MP", "--MD --depfile x.d --MT=y --MP"),
        ] {
            assert_eq!(turned(foreign), own, "{foreign}");
        }
    }
}
