/*  Covers every option table of kinds, sources, operations and optimizers: each table is consistent,
 *  so that a mistake is found here and not by the first user of the option. */
#include "runtime/option/option_print.h"
#include "runtime/option/registry.h"

#include <string.h>

#include <criterion/criterion.h>

#include "actors/optimizer/optimizers.h"
#include "runtime/core/protocol/message_table.h"
#include "runtime/topology/topology.h"

static void check_table(const tnd_table_t *table);

static void check_fallback(const tnd_table_t *table, const tnd_option_t *option)
{
    uint64_t field[16] = {0};
    tnd_arena_t *arena = tnd_arena_new();
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_new(arena);
    tnd_options_context_t context = {.arena = arena, .diagnostics = diagnostics};
    if (option->fallback != NULL && option->fallback[0] != '\0')
        cr_expect(tnd_option_parse(&context, option,
                                   tnd_value_scalar(arena, (tnd_mark_t){0}, option->fallback),
                                   field),
                  "the default of %s.%s is not a valid value", table->name, option->name);
    cr_expect(strlen(tnd_option_expects(arena, option)) > 0);
    tnd_arena_destroy(&arena);
}

static void check_option(const tnd_table_t *table, size_t index)
{
    const tnd_option_t *option = &table->options[index];
    bool rest = strcmp(option->name, "*") == 0;
    cr_expect(rest ? index + 1 == table->option_count : tnd_options_is_name(option->name), "%s.%s",
              table->name, option->name);
    cr_expect(option->help != NULL && strlen(option->help) > 5, "%s.%s has no help", table->name,
              option->name);
    cr_expect(option->role == TND_ROLE_GRAPH || option->role == TND_ROLE_PLACE ||
                  option->role == TND_ROLE_SECURE || option->role == TND_ROLE_TUNE,
              "%s.%s has no role", table->name, option->name);
    cr_expect_lt(option->offset, table->size, "%s.%s is outside its struct", table->name,
                 option->name);
    cr_expect(option->type != TND_OPTION_ENUM || option->choices != NULL, "%s.%s has no choices",
              table->name, option->name);
    for (size_t i = 0; i < index; i++)
        cr_expect_str_neq(table->options[i].name, option->name, "%s.%s is there twice", table->name,
                          option->name);
    if (!rest)
        check_fallback(table, option);
    if (option->type == TND_OPTION_TABLE) {
        cr_assert(option->table != NULL);
        check_table(option->table);
    }
    if (option->type == TND_OPTION_PART || option->type == TND_OPTION_PARTS)
        cr_expect(option->parts != NULL, "%s.%s names no parts", table->name, option->name);
}

static void check_table(const tnd_table_t *table)
{
    cr_expect(tnd_options_is_name(table->name), "%s", table->name);
    cr_expect(table->help != NULL && strlen(table->help) > 5, "%s has no help", table->name);
    for (size_t i = 0; i < table->option_count; i++)
        check_option(table, i);
}

/*  A kind handles exactly the messages that messages.def sends to its roles. */
static void check_accepts(const tnd_kind_spec_t *kind)
{
    /* A feeder whose steps are dealt plays another role. */
    uint16_t roles = TND_PARTY(kind->role);
    if (kind->role == TND_ROLE_FEEDER)
        roles |= TND_PARTY_REPLICA;
    for (uint32_t m = 0; m < TND_MSG_KINDS; m++) {
        uint16_t receivers = 0;
        for (size_t r = 0; r < TND_ROUTES_MAX; r++)
            receivers |= tnd_msg_specs[m].routes[r].receivers;
        cr_expect_eq(tnd_kind_accepts(kind, m), (receivers & roles) != 0, "%s and %s",
                     kind->table.name, tnd_msg_specs[m].name);
    }
}

Test(tables, of_kinds_are_consistent)
{
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);

    cr_expect_geq(count, 5);
    for (size_t i = 0; i < count; i++) {
        check_table(&kinds[i]->table);
        cr_expect(kinds[i]->inlet_count + kinds[i]->outlet_count > 0);
        check_accepts(kinds[i]);
        cr_expect_neq(kinds[i]->role, TND_ROLE_NONE, "%s declares no role", kinds[i]->table.name);
        if (i > 0)
            cr_expect_lt(strcmp(kinds[i - 1]->table.name, kinds[i]->table.name), 0);
    }
    check_table(&tnd_settings_table);
}

Test(tables, of_sources_are_consistent)
{
    size_t count = 0;
    const tnd_source_spec_t *const *sources = tnd_registry_sources(&count);

    for (size_t i = 0; i < count; i++) {
        check_table(&sources[i]->table);
        cr_expect_eq(tnd_registry_source_table(i), &sources[i]->table);
        if (i > 0)
            cr_expect_lt(strcmp(sources[i - 1]->table.name, sources[i]->table.name), 0);
    }
    cr_expect_null(tnd_registry_source_table(count));
}

Test(tables, of_operations_are_consistent)
{
    size_t count = 0;
    const tnd_op_spec_t *const *ops = tnd_registry_ops(&count);

    for (size_t i = 0; i < count; i++) {
        check_table(&ops[i]->table);
        cr_expect_eq(tnd_registry_op_table(i), &ops[i]->table);
        if (i > 0)
            cr_expect_lt(strcmp(ops[i - 1]->table.name, ops[i]->table.name), 0);
    }
    cr_expect_null(tnd_registry_op_table(count));
}

Test(tables, of_optimizers_are_consistent)
{
    size_t count = 0;
    for (; tnd_optimizer_table(count) != NULL; count++) {
        check_table(tnd_optimizer_table(count));
        if (count > 0)
            cr_expect_lt(
                strcmp(tnd_optimizer_table(count - 1)->name, tnd_optimizer_table(count)->name), 0);
    }
    cr_expect_eq(count, 2);
}
