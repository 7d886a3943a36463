/*  runtime/topology/topology_links.c - parses links between ports and reports their errors. */
#include "runtime/topology/topology_internal.h"

#include <string.h>

#include "runtime/option/registry.h"
#include "runtime/topology/link_syntax.h"

static void report_link_syntax(tnd_resolver_t *self, const tnd_token_t *token, const char *expected,
                               const char *text)
{
    const char *corrected = tnd_link_syntax_corrected(self->context->arena, text);
    self->links_failed = true;
    tnd_diagnostics_add(diagnostics_of(self), TND_T024_LINK_SYNTAX, token->mark, "expected %s%s",
                        expected, token->text != NULL && token->size == 0 ? " at the end" : "");
    if (corrected != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "write `%s`", corrected);
    else
        tnd_diagnostics_help(diagnostics_of(self),
                             "links are written as `read -> prep -> batch -> feed <-> mean`");
}

/*  A link that is not text: `read: prep`, `[read, prep]`. */
static const char *link_text(tnd_resolver_t *self, const tnd_value_t *value)
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

static uint32_t find_actor(tnd_resolver_t *self, const tnd_token_t *token)
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
        return TND_TOPOLOGY_NONE; /* already reported */
    tnd_diagnostics_add(diagnostics_of(self), TND_T023_UNKNOWN_ACTOR, token->mark,
                        "unknown actor `%s`", name);
    if (nearest.best != NULL)
        tnd_diagnostics_help(diagnostics_of(self), "did you mean `%s`?", nearest.best);
    return TND_TOPOLOGY_NONE;
}

static void report_link_type(tnd_resolver_t *self, const tnd_topology_actor_t *from,
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
                        tnd_flow_name(gives), to->name, to_kind, tnd_flow_name(takes));
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (kinds[i]->inlet_count > 0 && kinds[i]->outlet_count > 0 &&
            kinds[i]->inlets[0].flow == gives && kinds[i]->outlets[0].flow == takes &&
            gives != takes)
            tnd_diagnostics_help(diagnostics, "a %s belongs between them", kinds[i]->table.name);
}

/*  Finds two ports that fit; returns false if there are none. */
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

/*  Names the kinds that may be between two actors which only connect. */
static void help_between(tnd_diagnostics_t *diagnostics, const tnd_kind_spec_t *kind)
{
    size_t count = 0;
    const tnd_kind_spec_t *const *kinds = tnd_registry_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (kinds[i]->inlet_count > 0 && kinds[i]->outlet_count > 0 &&
            kinds[i]->inlets[0].flow == kind->outlets[0].flow &&
            kinds[i]->outlets[0].flow == kind->inlets[0].flow && !kinds[i]->inlets[0].connects)
            tnd_diagnostics_help(diagnostics, "or put a %s between them", kinds[i]->table.name);
}

static void add_link(tnd_resolver_t *self, uint32_t from, uint32_t to, bool call, tnd_mark_t mark)
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
        help_between(diagnostics, source->kind);
        return;
    }
    self->links[self->topology->link_count++] = link;
}

static void resolve_link(tnd_resolver_t *self, const tnd_value_t *value)
{
    tnd_token_t token = {.mark = value->mark};
    if (value->type != TND_VALUE_SCALAR) {
        report_link_syntax(self, &token, "a text such as `read -> prep`", link_text(self, value));
        return;
    }
    const char *at = value->text;
    uint32_t from = TND_TOPOLOGY_NONE;
    tnd_token_t arrow = {0};
    for (bool first = true;; first = false) {
        if (!tnd_link_syntax_next(value, &at, &token) || strspn(token.text, "<->") > 0) {
            report_link_syntax(self, &token, "the name of an actor", value->text);
            return;
        }
        if (!tnd_link_syntax_is_plain(&token)) {
            report_link_syntax(self, &token, "the name of an actor", value->text);
            return;
        }
        uint32_t to = find_actor(self, &token);
        if (!first && from != TND_TOPOLOGY_NONE && to != TND_TOPOLOGY_NONE)
            add_link(self, from, to, tnd_link_syntax_is(&arrow, "<->"), token.mark);
        from = to;
        if (!tnd_link_syntax_next(value, &at, &arrow)) {
            if (first)
                report_link_syntax(self, &arrow, "`->`", value->text);
            return;
        }
        if (!tnd_link_syntax_is(&arrow, "->") && !tnd_link_syntax_is(&arrow, "<->")) {
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

void tnd_links_resolve(tnd_resolver_t *self, const tnd_value_t *links)
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

/*  Follows links from `actor`; returns true and reports the link if one closes a cycle.  `state`: 0
 *  not seen, 1 on the path, 2 done. */
static bool find_cycle(tnd_resolver_t *self, uint32_t actor, unsigned char *state, uint32_t *path,
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

void tnd_links_check_cycles(tnd_resolver_t *self)
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

static void report_dangling(tnd_resolver_t *self, const tnd_topology_actor_t *actor,
                            const tnd_port_spec_t *port, bool inlet)
{
    if (inlet) {
        tnd_diagnostics_add(diagnostics_of(self), TND_T028_DANGLING, actor->mark,
                            "`%s` gets no %s: no link leads to it", actor->name,
                            tnd_flow_name(port->flow));
        tnd_diagnostics_help(diagnostics_of(self), "add `... -> %s` to `links:`", actor->name);
        return;
    }
    tnd_diagnostics_add(diagnostics_of(self), TND_T028_DANGLING, actor->mark,
                        "no link takes the %s of `%s`", tnd_flow_name(port->flow), actor->name);
    tnd_diagnostics_help(diagnostics_of(self), "add `%s -> ...` to `links:`", actor->name);
}

/*  Reports a port with too many links or without a required one. */
static uint32_t check_port(tnd_resolver_t *self, uint32_t actor, uint32_t index, bool inlet)
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
                            self_actor->name, tnd_flow_name(port->flow),
                            self->actors[inlet ? first->from : first->to].name);
        tnd_diagnostics_also(diagnostics_of(self), first->mark, "here");
    }
    return count;
}

void tnd_links_check_ports(tnd_resolver_t *self, uint32_t index)
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
