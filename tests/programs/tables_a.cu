// Functions called through tables, recursion over two units, and helpers of one name that each unit keeps to itself.
typedef int (*Operation)(int, int);

extern __device__ Operation operations[3];
__device__ int descend(int depth);

static __device__ __noinline__ int helper(int x) { return x * 3 + int(clock()); }

namespace {
__device__ __noinline__ int hidden(int x) { return x ^ 0x55; }
__global__ void private_kernel(int *out) { *out = hidden(*out); }
}

extern "C" __device__ __noinline__ int c_function(int x, float y) { return helper(x) + int(y); }

__device__ __noinline__ int ascend(int depth) { return depth > 0 ? descend(depth - 1) + 1 : 0; }

__global__ void dispatch(int which, int *data) {
    data[threadIdx.x] = operations[which](data[threadIdx.x], helper(which)) + ascend(which);
}

void launch_a(int *out) { private_kernel<<<1, 1>>>(out); }
