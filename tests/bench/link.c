/* The floor under a link: loads nvJitLink and makes the calls for two or more inputs, nothing else.
 *
 *   link LIBRARY ARCH OUT KIND=FILE...      KIND: cubin, ptx, ltoir; `ltoir` asks for link-time optimisation, and
 *                                           NVVM_LATEST in the environment for the newer LLVM
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *Handle;

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) { perror(path); exit(1); }
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = calloc(*size + 1, 1);
    if (fread(data, 1, *size, file) != *size) exit(1);
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    int (*create)(Handle *, unsigned, const char **) = dlsym(library, "nvJitLinkCreate");
    int (*add)(Handle, int, const void *, size_t, const char *) = dlsym(library, "nvJitLinkAddData");
    int (*complete)(Handle) = dlsym(library, "nvJitLinkComplete");
    int (*get_size)(Handle, size_t *) = dlsym(library, "nvJitLinkGetLinkedCubinSize");
    int (*get)(Handle, void *) = dlsym(library, "nvJitLinkGetLinkedCubin");
    int (*destroy)(Handle *) = dlsym(library, "nvJitLinkDestroy");
    char arch[64];
    snprintf(arch, sizeof arch, "-arch=%s", argv[2]);
    const char *options[] = { arch, "-lto", "-nvvm-latest" };
    int lto = 0;
    for (int i = 4; i < argc; i++)
        lto |= !strncmp(argv[i], "ltoir=", 6);
    Handle handle;
    if (create(&handle, 1 + lto + (lto && getenv("NVVM_LATEST")), options)) return 2;
    for (int i = 4; i < argc; i++) {
        char *file = strchr(argv[i], '=');
        size_t size;
        *file++ = 0;
        char *data = read_file(file, &size);
        int kind = !strcmp(argv[i], "cubin") ? 1 : !strcmp(argv[i], "ptx") ? 2 : 3;
        if (add(handle, kind, data, size + (kind == 2), file)) return 3;
    }
    size_t size;
    if (complete(handle) || get_size(handle, &size)) return 4;
    char *out = malloc(size);
    if (get(handle, out)) return 5;
    destroy(&handle);
    FILE *file = fopen(argv[3], "wb");
    return fwrite(out, 1, size, file) == size && !fclose(file) ? 0 : 6;
}
