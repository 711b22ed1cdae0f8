// A kernel that another unit's kernel launches, which takes libcudadevrt.
__global__ void child(int *data, int depth);

__global__ void parent(int *data) {
    if (threadIdx.x == 0) child<<<1, 32>>>(data, 2);
}
