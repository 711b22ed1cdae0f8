#include <cassert>
#include <cstdio>
#include <cstdlib>

struct List {
    double value;
    List *next;
};

__device__ List *push(List *list, double value) {
    List *node = static_cast<List *>(malloc(sizeof(List)));
    assert(node != nullptr);
    *node = {value, list};
    return node;
}

__device__ double drain(List *list) {
    double *copy = new double[16];
    double total = 0;
    for (int i = 0; list != nullptr; i++) {
        copy[i & 15] = list->value;
        total += copy[(i + 1) & 15] / list->value;
        List *next = list->next;
        free(list);
        list = next;
    }
    printf("total %f\n", total);
    delete[] copy;
    return total;
}
