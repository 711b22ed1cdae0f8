
use builtin;
use str;

set edit:completion:arg-completer[cudalink] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'cudalink'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'cudalink'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand link 'Link device code'
            cand inspect 'Say what device code is in a file, and what its kernels need'
            cand extract 'Write the images in a file out as files of their own'
            cand pack 'Make a fatbin of images, or a host object that carries one'
            cand prune 'Drop images from a file'
            cand run 'Launch a kernel: link what needs linking, fill its arguments, run it, check and time it'
            cand doctor 'Say what was found on this machine, what was chosen and why, and what will not work'
            cand toolkit 'Fetch, list and remove NVIDIA''s libraries'
            cand cache 'Show or empty the cache of links'
            cand environment 'Show the environment variables that cudalink reads'
            cand explain 'Say what a code, a symbol or an error message means'
            cand completions 'Print a completion script for a shell'
            cand man 'Write man pages, one for each subcommand'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'cudalink;link'= {
            cand -l 'Link libNAME.a or NAME.lib, or exactly FILE with `-l:FILE`'
            cand --library 'Link libNAME.a or NAME.lib, or exactly FILE with `-l:FILE`'
            cand -L 'Look for libraries here, in the order given'
            cand --library-path 'Look for libraries here, in the order given'
            cand --kind 'Take FILE for an input of this kind, whatever its content looks like; `-` is standard input'
            cand --name 'What messages and reports call standard input'
            cand -o 'The file to write; `-` is standard output [default: out.cubin, out.ptx or out.ltoir]'
            cand --output 'The file to write; `-` is standard output [default: out.cubin, out.ptx or out.ltoir]'
            cand --arch 'The architecture to link for, such as sm_90a, or `native`; left out, the inputs tell it. Several, and compute_90 for PTX, go into a fatbin or object'
            cand --emit 'What to make'
            cand --lto 'Link-time optimisation; `auto` is on when an input has nothing but LTO-IR'
            cand -O 'Optimisation level: 0 or 3'
            cand --ofast-compile 'Compile faster at the cost of the code: 0, min, mid or max'
            cand --max-registers 'Most registers of a thread, for PTX and LTO-IR inputs'
            cand --ftz 'Flush denormal numbers to zero'
            cand --prec-div 'Exact division'
            cand --prec-sqrt 'Exact square roots'
            cand --fma 'Contract multiplications and additions'
            cand --split-compile 'Threads for optimisation; 0 is one for each CPU'
            cand --split-compile-extended 'The same, for what follows optimisation too'
            cand --jump-table-density 'Percentage at which a switch becomes a jump table, up to 101'
            cand --device-stack-protector 'Guard stacks of device functions'
            cand --Xptxas 'An option for ptxas'
            cand --Xnvvm 'An option for NVVM'
            cand -I 'Look for headers here'
            cand -D 'Define a macro'
            cand -U 'Undefine a macro'
            cand --std 'The language, such as c++17'
            cand --name-expression 'A template to instantiate, such as `kernel<float>`'
            cand --Xnvrtc 'An option for NVRTC'
            cand --keep-kernel 'Keep this kernel and drop those that are not named'
            cand --keep-variable 'Keep this variable; with --keep-kernel, others may be dropped'
            cand --archive-members 'Which members of archives are linked: all, as NVIDIA''s linkers do, or those that are needed'
            cand --add-devrt 'Whether libcudadevrt is added when something of it is needed'
            cand --allow 'Take an error of this code for a warning, and a warning for a note'
            cand --deny 'Take a warning or note of this code for an error'
            cand --compress 'How images are stored in a fatbin'
            cand --symbol 'The symbol that stands for the fatbin in an object [default: from the output''s name]'
            cand --host-target 'What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]'
            cand --depfile 'Write the files that the result depends on as a rule for make and ninja (-MF)'
            cand --MT 'The target of that rule, as it is to stand there (-MT) [default: the output]'
            cand --nvjitlink 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]'
            cand --toolkit 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]'
            cand --backend 'Who links'
            cand --verify 'How the result is proven'
            cand --report 'Write a report as JSON; `-` is standard output'
            cand --jobs 'Links at the same time, when there are several architectures [default: as CPUs and memory allow]'
            cand --timeout 'Stop the library after this many seconds'
            cand --memory-limit 'Most memory for the library, such as 4GiB'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -r 'Make a relocatable result, to be linked again'
            cand --relocatable 'Make a relocatable result, to be linked again'
            cand -g 'Debug information'
            cand --lineinfo 'Source lines'
            cand --nvvm-latest 'Use the newer LLVM for every architecture'
            cand --drop-unused-variables 'Drop variables that nothing uses, with link-time optimisation'
            cand --MD 'The same, into a file named like the output, with `.d` (-MD)'
            cand --MP 'Add an empty rule for each file, so that one that is gone is no error (-MP)'
            cand --dry-run 'Print what would be linked, and why, and stop'
            cand --time 'Have the library tell how long its phases take, in the report'
            cand --no-cache 'Neither use nor keep results of earlier links'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;inspect'= {
            cand --arch 'Only images for these architectures, such as sm_90a'
            cand --kind 'Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir'
            cand --kernel 'Only functions of this name, mangled or readable; `*` and `?` stand for other characters'
            cand --format 'How to print; csv and markdown show one table, the one of the detail asked for'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand --images 'List the images one by one'
            cand --kernels 'Kernels with registers, stack, spills, memory, parameters and launch bounds'
            cand --resources 'Resources of kernels and device functions, in the form of `cuobjdump -res-usage`'
            cand --symbols 'Symbols'
            cand --sections 'Sections of cubins'
            cand --relocations 'Relocations of cubins'
            cand --all 'All of the above'
            cand --no-demangle 'Show names as the file has them'
            cand --schema 'Print the JSON schema of `--format json`'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;extract'= {
            cand --arch 'Only images for these architectures, such as sm_90a'
            cand --kind 'Only images of these kinds: cubin, ptx, lto-ir, nvvm-ir, tile-ir'
            cand --kernel 'Only functions of this name, mangled or readable; `*` and `?` stand for other characters'
            cand -o 'The folder to write to, made if it is not there; `-` writes the one selected image to stdout'
            cand --output 'The folder to write to, made if it is not there; `-` writes the one selected image to stdout'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand --force 'Overwrite files that are there already'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;pack'= {
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --emit 'What to make'
            cand --compress 'How images are stored'
            cand --symbol 'The symbol that stands for the fatbin in an object [default: from the output''s name]'
            cand --host-target 'What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;prune'= {
            cand --keep 'The images to keep, by architecture'
            cand -o 'The file to write; `-` is standard output'
            cand --output 'The file to write; `-` is standard output'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;run'= {
            cand --grid 'Blocks of the grid, or `max` for as many as run at once'
            cand --block 'Threads of a block, or `max` for as many as the kernel can have [default: 1, or what it was compiled for]'
            cand --cluster 'Blocks of a cluster; a kernel with `__cluster_dims__` needs none said'
            cand --shared 'Bytes of dynamic shared memory; the opt-in above 48 KiB is automatic'
            cand --priority 'Priority of the launch, lower is more urgent'
            cand --attr 'Another launch attribute; see the end of this help'
            cand --arg 'The next argument of the kernel, in order; see the end of this help'
            cand --set-global 'Set a variable of the module before the launch; SPEC is TYPE:VALUE or a SOURCE'
            cand --get-global 'Print a variable of the module after the launch'
            cand --save 'Write the buffer of argument N to a file: `.npy`, or raw elements under any other name'
            cand --print 'Print the first elements of argument N''s buffer, 10 unless a count is given'
            cand --expect 'Fail unless argument N''s buffer equals SOURCE within the tolerances, and show the worst elements'
            cand --rtol 'Relative tolerance of --expect [default: by type, see the end of this help]'
            cand --atol 'Absolute tolerance of --expect [default: by type, see the end of this help]'
            cand --repeat 'Time so many launches, after the one that is checked'
            cand --warmup 'Launch so many times before timing'
            cand --bytes 'Bytes that one launch moves, for GB/s'
            cand --flops 'Operations that one launch does, for GFLOP/s'
            cand --device 'Where to run: a number, a UUID or the start of one, several with commas, or `all`'
            cand --timeout 'End with status 124 when all is not done after so many seconds'
            cand --device-model 'With --dry-run: plan for a device of this architecture [default: the newest that the inputs are for]'
            cand --nvjitlink 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]'
            cand --toolkit 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]'
            cand --format 'How results are written to stdout'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand --cooperative 'Run all blocks at once, so that the kernel can synchronise its grid'
            cand --pdl 'Let a launch begin before the one before it ends (programmatic stream serialization)'
            cand --flush-l2 'Empty the L2 cache before each timed launch'
            cand --dry-run 'Print the plan of the launch and stop; needs no GPU unless --device is given'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;doctor'= {
            cand --nvjitlink 'Use this nvJitLink library and no other [env: CUDALINK_NVJITLINK]'
            cand --toolkit 'Use the toolkit in this folder, or only libraries of this release [env: CUDALINK_TOOLKIT]'
            cand --format 'format'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand --all 'List every candidate and why it won or lost, as -v does'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;toolkit'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand install 'Download libraries into cudalink''s own folder'
            cand list 'Show what has been fetched and what can be'
            cand remove 'Delete libraries that have been fetched'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'cudalink;toolkit;install'= {
            cand --component 'Only what holds this component; may be repeated [default: all]'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;toolkit;list'= {
            cand --format 'format'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;toolkit;remove'= {
            cand --component 'Only what holds this component; may be repeated [default: all]'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand --all 'Delete every release'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;toolkit;help'= {
            cand install 'Download libraries into cudalink''s own folder'
            cand list 'Show what has been fetched and what can be'
            cand remove 'Delete libraries that have been fetched'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'cudalink;toolkit;help;install'= {
        }
        &'cudalink;toolkit;help;list'= {
        }
        &'cudalink;toolkit;help;remove'= {
        }
        &'cudalink;toolkit;help;help'= {
        }
        &'cudalink;cache'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand stats 'Say where the cache is and how much it holds'
            cand clear 'Remove all that it holds'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'cudalink;cache;stats'= {
            cand --format 'How it is written to stdout'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;cache;clear'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;cache;help'= {
            cand stats 'Say where the cache is and how much it holds'
            cand clear 'Remove all that it holds'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'cudalink;cache;help;stats'= {
        }
        &'cudalink;cache;help;clear'= {
        }
        &'cudalink;cache;help;help'= {
        }
        &'cudalink;environment'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;explain'= {
            cand --format 'How to print it'
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;completions'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;man'= {
            cand --color 'When to use colour'
            cand --message-format 'How diagnostics are written to stderr'
            cand -q 'Say nothing but results, warnings and errors'
            cand --quiet 'Say nothing but results, warnings and errors'
            cand -v 'Say what is decided and why'
            cand --verbose 'Say what is decided and why'
            cand --no-progress 'Show no progress bars'
            cand --offline 'Never use the network'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'cudalink;help'= {
            cand link 'Link device code'
            cand inspect 'Say what device code is in a file, and what its kernels need'
            cand extract 'Write the images in a file out as files of their own'
            cand pack 'Make a fatbin of images, or a host object that carries one'
            cand prune 'Drop images from a file'
            cand run 'Launch a kernel: link what needs linking, fill its arguments, run it, check and time it'
            cand doctor 'Say what was found on this machine, what was chosen and why, and what will not work'
            cand toolkit 'Fetch, list and remove NVIDIA''s libraries'
            cand cache 'Show or empty the cache of links'
            cand environment 'Show the environment variables that cudalink reads'
            cand explain 'Say what a code, a symbol or an error message means'
            cand completions 'Print a completion script for a shell'
            cand man 'Write man pages, one for each subcommand'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'cudalink;help;link'= {
        }
        &'cudalink;help;inspect'= {
        }
        &'cudalink;help;extract'= {
        }
        &'cudalink;help;pack'= {
        }
        &'cudalink;help;prune'= {
        }
        &'cudalink;help;run'= {
        }
        &'cudalink;help;doctor'= {
        }
        &'cudalink;help;toolkit'= {
            cand install 'Download libraries into cudalink''s own folder'
            cand list 'Show what has been fetched and what can be'
            cand remove 'Delete libraries that have been fetched'
        }
        &'cudalink;help;toolkit;install'= {
        }
        &'cudalink;help;toolkit;list'= {
        }
        &'cudalink;help;toolkit;remove'= {
        }
        &'cudalink;help;cache'= {
            cand stats 'Say where the cache is and how much it holds'
            cand clear 'Remove all that it holds'
        }
        &'cudalink;help;cache;stats'= {
        }
        &'cudalink;help;cache;clear'= {
        }
        &'cudalink;help;environment'= {
        }
        &'cudalink;help;explain'= {
        }
        &'cudalink;help;completions'= {
        }
        &'cudalink;help;man'= {
        }
        &'cudalink;help;help'= {
        }
    ]
    $completions[$command]
}
