/*  tests/gpu/errors.c - check 20: errors of a device.  Each is one text that begins with the name of the
 *  device, or that says why there is none; only a fault of a kernel ends the use of the device. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/gpu.h"
#include "tests/gpu/gpu_device.h"

static const char fault_text[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                                 ".visible .entry fault()\n"
                                 "{\n"
                                 "    .reg .u64 %to;\n"
                                 "    mov.u64 %to, 16;\n"
                                 "    st.global.u64 [%to], %to;\n"
                                 "    ret;\n"
                                 "}\n";

static gpu_t gpu;
static tnd_error_t error;

/*  Prints a check of a text too: what is wrong must be readable. */
static void expect(const char *name, bool right)
{
    if (!right)
        fprintf(stderr, "%s: %s\n", name, error.text);
    gpu_exact(20, name, right, 1);
}

/*  In a process that has not used the driver. */
static bool is_refused_when_hidden(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        setenv("CUDA_VISIBLE_DEVICES", "", 1);
        _exit(tnd_device_check("cuda:0", "cuda:0", &error) == TND_FAILED &&
                      strstr(error.text, "no device") != NULL
                  ? 0
                  : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool uploads(tnd_device_t *device, tnd_stage_t *stage)
{
    tnd_stage_piece_t piece = {.from = stage->host, .rows = 1, .row_bytes = 64};
    return gpu_upload(device, stage, &piece, &error) == TND_OK;
}

static void check_names(void)
{
    static const char *const missing[] = {"cuda:99",
                                          "cuda:GPU-00000000-0000-0000-0000-000000000000"};
    for (size_t i = 0; i < 2; i++)
        expect(missing[i], tnd_device_check(missing[i], missing[i], &error) == TND_FAILED);
}

static void check_memory(tnd_device_t *device, tnd_stage_t *stage)
{
    tnd_stage_t huge;
    expect("too_large_is_refused",
           device->ops->stage(device, 64, (size_t)1 << 46, 64, &huge, &error) == TND_FAILED &&
               strncmp(error.text, "cuda:0", 6) == 0);
    expect("works_after_it", uploads(device, stage));
}

/*  Returns true if the context is lost for the whole process. */
static bool check_fault(tnd_device_t *device, tnd_stage_t *stage)
{
    char first[sizeof error.text];
    CUfunction fault = gpu_kernel(&gpu, fault_text, "fault");
    if (fault == NULL) {
        printf("the driver does not compile PTX: a fault of a kernel is not tried\n");
        return false;
    }
    GPU_CALL(&gpu, cuLaunchKernel, fault, 1, 1, 1, 1, 1, 1, 0, gpu.stream, (void *[]){NULL}, NULL);
    expect("a_kernel_fails", gpu.driver->cuStreamSynchronize(gpu.stream) != CUDA_SUCCESS);
    expect("then_uploads_fail", !uploads(device, stage) && strncmp(error.text, "cuda:0", 6) == 0);
    strcpy(first, error.text);
    fprintf(stderr, "the text of a lost device: %s\n", first);
    expect("with_the_same_text", !uploads(device, stage) && strcmp(error.text, first) == 0);
    return true;
}

int main(int argc, char **argv)
{
    bool refused = is_refused_when_hidden();
    tnd_stage_t stage;
    gpu_begin(&gpu, argc, argv);
    expect("hidden_is_refused", refused);
    check_names();
    tnd_device_t *device = gpu_open_device();
    gpu_must_do(device->ops->stage(device, 64, 64, 64, &stage, &error) == TND_OK, error.text);
    check_memory(device, &stage);
    bool lost = check_fault(device, &stage);
    device->ops->unstage(device, &stage);
    tnd_device_close(&device);
    expect("the_device_closes", device == NULL);
    return lost ? gpu_failed() : gpu_end(&gpu);
}
