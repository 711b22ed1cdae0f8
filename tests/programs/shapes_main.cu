#include "shapes.h"

__device__ __noinline__ Shape *make(int kind, float size) {
    if (kind == 0) return new Circle(1.0f, size);
    return new Square(2.0f, size);
}

__global__ void areas(const int *kinds, float *out) {
    Shape *shape = make(kinds[threadIdx.x], float(threadIdx.x));
    Sum<float, 3> sum = {{measure(shape), shape->area(), shape->scaled()}};
    out[threadIdx.x] = sum.total();
    delete shape;
}

template __global__ void fill<float>(float *, float, int);
template __global__ void fill<int>(int *, int, int);
