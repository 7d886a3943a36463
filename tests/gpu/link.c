/*  tests/gpu/link.c - checks 2 and 8: what the link of a device carries, by the driver alone: copies of
 *  64 KiB to 256 MiB to the device and back, of page-locked and other memory, in both directions at a
 *  time.  The bytes arrive. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tests/gpu/gpu.h"

enum { SIZES = 13, COPIES = 20, WRITE_COMBINED = 4 };

static const size_t smallest = 65536, largest = smallest << (SIZES - 1);

typedef struct {
    gpu_t gpu;
    CUdeviceptr side, other; /* `other` is copied back while copies go to `side` */
    CUstream back;
    uint8_t *out, *in; /* page-locked */
} link_t;

static void put(link_t *self, const void *from, size_t bytes)
{
    GPU_CALL(&self->gpu, cuMemcpyHtoDAsync_v2, self->side, from, bytes, self->gpu.stream);
}

static void put_back(link_t *self, CUdeviceptr from, size_t bytes, CUstream stream)
{
    gpu_must_do(self->gpu.copy_back(self->in, from, bytes, stream) == CUDA_SUCCESS,
                "cuMemcpyDtoHAsync_v2 failed");
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/*  GB/s of a single copy, the median of some after one that is not counted. */
static double rate_of(link_t *self, const void *from, size_t bytes)
{
    uint64_t took[COPIES];
    for (int i = -1; i < COPIES; i++) {
        uint64_t begun = tnd_clock_now();
        if (from != NULL)
            put(self, from, bytes);
        else
            put_back(self, self->side, bytes, self->gpu.stream);
        gpu_wait(&self->gpu);
        if (i >= 0)
            took[i] = tnd_clock_now() - begun;
    }
    qsort(took, COPIES, sizeof took[0], compare);
    return (double)bytes / (double)took[COPIES / 2];
}

/*  GB/s of copies one after another, to the device, back, or both at a time. */
static double rate_of_many(link_t *self, bool to, bool back)
{
    size_t bytes = largest / 4;
    uint64_t begun = 0;
    for (int i = -2; i < COPIES; i++) {
        if (i == 0) {
            gpu_wait(&self->gpu);
            GPU_CALL(&self->gpu, cuStreamSynchronize, self->back);
            begun = tnd_clock_now();
        }
        if (to)
            put(self, self->out, bytes);
        if (back)
            put_back(self, self->other, bytes, self->back);
    }
    gpu_wait(&self->gpu);
    GPU_CALL(&self->gpu, cuStreamSynchronize, self->back);
    return (double)bytes * COPIES / (double)(tnd_clock_now() - begun);
}

static void measure_sizes(link_t *self)
{
    double best = 0, half = 0;
    char name[48];
    for (size_t bytes = smallest; bytes <= largest; bytes *= 2) {
        double rate = rate_of(self, self->out, bytes);
        snprintf(name, sizeof name, "to_device_%zu_KiB", bytes / 1024);
        gpu_show(2, name, rate, "GB/s", "");
        best = rate > best ? rate : best;
    }
    for (size_t bytes = smallest; half == 0 && bytes <= largest; bytes *= 2)
        if (rate_of(self, self->out, bytes) >= best / 2)
            half = (double)bytes;
    gpu_show(2, "to_device_best", best, "GB/s", "50 to 56 by PCIe 5");
    gpu_show(2, "half_of_it_at", half / 1e6, "MB", "0.3 to 1.1");
    gpu_show(2, "from_device", rate_of(self, NULL, largest), "GB/s", "50 to 57 by PCIe 5");
}

static void measure_memory(link_t *self)
{
    size_t bytes = largest / 4;
    double best = rate_of(self, self->out, bytes);
    void *combined = gpu_allocate_host(&self->gpu, bytes, WRITE_COMBINED), *plain = malloc(bytes);
    gpu_must_do(plain != NULL, "no memory");
    memset(plain, 1, bytes);
    gpu_show(2, "write_combined_of_it", rate_of(self, combined, bytes) / best, "", "1");
    gpu_show(2, "not_page_locked_of_it", rate_of(self, plain, bytes) / best, "", "0.1 to 0.4");
    free(plain);
    GPU_CALL(&self->gpu, cuMemFreeHost, combined);
}

static void measure_both_ways(link_t *self)
{
    double to = rate_of_many(self, true, false), back = rate_of_many(self, false, true);
    double both = rate_of_many(self, true, true);
    gpu_show(8, "to_device_alone", to, "GB/s", "");
    gpu_show(8, "from_device_alone", back, "GB/s", "");
    /* As many bytes move each way, so the slower one bounds the time. */
    gpu_show(8, "both_at_a_time_of_the_slower", both / (to < back ? to : back), "", "0.78 to 0.9");
}

static void check_bytes(link_t *self, size_t bytes)
{
    uint64_t state = 1, wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        self->out[i] = (uint8_t)(state >> 56);
    }
    memset(self->in, 0x5a, bytes);
    put(self, self->out, bytes);
    put_back(self, self->side, bytes, self->gpu.stream);
    gpu_wait(&self->gpu);
    for (size_t i = 0; i < bytes; i++)
        wrong += self->in[i] != self->out[i];
    gpu_exact(2, "wrong_bytes", (double)wrong, 0);
}

int main(int argc, char **argv)
{
    link_t self;
    gpu_begin(&self.gpu, argc, argv);
    size_t bytes = self.gpu.speeds ? largest : smallest;
    self.side = gpu_allocate(&self.gpu, bytes);
    self.other = gpu_allocate(&self.gpu, bytes);
    self.out = gpu_allocate_host(&self.gpu, bytes, 0);
    self.in = gpu_allocate_host(&self.gpu, bytes, 0);
    GPU_CALL(&self.gpu, cuStreamCreateWithPriority, &self.back, CU_STREAM_NON_BLOCKING, 0);
    check_bytes(&self, bytes);
    if (self.gpu.speeds) {
        measure_sizes(&self);
        measure_memory(&self);
        measure_both_ways(&self);
    }
    GPU_CALL(&self.gpu, cuStreamDestroy_v2, self.back);
    GPU_CALL(&self.gpu, cuMemFreeHost, self.in);
    GPU_CALL(&self.gpu, cuMemFreeHost, self.out);
    GPU_CALL(&self.gpu, cuMemFree_v2, self.other);
    GPU_CALL(&self.gpu, cuMemFree_v2, self.side);
    return gpu_end(&self.gpu);
}
