/*  tests/runtime/interface/collective_test.c - finds collectives by name and order. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "runtime/interface/collective.h"

static const tnd_collective_ops_t *found;
static tnd_error_t error;

Test(collective, is_found_by_its_name_or_chosen)
{
    cr_assert(tnd_collective_find(&found, "host", TND_ORDER_TREE, &error) == TND_OK);
    cr_assert(strcmp(found->name, "host") == 0);
    cr_assert(tnd_collective_find(&found, "auto", TND_ORDER_TREE, &error) == TND_OK);
    cr_assert(strcmp(found->name, "host") == 0);
}

static void refuses(const char *through, tnd_order_t order, const char *why)
{
    cr_assert(tnd_collective_find(&found, through, order, &error) == TND_FAILED);
    cr_assert(strcmp(error.text, why) == 0, "%s", error.text);
}

Test(collective, names_what_there_is_if_it_is_not_in_this_build)
{
    static const char why[] = "this program cannot reduce `through: nccl`: it has host only; write "
                              "that, or `auto`";
    refuses("nccl", TND_ORDER_TREE, why);
    refuses("nccl", TND_ORDER_ANY, why);
}

Test(collective, says_that_no_other_order_is_possible)
{
    static const char why[] =
        "`order: any` is not possible: what carries the values adds along the tree; "
        "write `order: tree`, which gives the same bits everywhere";
    refuses("host", TND_ORDER_ANY, why);
    refuses("auto", TND_ORDER_ANY, why);
}
