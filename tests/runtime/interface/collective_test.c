/*  tests/runtime/interface/collective_test.c - finds collectives by name and order. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "runtime/interface/collective.h"

static const tnd_collective_ops_t *found;
static tnd_error_t error;

static void finds(const char *name, const char *through, tnd_order_t order)
{
    cr_assert(tnd_collective_find(&found, through, order, &error) == TND_OK, "%s", error.text);
    cr_assert(strcmp(found->name, name) == 0, "%s", found->name);
}

Test(collective, is_found_by_its_name_or_chosen_for_its_order)
{
    finds("host", "host", TND_ORDER_TREE);
    finds("host", "auto", TND_ORDER_TREE);
    finds("nccl", "nccl", TND_ORDER_ANY);
    finds("nccl", "auto", TND_ORDER_ANY);
}

static void refuses(const char *through, tnd_order_t order, const char *why)
{
    cr_assert(tnd_collective_find(&found, through, order, &error) == TND_FAILED);
    cr_assert(strcmp(error.text, why) == 0, "%s", error.text);
}

Test(collective, names_what_there_is_if_it_is_not_in_this_build)
{
    static const char why[] = "this program cannot reduce `through: mpi`: it has host and nccl; "
                              "write one of these, or `auto`";
    refuses("mpi", TND_ORDER_TREE, why);
    refuses("mpi", TND_ORDER_ANY, why);
}

Test(collective, says_which_order_to_write)
{
    refuses("host", TND_ORDER_ANY,
            "`order: any` is not possible: what carries the values adds along the tree; write "
            "`order: tree`, which gives the same bits everywhere");
}
