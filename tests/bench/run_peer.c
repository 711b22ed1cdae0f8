/* What `cudalink run` is measured against: the same work in a bare program on the driver's interface.
 *
 *   run_peer small CUBIN                              the kernel `empty`, once
 *   run_peer axpy CUBIN ELEMENTS pageable|pinned N    y += 2 x over float buffers, and N launches more, timed
 *
 * pageable fills whole arrays and copies them with plain calls, as most programs do; pinned fills, copies and
 * reads in two pinned parts of 16 MiB in turn, as cudalink does. Needs no CUDA headers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef uint64_t Address;
typedef void *Handle;

Result cuInit(unsigned);
Result cuDeviceGet(int *, int);
Result cuDevicePrimaryCtxRetain(Handle *, int);
Result cuCtxSetCurrent(Handle);
Result cuModuleLoadDataEx(Handle *, const void *, unsigned, unsigned *, void **);
Result cuModuleGetFunction(Handle *, Handle, const char *);
Result cuStreamCreate(Handle *, unsigned);
Result cuStreamSynchronize(Handle);
Result cuMemAlloc_v2(Address *, size_t);
Result cuMemHostAlloc(void **, size_t, unsigned);
Result cuMemcpyHtoDAsync_v2(Address, const void *, size_t, Handle);
Result cuMemcpyDtoHAsync_v2(void *, Address, size_t, Handle);
Result cuEventCreate(Handle *, unsigned);
Result cuEventRecord(Handle, Handle);
Result cuEventSynchronize(Handle);
Result cuEventElapsedTime(float *, Handle, Handle);
Result cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **,
                      void **);

#define DO(call)                                                                                                       \
    do {                                                                                                               \
        Result result = call;                                                                                          \
        if (result) {                                                                                                  \
            fprintf(stderr, "%s: %d\n", #call, result);                                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { PART = 16 << 20 };

static Handle module, stream, event[2];
static float *part[2];

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    void *image = malloc(size);
    if (fread(image, 1, size, file) != (size_t)size)
        exit(1);
    fclose(file);
    DO(cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
}

static void count(float *out, size_t first, size_t length)
{
    for (size_t at = 0; at < length; at++)
        out[at] = (float)(first + at);
}

/* Fills device memory with 0, 1, 2, …. */
static void fill(Address to, size_t elements, int pinned, float *whole)
{
    if (!pinned) {
        count(whole, 0, elements);
        DO(cuMemcpyHtoDAsync_v2(to, whole, elements * 4, stream));
        DO(cuStreamSynchronize(stream));
        return;
    }
    int turn = 0;
    for (size_t at = 0; at < elements; at += PART / 4, turn ^= 1) {
        size_t length = elements - at < PART / 4 ? elements - at : PART / 4;
        DO(cuEventSynchronize(event[turn]));
        count(part[turn], at, length);
        DO(cuMemcpyHtoDAsync_v2(to + at * 4, part[turn], length * 4, stream));
        DO(cuEventRecord(event[turn], stream));
    }
    DO(cuStreamSynchronize(stream));
}

static void drain(Address from, size_t elements, int pinned, float *whole)
{
    if (!pinned) {
        DO(cuMemcpyDtoHAsync_v2(whole, from, elements * 4, stream));
        DO(cuStreamSynchronize(stream));
        return;
    }
    int turn = 0;
    for (size_t at = 0; at < elements; at += PART / 4, turn ^= 1) {
        size_t length = elements - at < PART / 4 ? elements - at : PART / 4;
        DO(cuEventSynchronize(event[turn]));
        DO(cuMemcpyDtoHAsync_v2(part[turn], from + at * 4, length * 4, stream));
        DO(cuEventRecord(event[turn], stream));
    }
    DO(cuStreamSynchronize(stream));
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Times launches by events around each, as cudalink does. */
static void time_launches(Handle function, void **arguments, int launches)
{
    Handle *start = malloc(launches * sizeof *start), *end = malloc(launches * sizeof *end);
    float *times = malloc(launches * sizeof *times);
    for (int at = 0; at < launches; at++) {
        DO(cuEventCreate(start + at, 0));
        DO(cuEventCreate(end + at, 0));
    }
    for (int at = 0; at < launches; at++) {
        DO(cuEventRecord(start[at], stream));
        DO(cuLaunchKernel(function, 4096, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
        DO(cuEventRecord(end[at], stream));
    }
    DO(cuStreamSynchronize(stream));
    for (int at = 0; at < launches; at++)
        DO(cuEventElapsedTime(times + at, start[at], end[at]));
    qsort(times, launches, sizeof *times, ascending);
    printf("median_us %.3f\n", times[launches / 2] * 1e3);
}

static void axpy(size_t elements, int pinned, int launches)
{
    Handle function;
    Address x, y;
    float a = 2, *whole = NULL;
    long long n = elements;
    DO(cuModuleGetFunction(&function, module, "axpy"));
    DO(cuMemAlloc_v2(&x, elements * 4));
    DO(cuMemAlloc_v2(&y, elements * 4));
    for (int at = 0; at < 2; at++)
        DO(cuEventCreate(event + at, 0));
    for (int at = 0; pinned && at < 2; at++)
        DO(cuMemHostAlloc((void **)(part + at), PART, 0));
    if (!pinned)
        whole = malloc(elements * 4);
    fill(x, elements, pinned, whole);
    fill(y, elements, pinned, whole);
    void *arguments[] = {&a, &x, &y, &n};
    DO(cuLaunchKernel(function, 4096, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
    drain(y, elements, pinned, whole);
    if (launches)
        time_launches(function, arguments, launches);
}

int main(int count_of, char **given)
{
    Handle context, function;
    int device;
    if (count_of != 3 && count_of != 6) {
        fprintf(stderr, "usage: run_peer small CUBIN | axpy CUBIN ELEMENTS pageable|pinned N\n");
        return 2;
    }
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuStreamCreate(&stream, 1));
    load(given[2]);
    if (count_of == 6) {
        axpy(strtoull(given[3], NULL, 0), !strcmp(given[4], "pinned"), atoi(given[5]));
        return 0;
    }
    DO(cuModuleGetFunction(&function, module, "empty"));
    DO(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    DO(cuStreamSynchronize(stream));
    return 0;
}
