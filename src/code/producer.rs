use super::Producer;
use crate::format::cubin::Cubin;
use crate::format::ptx::Ptx;

impl Producer {
    /// Who made a cubin: the linker if it was linked, else the compiler. Cubins of CUDA 12 and older for
    /// architectures below sm_100 only know the toolkit.
    pub fn from_cubin(cubin: &Cubin<'_>) -> Self {
        let run = cubin
            .tool_runs()
            .ok()
            .and_then(|runs| runs.into_iter().next());
        let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            toolkit: cubin.release().map(|release| release.to_string()),
            tool: run.as_ref().and_then(|run| said(&run.tool)),
            command: run.as_ref().and_then(|run| said(&run.command)),
            ..Self::default()
        }
    }

    pub fn from_ptx(ptx: &Ptx<'_>) -> Self {
        let (major, minor) = ptx.version;
        Self {
            ptx_isa: Some(format!("{major}.{minor}")),
            ..Self::default()
        }
    }
}
