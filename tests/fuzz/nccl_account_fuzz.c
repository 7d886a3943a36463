/*  tests/fuzz/nccl_account_fuzz.c - what replicas of other processes tell before NCCL reduces.
 *
 *  The first byte is how many replicas there are; then come the words of all, and those of replica 0 end at
 *  a place that the second byte chooses. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/collective/nccl_internal.h"

enum { REPLICAS = 4, POSTINGS = 3, WORD = sizeof(uint64_t) };

/*  Cuts the words of all replicas: those of replica 0, then even parts. */
static void cut(size_t *first, uint32_t replicas, size_t words, uint8_t place)
{
    first[0] = 0;
    first[1] = words * place / UINT8_MAX;
    for (uint32_t r = 2; r <= replicas; r++)
        first[r] = first[1] + (words - first[1]) * (r - 1) / (replicas > 1 ? replicas - 1 : 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2)
        return 0;
    uint32_t replicas = 1 + bytes[0] % REPLICAS;
    size_t words = (size - 2) / WORD, first[REPLICAS + 1];
    tnd_posting_t items[POSTINGS];
    for (uint32_t p = 0; p < POSTINGS; p++)
        items[p] = (tnd_posting_t){.reduce = TND_SUM, .dtype = TND_F32, .count = 1};
    const tnd_postings_t posts = {.items = items, .count = POSTINGS};
    const tnd_postings_t *all[REPLICAS] = {&posts, &posts, &posts, &posts};
    nccl_t nccl = {.config = {.replicas = replicas, .count = replicas, .posts = all}};
    nccl_thread_t thread = {.nccl = &nccl, .count = replicas};
    tnd_nccl_member_config_t meeting;
    cut(first, replicas, words, bytes[1]);
    if (replicas == 1)
        first[1] = words;
    uint8_t *data = malloc(words * WORD + 1); /* just as large as it must be */
    memcpy(data, bytes + 2, words * WORD);
    const tnd_gathered_t gathered = {.dtype = TND_U64, .data = data, .first = first};
    (void)tnd_nccl_account_read(&thread, &gathered);
    if (tnd_nccl_account_meet(&thread, &gathered, &meeting) == TND_NCCL_ALIKE &&
        meeting.rank > meeting.ranks)
        abort();
    free(thread.totals);
    free(data);
    return 0;
}
