typedef int (*Operation)(int, int);

extern "C" __device__ int c_function(int x, float y);
__device__ int ascend(int depth);

static __device__ __noinline__ int helper(int x) { return x - int(clock()); }

namespace {
__device__ __noinline__ int hidden(int x) { return x & 0xaa; }
__global__ void private_kernel(int *out) { *out = hidden(*out) + helper(*out); }
}

__device__ __noinline__ int descend(int depth) { return depth > 0 ? ascend(depth - 1) + 2 : 1; }

__device__ int add(int a, int b) { return a + b + hidden(a); }
__device__ int subtract(int a, int b) { return a - b + helper(b); }
__device__ int mixed(int a, int b) { return c_function(a, float(b)); }

__device__ Operation operations[3] = {add, subtract, mixed};

void launch_b(int *out) { private_kernel<<<1, 1>>>(out); }
