//! Small programs of several units, in PTX, each with the verdict that a link of it must get.

use std::path::Path;

/// A link of several PTX units.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: String,
    pub units: Vec<String>,
    /// `ok`, or the diagnostic codes of the errors.
    pub expected: String,
    /// Whether nvlink links it; it misses some faults.
    pub nvlink_links: bool,
}

impl Program {
    fn new(name: &str, expected: &str, units: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            units: units.iter().map(|text| unit(text)).collect(),
            expected: expected.to_owned(),
            nvlink_links: expected == "ok" || expected == "no-kernels",
        }
    }

    /// nvlink says yes, though it is broken.
    fn missed_by_nvlink(mut self) -> Self {
        self.nvlink_links = true;
        self
    }

    /// What the registers of functions decide is not known before ptxas has compiled them.
    pub fn needs_registers(&self) -> bool {
        self.expected == "register-conflict"
    }
}

/// A PTX text of its own.
pub fn unit(text: &str) -> String {
    format!("{HEADER}{text}\n")
}

const HEADER: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// Every program: those of the fixtures, and those made here.
pub fn all() -> Vec<Program> {
    let mut all = fixtures();
    all.extend(functions());
    all.extend(prototypes());
    all.extend(variables());
    all.extend(kernels());
    all
}

fn fixtures() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/link");
    let table = std::fs::read_to_string(folder.join("cases.tsv")).unwrap();
    let rows = table
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|row| {
        let columns: Vec<&str> = row.split('\t').collect();
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        Program {
            name: columns[4].to_owned(),
            units: columns[1].split(' ').map(read).collect(),
            expected: columns[2].to_owned(),
            nvlink_links: columns[3] == "0",
        }
    })
    .collect()
}

/// An instruction that calls a function of one 32-bit parameter.
pub fn call(name: &str) -> String {
    format!("{{ .param .b32 q; st.param.b32 [q], 1; call {name}, (q); }}")
}

pub fn kernel(name: &str, body: &str) -> String {
    format!(".visible .entry {name}() {{ .reg .b64 %d<9>; .reg .b32 %r<9>; {body} ret; }}\n")
}

/// `linkage` is `.visible`, `.weak` or nothing.
pub fn function(linkage: &str, name: &str, body: &str) -> String {
    format!(
        "{linkage} .func {name}(.param .b32 a) {{ .reg .b64 %d<9>; .reg .b32 %r<9>; {body} ret; }}\n"
    )
}

pub fn extern_function(name: &str) -> String {
    format!(".extern .func {name}(.param .b32 a);\n")
}

/// A function of one pointer that needs about `registers` registers.
pub fn heavy(name: &str, registers: usize) -> String {
    let mut text = format!(
        ".visible .func {name}(.param .b64 p) {{ .reg .b64 %d<3>; .reg .b32 %r<300>; ld.param.u64 %d1, [p];\n"
    );
    for index in 0..registers {
        text += &format!("ld.volatile.global.u32 %r{index}, [%d1+{}];\n", 4 * index);
    }
    for index in 0..registers {
        text += &format!(
            "st.volatile.global.u32 [%d1+{}], %r{index};\n",
            4 * (registers - index)
        );
    }
    text + "ret; }\n"
}

fn call_heavy(name: &str) -> String {
    format!("{{ .param .b64 q; st.param.b64 [q], %d1; call {name}, (q); }}")
}

/// A kernel of at most `limit` registers that calls a function like [`heavy`].
pub fn limited(limit: u32, callee: &str, declare: &str) -> String {
    let call = call_heavy(callee);
    format!(
        "{declare}.visible .entry k(.param .u64 p) .maxnreg {limit} {{ .reg .b64 %d<3>; ld.param.u64 %d1, [p]; {call} ret; }}\n"
    )
}

fn functions() -> Vec<Program> {
    let u = extern_function("u");
    let calls_u = call("u");
    let k = kernel("k", "");
    let dead_chain = format!(
        "{u}{}{}{k}",
        function(".visible", "d1", &calls_u),
        function(".visible", "d2", &call("d1"))
    );
    let d1 = function(".visible", "d1", &calls_u);
    let table = format!("{u}{d1}.visible .global .u64 table[1] = {{d1}};\n{k}");
    let static_table = format!("{u}{d1}.global .u64 table[1] = {{d1}};\n{k}");
    let taken_in_dead = format!(
        "{u}{d1}{}{k}",
        function(
            ".visible",
            "dead",
            "mov.u64 %d1, d1; st.global.u64 [%d2], %d1;"
        )
    );
    let weak_calling_u = format!("{u}{}{k}", function(".weak", "f", &calls_u));
    let calls_f = format!("{}{}", extern_function("f"), kernel("k", &call("f")));
    let other = |linkage| format!("{}{}", function(linkage, "f", ""), kernel("k2", &call("f")));
    vec![
        Program::new(
            "dead function calls a dead one that lacks a function",
            "ok",
            &[&dead_chain],
        ),
        Program::new(
            "dead function reads a variable that is missing",
            "undefined-symbol",
            &[&format!(
                ".extern .global .u32 uv;\n{}{k}",
                function(
                    ".visible",
                    "d",
                    "ld.global.u32 %r1, [uv]; st.global.u32 [%d1], %r1;"
                )
            )],
        ),
        Program::new(
            "function in a table lacks a function",
            "undefined-symbol",
            &[&table],
        ),
        Program::new(
            "function in an unused static table lacks a function",
            "undefined-symbol",
            &[&static_table],
        ),
        Program::new(
            "function whose address dead code takes lacks a function",
            "undefined-symbol",
            &[&taken_in_dead],
        ),
        Program::new(
            "no kernel",
            "no-kernels",
            &[&format!("{u}{}", function(".visible", "f", &calls_u))],
        ),
        Program::new("unused declaration", "ok", &[&format!("{u}{k}")]),
        Program::new(
            "name that only looks like the driver's",
            "undefined-symbol",
            &[&format!(
                "{}{}",
                extern_function("cnpFoo"),
                kernel("k", &call("cnpFoo"))
            )],
        ),
        Program::new(
            "strong functions of equal bodies",
            "duplicate-symbol",
            &[
                &format!(
                    "{}{}",
                    function(".visible", "f", ""),
                    kernel("k", &call("f"))
                ),
                &other(".visible"),
            ],
        ),
        Program::new(
            "strong functions of other bodies",
            "duplicate-symbol",
            &[
                &format!(
                    "{}{}",
                    function(".visible", "f", "st.global.u32 [%d1], %r1;"),
                    kernel("k", &call("f"))
                ),
                &other(".visible"),
            ],
        ),
        Program::new(
            "static and strong function",
            "ok",
            &[
                &format!("{}{}", function("", "f", ""), kernel("k", &call("f"))),
                &other(".visible"),
            ],
        ),
        Program::new(
            "strong and weak function",
            "ok",
            &[
                &other(".visible"),
                &format!(
                    "{}{}",
                    function(".weak", "f", "st.global.u32 [%d1], %r1;"),
                    kernel("k", &call("f"))
                ),
            ],
        ),
        Program::new(
            "weak function that lacks one, then a strong one",
            "undefined-symbol",
            &[&weak_calling_u, &other(".visible")],
        ),
        Program::new(
            "strong function, then a weak one that lacks a function",
            "ok",
            &[&other(".visible"), &weak_calling_u],
        ),
        Program::new(
            "weak function, then a weak one that lacks a function",
            "ok",
            &[&other(".weak"), &weak_calling_u],
        ),
        Program::new(
            "weak function that lacks one, then a weak one",
            "undefined-symbol",
            &[
                &format!(
                    "{u}{}{}",
                    function(".weak", "f", &calls_u),
                    kernel("k", &call("f"))
                ),
                &other(".weak"),
            ],
        ),
        Program::new(
            "chain over archives in any order",
            "ok",
            &[
                &format!(
                    "{}{}",
                    extern_function("h"),
                    function(".visible", "g", &call("h"))
                ),
                &format!(
                    "{}{}",
                    extern_function("g"),
                    function(".visible", "f", &call("g"))
                ),
                &calls_f,
                &function(".visible", "h", ""),
            ],
        ),
    ]
}

fn prototypes() -> Vec<Program> {
    let calls = |ptx_type: &str, kernel: &str| {
        let register = if ptx_type == ".b64" { "%d1" } else { "%r1" };
        format!(
            ".extern .func f(.param {ptx_type} a);\n.visible .entry {kernel}() {{ .reg .b64 %d<3>; .reg .b32 %r<3>; \
             {{ .param {ptx_type} q; st.param{ptx_type} [q], {register}; call f, (q); }} ret; }}\n"
        )
    };
    let defines = |linkage: &str, ptx_type: &str| {
        format!("{linkage} .func f(.param {ptx_type} a) {{ ret; }}\n")
    };
    let k = |name| kernel(name, "");
    vec![
        Program::new(
            "return value against none",
            "prototype-mismatch",
            &[
                &calls(".b32", "k"),
                ".visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; st.param.b32 [r], %r1; ret; }",
            ],
        ),
        Program::new(
            "weak functions of other signatures, unused",
            "prototype-mismatch",
            &[
                &format!("{}{}", defines(".weak", ".b32"), k("k")),
                &format!("{}{}", defines(".weak", ".f32"), k("k2")),
            ],
        ),
        Program::new(
            "static and strong function of other signatures",
            "ok",
            &[
                &format!("{}{}", function("", "f", ""), kernel("k", &call("f"))),
                &format!("{}{}", defines(".visible", ".b64"), k("k2")),
            ],
        ),
        Program::new(
            "64-bit parameter against 32-bit one",
            "prototype-mismatch",
            &[&calls(".b64", "k"), &defines(".visible", ".b32")],
        ),
    ]
}

fn variables() -> Vec<Program> {
    let use_v = "mov.u64 %d1, v; st.global.u64 [%d2], %d1;";
    let unit = |declaration: &str, name: &str| format!("{declaration}\n{}", kernel(name, use_v));
    let pair = |name: &str, expected: &str, a: &str, b: &str| {
        Program::new(name, expected, &[&unit(a, "k1"), &unit(b, "k2")])
    };
    vec![
        pair(
            "weak and strong variable of other sizes",
            "size-mismatch",
            ".weak .global .b8 v[16];",
            ".visible .global .b8 v[32];",
        ),
        pair(
            "commons of other sizes",
            "ok",
            ".common .global .b8 v[16];",
            ".common .global .b8 v[32];",
        ),
        pair(
            "common and extern of other sizes",
            "size-mismatch",
            ".common .global .b8 v[16];",
            ".extern .global .b8 v[32];",
        ),
        pair(
            "common and weak of other sizes",
            "size-mismatch",
            ".common .global .b8 v[16];",
            ".weak .global .b8 v[32];",
        ),
        pair(
            "common and equal strong",
            "ok",
            ".common .global .b8 v[16];",
            ".visible .global .b8 v[16];",
        ),
        pair(
            "static variables",
            "ok",
            ".global .b8 v[16] = {1};",
            ".global .b8 v[16] = {2};",
        ),
        pair(
            "static and strong variable",
            "ok",
            ".global .b8 v[16] = {1};",
            ".visible .global .b8 v[32] = {2};",
        ),
        pair(
            "weak and strong variable of one size",
            "ok",
            ".weak .global .b8 v[16] = {1};",
            ".visible .global .b8 v[16] = {2};",
        ),
        pair(
            "extern variables of other sizes",
            "size-mismatch undefined-symbol",
            ".extern .global .b8 v[16];",
            ".extern .global .b8 v[32];",
        ),
        pair(
            "strong constants",
            "duplicate-symbol",
            ".visible .const .b8 v[16] = {1};",
            ".visible .const .b8 v[16] = {1};",
        ),
        pair(
            "strong and managed variable",
            "kind-mismatch",
            ".visible .global .b8 v[16];",
            ".extern .global .attribute(.managed) .b8 v[16];",
        ),
        Program::new(
            "dynamic shared memory of other alignments",
            "ok",
            &[
                &format!(
                    ".extern .shared .align 4 .b8 s[];\n{}",
                    kernel("k1", "mov.u32 %r1, s; st.shared.u32 [%r1], %r1;")
                ),
                &format!(
                    ".extern .shared .align 16 .b8 s[];\n{}",
                    kernel("k2", "mov.u32 %r1, s; st.shared.u32 [%r1], %r1;")
                ),
            ],
        ),
    ]
}

fn kernels() -> Vec<Program> {
    let weak = |parameters: &str| format!(".weak .entry k({parameters}) {{ ret; }}\n");
    let extern_heavy = ".extern .func f(.param .b64 p);\n";
    let indirect = |parameter: &str| {
        format!(
            ".visible .entry k(.param .u64 p) .maxnreg 32 {{ .reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.u64 %d1, [p]; ld.global.u64 %d2, [%d1];\n\
             {{ .param {parameter} q; st.param{parameter} [q], {}; t: .callprototype _ (.param {parameter} _); call %d2, (q), t; }} ret; }}\n",
            if parameter == ".b64" { "%d1" } else { "%r1" }
        )
    };
    let heavy_in_table = format!(
        "{}.visible .global .u64 table[1] = {{f}};\n",
        heavy("f", 200)
    );
    let shared =
        |function: &str, bytes: u32| format!(".shared .align 4 .b8 s{function}[{bytes}];\n");
    let use_shared =
        |function: &str| format!("mov.u32 %r1, s{function}; st.shared.u32 [%r1], %r1;");
    let constant = |name: &str| {
        format!(
            ".visible .const .align 4 .b8 c{name}[40000] = {{1}};\n{}",
            kernel(
                name,
                &format!("ld.const.u32 %r1, [c{name}]; st.global.u32 [%d1], %r1;")
            )
        )
    };
    vec![
        Program::new(
            "weak kernels of other parameter sizes",
            "kind-mismatch",
            &[
                &weak(".param .u64 a"),
                &weak(".param .u64 a, .param .u32 b"),
            ],
        )
        // From sm_100 on nvlink takes the first.
        .missed_by_nvlink(),
        Program::new(
            "weak kernels of other parameters of one size",
            "ok",
            &[
                &weak(".param .u64 a"),
                &weak(".param .u32 a, .param .u32 b"),
            ],
        ),
        Program::new(
            "heavy function that is not called",
            "ok",
            &[
                ".visible .entry k(.param .u64 p) .maxnreg 32 { ret; }\n",
                &heavy("f", 200),
            ],
        ),
        Program::new(
            "callee within the limit",
            "ok",
            &[&limited(200, "f", extern_heavy), &heavy("f", 40)],
        ),
        Program::new(
            "heavy function in a table, called by a pointer of its signature",
            "register-conflict",
            &[&indirect(".b64"), &heavy_in_table],
        ),
        Program::new(
            "heavy function in a table, call of another signature",
            "ok",
            &[&indirect(".b32"), &heavy_in_table],
        ),
        Program::new(
            "recursion over two units",
            "ok",
            &[
                &format!(
                    "{}{}{}",
                    extern_function("g"),
                    function(".visible", "f", &call("g")),
                    kernel("k", &call("f"))
                ),
                &format!(
                    "{}{}",
                    extern_function("f"),
                    function(".visible", "g", &call("f"))
                ),
            ],
        ),
        Program::new(
            "shared memory of a kernel and its callee",
            "shared-memory",
            &[
                &format!(
                    "{}{}{}",
                    extern_function("g"),
                    shared("k", 47000),
                    kernel("k", &format!("{}{}", use_shared("k"), call("g")))
                ),
                &format!(
                    "{}{}",
                    shared("g", 5000),
                    function(".visible", "g", &use_shared("g"))
                ),
            ],
        ),
        Program::new(
            "shared memory of two kernels",
            "ok",
            &[
                &format!("{}{}", shared("k", 30000), kernel("k", &use_shared("k"))),
                &format!("{}{}", shared("g", 30000), kernel("g", &use_shared("g"))),
            ],
        ),
        Program::new(
            "constants of two units",
            "constant-memory",
            &[&constant("a"), &constant("b")],
        ),
        Program::new(
            "kernel that a dead function launches",
            "undefined-symbol",
            &[&format!(
                ".extern .entry child();\n{}{}",
                function(
                    ".visible",
                    "d",
                    "mov.u64 %d1, child; st.global.u64 [%d2], %d1;"
                ),
                kernel("k", "")
            )],
        ),
        Program::new(
            "kernel that another unit defines",
            "ok",
            &[
                &format!(
                    ".extern .entry child();\n{}",
                    kernel("k", "mov.u64 %d1, child; st.global.u64 [%d2], %d1;")
                ),
                &kernel("child", ""),
            ],
        ),
    ]
}
