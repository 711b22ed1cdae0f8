# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_cudalink_global_optspecs
    string join \n q/quiet v/verbose color= no-progress message-format= offline h/help V/version
end

function __fish_cudalink_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_cudalink_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_cudalink_using_subcommand
    set -l cmd (__fish_cudalink_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c cudalink -n "__fish_cudalink_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_needs_command" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_needs_command" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_needs_command" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_needs_command" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_needs_command" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_needs_command" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "link" -d 'Link device code'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "inspect" -d 'Say what device code is in a file, and what its kernels need'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "extract" -d 'Write the images in a file out as files of their own'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "pack" -d 'Make a fatbin of images, or a host object that carries one'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "prune" -d 'Drop images from a file'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "run" -d 'Launch a kernel: link what needs linking, fill its arguments, run it, check and time it'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "doctor" -d 'Say what was found on this machine, what was chosen and why, and what will not work'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "toolkit" -d 'Fetch, list and remove NVIDIA\'s libraries'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "cache" -d 'Show or empty the cache of links'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "environment" -d 'Show the environment variables that cudalink reads'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "explain" -d 'Say what a code, a symbol or an error message means'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "man" -d 'Write man pages, one for each subcommand'
complete -c cudalink -n "__fish_cudalink_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s l -l library -d 'Link libNAME.a or NAME.lib, or exactly FILE with `-l:FILE`' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s L -l library-path -d 'Look for libraries here, in the order given' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l kind -d 'Take FILE for an input of this kind, whatever its content looks like; `-` is standard input' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l name -d 'What messages and reports call standard input' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s o -l output -d 'The file to write; `-` is standard output [default: out.cubin, out.ptx or out.ltoir]' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l arch -d 'The architecture to link for, such as sm_90a, or `native`; left out, the inputs tell it. Several, and compute_90 for PTX, go into a fatbin or object' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l emit -d 'What to make' -r -f -a "cubin\t''
ptx\t'Of LTO-IR, or a single PTX as it is'
ltoir\t'One LTO-IR of many'
fatbin\t'A link for each architecture, in one fatbin'
object\t'A host object that carries the fatbin'"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l lto -d 'Link-time optimisation; `auto` is on when an input has nothing but LTO-IR' -r -f -a "auto\t''
on\t''
off\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s O -d 'Optimisation level: 0 or 3' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l ofast-compile -d 'Compile faster at the cost of the code: 0, min, mid or max' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l max-registers -d 'Most registers of a thread, for PTX and LTO-IR inputs' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l ftz -d 'Flush denormal numbers to zero' -r -f -a "true\t''
false\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l prec-div -d 'Exact division' -r -f -a "true\t''
false\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l prec-sqrt -d 'Exact square roots' -r -f -a "true\t''
false\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l fma -d 'Contract multiplications and additions' -r -f -a "true\t''
false\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l split-compile -d 'Threads for optimisation; 0 is one for each CPU' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l split-compile-extended -d 'The same, for what follows optimisation too' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l jump-table-density -d 'Percentage at which a switch becomes a jump table, up to 101' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l device-stack-protector -d 'Guard stacks of device functions' -r -f -a "true\t''
false\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l Xptxas -d 'An option for ptxas' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l Xnvvm -d 'An option for NVVM' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s I -d 'Look for headers here' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s D -d 'Define a macro' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s U -d 'Undefine a macro' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l std -d 'The language, such as c++17' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l name-expression -d 'A template to instantiate, such as `kernel<float>`' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l Xnvrtc -d 'An option for NVRTC' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l keep-kernel -d 'Keep this kernel and drop those that are not named' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l keep-variable -d 'Keep this variable; with --keep-kernel, others may be dropped' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l archive-members -d 'Which members of archives are linked: all, as NVIDIA\'s linkers do, or those that are needed' -r -f -a "all\t''
needed\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l add-devrt -d 'Whether libcudadevrt is added when something of it is needed' -r -f -a "true\t''
false\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l allow -d 'Take an error of this code for a warning, and a warning for a note' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l deny -d 'Take a warning or note of this code for an error' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l compress -d 'How images are stored in a fatbin' -r -f -a "none\t''
lz4\t'What drivers and tools before CUDA 12.4 read'
zstd\t'The smallest; the default of CUDA 13\'s own tools'"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l symbol -d 'The symbol that stands for the fatbin in an object [default: from the output\'s name]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l host-target -d 'What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l depfile -d 'Write the files that the result depends on as a rule for make and ninja (-MF)' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l MT -d 'The target of that rule, as it is to stand there (-MT) [default: the output]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l nvjitlink -d 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l toolkit -d 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l backend -d 'Who links' -r -f -a "auto\t'nvJitLink; the built-in linker where all inputs are cubins and no nvJitLink is installed'
nvjitlink\t''
builtin\t'Relocatable cubins of sm_75 to sm_90a, without any library'"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l verify -d 'How the result is proven' -r -f -a "fast\t'Read back and held against the inputs'
double\t'Linked by the built-in linker as well, and compared section by section'"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l report -d 'Write a report as JSON; `-` is standard output' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l jobs -d 'Links at the same time, when there are several architectures [default: as CPUs and memory allow]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l timeout -d 'Stop the library after this many seconds' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l memory-limit -d 'Most memory for the library, such as 4GiB' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s r -l relocatable -d 'Make a relocatable result, to be linked again'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s g -d 'Debug information'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l lineinfo -d 'Source lines'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l nvvm-latest -d 'Use the newer LLVM for every architecture'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l drop-unused-variables -d 'Drop variables that nothing uses, with link-time optimisation'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l MD -d 'The same, into a file named like the output, with `.d` (-MD)'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l MP -d 'Add an empty rule for each file, so that one that is gone is no error (-MP)'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l dry-run -d 'Print what would be linked, and why, and stop'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l time -d 'Have the library tell how long its phases take, in the report'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l no-cache -d 'Neither use nor keep results of earlier links'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand link" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l arch -d 'Only images for these architectures, such as sm_90a' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l kind -d 'Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l kernel -d 'Only functions of this name, mangled or readable; `*` and `?` stand for other characters' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l format -d 'How to print; csv and markdown show one table, the one of the detail asked for' -r -f -a "text\t''
json\t''
csv\t''
markdown\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l images -d 'List the images one by one'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l kernels -d 'Kernels with registers, stack, spills, memory, parameters and launch bounds'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l resources -d 'Resources of kernels and device functions, in the form of `cuobjdump -res-usage`'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l symbols -d 'Symbols'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l sections -d 'Sections of cubins'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l relocations -d 'Relocations of cubins'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l all -d 'All of the above'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l no-demangle -d 'Show names as the file has them'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l schema -d 'Print the JSON schema of `--format json`'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand inspect" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l arch -d 'Only images for these architectures, such as sm_90a' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l kind -d 'Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l kernel -d 'Only functions of this name, mangled or readable; `*` and `?` stand for other characters' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -s o -l output -d 'The folder to write to, made if it is not there; `-` writes the one selected image to stdout' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l force -d 'Overwrite files that are there already'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand extract" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l emit -d 'What to make' -r -f -a "fatbin\t''
object\t'A host object with the fatbin in `.nv_fatbin`'"
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l compress -d 'How images are stored' -r -f -a "none\t''
lz4\t'What drivers and tools before CUDA 12.4 read'
zstd\t'The smallest; the default of CUDA 13\'s own tools'"
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l symbol -d 'The symbol that stands for the fatbin in an object [default: from the output\'s name]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l host-target -d 'What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand pack" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -l keep -d 'The images to keep, by architecture' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -s o -l output -d 'The file to write; `-` is standard output' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand prune" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l grid -d 'Blocks of the grid, or `max` for as many as run at once' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l block -d 'Threads of a block, or `max` for as many as the kernel can have [default: 1, or what it was compiled for]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l cluster -d 'Blocks of a cluster; a kernel with `__cluster_dims__` needs none said' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l shared -d 'Bytes of dynamic shared memory; the opt-in above 48 KiB is automatic' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l priority -d 'Priority of the launch, lower is more urgent' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l attr -d 'Another launch attribute; see the end of this help' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l arg -d 'The next argument of the kernel, in order; see the end of this help' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l set-global -d 'Set a variable of the module before the launch; SPEC is TYPE:VALUE or a SOURCE' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l get-global -d 'Print a variable of the module after the launch' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l save -d 'Write the buffer of argument N to a file: `.npy`, or raw elements under any other name' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l print -d 'Print the first elements of argument N\'s buffer, 10 unless a count is given' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l expect -d 'Fail unless argument N\'s buffer equals SOURCE within the tolerances, and show the worst elements' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l rtol -d 'Relative tolerance of --expect [default: by type, see the end of this help]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l atol -d 'Absolute tolerance of --expect [default: by type, see the end of this help]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l repeat -d 'Time so many launches, after the one that is checked' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l warmup -d 'Launch so many times before timing' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l bytes -d 'Bytes that one launch moves, for GB/s' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l flops -d 'Operations that one launch does, for GFLOP/s' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l device -d 'Where to run: a number, a UUID or the start of one, several with commas, or `all`' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l timeout -d 'End with status 124 when all is not done after so many seconds' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l device-model -d 'With --dry-run: plan for a device of this architecture [default: the newest that the inputs are for]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l nvjitlink -d 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l toolkit -d 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l format -d 'How results are written to stdout' -r -f -a "text\t''
json\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l cooperative -d 'Run all blocks at once, so that the kernel can synchronise its grid'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l pdl -d 'Let a launch begin before the one before it ends (programmatic stream serialization)'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l flush-l2 -d 'Empty the L2 cache before each timed launch'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l dry-run -d 'Print the plan of the launch and stop; needs no GPU unless --device is given'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand run" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l nvjitlink -d 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]' -r -F
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l toolkit -d 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l format -r -f -a "text\t''
json\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l all -d 'List every candidate and why it won or lost, as -v does'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -f -a "install" -d 'Download libraries into cudalink\'s own folder'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -f -a "list" -d 'Show what has been fetched and what can be'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -f -a "remove" -d 'Delete libraries that have been fetched'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and not __fish_seen_subcommand_from install list remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -l component -d 'Only what holds this component; may be repeated [default: all]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from install" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -l format -r -f -a "text\t''
json\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -l component -d 'Only what holds this component; may be repeated [default: all]' -r
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -l all -d 'Delete every release'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from remove" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from help" -f -a "install" -d 'Download libraries into cudalink\'s own folder'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from help" -f -a "list" -d 'Show what has been fetched and what can be'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Delete libraries that have been fetched'
complete -c cudalink -n "__fish_cudalink_using_subcommand toolkit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -f -a "stats" -d 'Say where the cache is and how much it holds'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -f -a "clear" -d 'Remove all that it holds'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and not __fish_seen_subcommand_from stats clear help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -l format -d 'How it is written to stdout' -r -f -a "text\t''
json\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from stats" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from clear" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from help" -f -a "stats" -d 'Say where the cache is and how much it holds'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from help" -f -a "clear" -d 'Remove all that it holds'
complete -c cudalink -n "__fish_cudalink_using_subcommand cache; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand environment" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -l format -d 'How to print it' -r -f -a "text\t''
json\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand explain" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand completions" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on terminals; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed'
always\t''
never\t''"
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -l message-format -d 'How diagnostics are written to stderr' -r -f -a "text\t''
json\t'One JSON object a line'
github\t'GitHub workflow commands'"
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -s q -l quiet -d 'Say nothing but results, warnings and errors'
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -s v -l verbose -d 'Say what is decided and why'
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -l no-progress -d 'Show no progress bars'
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -l offline -d 'Never use the network'
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cudalink -n "__fish_cudalink_using_subcommand man" -s V -l version -d 'Print version'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "link" -d 'Link device code'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "inspect" -d 'Say what device code is in a file, and what its kernels need'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "extract" -d 'Write the images in a file out as files of their own'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "pack" -d 'Make a fatbin of images, or a host object that carries one'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "prune" -d 'Drop images from a file'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "run" -d 'Launch a kernel: link what needs linking, fill its arguments, run it, check and time it'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "doctor" -d 'Say what was found on this machine, what was chosen and why, and what will not work'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "toolkit" -d 'Fetch, list and remove NVIDIA\'s libraries'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "cache" -d 'Show or empty the cache of links'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "environment" -d 'Show the environment variables that cudalink reads'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "explain" -d 'Say what a code, a symbol or an error message means'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "completions" -d 'Print a completion script for a shell'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "man" -d 'Write man pages, one for each subcommand'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and not __fish_seen_subcommand_from link inspect extract pack prune run doctor toolkit cache environment explain completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and __fish_seen_subcommand_from toolkit" -f -a "install" -d 'Download libraries into cudalink\'s own folder'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and __fish_seen_subcommand_from toolkit" -f -a "list" -d 'Show what has been fetched and what can be'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and __fish_seen_subcommand_from toolkit" -f -a "remove" -d 'Delete libraries that have been fetched'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and __fish_seen_subcommand_from cache" -f -a "stats" -d 'Say where the cache is and how much it holds'
complete -c cudalink -n "__fish_cudalink_using_subcommand help; and __fish_seen_subcommand_from cache" -f -a "clear" -d 'Remove all that it holds'
