// Variables of every memory space that units share.
#pragma once

struct Settings {
    float weights[16];
    int rounds;
};

extern __constant__ Settings settings;
extern __device__ unsigned counter;
extern __managed__ float progress;
extern __shared__ float scratch[];

inline __device__ float cached[64];

__device__ float reduce(float value);
