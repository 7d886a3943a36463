/*  actors/source/columns_access.c - whether files are mapped or read, and what is read ahead. */
#include "actors/source/columns_internal.h"
#include "actors/stored/splits.h"
#include "runtime/data/open_files.h"

/*  Bytes requested ahead: enough to keep a disk busy, but not so much that pages are evicted before
 *  use. */
enum { AHEAD_REQUESTS = 128, AHEAD_BYTES = 8 << 20 };

/*  After this many rows that had all been requested before, requests stop until pages are
 *  evicted. */
enum { IDLE_MOST = 4096 };

/*  Whether rows are used directly from the file. */
static bool is_in_file(const tnd_stored_t *stored)
{
    return stored->content.path != NULL &&
           (stored->content.mapping != NULL || stored->content.is_read);
}

static tnd_access_case_t look_at_files(const tnd_columns_t *self, const tnd_source_scope_t *scope)
{
    tnd_access_case_t found = {.asked = scope->access,
                               .pattern = scope->pattern,
                               .room = scope->room != 0 ? scope->room : UINT64_MAX};
    /* Plugins may use the other half. */
    found.descriptors = tnd_open_files_unreserved() / 2;
    for (uint32_t s = 0; s < self->strand_count; s++)
        for (size_t i = 0; i < self->strands[s].count; i++) {
            const tnd_stored_t *stored = &self->strands[s].stored[i];
            if (is_in_file(stored)) {
                found.bytes += stored->content.size;
                found.files++;
            }
        }
    return found;
}

/*  A file opened by path is mapped first, if that is allowed; its rows decide whether it stays
 *  so. */
static tnd_status_t settle(tnd_columns_t *self, tnd_stored_t *stored, const tnd_access_plan_t *plan,
                           const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                           tnd_error_t *error)
{
    if (!is_in_file(stored))
        return TND_OK;
    if (!plan->map && stored->content.mapping != NULL) {
        tnd_buffer_drop(&stored->buffer);
        TND_TRY(tnd_content_unmap(&stored->content, error));
    }
    tnd_content_advise(&stored->content, scope->pattern, plan->fits);
    *(stored->content.mapping != NULL ? &facts->mapped : &facts->read) += stored->content.size;
    if (self->loader != NULL)
        tnd_loader_add(self->loader, stored->path);
    return TND_OK;
}

/*  How many rows are requested ahead, from the size of the columns that are in files. */
static uint32_t choose_ahead(const tnd_columns_t *self)
{
    size_t bytes = 0;
    uint32_t strands = 0;
    for (uint32_t s = 0; s < self->strand_count; s++) {
        const tnd_strand_t *strand = &self->strands[s];
        bool in_file = false;
        for (size_t i = 0; i < strand->count; i++)
            in_file = in_file || is_in_file(&strand->stored[i]);
        strands += in_file;
        if (in_file)
            bytes += tnd_strand_row_max(strand);
    }
    if (strands == 0)
        return 0;
    size_t rows = AHEAD_REQUESTS / strands;
    rows = AHEAD_BYTES / bytes < rows ? AHEAD_BYTES / bytes : rows;
    return rows > 0 ? (uint32_t)rows : 1;
}

tnd_status_t tnd_columns_settle(tnd_columns_t *self, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error)
{
    tnd_access_case_t found = look_at_files(self, scope);
    facts->access = tnd_access_choose(&found);
    facts->room = scope->room;
    if (facts->access.load && found.files > 0)
        self->loader = tnd_loader_new();
    for (uint32_t s = 0; s < self->strand_count; s++) {
        tnd_strand_t *strand = &self->strands[s];
        for (size_t i = 0; i < strand->count; i++)
            TND_TRY(settle(self, &strand->stored[i], &facts->access, scope, facts, error));
    }
    if (scope->pattern != TND_PATTERN_FORWARD)
        self->ahead = choose_ahead(self);
    return TND_OK;
}

/* --- reading ahead ---------------------------------------------------------------------------- */

/*  Requests records of a strand, contiguous ones together.  Returns false if all had been requested
 *  before. */
static bool request_all(const tnd_strand_t *strand, const uint64_t *index, uint32_t count)
{
    bool found = false;
    for (uint32_t i = 0, some; i < count; i += some) {
        size_t file = tnd_strand_file(strand, index[i]);
        const tnd_stored_t *stored = &strand->stored[file];
        uint64_t row = index[i] - strand->first[file], left = stored->rows - row;
        for (some = 1; i + some < count && some < left && index[i + some] == index[i] + some;)
            some++;
        if (is_in_file(stored))
            found |= tnd_content_ahead(&stored->content, stored->offset + row * strand->record,
                                       some * strand->record);
    }
    return found;
}

/*  Requests rows of a ragged column; its splits are small. */
static bool request_ragged(const tnd_strand_t *strand, const uint64_t *index, uint32_t count)
{
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        size_t file = tnd_strand_file(strand, index[i]);
        const tnd_stored_t *stored = &strand->stored[file];
        uint64_t begin, end;
        tnd_error_t ignored; /* the read of the row reports it */
        if (is_in_file(stored) &&
            tnd_splits_row(&strand->splits[file], stored, index[i] - strand->first[file], &begin,
                           &end, &ignored) == TND_OK)
            found |= tnd_content_ahead(&stored->content, stored->offset + begin * strand->record,
                                       (end - begin) * strand->record);
    }
    return found;
}

uint32_t tnd_columns_ahead_rows(const void *state)
{
    const tnd_columns_t *self = state;
    return atomic_load_explicit(&self->idle, memory_order_relaxed) < IDLE_MOST ? self->ahead : 0;
}

void tnd_columns_ahead(void *state, const uint64_t *index, uint32_t count)
{
    tnd_columns_t *self = state;
    bool found = false;
    if (self->loader != NULL)
        tnd_loader_begin(self->loader);
    for (uint32_t s = 0; s < self->strand_count; s++) {
        const tnd_strand_t *strand = &self->strands[s];
        found |= strand->splits != NULL ? request_ragged(strand, index, count)
                                        : request_all(strand, index, count);
    }
    if (found)
        atomic_store_explicit(&self->idle, 0, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&self->idle, count, memory_order_relaxed);
}

void tnd_columns_note(tnd_columns_t *self, const tnd_strand_t *strand, uint64_t index)
{
    const tnd_stored_t *stored = &strand->stored[tnd_strand_file(strand, index)];
    if (atomic_load_explicit(&self->idle, memory_order_relaxed) >= IDLE_MOST &&
        is_in_file(stored) && tnd_content_by_rows(&stored->content))
        atomic_store_explicit(&self->idle, 0, memory_order_relaxed);
}
