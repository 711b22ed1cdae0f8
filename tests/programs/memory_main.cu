#include "memory.h"

__constant__ Settings settings = {{1.0f, 0.5f}, 3};
__device__ unsigned counter = 0;

static __device__ float table[4] = {1, 2, 3, 4};

__global__ void rounds(const float *in, float *out) {
    __shared__ float tile[256];
    tile[threadIdx.x] = in[threadIdx.x] + cached[threadIdx.x & 63];
    scratch[threadIdx.x] = tile[255 - threadIdx.x] * table[threadIdx.x & 3];
    float value = 0;
    for (int i = 0; i < settings.rounds; i++) value += reduce(scratch[threadIdx.x]);
    out[threadIdx.x] = value;
}
