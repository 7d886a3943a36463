/*  tests/conformance/device_arrays.c - values of a replica in the memory of a device. */
#include "tests/conformance/device_arrays.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

static void succeed(tnd_status_t status, const tnd_error_t *error)
{
    if (status == TND_OK)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

static size_t bytes_of(const tnd_posting_t *post)
{
    return post->count * tnd_dtype_size(post->dtype);
}

static bool is_reduced_there(const tnd_posting_t *post)
{
    return post->reduce != TND_GATHER && post->root == 0 && post->sharing == TND_SHARE_NONE &&
           post->count > 0;
}

/*  The values, and after them the results unless they take their place. */
static void make_room(tnd_device_t *device, device_array_t *array, size_t bytes)
{
    size_t room = 2 * ((bytes + LINE - 1) / LINE * LINE);
    tnd_error_t error;
    if (array->area.host != NULL && array->area.device_bytes >= room)
        return;
    if (array->area.host != NULL)
        device->ops->reduction->release(device, &array->area);
    succeed(device->ops->reduction->allocate(device, room, room, &array->area, &error), &error);
}

void device_arrays_move(tnd_device_t *device, const tnd_device_queue_t *queue,
                        tnd_postings_t *posts, device_array_t *arrays)
{
    const tnd_device_reduction_t *ops = device->ops->reduction;
    uintptr_t stream = device->ops->stream(device);
    tnd_error_t error;
    for (uint32_t p = 0; p < posts->count; p++) {
        tnd_posting_t *post = &posts->items[p];
        device_array_t *array = &arrays[p];
        if (!is_reduced_there(post))
            continue;
        make_room(device, array, bytes_of(post));
        array->from = (void *)(uintptr_t)post->from;
        array->data = post->data;
        memcpy(array->area.host, post->from, bytes_of(post));
        succeed(ops->copy_in(device, queue, array->area.device, array->area.host, bytes_of(post),
                             &error),
                &error);
        post->from = array->area.device;
        post->data = (char *)array->area.device +
                     (array->data == array->from ? 0 : array->area.device_bytes / 2);
        post->on_device = true;
        post->streams = stream != 0;
        post->stream = stream;
    }
    succeed(ops->precede(device, queue, stream, &error), &error);
}

void device_arrays_bring(tnd_device_t *device, const tnd_device_queue_t *queue,
                         tnd_postings_t *posts, device_array_t *arrays)
{
    const tnd_device_reduction_t *ops = device->ops->reduction;
    tnd_error_t error;
    succeed(ops->follow(device, queue, device->ops->stream(device), &error), &error);
    for (uint32_t p = 0; p < posts->count; p++)
        if (posts->items[p].on_device)
            succeed(ops->copy_out(device, queue, arrays[p].area.host, posts->items[p].data,
                                  bytes_of(&posts->items[p]), &error),
                    &error);
    succeed(ops->mark(device, queue, 0, &error), &error);
    tnd_status_t status;
    while ((status = ops->reached(device, queue, 0, &error)) == TND_AGAIN)
        sched_yield();
    succeed(status, &error);
    for (uint32_t p = 0; p < posts->count; p++) {
        tnd_posting_t *post = &posts->items[p];
        if (!post->on_device)
            continue;
        memcpy(arrays[p].data, arrays[p].area.host, bytes_of(post));
        post->from = arrays[p].from;
        post->data = arrays[p].data;
        post->on_device = false;
    }
}
