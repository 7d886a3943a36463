/*  runtime/topology/topology_orders.c - warns of orders that choose other rows in each epoch. */
#include "runtime/topology/topology_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static const char reshuffle[] = "reshuffle_each_iteration";

static bool is_called(const tnd_part_t *part, const char *name)
{
    return part->table != NULL && strcmp(part->table->name, name) == 0;
}

/*  `files` has the options of its shuffle in a table of its own. */
static const void *find_field(const tnd_part_t *part, const char *name, tnd_option_type_t type)
{
    const tnd_option_t *shuffle = tnd_options_find(part->table, "shuffle");
    if (shuffle == NULL || shuffle->type != TND_OPTION_TABLE)
        return tnd_options_field(part->table, part->options, name, type);
    const void *const *inner =
        tnd_options_field(part->table, part->options, "shuffle", TND_OPTION_TABLE);
    return inner != NULL ? tnd_options_field(shuffle->table, *inner, name, type) : NULL;
}

/*  Whether a map gives another order in each epoch. */
static bool changes(const tnd_part_t *part)
{
    if (part->table == NULL)
        return false;
    const bool *again = find_field(part, reshuffle, TND_OPTION_BOOL);
    return is_called(part, "global") || (again != NULL && *again);
}

static void print_value(const tnd_value_t *value, FILE *out)
{
    if (value->type == TND_VALUE_SCALAR) {
        fputs(value->text, out);
        return;
    }
    if (value->type == TND_VALUE_LIST) {
        fputc('[', out);
        for (size_t i = 0; i < value->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            print_value(value->items[i], out);
        }
        fputc(']', out);
        return;
    }
    fputc('{', out);
    for (size_t i = 0; value->type == TND_VALUE_MAP && i < value->count; i++) {
        fprintf(out, "%s%s: ", i > 0 ? ", " : "", value->entries[i].key);
        print_value(value->entries[i].value, out);
    }
    fputc('}', out);
}

/*  Prints the options of a shuffle, or its one option `lone`, for the same order in each epoch. */
static void print_fixed_options(const tnd_value_t *options, const char *lone, FILE *out)
{
    fputc('{', out);
    if (options != NULL && options->type == TND_VALUE_SCALAR)
        fprintf(out, "%s: %s, ", lone, options->text);
    for (size_t i = 0; options != NULL && options->type == TND_VALUE_MAP && i < options->count;
         i++) {
        if (strcmp(options->entries[i].key, reshuffle) == 0)
            continue;
        fprintf(out, "%s: ", options->entries[i].key);
        print_value(options->entries[i].value, out);
        fputs(", ", out);
    }
    fprintf(out, "%s: false}", reshuffle);
}

/*  Prints a map so that it gives the same order in each epoch. */
static void print_fixed(const tnd_part_t *part, FILE *out)
{
    bool written = part->value->type == TND_VALUE_MAP;
    const tnd_value_t *options = written ? part->value->entries[0].value : NULL;
    bool files = is_called(part, "files");
    fprintf(out, "{%s: ", is_called(part, "global") ? "index_shuffle" : part->table->name);
    if (files)
        fputs("{shuffle: ", out);
    print_fixed_options(files ? tnd_value_get(options, "shuffle") : options, part->table->scalar,
                        out);
    fputs(files ? "}}" : "}", out);
}

/*  Item `last` chooses rows after item `first`, which changes. */
static void report_order(const tnd_part_list_t *order, size_t first, size_t last,
                         tnd_diagnostics_t *diagnostics)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    for (size_t i = 0; i < order->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        if (i < last && changes(&order->items[i]))
            print_fixed(&order->items[i], out);
        else
            print_value(order->items[i].value, out);
    }
    fclose(out);
    tnd_diagnostics_add(diagnostics, TND_T078_LEAKING_ORDER, order->items[last].value->mark,
                        "`%s` chooses other rows in each epoch, because `%s` before it gives "
                        "another order in each, so rows that are kept for validation are trained "
                        "on",
                        order->items[last].table->name, order->items[first].table->name);
    tnd_diagnostics_help(diagnostics, "for the same rows in each epoch write `order: [%s]`", text);
    free(text);
}

static uint64_t number_of(const tnd_part_t *part, const char *name)
{
    const uint64_t *number = find_field(part, name, TND_OPTION_U64);
    return number != NULL ? *number : 0;
}

/*  Whether a map leaves out rows by their positions. */
static bool chooses(const tnd_part_t *part)
{
    uint64_t count = number_of(part, "count");
    return is_called(part, "part") || (is_called(part, "take") && count != TND_UNKNOWN) ||
           (is_called(part, "skip") && count > 0) || (is_called(part, "shard") && count > 1);
}

/*  Whether the data are passed over again after item `first` of the order. */
static bool is_repeated(const tnd_topology_actor_t *reader, const tnd_part_list_t *order,
                        size_t first)
{
    const uint64_t *epochs = tnd_topology_option(reader, "epochs", TND_OPTION_U64);
    bool repeated = epochs != NULL && *epochs > 1;
    for (size_t i = first; order != NULL && i < order->count && !repeated; i++)
        repeated =
            is_called(&order->items[i], "repeat") && number_of(&order->items[i], "count") > 1;
    return repeated;
}

/*  The first map that changes; `count` if none does. */
static size_t first_change(const tnd_part_list_t *order)
{
    size_t first = 0;
    while (first < order->count && !changes(&order->items[first]))
        first++;
    return first;
}

static void check_order(const tnd_topology_actor_t *reader, tnd_diagnostics_t *diagnostics)
{
    const tnd_part_list_t *order = tnd_topology_option(reader, "order", TND_OPTION_PARTS);
    if (order == NULL)
        return;
    size_t first = first_change(order);
    for (size_t i = order->count; i > first + 1 && is_repeated(reader, order, first); i--)
        if (chooses(&order->items[i - 1])) {
            report_order(order, first, i - 1, diagnostics);
            return;
        }
}

/* --- filters by position ---------------------------------------------------------------------- */

/*  Whether a reader has an option by which each epoch has another order. */
static bool reshuffles(const tnd_topology_actor_t *reader, const tnd_part_list_t *order)
{
    const int *shuffle = tnd_topology_option(reader, "shuffle", TND_OPTION_ENUM);
    return (shuffle != NULL && *shuffle != 0) ||
           (order != NULL && first_change(order) < order->count);
}

/*  Whether a reader gives rows in another order in each epoch. */
static bool is_mixed(const tnd_topology_actor_t *reader)
{
    const tnd_part_list_t *order = tnd_topology_option(reader, "order", TND_OPTION_PARTS);
    size_t first = order != NULL ? first_change(order) : 0;
    return reshuffles(reader, order) && is_repeated(reader, order, first);
}

bool tnd_topology_reshuffles(const tnd_topology_t *self, uint32_t chain)
{
    for (uint32_t a = 0; a < self->actor_count; a++)
        if (self->actors[a].chain == chain &&
            reshuffles(&self->actors[a],
                       tnd_topology_option(&self->actors[a], "order", TND_OPTION_PARTS)))
            return true;
    return false;
}

/*  The columns of a chain that depend on the position of a row in its epoch. */
typedef struct {
    const char *names[TND_COLUMNS_MAX];
    size_t count;
} places_t;

/*  Whether a text has the word. */
static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += size)
        if ((at == text || !tnd_options_in_word(at[-1])) && !tnd_options_in_word(at[size]))
            return true;
    return false;
}

static bool reads_place(const tnd_part_t *op, const places_t *places)
{
    const char *const *name = find_field(op, "column", TND_OPTION_COLUMN);
    const char *const *formula = find_field(op, "expr", TND_OPTION_STRING);
    for (size_t i = 0; i < places->count; i++)
        if ((name != NULL && *name != NULL && strcmp(*name, places->names[i]) == 0) ||
            (formula != NULL && *formula != NULL && has_word(*formula, places->names[i])))
            return true;
    return false;
}

static void add_place(places_t *places, const char *column)
{
    if (places->count < TND_COLUMNS_MAX)
        places->names[places->count++] = column;
}

/*  `compute` makes a column of each formula. */
static void take_formulas(const tnd_value_t *formulas, places_t *places)
{
    size_t before = places->count;
    for (size_t i = 0; formulas != NULL && formulas->type == TND_VALUE_MAP && i < formulas->count;
         i++) {
        const tnd_value_entry_t *entry = &formulas->entries[i];
        bool depends = false;
        for (size_t p = 0; entry->value->type == TND_VALUE_SCALAR && p < before; p++)
            depends = depends || has_word(entry->value->text, places->names[p]);
        if (depends)
            add_place(places, entry->key);
    }
}

static void report_filter(const tnd_part_t *filter, const tnd_topology_actor_t *reader,
                          tnd_diagnostics_t *diagnostics)
{
    tnd_diagnostics_add(diagnostics, TND_T078_LEAKING_ORDER, filter->value->mark,
                        "`filter` chooses other rows in each epoch: `enumerate` numbers positions, "
                        "and `%s` gives another order in each, so rows that are kept for "
                        "validation are trained on",
                        reader->name);
    tnd_diagnostics_help(
        diagnostics,
        "for the same rows in each epoch choose them in `%s`, before the "
        "shuffle: by `part: {of: [80, 20], index: 0}`, or by `skip: N` and `take: N`",
        reader->name);
}

static void check_operations(const tnd_part_list_t *ops, const tnd_topology_actor_t *reader,
                             places_t *places, tnd_diagnostics_t *diagnostics)
{
    for (size_t i = 0; i < ops->count; i++) {
        const tnd_part_t *op = &ops->items[i];
        if (op->table == NULL)
            continue;
        const char *const *into = find_field(op, "into", TND_OPTION_COLUMN);
        if (is_called(op, "enumerate") && into != NULL && *into != NULL)
            add_place(places, *into);
        else if (is_called(op, "compute") && op->value->type == TND_VALUE_MAP)
            take_formulas(op->value->entries[0].value, places);
        else if (is_called(op, "filter") && reads_place(op, places))
            report_filter(op, reader, diagnostics);
    }
}

/*  The actors of a chain are usually written in their order. */
static void check_chain(const tnd_topology_t *topology, const tnd_topology_actor_t *reader,
                        tnd_diagnostics_t *diagnostics)
{
    places_t places = {.count = 0};
    for (uint32_t i = 0; i < topology->actor_count; i++) {
        const tnd_topology_actor_t *actor = &topology->actors[i];
        const tnd_part_list_t *ops = tnd_topology_option(actor, "ops", TND_OPTION_PARTS);
        if (ops != NULL && actor->chain == reader->chain)
            check_operations(ops, reader, &places, diagnostics);
    }
}

void tnd_orders_check(const tnd_topology_t *topology, const tnd_topology_actor_t *actor,
                      tnd_diagnostics_t *diagnostics)
{
    check_order(actor, diagnostics);
    if (is_mixed(actor))
        check_chain(topology, actor, diagnostics);
}
