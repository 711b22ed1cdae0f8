/* Launches `double_all` out of the fatbin that an object linked into this program holds under `kernels`, and checks what
 * it did. Needs nothing of CUDA but the driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

extern const char kernels[];

typedef unsigned long long pointer;

static void *driver;

static void *function(const char *name) {
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "libcuda has no %s\n", name);
        exit(3);
    }
    return found;
}

#define CALL(name, types, ...)                                                                                         \
    do {                                                                                                               \
        int code = ((int (*) types)function(#name))(__VA_ARGS__);                                                      \
        if (code) {                                                                                                    \
            fprintf(stderr, "%s: error %d\n", #name, code);                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

int main(void) {
    int device, count = 10, numbers[10];
    void *context, *module, *kernel;
    pointer buffer;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 3;
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuModuleLoadData, (void **, const void *), &module, kernels);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, "double_all");
    CALL(cuMemAlloc_v2, (pointer *, size_t), &buffer, sizeof numbers);
    CALL(cuMemcpyHtoD_v2, (pointer, const void *, size_t), buffer, numbers, sizeof numbers);
    void *arguments[] = {&buffer, &count};
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), kernel,
         1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
    CALL(cuMemcpyDtoH_v2, (void *, pointer, size_t), numbers, buffer, sizeof numbers);
    for (int i = 0; i < count; i++)
        printf("%d%c", numbers[i], i + 1 < count ? ' ' : '\n');
    return 0;
}
