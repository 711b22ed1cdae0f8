/* A stand-in for the CUDA driver, for the tests of `cudalink run` on machines without a GPU.
 *
 * Device memory is host memory and kernels do nothing, so buffers come back as they went in. Every call is
 * written to STANDIN_LOG, one a line. Compiled with -DOLD it lacks what came after CUDA 11.4.
 *
 *   STANDIN_VERSION   what cuDriverGetVersion says: 13000, or 11040 with -DOLD
 *   STANDIN_DEVICES   how many devices there are: 1
 *   STANDIN_MIG       if set, each device is a part of one
 *   STANDIN_FAIL      CALL=CODE,… : these calls return these codes
 *   STANDIN_FAULT     DEVICE:CODE : after a launch on that device everything returns this code, as after a fault
 *   STANDIN_HANG      a call that never returns
 *   STANDIN_ABORT     a call that ends the process
 *   STANDIN_PARAMS    OFFSET:SIZE,… : the parameters of every kernel
 *   STANDIN_PRINTF    what every kernel prints
 *   STANDIN_NUMBERS   NAME=NUMBER,… : registers, threads, shared, blocks, clusters, cluster_size
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned Result;
typedef void *Handle;

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_CONTEXT = 201, NOT_FOUND = 500 };

static int initialised, current = -1, launched;
static uint64_t global_memory[64];

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* The number behind NAME= in a list; `otherwise` without. */
static long listed(const char *list, const char *name, long otherwise)
{
    size_t length = strlen(name);
    for (const char *at = setting(list, ""); *at; at += *at == ',') {
        if (!strncmp(at, name, length) && at[length] == '=')
            return strtol(at + length + 1, NULL, 0);
        at += strcspn(at, ",");
    }
    return otherwise;
}

static void record(const char *format, ...)
{
    const char *path = getenv("STANDIN_LOG");
    if (!path)
        return;
    char line[4096];
    int length = snprintf(line, sizeof line, "%d: ", current);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - length - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (write(file, line, length) != length)
        abort();
    close(file);
}

static int fault(void)
{
    int device, code;
    if (!launched || sscanf(setting("STANDIN_FAULT", ""), "%d:%d", &device, &code) != 2 || device != current)
        return 0;
    return code;
}

/* What a call returns before it does anything. */
static Result begin(const char *call)
{
    if (!strcmp(setting("STANDIN_HANG", ""), call))
        for (;;)
            pause();
    if (!strcmp(setting("STANDIN_ABORT", ""), call))
        abort();
    long code = listed("STANDIN_FAIL", call, 0);
    if (code)
        return code;
    if (!initialised && strcmp(call, "cuInit") && strcmp(call, "cuDriverGetVersion"))
        return NOT_INITIALIZED;
    return fault();
}

#define BEGIN(call)                                                                                                    \
    Result result = begin(call);                                                                                       \
    if (result)                                                                                                        \
        return result

/* For calls that need a context. */
#define IN_CONTEXT(call)                                                                                               \
    BEGIN(call);                                                                                                       \
    if (current < 0)                                                                                                   \
        return INVALID_CONTEXT

Result cuInit(unsigned flags)
{
    record("cuInit %u", flags);
    BEGIN("cuInit");
    initialised = 1;
    return 0;
}

Result cuDriverGetVersion(int *version)
{
#ifdef OLD
    *version = atoi(setting("STANDIN_VERSION", "11040"));
#else
    *version = atoi(setting("STANDIN_VERSION", "13000"));
#endif
    return begin("cuDriverGetVersion");
}

Result cuGetErrorName(Result code, const char **text)
{
    static const struct {
        Result code;
        const char *name;
    } known[] = {
        {1, "CUDA_ERROR_INVALID_VALUE"},
        {2, "CUDA_ERROR_OUT_OF_MEMORY"},
        {34, "CUDA_ERROR_STUB_LIBRARY"},
        {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
        {100, "CUDA_ERROR_NO_DEVICE"},
        {200, "CUDA_ERROR_INVALID_IMAGE"},
        {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {710, "CUDA_ERROR_ASSERT"},
        {719, "CUDA_ERROR_LAUNCH_FAILED"},
        {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
        {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    };
    for (size_t at = 0; at < sizeof known / sizeof *known; at++)
        if (known[at].code == code) {
            *text = known[at].name;
            return 0;
        }
    return INVALID_VALUE;
}

Result cuGetErrorString(Result code, const char **text)
{
    const char *name;
    *text = "the stand-in was told so";
    return cuGetErrorName(code, &name);
}

Result cuDeviceGetCount(int *count)
{
    BEGIN("cuDeviceGetCount");
    *count = atoi(setting("STANDIN_DEVICES", "1"));
    return 0;
}

Result cuDeviceGet(int *device, int ordinal)
{
    BEGIN("cuDeviceGet");
    *device = ordinal;
    return 0;
}

Result cuDeviceGetName(char *name, int length, int device)
{
    BEGIN("cuDeviceGetName");
    snprintf(name, length, "Stand-in %d", device);
    return 0;
}

static Result uuid(unsigned char *out, int first, int device)
{
    for (int at = 0; at < 16; at++)
        out[at] = first + device;
    return 0;
}

Result cuDeviceGetUuid(unsigned char *out, int device)
{
    BEGIN("cuDeviceGetUuid");
    return uuid(out, 0x10, device);
}

Result cuDeviceGetUuid_v2(unsigned char *out, int device)
{
    BEGIN("cuDeviceGetUuid_v2");
    return uuid(out, getenv("STANDIN_MIG") ? 0x80 : 0x10, device);
}

Result cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    BEGIN("cuDeviceTotalMem_v2");
    *bytes = 143771ul << 20;
    return 0;
}

/* An H200, by the numbers of cuda.h. */
Result cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    (void)device;
    static const struct {
        unsigned attribute;
        int value;
    } known[] = {
        {1, 1024},    {2, 1024},     {3, 1024},     {4, 64},    {5, 2147483647}, {6, 65535},   {7, 65535},
        {8, 49152},   {12, 65536},   {13, 1980000}, {16, 132},  {36, 3201000},   {37, 6144},   {38, 62914560},
        {39, 2048},   {75, 9},       {76, 0},       {81, 233472}, {82, 65536},   {95, 1},      {97, 232448},
        {106, 32},
#ifndef OLD
        {111, 1024},  {120, 1},
#endif
    };
    BEGIN("cuDeviceGetAttribute");
    for (size_t at = 0; at < sizeof known / sizeof *known; at++)
        if (known[at].attribute == attribute) {
            *value = known[at].value;
            return 0;
        }
    return INVALID_VALUE;
}

Result cuDeviceGetPCIBusId(char *id, int length, int device)
{
    BEGIN("cuDeviceGetPCIBusId");
    snprintf(id, length, "0000:%02x:00.0", device + 1);
    return 0;
}

Result cuDevicePrimaryCtxRetain(Handle *context, int device)
{
    record("cuDevicePrimaryCtxRetain %d", device);
    BEGIN("cuDevicePrimaryCtxRetain");
    *context = (Handle)(intptr_t)(device + 1);
    return 0;
}

Result cuDevicePrimaryCtxRelease_v2(int device)
{
    record("cuDevicePrimaryCtxRelease_v2 %d", device);
    return begin("cuDevicePrimaryCtxRelease_v2");
}

Result cuCtxSetCurrent(Handle context)
{
    BEGIN("cuCtxSetCurrent");
    current = (int)(intptr_t)context - 1;
    return 0;
}

Result cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, unsigned *options, void **values)
{
    record("cuModuleLoadDataEx %.3s", (const char *)image + 1);
    if (current < 0)
        return INVALID_CONTEXT;
    Result failed = begin("cuModuleLoadDataEx");
    for (unsigned at = 0; failed && at < count; at++)
        if (options[at] == 5 /* CU_JIT_ERROR_LOG_BUFFER */)
            strcpy(values[at], "stand-in: line 1 of the log\nstand-in: line 2 of the log\n");
    *module = (Handle)0x100;
    return failed;
}

Result cuModuleUnload(Handle module)
{
    (void)module;
    record("cuModuleUnload");
    return begin("cuModuleUnload");
}

Result cuModuleGetFunction(Handle *function, Handle module, const char *name)
{
    (void)module;
    record("cuModuleGetFunction %s", name);
    IN_CONTEXT("cuModuleGetFunction");
    *function = (Handle)0x200;
    return 0;
}

Result cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, Handle module, const char *name)
{
    (void)module;
    record("cuModuleGetGlobal_v2 %s", name);
    IN_CONTEXT("cuModuleGetGlobal_v2");
    *address = (uint64_t)global_memory;
    *bytes = strcmp(name, "table") ? 4 : 16;
    return 0;
}

Result cuFuncGetAttribute(int *value, unsigned attribute, Handle function)
{
    (void)function;
    IN_CONTEXT("cuFuncGetAttribute");
    switch (attribute) {
    case 0: *value = listed("STANDIN_NUMBERS", "threads", 1024); break;
    case 1: *value = listed("STANDIN_NUMBERS", "shared", 0); break;
    case 4: *value = listed("STANDIN_NUMBERS", "registers", 32); break;
    default: *value = 0;
    }
    return 0;
}

Result cuFuncSetAttribute(Handle function, unsigned attribute, int value)
{
    (void)function;
    record("cuFuncSetAttribute %u %d", attribute, value);
    IN_CONTEXT("cuFuncSetAttribute");
    return 0;
}

/* Offset and size of parameter `index`. */
static int parameter(size_t index, size_t *offset, size_t *size)
{
    const char *at = setting("STANDIN_PARAMS", "");
    for (; *at; at += *at == ',') {
        if (index-- == 0)
            return sscanf(at, "%zu:%zu", offset, size) == 2;
        at += strcspn(at, ",");
    }
    return 0;
}

static void record_parameters(void **pointers)
{
    size_t offset, size;
    for (size_t index = 0; parameter(index, &offset, &size); index++) {
        char hex[2 * 256 + 1] = "";
        for (size_t at = 0; at < size && at < 256; at++)
            sprintf(hex + 2 * at, "%02x", ((unsigned char *)pointers[index])[at]);
        record("parameter %zu %s", index, hex);
    }
}

static Result launch(const char *call, void **pointers)
{
    record_parameters(pointers);
    IN_CONTEXT(call);
    launched = 1;
    fputs(setting("STANDIN_PRINTF", ""), stdout);
    return 0;
}

Result cuLaunchKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, Handle stream, void **pointers, void **extra)
{
    (void)function, (void)stream, (void)extra;
    record("cuLaunchKernel grid %u,%u,%u block %u,%u,%u shared %u", gx, gy, gz, bx, by, bz, shared);
    return launch("cuLaunchKernel", pointers);
}

Result cuLaunchCooperativeKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared, Handle stream, void **pointers)
{
    (void)function, (void)stream;
    record("cuLaunchCooperativeKernel grid %u,%u,%u block %u,%u,%u shared %u", gx, gy, gz, bx, by, bz, shared);
    return launch("cuLaunchCooperativeKernel", pointers);
}

#ifndef OLD
typedef struct {
    unsigned id;
    char pad[4];
    unsigned value[16];
} Attribute;

typedef struct {
    unsigned grid[3], block[3], shared;
    Handle stream;
    Attribute *attributes;
    unsigned count;
} Config;

Result cuLaunchKernelEx(const Config *config, Handle function, void **pointers, void **extra)
{
    (void)function, (void)extra;
    const unsigned *g = config->grid, *b = config->block;
    record("cuLaunchKernelEx grid %u,%u,%u block %u,%u,%u shared %u", g[0], g[1], g[2], b[0], b[1], b[2], config->shared);
    for (unsigned at = 0; at < config->count; at++) {
        const Attribute *one = config->attributes + at;
        record("attribute %u = %d,%d,%d", one->id, one->value[0], one->value[1], one->value[2]);
    }
    return launch("cuLaunchKernelEx", pointers);
}

Result cuFuncGetParamInfo(Handle function, size_t index, size_t *offset, size_t *size)
{
    (void)function;
    IN_CONTEXT("cuFuncGetParamInfo");
    return parameter(index, offset, size) ? 0 : INVALID_VALUE;
}

Result cuOccupancyMaxActiveClusters(int *clusters, Handle function, const Config *config)
{
    (void)function, (void)config;
    IN_CONTEXT("cuOccupancyMaxActiveClusters");
    *clusters = listed("STANDIN_NUMBERS", "clusters", 66);
    return 0;
}

Result cuOccupancyMaxPotentialClusterSize(int *size, Handle function, const Config *config)
{
    (void)function, (void)config;
    IN_CONTEXT("cuOccupancyMaxPotentialClusterSize");
    *size = listed("STANDIN_NUMBERS", "cluster_size", 16);
    return 0;
}
#endif

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Handle function, int threads, size_t shared)
{
    (void)function;
    record("cuOccupancyMaxActiveBlocksPerMultiprocessor %d %zu", threads, shared);
    IN_CONTEXT("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *blocks = listed("STANDIN_NUMBERS", "blocks", 2);
    return 0;
}

Result cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    record("cuMemAlloc_v2 %zu", bytes);
    IN_CONTEXT("cuMemAlloc_v2");
    *address = (uint64_t)malloc(bytes);
    return *address ? 0 : 2;
}

Result cuMemFree_v2(uint64_t address)
{
    record("cuMemFree_v2");
    free((void *)address);
    return begin("cuMemFree_v2");
}

Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    (void)flags;
    record("cuMemHostAlloc %zu", bytes);
    IN_CONTEXT("cuMemHostAlloc");
    *pointer = malloc(bytes);
    return *pointer ? 0 : 2;
}

Result cuMemFreeHost(void *pointer)
{
    record("cuMemFreeHost");
    free(pointer);
    return begin("cuMemFreeHost");
}

Result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Handle stream)
{
    (void)stream;
    record("cuMemcpyHtoDAsync_v2 %zu", bytes);
    IN_CONTEXT("cuMemcpyHtoDAsync_v2");
    memcpy((void *)to, from, bytes);
    return 0;
}

Result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Handle stream)
{
    (void)stream;
    record("cuMemcpyDtoHAsync_v2 %zu", bytes);
    IN_CONTEXT("cuMemcpyDtoHAsync_v2");
    memcpy(to, (void *)from, bytes);
    return 0;
}

/* Nobody reads more of what was set; without the bound, flushing a cache takes minutes. */
enum { LOOKED_AT = 1 << 20 };

#define MEMSET(name, type)                                                                                             \
    Result name(uint64_t to, type value, size_t count, Handle stream)                                                  \
    {                                                                                                                  \
        (void)stream;                                                                                                  \
        record(#name " %zu", count);                                                                                   \
        IN_CONTEXT(#name);                                                                                             \
        for (size_t at = 0; at < count && at < LOOKED_AT; at++)                                                        \
            ((type *)to)[at] = value;                                                                                  \
        return 0;                                                                                                      \
    }
MEMSET(cuMemsetD8Async, uint8_t)
MEMSET(cuMemsetD16Async, uint16_t)
MEMSET(cuMemsetD32Async, uint32_t)

Result cuStreamCreate(Handle *stream, unsigned flags)
{
    record("cuStreamCreate %u", flags);
    IN_CONTEXT("cuStreamCreate");
    *stream = (Handle)0x300;
    return 0;
}

Result cuStreamDestroy_v2(Handle stream)
{
    (void)stream;
    record("cuStreamDestroy_v2");
    return begin("cuStreamDestroy_v2");
}

Result cuStreamSynchronize(Handle stream)
{
    (void)stream;
    record("cuStreamSynchronize");
    IN_CONTEXT("cuStreamSynchronize");
    return 0;
}

Result cuEventCreate(Handle *event, unsigned flags)
{
    (void)flags;
    IN_CONTEXT("cuEventCreate");
    *event = (Handle)0x400;
    return 0;
}

Result cuEventDestroy_v2(Handle event)
{
    (void)event;
    return begin("cuEventDestroy_v2");
}

Result cuEventRecord(Handle event, Handle stream)
{
    (void)event, (void)stream;
    record("cuEventRecord");
    IN_CONTEXT("cuEventRecord");
    return 0;
}

Result cuEventSynchronize(Handle event)
{
    (void)event;
    IN_CONTEXT("cuEventSynchronize");
    return 0;
}

Result cuEventElapsedTime(float *milliseconds, Handle start, Handle end)
{
    (void)start, (void)end;
    IN_CONTEXT("cuEventElapsedTime");
    *milliseconds = 0.5f;
    return 0;
}
