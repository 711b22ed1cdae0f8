//! What a link may be told beside its inputs, as checked values, and how nvJitLink spells it.
//!
//! The library checks next to nothing: `-ftz=2`, `-maxrregcount=1000` and `-jump-table-density=500` pass (measured on
//! 12.0 to 13.5). So every value is checked here, where the message can say what was expected.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::code::Arch;
use crate::error::{Error, Result};
use crate::ffi::nvjitlink::OutputKind;
use crate::toolkit::Version;

/// What a link gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Emit {
    #[default]
    Cubin,
    Ptx,
    LtoIr,
}

impl Emit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::LtoIr => "lto-ir",
        }
    }

    pub(super) fn output(self) -> OutputKind {
        match self {
            Self::Cubin => OutputKind::Cubin,
            Self::Ptx => OutputKind::Ptx,
            Self::LtoIr => OutputKind::LtoIr,
        }
    }
}

/// How much compile time is saved at the cost of the code (`-Ofc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastCompile {
    #[serde(rename = "0")]
    Off,
    Min,
    Mid,
    Max,
}

impl FastCompile {
    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "0",
            Self::Min => "min",
            Self::Mid => "mid",
            Self::Max => "max",
        }
    }
}

impl FromStr for FastCompile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Off, Self::Min, Self::Mid, Self::Max]
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no level; expected 0, min, mid or max"))
    }
}

/// Options of code generation and of what is kept. `None` leaves the library's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// 0 or 3; the library takes no other.
    pub optimize: Option<u8>,
    pub fast_compile: Option<FastCompile>,
    pub debug: bool,
    pub lineinfo: bool,
    /// Registers a thread may have, 1 to 255. Acts on PTX and LTO-IR.
    pub max_registers: Option<u8>,
    pub ftz: Option<bool>,
    pub prec_div: Option<bool>,
    pub prec_sqrt: Option<bool>,
    pub fma: Option<bool>,
    /// Names of the kernels to keep; all when empty.
    pub keep_kernels: Vec<String>,
    pub keep_variables: Vec<String>,
    pub drop_unused_variables: bool,
    /// Threads for the optimiser; 0 takes one for each CPU.
    pub split_compile: Option<u16>,
    pub split_compile_extended: Option<u16>,
    /// 0 to 101, in percent.
    pub jump_table_density: Option<u8>,
    pub device_stack_protector: bool,
    /// The newer LLVM for every architecture.
    pub nvvm_latest: bool,
    pub ptxas: Vec<String>,
    pub nvvm: Vec<String>,
    /// The library says how long its phases took.
    pub time: bool,
}

/// An option that a release of the library must be new enough for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    pub option: &'static str,
    pub release: Version,
}

/// What kinds of code take part in a link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Present {
    pub lto_ir: bool,
    pub ptx: bool,
    /// CUDA C++, which becomes one of the above.
    pub cuda: bool,
    /// NVVM IR, which does as well.
    pub nvvm_ir: bool,
}

/// What a linker compiles, and what is missing where it does not.
const COMPILED: &str = "PTX and no LTO-IR";

impl Options {
    /// Refuses what contradicts itself or lies out of range.
    ///
    /// # Errors
    /// Usage, naming the option and what was expected.
    pub fn validate(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::usage(message));
        match self.optimize {
            None | Some(0 | 3) => {}
            Some(level) => {
                return refuse(format!(
                    "`-O {level}` is no level of the linker; expected 0 or 3"
                ));
            }
        }
        if self.max_registers == Some(0) {
            return refuse("`--max-registers 0` leaves no registers; expected 1 to 255".to_owned());
        }
        if self.jump_table_density.is_some_and(|density| density > 101) {
            return refuse(
                "`--jump-table-density` is out of range; expected 0 to 101 percent".to_owned(),
            );
        }
        if self.debug && self.lineinfo {
            return refuse("`-g` and `--lineinfo` exclude one another".to_owned());
        }
        let names = self.keep_kernels.iter().chain(&self.keep_variables);
        if names.clone().any(String::is_empty) {
            return refuse("a name to keep is empty".to_owned());
        }
        let lists = [&self.ptxas, &self.nvvm].into_iter().flatten();
        for text in lists.chain(names) {
            if text.contains('\0') {
                return refuse(format!("`{}` holds a NUL", text.escape_debug()));
            }
        }
        Ok(())
    }

    /// The options that older releases lack (measured on each).
    pub fn since(&self) -> Vec<Since> {
        let mut all = Vec::new();
        let mut add = |given: bool, option, major, minor| {
            if given {
                let release = Version::new(major, minor);
                all.push(Since { option, release });
            }
        };
        add(self.split_compile.is_some(), "--split-compile", 12, 3);
        let extended = self.split_compile_extended.is_some();
        add(extended, "--split-compile-extended", 12, 3);
        let density = self.jump_table_density.is_some();
        add(density, "--jump-table-density", 12, 3);
        add(self.fast_compile.is_some(), "--ofast-compile", 12, 5);
        let protector = self.device_stack_protector;
        add(protector, "--device-stack-protector", 12, 6);
        add(self.nvvm_latest, "--nvvm-latest", 13, 5);
        all
    }

    /// The options that change nothing for want of an input that they act on, and what is missing.
    pub fn without_effect(&self, inputs: Present) -> Vec<(&'static str, &'static str)> {
        let Present {
            lto_ir,
            ptx,
            cuda,
            nvvm_ir,
        } = inputs;
        let arithmetic = lto_ir || cuda || nvvm_ir;
        let nvvm = lto_ir || nvvm_ir;
        let options = [
            (self.ftz.is_some(), "--ftz", "LTO-IR", arithmetic),
            (self.prec_div.is_some(), "--prec-div", "LTO-IR", arithmetic),
            (
                self.prec_sqrt.is_some(),
                "--prec-sqrt",
                "LTO-IR",
                arithmetic,
            ),
            (self.fma.is_some(), "--fma", "LTO-IR", arithmetic),
            (
                self.drop_unused_variables,
                "--drop-unused-variables",
                "LTO-IR",
                lto_ir,
            ),
            (self.nvvm_latest, "--nvvm-latest", "LTO-IR", nvvm),
            (!self.nvvm.is_empty(), "-Xnvvm", "LTO-IR", nvvm),
            (self.optimize.is_some(), "-O", COMPILED, lto_ir || ptx),
            (
                self.fast_compile.is_some(),
                "--ofast-compile",
                COMPILED,
                lto_ir || ptx,
            ),
            (self.debug, "-g", COMPILED, lto_ir || ptx),
            (self.lineinfo, "--lineinfo", COMPILED, lto_ir || ptx),
            (
                self.max_registers.is_some(),
                "--max-registers",
                COMPILED,
                lto_ir || ptx,
            ),
            (!self.ptxas.is_empty(), "-Xptxas", COMPILED, lto_ir || ptx),
        ];
        let idle = options
            .into_iter()
            .filter(|&(given, .., acts)| given && !acts);
        idle.map(|(_, name, missing, _)| (name, missing)).collect()
    }

    /// nvJitLink's spelling of these options.
    fn nvjitlink(&self) -> Vec<String> {
        let mut list = List::default();
        if let Some(level) = self.optimize {
            list.flag(true, &format!("-O{level}"));
        }
        list.value("-Ofc", self.fast_compile.map(FastCompile::as_str));
        list.flag(self.debug, "-g");
        list.flag(self.lineinfo, "-lineinfo");
        list.value("-maxrregcount", self.max_registers);
        list.switch("-ftz", self.ftz);
        list.switch("-prec-div", self.prec_div);
        list.switch("-prec-sqrt", self.prec_sqrt);
        list.switch("-fma", self.fma);
        list.values("-kernels-used", &self.keep_kernels);
        list.values("-variables-used", &self.keep_variables);
        list.flag(self.drop_unused_variables, "-optimize-unused-variables");
        list.value("-split-compile", self.split_compile);
        list.value("-split-compile-extended", self.split_compile_extended);
        list.value("-jump-table-density", self.jump_table_density);
        // The documented form with one dash is refused by every release.
        list.flag(self.device_stack_protector, "--device-stack-protector=true");
        list.flag(self.nvvm_latest, "-nvvm-latest");
        list.values("-Xptxas", &self.ptxas);
        list.values("-Xnvvm", &self.nvvm);
        list.flag(self.time, "-time");
        list.0
    }
}

#[derive(Default)]
struct List(Vec<String>);

impl List {
    fn flag(&mut self, given: bool, option: &str) {
        if given {
            self.0.push(option.to_owned());
        }
    }

    fn value(&mut self, option: &str, value: Option<impl fmt::Display>) {
        self.0
            .extend(value.map(|value| format!("{option}={value}")));
    }

    /// libnvvm, to which these go, knows 0 and 1 alone; `-ftz=true` passes creation and fails later.
    fn switch(&mut self, option: &str, on: Option<bool>) {
        self.value(option, on.map(u8::from));
    }

    fn values(&mut self, option: &str, values: &[String]) {
        let spelled = values.iter().map(|value| format!("{option}={value}"));
        self.0.extend(spelled);
    }
}

/// What kind of link nvJitLink is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub target: Arch,
    pub lto: bool,
    pub emit: Emit,
    pub relocatable: bool,
}

/// Everything that `nvJitLinkCreate` is told.
pub(super) fn nvjitlink(shape: Shape, options: &Options) -> Vec<String> {
    let mut list = vec![format!("-arch={}", shape.target)];
    if shape.lto {
        list.push("-lto".to_owned());
    }
    if shape.emit == Emit::Ptx {
        list.push("-ptx".to_owned());
    }
    if shape.relocatable {
        list.push("-r".to_owned());
    }
    list.extend(options.nvjitlink());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(lto: bool, emit: Emit, relocatable: bool) -> Shape {
        Shape {
            target: Arch::accelerated(90),
            lto,
            emit,
            relocatable,
        }
    }

    #[test]
    fn every_option_is_spelled() {
        let options = Options {
            optimize: Some(3),
            fast_compile: Some(FastCompile::Max),
            lineinfo: true,
            max_registers: Some(32),
            ftz: Some(true),
            prec_div: Some(false),
            prec_sqrt: Some(true),
            fma: Some(false),
            keep_kernels: vec!["a".into(), "b".into()],
            keep_variables: vec!["v".into()],
            drop_unused_variables: true,
            split_compile: Some(0),
            split_compile_extended: Some(1),
            jump_table_density: Some(101),
            device_stack_protector: true,
            nvvm_latest: true,
            ptxas: vec!["-v".into(), "--warn-on-spills".into()],
            nvvm: vec!["-x".into()],
            time: true,
            debug: false,
        };
        options.validate().unwrap();
        assert_eq!(
            nvjitlink(shape(true, Emit::Ptx, false), &options).join(" "),
            "-arch=sm_90a -lto -ptx -O3 -Ofc=max -lineinfo -maxrregcount=32 -ftz=1 -prec-div=0 -prec-sqrt=1 \
             -fma=0 -kernels-used=a -kernels-used=b -variables-used=v -optimize-unused-variables -split-compile=0 \
             -split-compile-extended=1 -jump-table-density=101 --device-stack-protector=true -nvvm-latest -Xptxas=-v \
             -Xptxas=--warn-on-spills -Xnvvm=-x -time"
        );
        assert_eq!(options.since().len(), 6);
        let plain = Options::default();
        assert_eq!(
            nvjitlink(shape(false, Emit::Cubin, true), &plain),
            ["-arch=sm_90a", "-r"]
        );
        assert!(plain.since().is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.validate().unwrap_err().to_string()
        };
        assert!(refused(|o| o.optimize = Some(2)).contains("expected 0 or 3"));
        assert!(refused(|o| o.max_registers = Some(0)).contains("1 to 255"));
        assert!(refused(|o| o.jump_table_density = Some(102)).contains("0 to 101"));
        assert!(refused(|o| (o.debug, o.lineinfo) = (true, true)).contains("exclude"));
        assert!(refused(|o| o.keep_kernels.push(String::new())).contains("empty"));
        assert!(refused(|o| o.ptxas.push("a\0b".into())).contains("NUL"));
        assert!("fast".parse::<FastCompile>().is_err());
    }
}
