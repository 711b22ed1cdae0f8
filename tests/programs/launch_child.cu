__global__ void child(int *data, int depth) {
    data[threadIdx.x] += depth;
    if (depth > 0 && threadIdx.x == 0) child<<<1, 32>>>(data, depth - 1);
}
