#include "shapes.h"

__device__ Circle::Circle(float scale, float radius) : Shape(scale), radius(radius) {}
__device__ float Circle::area() const { return 3.14159f * radius * radius; }
__device__ Square::Square(float scale, float side) : Shape(scale), side(side) {}
__device__ float Square::area() const { return side * side; }
__device__ float Square::scaled() const { return scale * scale * area(); }

__device__ float measure(const Shape *shape) {
    Sum<float, 3> sum = {{shape->area(), shape->scaled(), 1.0f}};
    return sum.total();
}

template __global__ void fill<float>(float *, float, int);
