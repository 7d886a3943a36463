/*  Covers runtime/plan/actor_names.h: which instances a name means, and what is said of one that means none. */
#include "runtime/plan/actor_names.h"

#include <string.h>

#include <criterion/criterion.h>

static tnd_instance_t instances[] = {
    {.actor = "read", .name = "read", .chain = 0},
    {.actor = "prep", .name = "prep.0", .chain = 0},
    {.actor = "prep", .name = "prep.1", .chain = 0},
    {.actor = "test", .name = "test", .chain = 1},
    {.actor = "prep", .name = "prep.2", .chain = 1},
};
static const tnd_chain_plan_t chains[] = {{.feeder = "feed"}, {.feeder = NULL}};
static const tnd_plan_t plan = {
    .instances = instances, .instance_count = 5, .chains = chains, .chain_count = 2};

Test(actor_names, an_actor_is_found_by_its_first_instance)
{
    cr_assert_eq(tnd_plan_first_of(&plan, "prep"), 1);
    cr_assert_eq(tnd_plan_first_of(&plan, "prep.1"), 5, "it is not an actor");
    cr_assert_eq(tnd_plan_count_of(&plan, "prep"), 3);
    cr_assert_eq(tnd_plan_count_of(&plan, "x"), 0);
    cr_assert_eq(tnd_plan_first_in(&plan, "prep", 1), 4);
    cr_assert_eq(tnd_plan_first_in(&plan, "test", 0), 5);
    cr_assert_str_eq(tnd_plan_chain_name(&plan, 0), "feed");
    cr_assert_str_eq(tnd_plan_chain_name(&plan, 1), "the graph");
}

Test(actor_names, a_name_means_one_instance_of_the_running_chain)
{
    uint32_t instance;
    tnd_error_t error;
    cr_assert_eq(tnd_plan_find(&plan, "prep.1", 0, &instance, &error), TND_OK);
    cr_assert_eq(instance, 2);
    cr_assert_eq(tnd_plan_find(&plan, "prep", 1, &instance, &error), TND_OK);
    cr_assert_eq(instance, 4);
    cr_assert_eq(tnd_plan_find(&plan, "prep", 0, &instance, &error), TND_FAILED);
    cr_assert_str_eq(error.text, "there are 2 of it; name one, such as prep.0");
    cr_assert_eq(tnd_plan_find(&plan, "tent", 0, &instance, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "no actor of that name is in the running chain, feed"));
    cr_assert_eq(tnd_plan_find(&plan, "test", 0, &instance, &error), TND_FAILED);
    cr_assert_str_eq(error.text,
                     "its chain, the graph, rests while feed is fed; try again when it is fed");
}
