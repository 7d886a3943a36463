/*  tools/command/graph.c - `tundish graph`: draws a graph as text, for Graphviz or as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/json.h"
#include "tools/cli/load.h"
#include "tools/cli/terminal.h"
#include "tools/launch/launch_choice.h"

typedef struct {
    tnd_load_options_t load;
    bool dot, json;
} graph_options_t;

enum {
    LINES = 16, /* below the name of an actor */
    WRAP = 17,  /* characters of such a line */
    ARROW = 5,  /* characters of the shortest arrow */
    HOSTS_NAMED = 4
};

typedef struct {
    const tnd_topology_t *topology;
    const tnd_plan_t *plan;
    tnd_arena_t *arena;
} picture_t;

/*  One actor of a drawn chain: a column of lines, and the arrow after it. */
typedef struct {
    const char *name;
    const char *lines[LINES];
    size_t line_count;
    const char *label; /* text on the arrow, or "" */
    bool arrow, call;
    size_t width;
} column_t;

/*  ----------------------------------------------------------------------------- what is drawn */

/*  The transports between two actors, "ipc, tcp". */
static const char *transports(const picture_t *self, const char *from, const char *to)
{
    const char *text = "";
    for (int transport = TND_TRANSPORT_INPROC; transport <= TND_TRANSPORT_TCP; transport++)
        for (uint32_t e = 0; e < self->plan->edge_count; e++) {
            const tnd_edge_t *edge = &self->plan->edges[e];
            if ((int)edge->transport == transport &&
                strcmp(self->plan->instances[edge->from].actor, from) == 0 &&
                strcmp(self->plan->instances[edge->to].actor, to) == 0) {
                text = tnd_arena_format(self->arena, "%s%s%s", text, *text != '\0' ? "," : "",
                                        tnd_transport_name((tnd_transport_t)transport));
                break;
            }
        }
    return text;
}

static uint32_t instances_on(const picture_t *self, const char *actor, uint32_t host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->plan->instance_count; i++)
        count += self->plan->instances[i].host == host &&
                 strcmp(self->plan->instances[i].actor, actor) == 0;
    return count;
}

/*  "on a, b x6"; if there is only one host "x6" or "". */
static const char *place_of(const picture_t *self, const char *actor)
{
    const char *text = "";
    uint32_t on = 0;
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        uint32_t count = instances_on(self, actor, h);
        const char *times = count > 1 ? tnd_arena_format(self->arena, "x%" PRIu32, count) : "";
        if (count == 0)
            continue;
        if (self->plan->host_count == 1)
            return times;
        if (on++ < HOSTS_NAMED)
            text = tnd_arena_format(self->arena, "%s%s%s%s%s", text, on > 1 ? ", " : "on ",
                                    self->plan->hosts[h].name, *times != '\0' ? " " : "", times);
    }
    if (on > HOSTS_NAMED)
        return tnd_arena_format(self->arena, "on %" PRIu32 " hosts", on);
    return text;
}

/*  The scalars of a value, concatenated. */
static const char *scalars(tnd_arena_t *arena, const tnd_value_t *value)
{
    const char *text = "";
    if (value->type == TND_VALUE_SCALAR)
        return value->text;
    for (size_t i = 0; i < value->count; i++) {
        const tnd_value_t *inner =
            value->type == TND_VALUE_MAP ? value->entries[i].value : value->items[i];
        const char *more = scalars(arena, inner);
        text = tnd_arena_format(arena, "%s%s%s", text, *text != '\0' && *more != '\0' ? ", " : "",
                                more);
    }
    return text;
}

/*  `{scale: {column: image, to: f32}}` in short: its name and its columns. */
static const char *part_text(tnd_arena_t *arena, const tnd_option_t *option,
                             const tnd_value_t *value)
{
    if (value->type != TND_VALUE_MAP || value->count != 1)
        return scalars(arena, value);
    const char *name = value->entries[0].key, *text = "";
    const tnd_value_t *options = value->entries[0].value;
    const tnd_table_t *table = NULL;
    for (size_t i = 0; option->parts(i) != NULL; i++)
        if (strcmp(option->parts(i)->name, name) == 0)
            table = option->parts(i);
    for (size_t i = 0; table != NULL && options->type == TND_VALUE_MAP && i < options->count; i++) {
        const tnd_value_entry_t *entry = &options->entries[i];
        const tnd_option_t *inner = tnd_options_find(table, entry->key);
        if (inner != NULL && inner->type != TND_OPTION_COLUMN && inner->type != TND_OPTION_COLUMNS)
            continue;
        text = tnd_arena_format(arena, "%s%s%s", text, *text != '\0' ? ", " : "",
                                inner != NULL ? scalars(arena, entry->value) : entry->key);
    }
    return tnd_arena_format(arena, "%s%s%s", name, *text != '\0' ? " " : "", text);
}

/*  Adds a line, broken into several at its spaces. */
static void add_line(const picture_t *self, column_t *column, const char *text)
{
    while (*text != '\0' && column->line_count < LINES) {
        size_t size = strlen(text), cut = size;
        for (size_t i = 1; cut > WRAP && i < size; i++)
            if (text[i] == ' ' && (i <= WRAP || cut == size))
                cut = i;
        column->lines[column->line_count++] = tnd_arena_text(self->arena, text, cut);
        column->width = cut > column->width ? cut : column->width;
        text += cut + (text[cut] == ' ');
    }
}

/*  The options of an actor in short. */
static void describe(const picture_t *self, const tnd_topology_actor_t *actor, column_t *column)
{
    *column = (column_t){.name = actor->name, .width = strlen(actor->name), .label = ""};
    add_line(self, column, actor->kind->table.name);
    for (size_t i = 0; actor->value != NULL && i < actor->value->count; i++) {
        const tnd_value_entry_t *entry = &actor->value->entries[i];
        const tnd_option_t *option = tnd_options_find(&actor->kind->table, entry->key);
        if (option == NULL || entry->value->type == TND_VALUE_NULL)
            continue;
        if (option->type == TND_OPTION_PART)
            add_line(self, column, part_text(self->arena, option, entry->value));
        else if (option->type == TND_OPTION_PARTS)
            for (size_t p = 0; p < entry->value->count; p++)
                add_line(self, column, part_text(self->arena, option, entry->value->items[p]));
        else
            add_line(self, column,
                     tnd_arena_format(self->arena, "%s %s", entry->key,
                                      scalars(self->arena, entry->value)));
    }
    add_line(self, column, place_of(self, actor->name));
}

/*  ------------------------------------------------------------------------------------- text */

static void repeat(char byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        putchar(byte);
}

/*  "--ipc-->" over `width` characters. */
static void print_arrow(const column_t *column, size_t width)
{
    size_t label = strlen(column->label), lines = width - label - (column->call ? 2 : 1);
    fputs(column->call ? "<" : "", stdout);
    repeat('-', lines / 2);
    fputs(column->label, stdout);
    repeat('-', lines - lines / 2);
    putchar('>');
}

/*  Prints the columns side by side. */
static void print_band(const column_t *columns, size_t count, size_t indent)
{
    size_t lines = 0;
    repeat(' ', indent);
    for (size_t i = 0; i < count; i++) {
        size_t name = strlen(columns[i].name);
        fputs(columns[i].name, stdout);
        lines = columns[i].line_count > lines ? columns[i].line_count : lines;
        if (!columns[i].arrow)
            continue;
        putchar(' ');
        print_arrow(&columns[i], columns[i].width - name - 2);
        fputs(i + 1 < count ? " " : "", stdout);
    }
    putchar('\n');
    for (size_t line = 0; line < lines; line++) {
        size_t at = 0, column_at = indent;
        for (size_t i = 0; i < count; i++) {
            if (line < columns[i].line_count) {
                repeat(' ', column_at - at);
                fputs(columns[i].lines[line], stdout);
                at = column_at + strlen(columns[i].lines[line]);
            }
            column_at += columns[i].width;
        }
        putchar('\n');
    }
}

/*  Prints as many actors per line as the screen allows. */
static void print_columns(column_t *columns, size_t count)
{
    size_t screen = tnd_terminal_look(STDOUT_FILENO).columns, indent = 2;
    for (size_t i = 0; i < count; i++) {
        size_t head = strlen(columns[i].name) + 2 + strlen(columns[i].label) + ARROW +
                      (columns[i].call ? 1 : 0);
        columns[i].width += 2;
        if (columns[i].arrow && columns[i].width < head)
            columns[i].width = head;
    }
    for (size_t first = 0; first < count;) {
        size_t taken = 0, width = indent;
        while (first + taken < count &&
               (taken == 0 || width + columns[first + taken].width <= screen))
            width += columns[first + taken++].width;
        print_band(columns + first, taken, indent);
        first += taken;
        indent = 6;
    }
}

static void point_at(const picture_t *self, column_t *column, const tnd_topology_link_t *link)
{
    column->arrow = true;
    column->call = link->call;
    if (self->plan->host_count > 1)
        column->label = transports(self, self->topology->actors[link->from].name,
                                   self->topology->actors[link->to].name);
}

static const tnd_topology_link_t *link_into(const tnd_topology_t *topology, uint32_t actor)
{
    for (uint32_t i = 0; i < topology->link_count; i++)
        if (topology->links[i].to == actor && !topology->links[i].call)
            return &topology->links[i];
    return NULL;
}

/*  A chain from its reader to its end, with the reducers of the end. */
static void print_chain(const picture_t *self, uint32_t index, bool *drawn)
{
    const tnd_topology_t *topology = self->topology;
    const tnd_topology_chain_t *chain = &topology->chains[index];
    column_t *columns = tnd_arena_array(self->arena, topology->actor_count + 1, sizeof *columns);
    const tnd_topology_link_t *link = NULL;
    size_t count = 0, room = 1;
    for (uint32_t at = chain->end; (link = link_into(topology, at)) != NULL; at = link->from)
        room++;
    count = room;
    uint32_t actor = chain->end;
    for (size_t i = count; i-- > 0;) {
        describe(self, &topology->actors[actor], &columns[i]);
        drawn[actor] = true;
        link = link_into(topology, actor);
        if (link == NULL)
            break;
        actor = link->from;
    }
    for (size_t i = count; i-- > 1;) {
        const char *to = columns[i].name;
        for (uint32_t l = 0; l < topology->link_count; l++)
            if (strcmp(topology->actors[topology->links[l].to].name, to) == 0 &&
                strcmp(topology->actors[topology->links[l].from].name, columns[i - 1].name) == 0)
                point_at(self, &columns[i - 1], &topology->links[l]);
    }
    const char *others = "";
    for (uint32_t l = 0; l < topology->link_count; l++) {
        link = &topology->links[l];
        if (link->from != chain->end)
            continue;
        drawn[link->to] = true;
        if (count == room) {
            point_at(self, &columns[count - 1], link);
            describe(self, &topology->actors[link->to], &columns[count++]);
            continue;
        }
        others = tnd_arena_format(self->arena, "%s  %s %s %s\n", others,
                                  topology->actors[link->from].name, link->call ? "<->" : "->",
                                  topology->actors[link->to].name);
    }
    if (chain->after != TND_TOPOLOGY_NONE)
        printf("after %s:\n", topology->actors[topology->chains[chain->after].end].name);
    print_columns(columns, count);
    fputs(others, stdout);
    putchar('\n');
}

static void print_text(const picture_t *self)
{
    const tnd_plan_t *plan = self->plan;
    bool *drawn = tnd_arena_array(self->arena, self->topology->actor_count + 1, sizeof *drawn);
    printf("%s: seed %" PRIu64 ", %" PRIu32 " lane%s, fingerprint %016" PRIx64 "%016" PRIx64 "\n\n",
           plan->name, plan->seed, plan->lanes, plan->lanes == 1 ? "" : "s", plan->fingerprint[1],
           plan->fingerprint[0]);
    for (uint32_t c = 0; c < self->topology->chain_count; c++)
        print_chain(self, c, drawn);
    for (uint32_t h = 0; h < plan->host_count && plan->host_count > 1; h++) {
        const tnd_plan_host_t *host = &plan->hosts[h];
        printf("host %s: %s%s", host->name, host->address, h == 0 ? ", leads" : "");
        if (host->port > 0)
            printf(", port %" PRIu32, host->port);
        for (uint32_t d = 0; d < host->device_count; d++)
            printf("%s%s", d > 0 ? " " : ", ", host->devices[d]);
        putchar('\n');
    }
}

/*  -------------------------------------------------------------------------------------- dot */

static void dot_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void dot_node(const picture_t *self, uint32_t actor, uint32_t host, const char *indent)
{
    const char *name = self->topology->actors[actor].name;
    uint32_t count = instances_on(self, name, host);
    if (count == 0)
        return;
    column_t column;
    describe(self, &self->topology->actors[actor], &column);
    const char *label = name;
    if (count > 1)
        label = tnd_arena_format(self->arena, "%s x%" PRIu32, name, count);
    fputs(indent, stdout);
    dot_text(tnd_arena_format(self->arena, "%s@%s", name, self->plan->hosts[host].name));
    fputs(" [label=", stdout);
    /* A line break in a label is written as two characters, which dot_text must not escape. */
    putchar('"');
    fputs(label, stdout);
    for (size_t i = 0; i + (*place_of(self, name) != '\0' ? 1 : 0) < column.line_count; i++) {
        fputs("\\n", stdout);
        for (const char *at = column.lines[i]; *at != '\0'; at++) {
            if (*at == '"' || *at == '\\')
                putchar('\\');
            putchar(*at);
        }
    }
    puts("\"];");
}

static void print_dot(const picture_t *self)
{
    const tnd_plan_t *plan = self->plan;
    fputs("digraph ", stdout);
    dot_text(plan->name);
    puts(" {\n  rankdir=LR;\n  node [shape=box];");
    for (uint32_t h = 0; h < plan->host_count; h++) {
        if (plan->host_count > 1) {
            printf("  subgraph cluster_%" PRIu32 " {\n    label=", h);
            dot_text(plan->hosts[h].name);
            puts(";");
        }
        for (uint32_t a = 0; a < self->topology->actor_count; a++)
            dot_node(self, a, h, plan->host_count > 1 ? "    " : "  ");
        fputs(plan->host_count > 1 ? "  }\n" : "", stdout);
    }
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        const tnd_instance_t *from = &plan->instances[edge->from];
        const tnd_instance_t *to = &plan->instances[edge->to];
        bool seen = false;
        for (uint32_t b = 0; b < e && !seen; b++) {
            const tnd_instance_t *one = &plan->instances[plan->edges[b].from];
            const tnd_instance_t *two = &plan->instances[plan->edges[b].to];
            seen = one->host == from->host && two->host == to->host &&
                   strcmp(one->actor, from->actor) == 0 && strcmp(two->actor, to->actor) == 0;
        }
        if (seen)
            continue;
        fputs("  ", stdout);
        dot_text(tnd_arena_format(self->arena, "%s@%s", from->actor, plan->hosts[from->host].name));
        fputs(" -> ", stdout);
        dot_text(tnd_arena_format(self->arena, "%s@%s", to->actor, plan->hosts[to->host].name));
        printf(" [label=\"%s\"%s];\n", tnd_transport_name(edge->transport),
               from->kind->outlets[edge->outlet].call ? ",dir=both" : "");
    }
    puts("}");
}

/*  ------------------------------------------------------------------------------------- JSON */

static void print_actor_json(const picture_t *self, uint32_t index)
{
    const tnd_topology_actor_t *actor = &self->topology->actors[index];
    const char *glue = "";
    printf("{\"name\":\"%s\",\"kind\":\"%s\",\"chain\":", actor->name, actor->kind->table.name);
    if (actor->chain == TND_TOPOLOGY_NONE)
        fputs("null", stdout);
    else
        printf("%" PRIu32, actor->chain);
    fputs(",\"hosts\":{", stdout);
    for (uint32_t h = 0; h < self->plan->host_count; h++) {
        uint32_t count = instances_on(self, actor->name, h);
        if (count == 0)
            continue;
        printf("%s\"%s\":%" PRIu32, glue, self->plan->hosts[h].name, count);
        glue = ",";
    }
    fputs("}}", stdout);
}

static void print_json(const picture_t *self)
{
    const tnd_plan_t *plan = self->plan;
    tnd_json_begin(stdout, false, "name", plan->name);
    printf(",\"seed\":%" PRIu64 ",\"lanes\":%" PRIu32 ",\"fingerprint\":", plan->seed, plan->lanes);
    tnd_json_hash(stdout, plan->fingerprint);
    fputs(",\"hosts\":[", stdout);
    for (uint32_t h = 0; h < plan->host_count; h++) {
        printf("%s{\"name\":\"%s\",\"address\":", h > 0 ? "," : "", plan->hosts[h].name);
        tnd_json_text(stdout, plan->hosts[h].address);
        printf(",\"port\":%" PRIu32 "}", plan->hosts[h].port);
    }
    fputs("],\"actors\":[", stdout);
    for (uint32_t a = 0; a < self->topology->actor_count; a++) {
        fputs(a > 0 ? "," : "", stdout);
        print_actor_json(self, a);
    }
    fputs("],\"links\":[", stdout);
    for (uint32_t l = 0; l < self->topology->link_count; l++) {
        const tnd_topology_link_t *link = &self->topology->links[l];
        const char *from = self->topology->actors[link->from].name;
        const char *to = self->topology->actors[link->to].name;
        printf("%s{\"from\":\"%s\",\"to\":\"%s\",\"call\":%s,\"transports\":\"%s\"}",
               l > 0 ? "," : "", from, to, link->call ? "true" : "false",
               transports(self, from, to));
    }
    puts("]}");
}

static int graph(const tnd_request_t *request)
{
    const graph_options_t *options = request->options;
    tnd_graph_t *loaded = tnd_load_form(&options->load, request->files, request->file_count);
    tnd_launch_expect(loaded);
    if (!tnd_load_check(loaded)) {
        tnd_graph_destroy(&loaded);
        return TND_EXIT_TOPOLOGY;
    }
    picture_t picture = {.topology = tnd_graph_topology(loaded),
                         .plan = tnd_graph_plan(loaded),
                         .arena = tnd_arena_new()};
    if (options->dot)
        print_dot(&picture);
    else if (options->json)
        print_json(&picture);
    else
        print_text(&picture);
    tnd_arena_destroy(&picture.arena);
    tnd_graph_destroy(&loaded);
    return TND_EXIT_OK;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--dot", FLAG, graph_options_t, dot, NULL, "prints the graph for Graphviz")},
    {TND_COMMON("--json", graph_options_t, json)},
    {TND_COMMON("--set", graph_options_t, load.settings)},
};

const tnd_command_t tnd_command_graph = {
    .name = "graph",
    .operands = "FILE...",
    .summary = "draws a graph: actors, placement and connections",
    TND_ARGUMENTS(arguments, graph_options_t),
    .details = "Draws a line per chain, as wide as the screen, with the transport of each link if\n"
               "there are several hosts.  --dot writes it for Graphviz:\n"
               "  tundish graph FILE --dot | dot -Tsvg >graph.svg\n"
               "No data is opened, and ${data} may be undefined.\n",
    .codes = "  0   drawn\n"
             "  2   usage\n"
             "  78  the topology is wrong\n",
    .operands_min = 1,
    .run = graph,
};
