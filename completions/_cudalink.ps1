
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'cudalink' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'cudalink'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'cudalink' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('link', 'link', [CompletionResultType]::ParameterValue, 'Link device code')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Say what device code is in a file, and what its kernels need')
            [CompletionResult]::new('extract', 'extract', [CompletionResultType]::ParameterValue, 'Write the images in a file out as files of their own')
            [CompletionResult]::new('pack', 'pack', [CompletionResultType]::ParameterValue, 'Make a fatbin of images, or a host object that carries one')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Drop images from a file')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Launch a kernel: link what needs linking, fill its arguments, run it, check and time it')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Say what was found on this machine, what was chosen and why, and what will not work')
            [CompletionResult]::new('toolkit', 'toolkit', [CompletionResultType]::ParameterValue, 'Fetch, list and remove NVIDIA''s libraries')
            [CompletionResult]::new('cache', 'cache', [CompletionResultType]::ParameterValue, 'Show or empty the cache of links')
            [CompletionResult]::new('environment', 'environment', [CompletionResultType]::ParameterValue, 'Show the environment variables that cudalink reads')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Say what a code, a symbol or an error message means')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write man pages, one for each subcommand')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudalink;link' {
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Link libNAME.a or NAME.lib, or exactly FILE with `-l:FILE`')
            [CompletionResult]::new('--library', '--library', [CompletionResultType]::ParameterName, 'Link libNAME.a or NAME.lib, or exactly FILE with `-l:FILE`')
            [CompletionResult]::new('-L', '-L ', [CompletionResultType]::ParameterName, 'Look for libraries here, in the order given')
            [CompletionResult]::new('--library-path', '--library-path', [CompletionResultType]::ParameterName, 'Look for libraries here, in the order given')
            [CompletionResult]::new('--kind', '--kind', [CompletionResultType]::ParameterName, 'Take FILE for an input of this kind, whatever its content looks like; `-` is standard input')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'What messages and reports call standard input')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output [default: out.cubin, out.ptx or out.ltoir]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output [default: out.cubin, out.ptx or out.ltoir]')
            [CompletionResult]::new('--arch', '--arch', [CompletionResultType]::ParameterName, 'The architecture to link for, such as sm_90a, or `native`; left out, the inputs tell it. Several, and compute_90 for PTX, go into a fatbin or object')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'What to make')
            [CompletionResult]::new('--lto', '--lto', [CompletionResultType]::ParameterName, 'Link-time optimisation; `auto` is on when an input has nothing but LTO-IR')
            [CompletionResult]::new('-O', '-O ', [CompletionResultType]::ParameterName, 'Optimisation level: 0 or 3')
            [CompletionResult]::new('--ofast-compile', '--ofast-compile', [CompletionResultType]::ParameterName, 'Compile faster at the cost of the code: 0, min, mid or max')
            [CompletionResult]::new('--max-registers', '--max-registers', [CompletionResultType]::ParameterName, 'Most registers of a thread, for PTX and LTO-IR inputs')
            [CompletionResult]::new('--ftz', '--ftz', [CompletionResultType]::ParameterName, 'Flush denormal numbers to zero')
            [CompletionResult]::new('--prec-div', '--prec-div', [CompletionResultType]::ParameterName, 'Exact division')
            [CompletionResult]::new('--prec-sqrt', '--prec-sqrt', [CompletionResultType]::ParameterName, 'Exact square roots')
            [CompletionResult]::new('--fma', '--fma', [CompletionResultType]::ParameterName, 'Contract multiplications and additions')
            [CompletionResult]::new('--split-compile', '--split-compile', [CompletionResultType]::ParameterName, 'Threads for optimisation; 0 is one for each CPU')
            [CompletionResult]::new('--split-compile-extended', '--split-compile-extended', [CompletionResultType]::ParameterName, 'The same, for what follows optimisation too')
            [CompletionResult]::new('--jump-table-density', '--jump-table-density', [CompletionResultType]::ParameterName, 'Percentage at which a switch becomes a jump table, up to 101')
            [CompletionResult]::new('--device-stack-protector', '--device-stack-protector', [CompletionResultType]::ParameterName, 'Guard stacks of device functions')
            [CompletionResult]::new('--Xptxas', '--Xptxas', [CompletionResultType]::ParameterName, 'An option for ptxas')
            [CompletionResult]::new('--Xnvvm', '--Xnvvm', [CompletionResultType]::ParameterName, 'An option for NVVM')
            [CompletionResult]::new('-I', '-I ', [CompletionResultType]::ParameterName, 'Look for headers here')
            [CompletionResult]::new('-D', '-D ', [CompletionResultType]::ParameterName, 'Define a macro')
            [CompletionResult]::new('-U', '-U ', [CompletionResultType]::ParameterName, 'Undefine a macro')
            [CompletionResult]::new('--std', '--std', [CompletionResultType]::ParameterName, 'The language, such as c++17')
            [CompletionResult]::new('--name-expression', '--name-expression', [CompletionResultType]::ParameterName, 'A template to instantiate, such as `kernel<float>`')
            [CompletionResult]::new('--Xnvrtc', '--Xnvrtc', [CompletionResultType]::ParameterName, 'An option for NVRTC')
            [CompletionResult]::new('--keep-kernel', '--keep-kernel', [CompletionResultType]::ParameterName, 'Keep this kernel and drop those that are not named')
            [CompletionResult]::new('--keep-variable', '--keep-variable', [CompletionResultType]::ParameterName, 'Keep this variable; with --keep-kernel, others may be dropped')
            [CompletionResult]::new('--archive-members', '--archive-members', [CompletionResultType]::ParameterName, 'Which members of archives are linked: all, as NVIDIA''s linkers do, or those that are needed')
            [CompletionResult]::new('--add-devrt', '--add-devrt', [CompletionResultType]::ParameterName, 'Whether libcudadevrt is added when something of it is needed')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Take an error of this code for a warning, and a warning for a note')
            [CompletionResult]::new('--deny', '--deny', [CompletionResultType]::ParameterName, 'Take a warning or note of this code for an error')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'How images are stored in a fatbin')
            [CompletionResult]::new('--symbol', '--symbol', [CompletionResultType]::ParameterName, 'The symbol that stands for the fatbin in an object [default: from the output''s name]')
            [CompletionResult]::new('--host-target', '--host-target', [CompletionResultType]::ParameterName, 'What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]')
            [CompletionResult]::new('--depfile', '--depfile', [CompletionResultType]::ParameterName, 'Write the files that the result depends on as a rule for make and ninja (-MF)')
            [CompletionResult]::new('--MT', '--MT', [CompletionResultType]::ParameterName, 'The target of that rule, as it is to stand there (-MT) [default: the output]')
            [CompletionResult]::new('--nvjitlink', '--nvjitlink', [CompletionResultType]::ParameterName, 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]')
            [CompletionResult]::new('--toolkit', '--toolkit', [CompletionResultType]::ParameterName, 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Who links')
            [CompletionResult]::new('--verify', '--verify', [CompletionResultType]::ParameterName, 'How the result is proven')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write a report as JSON; `-` is standard output')
            [CompletionResult]::new('--jobs', '--jobs', [CompletionResultType]::ParameterName, 'Links at the same time, when there are several architectures [default: as CPUs and memory allow]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Stop the library after this many seconds')
            [CompletionResult]::new('--memory-limit', '--memory-limit', [CompletionResultType]::ParameterName, 'Most memory for the library, such as 4GiB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Make a relocatable result, to be linked again')
            [CompletionResult]::new('--relocatable', '--relocatable', [CompletionResultType]::ParameterName, 'Make a relocatable result, to be linked again')
            [CompletionResult]::new('-g', '-g', [CompletionResultType]::ParameterName, 'Debug information')
            [CompletionResult]::new('--lineinfo', '--lineinfo', [CompletionResultType]::ParameterName, 'Source lines')
            [CompletionResult]::new('--nvvm-latest', '--nvvm-latest', [CompletionResultType]::ParameterName, 'Use the newer LLVM for every architecture')
            [CompletionResult]::new('--drop-unused-variables', '--drop-unused-variables', [CompletionResultType]::ParameterName, 'Drop variables that nothing uses, with link-time optimisation')
            [CompletionResult]::new('--MD', '--MD', [CompletionResultType]::ParameterName, 'The same, into a file named like the output, with `.d` (-MD)')
            [CompletionResult]::new('--MP', '--MP', [CompletionResultType]::ParameterName, 'Add an empty rule for each file, so that one that is gone is no error (-MP)')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be linked, and why, and stop')
            [CompletionResult]::new('--time', '--time', [CompletionResultType]::ParameterName, 'Have the library tell how long its phases take, in the report')
            [CompletionResult]::new('--no-cache', '--no-cache', [CompletionResultType]::ParameterName, 'Neither use nor keep results of earlier links')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;inspect' {
            [CompletionResult]::new('--arch', '--arch', [CompletionResultType]::ParameterName, 'Only images for these architectures, such as sm_90a')
            [CompletionResult]::new('--kind', '--kind', [CompletionResultType]::ParameterName, 'Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only functions of this name, mangled or readable; `*` and `?` stand for other characters')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to print; csv and markdown show one table, the one of the detail asked for')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('--images', '--images', [CompletionResultType]::ParameterName, 'List the images one by one')
            [CompletionResult]::new('--kernels', '--kernels', [CompletionResultType]::ParameterName, 'Kernels with registers, stack, spills, memory, parameters and launch bounds')
            [CompletionResult]::new('--resources', '--resources', [CompletionResultType]::ParameterName, 'Resources of kernels and device functions, in the form of `cuobjdump -res-usage`')
            [CompletionResult]::new('--symbols', '--symbols', [CompletionResultType]::ParameterName, 'Symbols')
            [CompletionResult]::new('--sections', '--sections', [CompletionResultType]::ParameterName, 'Sections of cubins')
            [CompletionResult]::new('--relocations', '--relocations', [CompletionResultType]::ParameterName, 'Relocations of cubins')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'All of the above')
            [CompletionResult]::new('--no-demangle', '--no-demangle', [CompletionResultType]::ParameterName, 'Show names as the file has them')
            [CompletionResult]::new('--schema', '--schema', [CompletionResultType]::ParameterName, 'Print the JSON schema of `--format json`')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;extract' {
            [CompletionResult]::new('--arch', '--arch', [CompletionResultType]::ParameterName, 'Only images for these architectures, such as sm_90a')
            [CompletionResult]::new('--kind', '--kind', [CompletionResultType]::ParameterName, 'Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir')
            [CompletionResult]::new('--kernel', '--kernel', [CompletionResultType]::ParameterName, 'Only functions of this name, mangled or readable; `*` and `?` stand for other characters')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The folder to write to, made if it is not there; `-` writes the one selected image to stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The folder to write to, made if it is not there; `-` writes the one selected image to stdout')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Overwrite files that are there already')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;pack' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'What to make')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'How images are stored')
            [CompletionResult]::new('--symbol', '--symbol', [CompletionResultType]::ParameterName, 'The symbol that stands for the fatbin in an object [default: from the output''s name]')
            [CompletionResult]::new('--host-target', '--host-target', [CompletionResultType]::ParameterName, 'What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;prune' {
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'The images to keep, by architecture')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The file to write; `-` is standard output')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;run' {
            [CompletionResult]::new('--grid', '--grid', [CompletionResultType]::ParameterName, 'Blocks of the grid, or `max` for as many as run at once')
            [CompletionResult]::new('--block', '--block', [CompletionResultType]::ParameterName, 'Threads of a block, or `max` for as many as the kernel can have [default: 1, or what it was compiled for]')
            [CompletionResult]::new('--cluster', '--cluster', [CompletionResultType]::ParameterName, 'Blocks of a cluster; a kernel with `__cluster_dims__` needs none said')
            [CompletionResult]::new('--shared', '--shared', [CompletionResultType]::ParameterName, 'Bytes of dynamic shared memory; the opt-in above 48 KiB is automatic')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'Priority of the launch, lower is more urgent')
            [CompletionResult]::new('--attr', '--attr', [CompletionResultType]::ParameterName, 'Another launch attribute; see the end of this help')
            [CompletionResult]::new('--arg', '--arg', [CompletionResultType]::ParameterName, 'The next argument of the kernel, in order; see the end of this help')
            [CompletionResult]::new('--set-global', '--set-global', [CompletionResultType]::ParameterName, 'Set a variable of the module before the launch; SPEC is TYPE:VALUE or a SOURCE')
            [CompletionResult]::new('--get-global', '--get-global', [CompletionResultType]::ParameterName, 'Print a variable of the module after the launch')
            [CompletionResult]::new('--save', '--save', [CompletionResultType]::ParameterName, 'Write the buffer of argument N to a file: `.npy`, or raw elements under any other name')
            [CompletionResult]::new('--print', '--print', [CompletionResultType]::ParameterName, 'Print the first elements of argument N''s buffer, 10 unless a count is given')
            [CompletionResult]::new('--expect', '--expect', [CompletionResultType]::ParameterName, 'Fail unless argument N''s buffer equals SOURCE within the tolerances, and show the worst elements')
            [CompletionResult]::new('--rtol', '--rtol', [CompletionResultType]::ParameterName, 'Relative tolerance of --expect [default: by type, see the end of this help]')
            [CompletionResult]::new('--atol', '--atol', [CompletionResultType]::ParameterName, 'Absolute tolerance of --expect [default: by type, see the end of this help]')
            [CompletionResult]::new('--repeat', '--repeat', [CompletionResultType]::ParameterName, 'Time so many launches, after the one that is checked')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Launch so many times before timing')
            [CompletionResult]::new('--bytes', '--bytes', [CompletionResultType]::ParameterName, 'Bytes that one launch moves, for GB/s')
            [CompletionResult]::new('--flops', '--flops', [CompletionResultType]::ParameterName, 'Operations that one launch does, for GFLOP/s')
            [CompletionResult]::new('--device', '--device', [CompletionResultType]::ParameterName, 'Where to run: a number, a UUID or the start of one, several with commas, or `all`')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'End with status 124 when all is not done after so many seconds')
            [CompletionResult]::new('--device-model', '--device-model', [CompletionResultType]::ParameterName, 'With --dry-run: plan for a device of this architecture [default: the newest that the inputs are for]')
            [CompletionResult]::new('--nvjitlink', '--nvjitlink', [CompletionResultType]::ParameterName, 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]')
            [CompletionResult]::new('--toolkit', '--toolkit', [CompletionResultType]::ParameterName, 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How results are written to stdout')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('--cooperative', '--cooperative', [CompletionResultType]::ParameterName, 'Run all blocks at once, so that the kernel can synchronise its grid')
            [CompletionResult]::new('--pdl', '--pdl', [CompletionResultType]::ParameterName, 'Let a launch begin before the one before it ends (programmatic stream serialization)')
            [CompletionResult]::new('--flush-l2', '--flush-l2', [CompletionResultType]::ParameterName, 'Empty the L2 cache before each timed launch')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print the plan of the launch and stop; needs no GPU unless --device is given')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;doctor' {
            [CompletionResult]::new('--nvjitlink', '--nvjitlink', [CompletionResultType]::ParameterName, 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]')
            [CompletionResult]::new('--toolkit', '--toolkit', [CompletionResultType]::ParameterName, 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'format')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'List every candidate and why it won or lost, as -v does')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;toolkit' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Download libraries into cudalink''s own folder')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show what has been fetched and what can be')
            [CompletionResult]::new('remove', 'remove', [CompletionResultType]::ParameterValue, 'Delete libraries that have been fetched')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudalink;toolkit;install' {
            [CompletionResult]::new('--component', '--component', [CompletionResultType]::ParameterName, 'Only what holds this component; may be repeated [default: all]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;toolkit;list' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'format')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;toolkit;remove' {
            [CompletionResult]::new('--component', '--component', [CompletionResultType]::ParameterName, 'Only what holds this component; may be repeated [default: all]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Delete every release')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;toolkit;help' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Download libraries into cudalink''s own folder')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show what has been fetched and what can be')
            [CompletionResult]::new('remove', 'remove', [CompletionResultType]::ParameterValue, 'Delete libraries that have been fetched')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudalink;toolkit;help;install' {
            break
        }
        'cudalink;toolkit;help;list' {
            break
        }
        'cudalink;toolkit;help;remove' {
            break
        }
        'cudalink;toolkit;help;help' {
            break
        }
        'cudalink;cache' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Say where the cache is and how much it holds')
            [CompletionResult]::new('clear', 'clear', [CompletionResultType]::ParameterValue, 'Remove all that it holds')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudalink;cache;stats' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How it is written to stdout')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;cache;clear' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;cache;help' {
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Say where the cache is and how much it holds')
            [CompletionResult]::new('clear', 'clear', [CompletionResultType]::ParameterValue, 'Remove all that it holds')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudalink;cache;help;stats' {
            break
        }
        'cudalink;cache;help;clear' {
            break
        }
        'cudalink;cache;help;help' {
            break
        }
        'cudalink;environment' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;explain' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'How to print it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;man' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--message-format', '--message-format', [CompletionResultType]::ParameterName, 'How diagnostics are written to stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but results, warnings and errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say what is decided and why')
            [CompletionResult]::new('--no-progress', '--no-progress', [CompletionResultType]::ParameterName, 'Show no progress bars')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Never use the network')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'cudalink;help' {
            [CompletionResult]::new('link', 'link', [CompletionResultType]::ParameterValue, 'Link device code')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Say what device code is in a file, and what its kernels need')
            [CompletionResult]::new('extract', 'extract', [CompletionResultType]::ParameterValue, 'Write the images in a file out as files of their own')
            [CompletionResult]::new('pack', 'pack', [CompletionResultType]::ParameterValue, 'Make a fatbin of images, or a host object that carries one')
            [CompletionResult]::new('prune', 'prune', [CompletionResultType]::ParameterValue, 'Drop images from a file')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Launch a kernel: link what needs linking, fill its arguments, run it, check and time it')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Say what was found on this machine, what was chosen and why, and what will not work')
            [CompletionResult]::new('toolkit', 'toolkit', [CompletionResultType]::ParameterValue, 'Fetch, list and remove NVIDIA''s libraries')
            [CompletionResult]::new('cache', 'cache', [CompletionResultType]::ParameterValue, 'Show or empty the cache of links')
            [CompletionResult]::new('environment', 'environment', [CompletionResultType]::ParameterValue, 'Show the environment variables that cudalink reads')
            [CompletionResult]::new('explain', 'explain', [CompletionResultType]::ParameterValue, 'Say what a code, a symbol or an error message means')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write man pages, one for each subcommand')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'cudalink;help;link' {
            break
        }
        'cudalink;help;inspect' {
            break
        }
        'cudalink;help;extract' {
            break
        }
        'cudalink;help;pack' {
            break
        }
        'cudalink;help;prune' {
            break
        }
        'cudalink;help;run' {
            break
        }
        'cudalink;help;doctor' {
            break
        }
        'cudalink;help;toolkit' {
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Download libraries into cudalink''s own folder')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'Show what has been fetched and what can be')
            [CompletionResult]::new('remove', 'remove', [CompletionResultType]::ParameterValue, 'Delete libraries that have been fetched')
            break
        }
        'cudalink;help;toolkit;install' {
            break
        }
        'cudalink;help;toolkit;list' {
            break
        }
        'cudalink;help;toolkit;remove' {
            break
        }
        'cudalink;help;cache' {
            [CompletionResult]::new('stats', 'stats', [CompletionResultType]::ParameterValue, 'Say where the cache is and how much it holds')
            [CompletionResult]::new('clear', 'clear', [CompletionResultType]::ParameterValue, 'Remove all that it holds')
            break
        }
        'cudalink;help;cache;stats' {
            break
        }
        'cudalink;help;cache;clear' {
            break
        }
        'cudalink;help;environment' {
            break
        }
        'cudalink;help;explain' {
            break
        }
        'cudalink;help;completions' {
            break
        }
        'cudalink;help;man' {
            break
        }
        'cudalink;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
