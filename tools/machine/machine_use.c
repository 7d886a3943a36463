/*  tools/machine/machine_use.c - how much of the machine is in use, between two looks. */
#include "tools/machine/machine_use.h"

#include <stdarg.h>
#include <string.h>

/*  The share of a time by which a part of it grew; less than 0: not known. */
static double share_of(uint64_t part_was, uint64_t part_is, uint64_t was, uint64_t is)
{
    if (was == 0 || is <= was || part_is < part_was)
        return -1;
    double share = (double)(part_is - part_was) / (double)(is - was);
    return share < 1 ? share : 1;
}

static double rate_of(uint64_t was, uint64_t is, double seconds)
{
    return was == 0 || is < was || seconds <= 0 ? -1 : (double)(is - was) / seconds;
}

tnd_machine_use_t tnd_machine_use(const tnd_inspection_t *before, const tnd_inspection_t *after)
{
    const tnd_machine_load_t *was = &before->load, *is = &after->load;
    double seconds = (double)(after->now_ns - before->now_ns) * 1e-9;
    double idle = share_of(was->idle_ticks, is->idle_ticks, was->ticks, is->ticks);
    bool known = is->memory > 0 && is->free <= is->memory;
    return (tnd_machine_use_t){.busy = idle < 0 ? -1 : 1 - idle,
                               .disk =
                                   share_of(was->disk_ticks, is->disk_ticks, was->ticks, is->ticks),
                               .memory = known ? is->memory : 0,
                               .used = known ? is->memory - is->free : 0,
                               .read = rate_of(was->read, is->read, seconds),
                               .written = rate_of(was->written, is->written, seconds)};
}

/*  Adds to a list. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    if (used > 0)
        used += (size_t)snprintf(text + used, TND_MACHINE_USE_TEXT - used, ", ");
    if (used < TND_MACHINE_USE_TEXT)
        vsnprintf(text + used, TND_MACHINE_USE_TEXT - used, format, list);
    va_end(list);
}

const char *tnd_machine_use_text(const tnd_machine_use_t *self, char text[TND_MACHINE_USE_TEXT])
{
    text[0] = '\0';
    if (self->busy >= 0)
        add(text, "cpu %.0f %%", 100 * self->busy);
    if (self->memory > 0)
        add(text, "memory %.0f %%", 100 * (double)self->used / (double)self->memory);
    if (self->read >= 0 && self->written >= 0)
        add(text, "disks %.1f MB/s in, %.1f out", self->read * 1e-6, self->written * 1e-6);
    return text;
}

static void write_number(FILE *out, const char *name, double number, int digits)
{
    if (number >= 0)
        fprintf(out, ",\"%s\":%.*f", name, digits, number);
    else
        fprintf(out, ",\"%s\":null", name);
}

void tnd_machine_use_json(const tnd_machine_use_t *self, FILE *out)
{
    fputs(",\"machine\":{\"processors_share\":", out);
    if (self->busy >= 0)
        fprintf(out, "%.4f", self->busy);
    else
        fputs("null", out);
    write_number(out, "disk_wait_share", self->disk, 4);
    write_number(out, "memory_bytes", self->memory > 0 ? (double)self->memory : -1, 0);
    write_number(out, "memory_used_bytes", self->memory > 0 ? (double)self->used : -1, 0);
    write_number(out, "disks_read_bytes_per_second", self->read, 1);
    write_number(out, "disks_written_bytes_per_second", self->written, 1);
    fputs("}", out);
}
