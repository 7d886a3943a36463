/*  tools/remote/remote_clock.c - converts times of another machine to the clock of this one. */
#include "tools/remote/remote_clock.h"

/*  A moment of the other machine at which it was `there` when it was `here` on this one.  Moments
 *  before the start of this machine's clock become its first. */
static uint64_t moment_here(uint64_t moment, uint64_t there, uint64_t here)
{
    if (moment == 0)
        return 0;
    uint64_t age = there > moment ? there - moment : 0;
    return here > age ? here - age : 1;
}

static void convert(_Atomic uint64_t *word, uint64_t there, uint64_t here)
{
    *word = moment_here(*word, there, here);
}

static void convert_device(tnd_device_page_t *page, uint64_t there, uint64_t here)
{
    convert(&page->since_ns, there, here);
    convert(&page->pending_since_ns, there, here);
    convert(&page->wait_since_ns, there, here);
    convert(&page->worked_until_ns, there, here);
}

static void convert_actor(tnd_statistics_t *page, uint64_t there, uint64_t here)
{
    convert(&page->since_ns, there, here);
    convert(&page->begun_ns, there, here);
    convert(&page->waiting_ns, there, here);
    convert(&page->program_since_ns, there, here);
    for (unsigned f = 0; f < TND_PAGE_FED; f++)
        convert(&page->fed_ns[f], there, here);
    for (unsigned d = 0; d < TND_PAGE_DEVICES; d++)
        convert_device(&page->devices[d], there, here);
}

static void convert_record(const tnd_run_record_t *record, uint64_t there, uint64_t here)
{
    tnd_run_page_t *page = record->page;
    convert(&page->since_ns, there, here);
    convert(&page->started_ns, there, here);
    convert(&page->checkpoint_ns, there, here);
    convert(&page->control_ns, there, here);
    convert(&page->written_ns, there, here);
    convert(&page->metrics_waits_ns, there, here);
    convert(&page->paused_ns, there, here);
    for (uint32_t h = 0; h < record->shape.hosts; h++)
        convert(&record->hosts[h].since_ns, there, here);
    for (uint32_t e = 0; e < record->shape.edges; e++)
        for (unsigned end = 0; end < 2; end++)
            convert(&record->edges[e].ends[end].up_ns, there, here);
    for (unsigned l = 0; l < TND_LOG_RECORDS; l++)
        convert(&record->log[l].at_ns, there, here);
    for (uint32_t n = 0; n < record->shape.notes; n++) {
        for (unsigned s = 0; s < TND_RUN_NOTES_SUBJECTS; s++)
            convert(&record->notes[n].subjects[s].at_ns, there, here);
        for (unsigned s = 0; s < TND_RUN_NOTES_NEWEST; s++)
            convert(&record->notes[n].newest[s].at_ns, there, here);
    }
    for (uint32_t h = 0; h < record->shape.histories; h++)
        for (unsigned s = 0; s < TND_HISTORY_SECONDS; s++)
            convert(&record->histories[h].seconds[s].at_ns, there, here);
    for (uint32_t h = 0; h < record->shape.histories; h++)
        for (unsigned s = 0; s < TND_HISTORY_SPANS; s++)
            convert(&record->histories[h].spans[s].at_ns, there, here);
}

void tnd_remote_clock_convert(tnd_inspected_t *process, uint64_t there, uint64_t here)
{
    for (uint32_t a = 0; a < process->count; a++)
        convert_actor(&process->actors[a], there, here);
    convert_record(&process->record, there, here);
    process->last_ns = moment_here(process->last_ns, there, here);
}
