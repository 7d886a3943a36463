/*  runtime/core/stream/share.c - what a replica gets of a batch. */
#include "runtime/core/stream/share.h"

#include "runtime/base/bug_injection.h"

tnd_share_t tnd_share_of(const tnd_share_batch_t *batch, uint32_t replica)
{
    uint64_t size = batch->size, rows = batch->rows, cut = batch->pads ? size : rows;
    uint64_t from = tnd_split_offset(batch->split, size, cut, batch->replicas, replica);
    uint64_t to = from + tnd_split_rows(batch->split, size, cut, batch->replicas, replica);
    tnd_share_t share = {.offset = from < rows ? from : rows};
    share.total = (to < rows ? to : rows) - share.offset;
    share.padded = to - from - share.total;

    uint64_t end = batch->mine_first + batch->mine_rows;
    uint64_t first = share.offset > batch->mine_first ? share.offset : batch->mine_first;
    uint64_t last = share.offset + share.total < end ? share.offset + share.total : end;
    share.first = first;
    share.rows = first < last ? last - first : 0;
    bool has_rank_0 = batch->mine_first == 0 && batch->mine_rows > 0;
    share.mine = share.rows > 0 || (share.total == 0 && has_rank_0);
    return share;
}

tnd_share_t tnd_share_of_piece(const tnd_share_batch_t *batch, uint32_t lanes, uint32_t lane,
                               uint32_t replica)
{
    uint32_t own = batch->replicas / lanes;
    uint32_t piece = replica % own * lanes + replica / own;
    tnd_share_t share = tnd_share_of(batch, TND_BUG(PIECES_IN_A_ROW) ? replica : piece);
    share.mine = replica / own == lane;
    return share;
}
