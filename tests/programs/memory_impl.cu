#include "memory.h"

__managed__ float progress = 0;

static __device__ float table[4] = {4, 3, 2, 1};

__device__ float reduce(float value) {
    __shared__ float partial[32];
    int lane = threadIdx.x & 31;
    for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (lane == 0) partial[threadIdx.x / 32] = value * settings.weights[threadIdx.x & 15];
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&counter, 1);
        progress += table[lane & 3];
        cached[lane] = scratch[0];
    }
    return partial[threadIdx.x / 32];
}
