// A class hierarchy that two units share, with templates that both instantiate.
#pragma once

struct Shape {
    float scale;
    __device__ explicit Shape(float scale) : scale(scale) {}
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual float scaled() const { return scale * area(); }
};

struct Circle : Shape {
    float radius;
    __device__ Circle(float scale, float radius);
    __device__ float area() const override;
};

struct Square : Shape {
    float side;
    __device__ Square(float scale, float side);
    __device__ float area() const override;
    __device__ float scaled() const override;
};

template <typename T, int N>
struct Sum {
    T values[N];
    __device__ __noinline__ T total() const {
        T total = 0;
        for (int i = 0; i < N; i++) total += values[i];
        return total;
    }
};

template <typename T>
__global__ void fill(T *out, T value, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = value;
}

__device__ float measure(const Shape *shape);
