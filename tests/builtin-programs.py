#!/usr/bin/env python3
"""Writes random CUDA programs of several units, for comparing device linkers.

    builtin-programs.py FOLDER FIRST LAST     FOLDER/SEED/UNIT.cu for every seed

A program mixes what linkers treat differently: calls and function pointers between units, recursion, weak functions,
variables of every memory space, shared memory of kernels and functions, compiler constants, jump tables, printf.
A seed gives the same program everywhere.
"""
import pathlib
import random
import sys

TYPES = ["char", "short", "int", "float", "double"]
HEADER = """#include <cstdio>
typedef float (*Pointer)(float);
template <class T> __device__ __noinline__ T weak(T x) { return x * x - T(3); }
template <int N> __device__ __noinline__ float ring(float x)
{ __shared__ float r[N]; r[threadIdx.x % N] = x; __syncthreads(); return r[0] * N; }
inline __device__ __noinline__ int counter(int n) { static __device__ int calls; return calls += n; }
struct Base { __device__ virtual float get(float x) { return x; } };
struct Derived : Base { __device__ float get(float x) { return x * 5; } };
"""
SWITCH = "switch (int(x)) {" + "".join(
    f" case {n}: y {op}; break;" for n, op in enumerate(["+= 1", "*= y", "-= 9", "= -y", "/= 3", "= sinf(y)"])
) + " default: y = 0; }"


class Program:
    def __init__(self, seed):
        self.random = random.Random(f"program {seed}")
        pick = self.random.randint
        self.units = pick(2, 5)
        unit = lambda: self.random.randrange(self.units)
        self.functions = [(f"f{n}", unit()) for n in range(pick(2, 20))]
        self.kernels = [(f"k{n}", unit()) for n in range(pick(1, 7))]
        # Name, memory space, type, length, whether it has a value, unit.
        self.variables = [
            (f"v{n}", self.random.choice(["__device__", "__constant__"]), self.random.choice(TYPES), pick(1, 9),
             self.random.random() < 0.6, unit())
            for n in range(pick(0, 9))
        ]
        self.table = unit() if self.random.random() < 0.5 else None
        self.dynamic = self.random.random() < 0.4

    def statement(self, number, callees):
        chance, pick = self.random.choice, self.random.randint
        kinds = ["weak", "ring", "counter", "shared", "math", "local", "virtual", "print", "switch", "barrier"]
        kinds += ["call"] * 5 * bool(callees) + ["variable"] * 3 * bool(self.variables)
        kinds += ["table"] * (self.table is not None) + ["dynamic"] * 2 * self.dynamic
        kind = chance(kinds)
        if kind == "call":
            return f"if (y > {pick(0, 99)}) y += {chance(callees)}(y);"
        if kind == "variable":
            name, space, _, length, _, _ = chance(self.variables)
            write = f" {name}[0] = y;" if space == "__device__" else ""
            return f"y += {name}[int(x) & {chance([0, 1])} % {length}];{write}"
        if kind == "shared":
            length = pick(1, 40)
            return (f"__shared__ {chance(TYPES)} s{number}[{length}]; s{number}[threadIdx.x % {length}] = y;"
                    f" __syncthreads(); y += s{number}[0];")
        if kind == "local":
            return (f"float a{number}[{pick(2, 30)}]; for (auto &e : a{number}) e = clock();"
                    f" y += a{number}[int(x) & 1];")
        return {
            "weak": f"y += weak<{chance(TYPES)}>(y);",
            "ring": f"y += ring<{pick(1, 6)}>(y);",
            "counter": "y += counter(int(y));",
            "math": chance(["y += sin((double)y);", "y = pow((double)y, 1.7);", "y /= x + 2;", "y = exp((double)y);"]),
            "virtual": f"Base b{number}; Derived d{number}; y += (int(x) ? &b{number} : &d{number})->get(y);",
            "print": 'if (y == 77) printf("%f\\n", y);',
            "switch": SWITCH,
            "barrier": f'asm volatile("bar.sync {pick(1, 15)}, 64;");',
            "table": "y += table[int(x) & 1](y);",
            "dynamic": f"y += dynamic[{pick(0, 7)}]; dynamic[threadIdx.x] = y;",
        }[kind]

    def body(self, callees):
        return " ".join(self.statement(n, callees) for n in range(self.random.randint(0, 4)))

    def unit(self, unit):
        lines = [HEADER]
        lines += [f"__device__ float {name}(float);" for name, _ in self.functions]
        for name, space, kind, length, has_value, home in self.variables:
            value = " = {3}" if has_value else ""
            lines.append(f"{space} {kind} {name}[{length}]{value};" if home == unit
                         else f"extern {space} {kind} {name}[{length}];")
        if self.dynamic:
            lines.append("extern __shared__ float dynamic[];")
        if self.table is not None:
            names = ", ".join(self.random.choice(self.functions)[0] for _ in range(2))
            lines.append(f"__device__ Pointer table[2] = {{{names}}};" if self.table == unit
                         else "extern __device__ Pointer table[2];")
        for number, (name, home) in enumerate(self.functions):
            if home == unit:
                noinline = "__noinline__ " if self.random.random() < 0.7 else ""
                # Calls go to earlier functions, and seldom to any, which may recurse.
                callees = self.functions[:number] if self.random.random() < 0.9 else self.functions
                body = self.body([callee for callee, _ in callees])
                lines.append(f"__device__ {noinline}float {name}(float x) {{ float y = x; {body} return y; }}")
        for name, home in self.kernels:
            if home == unit:
                body = self.body([callee for callee, _ in self.functions])
                lines.append(f"__global__ void {name}(float *p) {{ float x = p[0], y = x; {body} p[1] = y; }}")
        return "\n".join(lines) + "\n"


def main():
    folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for seed in range(first, last + 1):
        program = Program(seed)
        home = pathlib.Path(folder, f"{seed:04}")
        home.mkdir(parents=True, exist_ok=True)
        for unit in range(program.units):
            (home / f"{unit}.cu").write_text(program.unit(unit))


main()
