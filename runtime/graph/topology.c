/*  runtime/graph/topology.c - actors, links and chains of a tree, with all their errors. */
#include "runtime/graph/topology.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/registry.h"

typedef struct {
    const tnd_options_context_t *context;
    tnd_topology_t *topology;
    tnd_topology_actor_t *actors;
    tnd_topology_link_t *links;
    tnd_topology_chain_t *chains;
    bool open_ended;
    bool links_failed; /* what is missing may stand in a link that could not be read */
} resolver_t;

static const tnd_option_t security_options[] = {
    {.name = "curve",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_SECURE,
     .offset = offsetof(tnd_security_t, curve),
     .help = "the directory of the keys"},
};

static const tnd_table_t security_table = {
    .name = "security",
    .help = "who may connect",
    TND_OPTIONS(security_options),
    .size = sizeof(tnd_security_t),
};

static const tnd_table_t *security_at(size_t index)
{
    return index == 0 ? &security_table : NULL;
}

static const tnd_option_t restarts_options[] = {
    {.name = "max",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_TUNE,
     .unit = "times",
     .fallback = "5",
     .range = "0..1000000",
     .offset = offsetof(tnd_restarts_t, max),
     .help = "how often one host or actor is started again without a calm life between"},
    {.name = "within",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "60s",
     .range = "1ms..",
     .offset = offsetof(tnd_restarts_t, within_ns),
     .help = "a life of so long is calm: the count begins anew"},
    {.name = "backoff",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "10ms",
     .range = "1ms..",
     .offset = offsetof(tnd_restarts_t, backoff_ns),
     .help = "the wait before the first start, doubled with each death soon after a start"},
    {.name = "backoff_max",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "1s",
     .range = "1ms..",
     .offset = offsetof(tnd_restarts_t, backoff_max_ns),
     .help =
         "the longest wait before a start; a life of so long makes the next wait the first again"},
};

const tnd_table_t tnd_restarts_table = {
    .name = "restarts",
    .help = "how often and how soon what died is started again",
    TND_OPTIONS(restarts_options),
    .size = sizeof(tnd_restarts_t),
};

static const tnd_table_t *restarts_at(size_t index)
{
    return index == 0 ? &tnd_restarts_table : NULL;
}

static const tnd_option_t checkpoint_options[] = {
    {.name = "dir",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_TUNE,
     .offset = offsetof(tnd_checkpoint_options_t, dir),
     .help = "the folder of the checkpoints, on every host that feeds; shared or its own"},
    {.name = "every",
     .type = TND_OPTION_INTERVAL,
     .role = TND_ROLE_TUNE,
     .fallback = "",
     .offset = offsetof(tnd_checkpoint_options_t, every),
     .help = "how often the state is kept; by default at the end of the run alone"},
    {.name = "keep",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_TUNE,
     .unit = "checkpoints",
     .fallback = "3",
     .range = "1..1000000",
     .offset = offsetof(tnd_checkpoint_options_t, keep),
     .help = "how many are kept; older ones are removed"},
    {.name = "resume",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_TUNE,
     .fallback = "none",
     .offset = offsetof(tnd_checkpoint_options_t, resume),
     .help = "what the run goes on from: `none`, `latest`, or the path of a checkpoint"},
};

static const tnd_table_t checkpoint_table = {
    .name = "checkpoint",
    .help = "where the state of a run is kept, and how often",
    TND_OPTIONS(checkpoint_options),
    .size = sizeof(tnd_checkpoint_options_t),
};

static const tnd_table_t *checkpoint_at(size_t index)
{
    return index == 0 ? &checkpoint_table : NULL;
}

/*  Actors and hosts are read by hand, key by key; their roles are those of their own options. */
static const tnd_option_t settings_options[] = {
    {.name = "tundish",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_TUNE,
     .range = "1..",
     .offset = offsetof(tnd_settings_t, version),
     .help = "the version of this language: 1"},
    {.name = "name",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_TUNE,
     .fallback = "tundish",
     .offset = offsetof(tnd_settings_t, name),
     .help = "how the run is called"},
    {.name = "seed",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .fallback = "0",
     .offset = offsetof(tnd_settings_t, seed),
     .help = "what every random decision is drawn from"},
    {.name = "lanes",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .unit = "lanes",
     .fallback = "1",
     .range = "1..65536",
     .offset = offsetof(tnd_settings_t, lanes),
     .help = "independent orders whose fixed interleaving is the stream"},
    {.name = "data",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, data),
     .help = "what `${data}` stands for in paths"},
    {.name = "actors",
     .type = TND_OPTION_MAP,
     .role = TND_ROLE_PLACE,
     .offset = offsetof(tnd_settings_t, actors),
     .help = "the actors, `NAME: {kind: KIND, options}`"},
    {.name = "links",
     .type = TND_OPTION_VALUE,
     .role = TND_ROLE_GRAPH,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, links),
     .help = "who feeds whom, `- read -> prep -> batch -> feed <-> mean`"},
    {.name = "hosts",
     .type = TND_OPTION_MAP,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, hosts),
     .help = "the processes of the run and what each carries; the first leads"},
    {.name = "port",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_PLACE,
     .fallback = "0",
     .range = "0..65535",
     .offset = offsetof(tnd_settings_t, port),
     .help = "the leader's port, which all others connect to"},
    {.name = "ports",
     .type = TND_OPTION_STRING,
     .role = TND_ROLE_PLACE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, ports),
     .help = "the ports that all other endpoints are taken from, such as 7101-7200"},
    {.name = "insecure",
     .type = TND_OPTION_BOOL,
     .role = TND_ROLE_SECURE,
     .fallback = "false",
     .offset = offsetof(tnd_settings_t, insecure),
     .help = "whether tcp beyond this machine may go without keys"},
    {.name = "security",
     .type = TND_OPTION_TABLE,
     .role = TND_ROLE_SECURE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, security),
     .parts = security_at,
     .help = "keys of the hosts, `{curve: keys/}`; not used yet"},
    {.name = "checkpoint",
     .type = TND_OPTION_TABLE,
     .role = TND_ROLE_TUNE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, checkpoint),
     .parts = checkpoint_at,
     .help = "where the state is kept, `{dir: DIR, every: 500 steps, keep: 3}`"},
    {.name = "memory",
     .type = TND_OPTION_BYTES,
     .role = TND_ROLE_TUNE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, memory_bytes),
     .help = "what a host may use; more is refused before the start"},
    {.name = "start_timeout",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "120s",
     .range = "1ms..",
     .offset = offsetof(tnd_settings_t, start_timeout_ns),
     .help = "how long the leader waits for the other hosts"},
    {.name = "dead_after",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "10s",
     .range = "1ms..",
     .offset = offsetof(tnd_settings_t, dead_after_ns),
     .help = "a peer that is silent for so long is lost"},
    {.name = "link_timeout",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "1s",
     .range = "1ms..",
     .offset = offsetof(tnd_settings_t, link_timeout_ns),
     .help = "a connection that is silent for so long is replaced"},
    {.name = "hung_after",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "60s",
     .range = "1ms..",
     .offset = offsetof(tnd_settings_t, hung_after_ns),
     .help = "a read, an operation or a step that takes longer hangs, also one that is tried "
             "before the start"},
    {.name = "restart",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_TUNE,
     .fallback = "on-failure",
     .choices = "never|on-failure|always",
     .offset = offsetof(tnd_settings_t, restart),
     .help = "when a host without replicas that died is started again"},
    {.name = "restarts",
     .type = TND_OPTION_TABLE,
     .role = TND_ROLE_TUNE,
     .fallback = "",
     .offset = offsetof(tnd_settings_t, restarts),
     .parts = restarts_at,
     .help = "how often and how soon, `{max: 5, within: 60s, backoff: 10ms}`"},
    {.name = "restart_timeout",
     .type = TND_OPTION_DURATION,
     .role = TND_ROLE_TUNE,
     .fallback = "30s",
     .range = "1ms..",
     .offset = offsetof(tnd_settings_t, restart_timeout_ns),
     .help = "how long the run waits for a lost host that it needs to be there again"},
    {.name = "numeric",
     .type = TND_OPTION_ENUM,
     .role = TND_ROLE_TUNE,
     .fallback = "exact",
     .choices = "exact|tolerant",
     .offset = offsetof(tnd_settings_t, numeric),
     .help = "whether a host that computes differently is refused"},
};

const tnd_table_t tnd_settings_table = {
    .name = "topology",
    .help = "the top level of a topology file",
    TND_OPTIONS(settings_options),
    .size = sizeof(tnd_settings_t),
};

/*  Of an actor whose kind is not known. */
static const tnd_table_t actor_table = {.name = "actor", .help = "an actor"};

static tnd_diagnostics_t *diagnostics_of(const resolver_t *self)
{
    return self->context->diagnostics;
}

uint32_t tnd_topology_find(const tnd_topology_t *self, const char *name)
{
    for (uint32_t i = 0; i < self->actor_count; i++)
        if (strcmp(self->actors[i].name, name) == 0)
            return i;
    return TND_TOPOLOGY_NONE;
}

static const tnd_kind_spec_t *find_kind(const char *name)
{
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(kinds[i]->table.name, name) == 0)
            return kinds[i];
    return NULL;
}

/*  ------------------------------------------------------------------------------------ actors */

/*  `knid: reader`, `type: reader`: the kind under another key. */
static const tnd_value_entry_t *kind_in_disguise(const tnd_value_t *actor)
{
    for (size_t i = 0; actor->type == TND_VALUE_MAP && i < actor->count; i++) {
        const tnd_value_t *value = actor->entries[i].value;
        if (value->type == TND_VALUE_SCALAR && find_kind(value->text) != NULL)
            return &actor->entries[i];
    }
    return NULL;
}

static const tnd_kind_spec_t *resolve_kind(resolver_t *self, const tnd_topology_actor_t *actor,
                                           const tnd_value_t *value)
{
    const tnd_value_t *name = tnd_value_get(value, "kind");
    tnd_nearest_t nearest = {.word = ""};
    const char *list = "";
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        list = tnd_arena_format(self->context->arena, "%s%s%s", list, i > 0 ? ", " : "",
                                kinds[i]->table.name);
    if (name != NULL && name->type != TND_VALUE_SCALAR) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T014_WRONG_TYPE, name->mark,
                            "`kind` expects one of %s, not %s", list,
                            tnd_value_type_name(name->type));
        return NULL;
    }
    if (name == NULL) {
        const tnd_value_entry_t *meant = kind_in_disguise(value);
        tnd_diagnostics_add(diagnostics_of(self), TND_T013_MISSING_KEY,
                            meant != NULL ? meant->mark : actor->mark, "actor `%s` needs `kind`",
                            actor->name);
        if (meant != NULL)
            tnd_diagnostics_help(diagnostics_of(self), "write `kind: %s`", meant->value->text);
        else
            tnd_diagnostics_help(diagnostics_of(self), "one of %s", list);
        return NULL;
    }
    const tnd_kind_spec_t *kind = find_kind(name->text);
    if (kind != NULL)
        return kind;
    nearest.word = name->text;
    for (size_t i = 0; i < count; i++)
        tnd_nearest_offer(&nearest, kinds[i]->table.name);
    tnd_diagnostics_add(diagnostics_of(self), TND_T020_UNKNOWN_KIND, name->mark,
                        "there is no kind `%s`", name->text);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?", nearest.best);
    else
        tnd_diagnostics_help(diagnostics_of(self), "there is %s", list);
    return NULL;
}

static void resolve_actor(resolver_t *self, const tnd_value_entry_t *entry)
{
    tnd_topology_actor_t *actor = &self->actors[self->topology->actor_count];
    *actor =
        (tnd_topology_actor_t){.name = entry->key, .mark = entry->mark, .chain = TND_TOPOLOGY_NONE};
    self->topology->actor_count++;
    if (!tnd_options_is_name(entry->key)) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T019_BAD_NAME, entry->mark,
                            "`%s` cannot be the name of an actor", entry->key);
        tnd_diagnostics_help(diagnostics_of(self),
                             "a name is a letter or `_`, then letters, digits, `_` and `-`");
    }
    const char *what = tnd_arena_format(self->context->arena, "actor `%s`", entry->key);
    if (entry->value->type != TND_VALUE_MAP && entry->value->type != TND_VALUE_NULL) {
        bool is_kind =
            entry->value->type == TND_VALUE_SCALAR && find_kind(entry->value->text) != NULL;
        (void)tnd_options_parse(self->context, &actor_table, entry->value, what, entry->mark);
        if (is_kind)
            tnd_diagnostics_help(diagnostics_of(self), "write `{kind: %s}`", entry->value->text);
        return;
    }
    actor->kind = resolve_kind(self, actor, entry->value);
    if (actor->kind == NULL)
        return;
    actor->value = tnd_value_without(self->context->arena, entry->value, "kind");
    actor->options = tnd_options_parse(
        self->context, &actor->kind->table, actor->value,
        tnd_arena_format(self->context->arena, "%s `%s`", actor->kind->table.name, actor->name),
        actor->mark);
}

/*  ------------------------------------------------------------------------------------- links */

static bool is_word_byte(char byte)
{
    return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z');
}

/*  One word or arrow of a link. */
typedef struct {
    const char *text;
    size_t size;
    tnd_mark_t mark;
} token_t;

static bool next_token(const tnd_value_t *value, const char **at_p, token_t *token_p)
{
    static const char arrow[] = "<->";
    const char *at = *at_p;
    while (*at == ' ' || *at == '\t' || *at == '\n')
        at++;
    size_t size = strspn(at, arrow);
    if (size == 0)
        size = strcspn(at, " \t\n<>");
    /* A `-` inside a name is a letter of it; only before `>` it begins an arrow. */
    if (strspn(at, arrow) == 0)
        for (size_t i = 1; i < size; i++)
            if (at[i] == '-' && at[i + 1] == '>')
                size = i;
    *token_p = (token_t){.text = at, .size = size, .mark = value->mark};
    token_p->mark.column += (uint32_t)(at - value->text) + (value->quoted ? 1 : 0);
    token_p->mark.width = (uint32_t)size;
    *at_p = at + size;
    return size > 0;
}

static bool token_is(const token_t *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}

/*  The names in a text and between them arrows, however those were written: `a => b`, `a, b`,
 *  `b <- a`.  NULL: there are no two names.
 */
static const char *mended_link(resolver_t *self, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    tnd_arena_t *arena = self->context->arena;
    const char *mended = "";
    bool backward = false;
    size_t names = 0;
    for (const char *at = text; *at != '\0';) {
        size_t gap = strcspn(at, letters);
        const char *left = memchr(at, '<', gap), *right = memchr(at, '>', gap);
        bool both = (left != NULL && right != NULL) || memmem(at, gap, "\xE2\x86\x94", 3) != NULL;
        backward =
            backward || (left != NULL && right == NULL) || memmem(at, gap, "\xE2\x86\x90", 3);
        at += gap;
        size_t size = strspn(at, letters);
        /* A `-` between letters belongs to a name. */
        while (size > 0 && at[size] == '-' && at[size + 1] != '\0' &&
               strchr(letters, at[size + 1]) != NULL)
            size += 1 + strspn(at + size + 1, letters);
        if (size == 0)
            break;
        const char *arrow = names == 0 ? "" : both ? " <-> " : " -> ";
        mended = backward ? tnd_arena_format(arena, "%.*s%s%s", (int)size, at, arrow, mended)
                          : tnd_arena_format(arena, "%s%s%.*s", mended, arrow, (int)size, at);
        names++;
        at += size;
    }
    return names > 1 ? mended : NULL;
}

static void report_link_syntax(resolver_t *self, const token_t *token, const char *expected,
                               const char *text)
{
    const char *mended = mended_link(self, text);
    self->links_failed = true;
    tnd_diagnostics_add(diagnostics_of(self), TND_T024_LINK_SYNTAX, token->mark, "expected %s%s",
                        expected, token->text != NULL && token->size == 0 ? " at the end" : "");
    if (mended != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "write `%s`", mended);
    else
        tnd_diagnostics_help(diagnostics_of(self),
                             "links are written as `read -> prep -> batch -> feed <-> mean`");
}

/*  A link that is no text: `read: prep`, `[read, prep]`. */
static const char *link_text(resolver_t *self, const tnd_value_t *value)
{
    const char *text = "";
    for (size_t i = 0; i < value->count && value->type != TND_VALUE_SCALAR; i++) {
        const tnd_value_t *item =
            value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value;
        if (value->type == TND_VALUE_MAP && i == 0)
            text = value->entries[i].key;
        if (item->text != NULL)
            text = tnd_arena_format(self->context->arena, "%s %s", text, item->text);
    }
    return text;
}

static uint32_t find_actor(resolver_t *self, const token_t *token)
{
    const char *name = tnd_arena_text(self->context->arena, token->text, token->size);
    uint32_t actor = tnd_topology_find(self->topology, name);
    if (actor != TND_TOPOLOGY_NONE)
        return actor;
    self->links_failed = true;
    tnd_nearest_t nearest = {.word = name};
    for (uint32_t i = 0; i < self->topology->actor_count; i++)
        tnd_nearest_offer(&nearest, self->actors[i].name);
    if (self->topology->actor_count == 0)
        return TND_TOPOLOGY_NONE; /* that there are none has been said */
    tnd_diagnostics_add(diagnostics_of(self), TND_T023_UNKNOWN_ACTOR, token->mark,
                        "there is no actor `%s`", name);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?", nearest.best);
    return TND_TOPOLOGY_NONE;
}

static const char *flow_name(tnd_flow_t flow)
{
    switch (flow) {
    case TND_FLOW_ROWS:
        return "rows";
    case TND_FLOW_BATCH:
        return "batches";
    case TND_FLOW_VALUES:
        return "values to reduce";
    }
    return "rows";
}

static void report_link_type(resolver_t *self, const tnd_topology_actor_t *from,
                             const tnd_topology_actor_t *to, tnd_mark_t mark)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const char *from_kind = from->kind->table.name;
    const char *to_kind = to->kind->table.name;
    self->links_failed = true;
    if (from->kind->outlet_count == 0) {
        tnd_diagnostics_add(diagnostics, TND_T025_LINK_TYPE, mark, "`%s` is a %s and has no outlet",
                            from->name, from_kind);
        return;
    }
    if (to->kind->inlet_count == 0) {
        tnd_diagnostics_add(diagnostics, TND_T025_LINK_TYPE, mark, "`%s` is a %s and has no inlet",
                            to->name, to_kind);
        return;
    }
    tnd_flow_t gives = from->kind->outlets[0].flow;
    tnd_flow_t takes = to->kind->inlets[0].flow;
    tnd_diagnostics_add(diagnostics, TND_T025_LINK_TYPE, mark,
                        "`%s` (%s) gives %s, `%s` (%s) takes %s", from->name, from_kind,
                        flow_name(gives), to->name, to_kind, flow_name(takes));
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (kinds[i]->inlet_count > 0 && kinds[i]->outlet_count > 0 &&
            kinds[i]->inlets[0].flow == gives && kinds[i]->outlets[0].flow == takes &&
            gives != takes)
            tnd_diagnostics_help(diagnostics, "a %s stands between them", kinds[i]->table.name);
}

/*  Finds the two ports that fit; false if there are none. */
static bool match_ports(const tnd_kind_spec_t *from, const tnd_kind_spec_t *to,
                        tnd_topology_link_t *link)
{
    for (uint32_t i = 0; i < from->outlet_count; i++)
        for (uint32_t j = 0; j < to->inlet_count; j++)
            if (from->outlets[i].flow == to->inlets[j].flow) {
                link->outlet = i;
                link->inlet = j;
                return true;
            }
    return false;
}

static void add_link(resolver_t *self, uint32_t from, uint32_t to, bool call, tnd_mark_t mark)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    const tnd_topology_actor_t *source = &self->actors[from];
    const tnd_topology_actor_t *target = &self->actors[to];
    tnd_topology_link_t link = {.from = from, .to = to, .call = call, .mark = mark};
    if (source->kind == NULL || target->kind == NULL) {
        self->links_failed = true;
        return;
    }
    for (uint32_t i = 0; i < self->topology->link_count; i++)
        if (self->links[i].from == from && self->links[i].to == to) {
            tnd_diagnostics_add(diagnostics, TND_T026_DUPLICATE_LINK, mark,
                                "`%s -> %s` is written twice", source->name, target->name);
            tnd_diagnostics_also(diagnostics, self->links[i].mark, "first written here");
            return;
        }
    if (!match_ports(source->kind, target->kind, &link)) {
        report_link_type(self, source, target, mark);
        return;
    }
    const tnd_port_spec_t *outlet = &source->kind->outlets[link.outlet];
    const tnd_port_spec_t *inlet = &target->kind->inlets[link.inlet];
    if (call && !(outlet->call && inlet->call)) {
        self->links_failed = true;
        tnd_diagnostics_add(diagnostics, TND_T025_LINK_TYPE, mark,
                            "`%s` does not answer `%s`: nothing flows back over this link",
                            target->name, source->name);
        tnd_diagnostics_help(diagnostics, "write `%s -> %s`", source->name, target->name);
        return;
    }
    if (outlet->connects && inlet->connects && from != to) {
        self->links_failed = true;
        tnd_diagnostics_add(diagnostics, TND_T025_LINK_TYPE, mark,
                            "`%s` and `%s` are both stateless: neither listens for the other",
                            source->name, target->name);
        tnd_diagnostics_help(diagnostics, "put the `ops:` of both into one %s, one after the other",
                             source->kind->table.name);
        return;
    }
    self->links[self->topology->link_count++] = link;
}

/*  Whether it could be a name at all, such as `read.0`, and is not punctuation. */
static bool is_plain_name(const token_t *token)
{
    for (size_t i = 0; i < token->size; i++)
        if (!is_word_byte(token->text[i]) && token->text[i] != '-' && token->text[i] != '.')
            return false;
    return true;
}

static void resolve_link(resolver_t *self, const tnd_value_t *value)
{
    token_t token = {.mark = value->mark};
    if (value->type != TND_VALUE_SCALAR) {
        report_link_syntax(self, &token, "a text such as `read -> prep`", link_text(self, value));
        return;
    }
    const char *at = value->text;
    uint32_t from = TND_TOPOLOGY_NONE;
    token_t arrow = {0};
    for (bool first = true;; first = false) {
        if (!next_token(value, &at, &token) || strspn(token.text, "<->") > 0) {
            report_link_syntax(self, &token, "the name of an actor", value->text);
            return;
        }
        if (!is_plain_name(&token)) {
            report_link_syntax(self, &token, "the name of an actor", value->text);
            return;
        }
        uint32_t to = find_actor(self, &token);
        if (!first && from != TND_TOPOLOGY_NONE && to != TND_TOPOLOGY_NONE)
            add_link(self, from, to, token_is(&arrow, "<->"), token.mark);
        from = to;
        if (!next_token(value, &at, &arrow)) {
            if (first)
                report_link_syntax(self, &arrow, "`->`", value->text);
            return;
        }
        if (!token_is(&arrow, "->") && !token_is(&arrow, "<->")) {
            report_link_syntax(self, &arrow, "`->` or `<->`", value->text);
            return;
        }
    }
}

static size_t count_links(const tnd_value_t *links)
{
    size_t count = 0;
    size_t items = links->type == TND_VALUE_LIST ? links->count : 1;
    for (size_t i = 0; i < items; i++) {
        const tnd_value_t *item = links->type == TND_VALUE_LIST ? links->items[i] : links;
        for (const char *at = item->text != NULL ? item->text : ""; *at != '\0'; at++)
            count += *at == '>';
    }
    return count;
}

static void resolve_links(resolver_t *self, const tnd_value_t *links)
{
    if (links == NULL)
        return;
    self->links =
        tnd_arena_array(self->context->arena, count_links(links) + 1, sizeof *self->links);
    self->topology->links = self->links;
    if (links->type != TND_VALUE_LIST) {
        resolve_link(self, links);
        return;
    }
    for (size_t i = 0; i < links->count; i++)
        resolve_link(self, links->items[i]);
}

/*  Follows links from `actor`; true if one leads back to something on the path.  `state`: 0 not
 *  seen, 1 on the path, 2 done.  A link that closes a cycle is reported.
 */
static bool find_cycle(resolver_t *self, uint32_t actor, unsigned char *state, uint32_t *path,
                       uint32_t depth)
{
    state[actor] = 1;
    path[depth] = actor;
    for (uint32_t i = 0; i < self->topology->link_count; i++) {
        const tnd_topology_link_t *link = &self->links[i];
        if (link->from != actor || link->call || state[link->to] == 2)
            continue;
        if (state[link->to] == 0) {
            if (find_cycle(self, link->to, state, path, depth + 1))
                return true;
            continue;
        }
        uint32_t start = 0;
        while (path[start] != link->to)
            start++;
        const char *text = "";
        for (uint32_t j = start; j <= depth; j++)
            text = tnd_arena_format(self->context->arena, "%s%s -> ", text,
                                    self->actors[path[j]].name);
        tnd_diagnostics_add(diagnostics_of(self), TND_T029_CYCLE, link->mark,
                            "links form a cycle: %s%s", text, self->actors[link->to].name);
        return true;
    }
    state[actor] = 2;
    return false;
}

static void check_cycles(resolver_t *self)
{
    uint32_t count = self->topology->actor_count;
    unsigned char *state = tnd_arena_array(self->context->arena, count, 1);
    uint32_t *path = tnd_arena_array(self->context->arena, count, sizeof *path);
    for (uint32_t i = 0; i < count; i++)
        if (state[i] == 0 && find_cycle(self, i, state, path, 0)) {
            self->links_failed = true;
            return;
        }
}

static void report_dangling(resolver_t *self, const tnd_topology_actor_t *actor,
                            const tnd_port_spec_t *port, bool inlet)
{
    if (inlet) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T028_DANGLING, actor->mark,
                            "`%s` gets no %s: no link leads to it", actor->name,
                            flow_name(port->flow));
        tnd_diagnostics_help(diagnostics_of(self), "add `... -> %s` to `links:`", actor->name);
        return;
    }
    tnd_diagnostics_add(diagnostics_of(self), TND_T028_DANGLING, actor->mark,
                        "nobody takes the %s of `%s`", flow_name(port->flow), actor->name);
    tnd_diagnostics_help(diagnostics_of(self), "add `%s -> ...` to `links:`", actor->name);
}

/*  The links at one port: too many, or none where one is needed. */
static uint32_t check_port(resolver_t *self, uint32_t actor, uint32_t index, bool inlet)
{
    const tnd_topology_actor_t *self_actor = &self->actors[actor];
    const tnd_port_spec_t *port =
        inlet ? &self_actor->kind->inlets[index] : &self_actor->kind->outlets[index];
    const tnd_topology_link_t *first = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->topology->link_count; i++) {
        const tnd_topology_link_t *link = &self->links[i];
        if (inlet ? link->to != actor || link->inlet != index
                  : link->from != actor || link->outlet != index)
            continue;
        if (count++ == 0) {
            first = link;
            continue;
        }
        if (port->several)
            continue;
        tnd_diagnostics_add(diagnostics_of(self), TND_T027_TOO_MANY_LINKS, link->mark,
                            inlet ? "`%s` already gets its %s from `%s`"
                                  : "`%s` already gives its %s to `%s`",
                            self_actor->name, flow_name(port->flow),
                            self->actors[inlet ? first->from : first->to].name);
        tnd_diagnostics_also(diagnostics_of(self), first->mark, "here");
    }
    return count;
}

static void check_ports(resolver_t *self, uint32_t index)
{
    const tnd_topology_actor_t *actor = &self->actors[index];
    if (actor->kind == NULL)
        return;
    bool linked = false;
    for (uint32_t i = 0; i < actor->kind->inlet_count; i++) {
        uint32_t links = check_port(self, index, i, true);
        linked = linked || links > 0;
        if (links == 0 && actor->kind->inlets[i].required) {
            report_dangling(self, actor, &actor->kind->inlets[i], true);
            return;
        }
    }
    for (uint32_t i = 0; i < actor->kind->outlet_count; i++) {
        uint32_t links = check_port(self, index, i, false);
        if (links == 0 && actor->kind->outlets[i].required && !self->open_ended) {
            report_dangling(self, actor, &actor->kind->outlets[i], false);
            return;
        }
    }
}

/*  ------------------------------------------------------------------------------------ chains */

static const void *field_of(const tnd_topology_actor_t *actor, const char *name,
                            tnd_option_type_t type)
{
    return actor->kind == NULL ? NULL
                               : tnd_options_field(&actor->kind->table, actor->options, name, type);
}

static const char *after_of(const tnd_topology_actor_t *actor)
{
    const char *const *after = field_of(actor, "after", TND_OPTION_STRING);
    return after != NULL ? *after : NULL;
}

static bool is_feeder(const tnd_topology_actor_t *actor)
{
    return actor->kind != NULL && actor->kind->instances == TND_INSTANCE_HOST;
}

/*  Where an actor's option was written; the actor itself if it was not. */
static tnd_mark_t option_mark(const tnd_topology_actor_t *actor, const char *name)
{
    const tnd_value_t *value = tnd_value_get(actor->value, name);
    return value != NULL ? value->mark : actor->mark;
}

/*  The end of a chain is a feeder, or, if the graph is open-ended, what gives rows or batches to
 *  nobody.
 */
static bool ends_chain(const resolver_t *self, uint32_t actor)
{
    const tnd_kind_spec_t *kind = self->actors[actor].kind;
    if (is_feeder(&self->actors[actor]))
        return true;
    if (kind == NULL || kind->outlet_count == 0)
        return false;
    for (uint32_t i = 0; i < self->topology->link_count; i++)
        if (self->links[i].from == actor)
            return false;
    return true;
}

/*  Gives the chain's number to everything upstream of its end, and finds its replicas. */
static void mark_chain(resolver_t *self, uint32_t chain)
{
    uint32_t actor = self->chains[chain].end;
    self->chains[chain].replicas = 1;
    for (bool going = true; going;) {
        self->actors[actor].chain = chain;
        const uint64_t *replicas = field_of(&self->actors[actor], "replicas", TND_OPTION_U64);
        if (replicas != NULL)
            self->chains[chain].replicas = (uint32_t)*replicas;
        going = false;
        for (uint32_t i = 0; i < self->topology->link_count && !going; i++)
            if (self->links[i].to == actor && !self->links[i].call) {
                actor = self->links[i].from;
                going = true;
            }
    }
}

static void add_chain(resolver_t *self, uint32_t end)
{
    uint32_t chain = self->topology->chain_count++;
    self->chains[chain] = (tnd_topology_chain_t){.end = end, .after = TND_TOPOLOGY_NONE};
    mark_chain(self, chain);
}

/*  Whether `after:` of an actor, if it has one, names another feeder. */
static bool check_after_name(resolver_t *self, uint32_t index)
{
    const tnd_topology_actor_t *feeder = &self->actors[index];
    const char *after = after_of(feeder);
    if (after == NULL)
        return true;
    uint32_t first = tnd_topology_find(self->topology, after);
    if (first != TND_TOPOLOGY_NONE && first != index && is_feeder(&self->actors[first]))
        return true;
    if (first != TND_TOPOLOGY_NONE && self->actors[first].kind == NULL)
        return false; /* what is wrong with that one has been said */
    tnd_nearest_t nearest = {.word = after};
    const char *other = NULL;
    for (uint32_t i = 0; i < self->topology->actor_count; i++)
        if (is_feeder(&self->actors[i]) && i != index) {
            tnd_nearest_offer(&nearest, self->actors[i].name);
            other = self->actors[i].name;
        }
    tnd_diagnostics_add(diagnostics_of(self), TND_T030_AFTER, option_mark(feeder, "after"),
                        first == index ? "`%s` cannot come after itself"
                        : first == TND_TOPOLOGY_NONE
                            ? "`after:` names a feeder, and there is no actor `%s`"
                            : "`after:` names a feeder, and `%s` is none",
                        after);
    if (nearest.best != NULL || other != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?",
                             nearest.best != NULL ? nearest.best : other);
    return false;
}

static void check_after(resolver_t *self, uint32_t index)
{
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    tnd_topology_chain_t *chain = &self->chains[index];
    const tnd_topology_actor_t *feeder = &self->actors[chain->end];
    const char *after = after_of(feeder);
    if (after == NULL)
        return;
    tnd_mark_t mark = option_mark(feeder, "after");
    uint32_t first = tnd_topology_find(self->topology, after);
    if (!check_after_name(self, chain->end))
        return;
    if (after_of(&self->actors[first]) != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "`%s` has no models of its own: it comes after `%s` itself", after,
                            after_of(&self->actors[first]));
        tnd_diagnostics_help(diagnostics, "write `after: %s`", after_of(&self->actors[first]));
        return;
    }
    const void *const *step = field_of(feeder, "step", TND_OPTION_TABLE);
    if (step != NULL && *step != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, option_mark(feeder, "step"),
                            "`%s` comes after `%s` and evaluates its models: it has no step of "
                            "its own",
                            feeder->name, after);
        return;
    }
    chain->after = self->actors[first].chain;
    uint32_t replicas = self->chains[chain->after].replicas;
    if (replicas != chain->replicas) {
        tnd_diagnostics_add(diagnostics, TND_T030_AFTER, mark,
                            "this chain has %u replicas, that of `%s` has %u: replica r is "
                            "evaluated on model r",
                            chain->replicas, after, replicas);
        tnd_diagnostics_help(diagnostics, "give both batchers the same `replicas:`");
    }
}

static void resolve_chains(resolver_t *self)
{
    uint32_t count = self->topology->actor_count;
    self->chains = tnd_arena_array(self->context->arena, count, sizeof *self->chains);
    self->topology->chains = self->chains;
    const tnd_topology_actor_t *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const tnd_topology_actor_t *actor = &self->actors[i];
        if (!is_feeder(actor) || after_of(actor) != NULL)
            continue;
        if (first != NULL) {
            tnd_diagnostics_add(diagnostics_of(self), TND_T031_SEVERAL_CHAINS, actor->mark,
                                "`%s` and `%s` would run at the same time", first->name,
                                actor->name);
            tnd_diagnostics_also(diagnostics_of(self), first->mark, "the first chain ends here");
            tnd_diagnostics_help(diagnostics_of(self),
                                 "let one follow the other: `%s: {kind: %s, after: %s}`",
                                 actor->name, actor->kind->table.name, first->name);
            continue;
        }
        first = actor;
        add_chain(self, i);
    }
    for (uint32_t i = 0; i < count; i++)
        if ((is_feeder(&self->actors[i]) && after_of(&self->actors[i]) != NULL) ||
            (!is_feeder(&self->actors[i]) && ends_chain(self, i)))
            add_chain(self, i);
    for (uint32_t i = 0; i < self->topology->chain_count; i++)
        check_after(self, i);
}

/*  ----------------------------------------------------------------------------- further checks */

static void check_source(resolver_t *self, const tnd_topology_actor_t *actor)
{
    const tnd_part_t *source = field_of(actor, "source", TND_OPTION_PART);
    if (source == NULL || source->table == NULL)
        return;
    uint32_t caps = tnd_source_spec_of(source->table)->caps;
    const int *shuffle = field_of(actor, "shuffle", TND_OPTION_ENUM);
    const uint64_t *epochs = field_of(actor, "epochs", TND_OPTION_U64);
    const uint64_t *workers = field_of(actor, "workers", TND_OPTION_U64);
    const int *shard = field_of(actor, "shard", TND_OPTION_ENUM);
    const char *name = source->table->name;
    if (shard != NULL && *shard != 0 && (caps & TND_SOURCE_FILES) == 0) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T033_SOURCE_ABILITY,
                            option_mark(actor, "shard"),
                            "`%s` has no files that lanes could share out", name);
        tnd_diagnostics_help(diagnostics_of(self), "write `shard: index`");
    }
    if (shuffle != NULL && *shuffle != 0 && (caps & TND_SOURCE_RANDOM) == 0)
        tnd_diagnostics_add(diagnostics_of(self), TND_T033_SOURCE_ABILITY,
                            option_mark(actor, "shuffle"),
                            "`%s` is read from its start only and cannot be shuffled", name);
    if (workers != NULL && *workers > 1 && (caps & TND_SOURCE_RANDOM) == 0)
        tnd_diagnostics_add(diagnostics_of(self), TND_T033_SOURCE_ABILITY,
                            option_mark(actor, "workers"),
                            "`%s` is read from its start only, by one reader", name);
    uint64_t lanes = self->topology->settings != NULL ? self->topology->settings->lanes : 1;
    if (lanes > 1 && (caps & TND_SOURCE_RANDOM) == 0)
        tnd_diagnostics_add(diagnostics_of(self), TND_T033_SOURCE_ABILITY, actor->mark,
                            "`%s` is read from its start only, in one lane, not in %llu", name,
                            (unsigned long long)lanes);
    const uint64_t *repeat = field_of(actor, "repeat", TND_OPTION_U64);
    if (repeat != NULL && *repeat > 1 && (caps & TND_SOURCE_RANDOM) == 0)
        tnd_diagnostics_add(diagnostics_of(self), TND_T033_SOURCE_ABILITY,
                            option_mark(actor, "repeat"),
                            "`%s` is read from its start only: `epochs:` reads it several times, "
                            "`repeat:` cannot",
                            name);
    if (epochs != NULL && *epochs != 1 && caps == 0)
        tnd_diagnostics_add(diagnostics_of(self), TND_T033_SOURCE_ABILITY,
                            option_mark(actor, "epochs"), "`%s` can be read only once", name);
}

static void check_batch(resolver_t *self, const tnd_topology_actor_t *actor)
{
    const uint64_t *size = field_of(actor, "size", TND_OPTION_U64);
    const uint64_t *replicas = field_of(actor, "replicas", TND_OPTION_U64);
    uint64_t lanes = self->topology->settings->lanes;
    if (size == NULL || replicas == NULL)
        return;
    if (*size < *replicas)
        tnd_diagnostics_add(diagnostics_of(self), TND_T074_FEW_ROWS, option_mark(actor, "size"),
                            "a batch of %llu rows for %llu replicas: some get none",
                            (unsigned long long)*size, (unsigned long long)*replicas);
    else if (lanes > 1 && (*replicas % lanes != 0 || *size % *replicas != 0))
        tnd_diagnostics_add(
            diagnostics_of(self), TND_T072_UNEVEN_LANES, option_mark(actor, "replicas"),
            "%llu lanes, %llu replicas, %llu rows: replicas take rows of several "
            "lanes",
            (unsigned long long)lanes, (unsigned long long)*replicas, (unsigned long long)*size);
}

/*  -------------------------------------------------------------------------------- fingerprint */

/*  The index of the actor whose name follows `last` in the alphabet. */
static uint32_t actor_after(const tnd_topology_t *self, const char *last)
{
    uint32_t best = TND_TOPOLOGY_NONE;
    for (uint32_t i = 0; i < self->actor_count; i++)
        if ((last == NULL || strcmp(self->actors[i].name, last) > 0) &&
            (best == TND_TOPOLOGY_NONE ||
             strcmp(self->actors[i].name, self->actors[best].name) < 0))
            best = i;
    return best;
}

static void print_links_between(const tnd_topology_t *self, uint32_t from, uint32_t to, FILE *out)
{
    for (uint32_t i = 0; i < self->link_count; i++)
        if (self->links[i].from == from && self->links[i].to == to)
            fprintf(out, "%s %s %s; ", self->actors[from].name, self->links[i].call ? "<->" : "->",
                    self->actors[to].name);
}

void tnd_topology_print(const tnd_topology_t *self, FILE *out)
{
    fprintf(out, "seed %llu; lanes %llu; ", (unsigned long long)self->settings->seed,
            (unsigned long long)self->settings->lanes);
    for (uint32_t i = actor_after(self, NULL); i != TND_TOPOLOGY_NONE;
         i = actor_after(self, self->actors[i].name)) {
        fprintf(out, "%s: %s ", self->actors[i].name, self->actors[i].kind->table.name);
        tnd_options_print(&self->actors[i].kind->table, self->actors[i].options, TND_ROLE_GRAPH,
                          out);
        fputs("; ", out);
        for (uint32_t j = actor_after(self, NULL); j != TND_TOPOLOGY_NONE;
             j = actor_after(self, self->actors[j].name))
            print_links_between(self, i, j, out);
    }
}

static void compute_fingerprint(tnd_topology_t *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    tnd_topology_print(self, out);
    fclose(out);
    XXH128_hash_t hash = XXH3_128bits(text, size);
    self->fingerprint[0] = hash.low64;
    self->fingerprint[1] = hash.high64;
    free(text);
}

/*  -------------------------------------------------------------------------------- all together */

/*  The tree with the keys that every topology has: where they are missing this is said elsewhere,
 * in words of its own.
 */
static const tnd_value_t *completed(const resolver_t *self, const tnd_value_t *root)
{
    if (root->type != TND_VALUE_MAP && root->type != TND_VALUE_NULL)
        return root;
    tnd_arena_t *arena = self->context->arena;
    tnd_value_t *whole = tnd_value_map(arena, root->mark);
    for (size_t i = 0; i < root->count; i++)
        tnd_value_put(arena, whole, root->entries[i].key, root->entries[i].mark,
                      root->entries[i].value);
    const tnd_value_t *version = tnd_value_get(root, "tundish");
    const tnd_value_t *actors = tnd_value_get(root, "actors");
    if (version == NULL || version->type == TND_VALUE_NULL)
        tnd_value_put(arena, whole, "tundish", root->mark,
                      tnd_value_scalar(arena, root->mark, "1"));
    if (actors == NULL || actors->type == TND_VALUE_NULL)
        tnd_value_put(arena, whole, "actors", root->mark, tnd_value_map(arena, root->mark));
    return whole;
}

static bool check_version(resolver_t *self, const tnd_value_t *root, const tnd_settings_t *settings)
{
    const tnd_value_t *version = tnd_value_get(root, "tundish");
    tnd_mark_t mark = version != NULL ? version->mark : root->mark;
    bool missing = version == NULL || version->type == TND_VALUE_NULL;
    if (!missing && settings != NULL && settings->version == 1)
        return true;
    if (missing)
        tnd_diagnostics_add(diagnostics_of(self), TND_T022_VERSION, mark,
                            "this does not say which version of the language it is written in");
    else if (settings != NULL)
        tnd_diagnostics_add(diagnostics_of(self), TND_T022_VERSION, mark,
                            "this program reads version 1, not %s",
                            version->text != NULL ? version->text : "that");
    else
        return true; /* it is there, and what is wrong with it has been said */
    tnd_diagnostics_help(diagnostics_of(self), "a topology begins with `tundish: 1`");
    return false;
}

bool tnd_topology_resolve(const tnd_options_context_t *context, const tnd_value_t *root,
                          bool open_ended, const tnd_topology_t **topology_p)
{
    tnd_topology_t *topology = tnd_arena_take(context->arena, sizeof *topology);
    resolver_t self = {.context = context, .topology = topology, .open_ended = open_ended};
    size_t errors = tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR);
    const tnd_settings_t *settings = tnd_options_parse(
        context, &tnd_settings_table, completed(&self, root), "a topology", root->mark);
    if (root->type == TND_VALUE_MAP || root->type == TND_VALUE_NULL)
        (void)check_version(&self, root, settings);
    const tnd_value_t *actors = tnd_value_get(root, "actors");
    size_t count = actors != NULL && actors->type == TND_VALUE_MAP ? actors->count : 0;
    self.actors = tnd_arena_array(context->arena, count, sizeof *self.actors);
    topology->actors = self.actors;
    topology->root = root;
    *topology_p = topology;
    for (size_t i = 0; i < count; i++)
        resolve_actor(&self, &actors->entries[i]);
    bool unread = actors != NULL && actors->type != TND_VALUE_MAP && actors->type != TND_VALUE_NULL;
    if (topology->actor_count == 0 && root->type == TND_VALUE_MAP && !unread) {
        tnd_diagnostics_add(context->diagnostics, TND_T035_NO_ACTORS,
                            actors != NULL ? actors->mark : root->mark,
                            "a topology needs `actors:`");
        tnd_diagnostics_help(context->diagnostics,
                             "each is `NAME: {kind: KIND, options}`: see `tundish help kinds`");
    }
    const tnd_value_t *links = tnd_value_get(root, "links");
    if (topology->actor_count > 0 && !open_ended &&
        (links == NULL || links->type == TND_VALUE_NULL)) {
        self.links_failed = true;
        if (settings != NULL)
            tnd_diagnostics_add(context->diagnostics, TND_T028_DANGLING, actors->mark,
                                "a topology needs `links:`, which say who feeds whom");
    }
    resolve_links(&self, links != NULL && links->type != TND_VALUE_NULL ? links : NULL);
    check_cycles(&self);
    for (uint32_t i = 0; i < topology->actor_count && !self.links_failed; i++)
        check_ports(&self, i);
    topology->settings = settings;
    for (uint32_t i = 0; i < topology->actor_count; i++)
        check_source(&self, &self.actors[i]);
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors) {
        for (uint32_t i = 0; i < topology->actor_count; i++)
            (void)check_after_name(&self, i);
        return false;
    }
    resolve_chains(&self);
    for (uint32_t i = 0; i < topology->actor_count; i++)
        check_batch(&self, &self.actors[i]);
    if (tnd_diagnostics_count(context->diagnostics, TND_SEVERITY_ERROR) != errors)
        return false;
    compute_fingerprint(topology);
    return true;
}

/*  The best place so far for what a text is about. */
typedef struct {
    const char *text;
    const tnd_value_t *value;
    size_t score;
    size_t scalars; /* seen at all */
} blame_t;

/*  How clearly `text` speaks of `word`: what stands in backquotes before paths, and those before
 * the longest; then what comes first.  0: not at all.
 */
static size_t score_of(const char *text, const char *word, bool any_start)
{
    enum { TEXT_MAX = 1024, QUOTED = TEXT_MAX * TEXT_MAX };
    size_t size = strlen(word), best = 0;
    if (size == 0 || size >= TEXT_MAX)
        return 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        size_t place = (size_t)(at - text);
        if (place >= TEXT_MAX || (at > text && is_word_byte(at[-1]) && !any_start) ||
            is_word_byte(at[size]))
            continue;
        bool quoted = at > text && at[-1] == '`' && at[size] == '`';
        bool path = size > 4 && strpbrk(word, "/.") != NULL;
        size_t score = (quoted ? 2 * QUOTED : path ? QUOTED : size * TEXT_MAX) - place;
        best = score > best ? score : best;
    }
    return best;
}

static void seek_blame(blame_t *self, const tnd_value_t *value)
{
    if (value->type == TND_VALUE_MAP || value->type == TND_VALUE_LIST)
        for (size_t i = 0; i < value->count; i++)
            seek_blame(self,
                       value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value);
    if (value->type != TND_VALUE_SCALAR)
        return;
    /* What ${data} stands for differs by host; what follows it does not. */
    const char *brace = strrchr(value->text, '}');
    const char *word = brace != NULL ? brace + 1 : value->text;
    size_t score = score_of(self->text, word, brace != NULL);
    if (self->scalars++ > 0 && score <= self->score)
        return;
    self->value = value;
    self->score = score;
}

tnd_mark_t tnd_topology_blame(const tnd_topology_actor_t *actor, const void *about,
                              const char *text)
{
    const tnd_value_t *part = about;
    blame_t blame = {.text = text};
    tnd_mark_t mark = part != NULL ? part->mark : actor->mark;
    if (part != NULL && part->type == TND_VALUE_MAP && part->count == 1) {
        mark = part->entries[0].mark;
        part = part->entries[0].value;
    }
    if (part != NULL || actor->value != NULL)
        seek_blame(&blame, part != NULL ? part : actor->value);
    /* The only value of a part is what there is to blame, whatever the text calls it. */
    bool only = part != NULL && blame.scalars == 1;
    return blame.score > 0 || only ? blame.value->mark : mark;
}

static const tnd_value_t *find_text(const tnd_value_t *value, const char *text)
{
    const tnd_value_t *found = value->text == text ? value : NULL;
    if (value->type == TND_VALUE_SCALAR || value->type == TND_VALUE_NULL)
        return found;
    for (size_t i = 0; i < value->count && found == NULL; i++)
        found = find_text(value->type == TND_VALUE_LIST ? value->items[i] : value->entries[i].value,
                          text);
    return found;
}

tnd_mark_t tnd_topology_place(const tnd_topology_t *self, const char *text, tnd_mark_t otherwise)
{
    const tnd_value_t *found = find_text(self->root, text);
    return found != NULL ? found->mark : otherwise;
}

/*  False if the entry cannot be merged. */
static bool check_overlay_actor(const tnd_options_context_t *context, const tnd_value_t *actors,
                                const tnd_value_entry_t *entry)
{
    const tnd_value_t *base = tnd_value_get(actors, entry->key);
    if (base == NULL || base->type != TND_VALUE_MAP) {
        tnd_nearest_t nearest = {.word = entry->key};
        for (size_t i = 0; actors != NULL && i < actors->count; i++)
            tnd_nearest_offer(&nearest, actors->entries[i].key);
        tnd_diagnostics_add(context->diagnostics, TND_T032_OVERLAY, entry->mark,
                            "an overlay cannot add an actor, and the graph has no `%s`",
                            entry->key);
        if (nearest.best != NULL)
            tnd_diagnostics_help(context->diagnostics, "did you mean `%s`?", nearest.best);
        return false;
    }
    if (entry->value->type == TND_VALUE_NULL)
        return false; /* it says nothing of it */
    if (entry->value->type != TND_VALUE_MAP) {
        tnd_diagnostics_add(context->diagnostics, TND_T032_OVERLAY, entry->value->mark,
                            "an overlay cannot replace the actor `%s`", entry->key);
        return false;
    }
    const tnd_value_t *kind = tnd_value_get(base, "kind");
    const tnd_value_t *other = tnd_value_get(entry->value, "kind");
    if (other != NULL && !tnd_value_equal(kind, other)) {
        tnd_diagnostics_add(context->diagnostics, TND_T032_OVERLAY, other->mark,
                            "an overlay cannot change the kind of `%s`", entry->key);
        if (kind != NULL)
            tnd_diagnostics_also(context->diagnostics, kind->mark, "the graph says this");
        return false;
    }
    const tnd_kind_spec_t *spec = kind != NULL && kind->text != NULL ? find_kind(kind->text) : NULL;
    if (spec == NULL)
        return true;
    tnd_options_check_overlay(context, &spec->table, base, entry->value,
                              tnd_arena_format(context->arena, "`%s`", entry->key));
    return true;
}

tnd_value_t *tnd_topology_check_overlay(const tnd_options_context_t *context,
                                        const tnd_value_t *base, tnd_value_t *over)
{
    const tnd_value_t *actors = tnd_value_get(over, "actors");
    const tnd_value_t *links = tnd_value_get(over, "links");
    tnd_options_check_overlay(context, &tnd_settings_table, base, over, "the topology");
    tnd_value_t *sound = over;
    if (links != NULL)
        sound = tnd_value_without(context->arena, sound, "links");
    if (actors == NULL || actors->type != TND_VALUE_MAP)
        return sound;
    tnd_value_t *kept = tnd_value_map(context->arena, actors->mark);
    for (size_t i = 0; i < actors->count; i++) {
        const tnd_value_entry_t *entry = &actors->entries[i];
        if (check_overlay_actor(context, tnd_value_get(base, "actors"), entry))
            tnd_value_put(context->arena, kept, entry->key, entry->mark, entry->value);
    }
    const tnd_value_entry_t *entry = tnd_value_entry(over, "actors");
    sound = tnd_value_without(context->arena, sound, "actors");
    tnd_value_put(context->arena, sound, "actors", entry->mark, kept);
    return sound;
}
