/* SPDX-License-Identifier: MIT
 *
 * Parses the statements about servers (gradwire-topology(5)):
 *
 *     server NAME ...: KIND NODE ... [KIND NODE ...] ...
 *     switch NODE ...
 *     link KIND NODE: NODE ... [rate=R] [latency=T]
 *
 * A single server in a statement has the nodes as named. Several servers have a
 * node SERVER.NODE each. If no node has the name in a link, the name means the
 * node of each server, so that equal servers need only one statement.
 */
#include "topology_parts.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 2 * GW_TOPOLOGY_NAME_MAX };

struct builder {
    struct gw__words *words;
    struct gw_topology *t;
    enum gw__node_kind kind;
    const char *prefix; /* of node names: a server's name, or NULL */
    uint32_t server;
};

/* ---- nodes ---- */

static bool add_node(void *context, const char *name, size_t at)
{
    struct builder *b = context;
    struct gw__source *source = &b->words->source;
    char full[MANY];
    int length =
        snprintf(full, sizeof full, "%s%s%s", b->prefix ? b->prefix : "",
                 b->prefix ? "." : "", name);
    if (length >= GW_TOPOLOGY_NAME_MAX)
        return gw__source_fail(source, at,
                               "node `%s` must have at most %d characters",
                               full, GW_TOPOLOGY_NAME_MAX - 1);
    if (gw__node_find(b->t, full, (size_t)length) != UINT32_MAX)
        return gw__source_fail(source, at, "node `%s` occurs twice", full);
    if (b->t->graph.node_count == GW__GRAPH_NODES_MAX)
        return gw__source_fail(source, at,
                               "a topology can have at most %d nodes",
                               GW__GRAPH_NODES_MAX);
    return gw__node_add(b->t, full, b->kind, b->server) ||
           gw__source_exhausted(source);
}

static bool is_kind(struct gw__words *words, enum gw__node_kind *kind)
{
    for (unsigned k = 0; k < GW__NODE_KINDS; k++)
        if (gw__is_word(words, gw__node_kind_name((enum gw__node_kind)k))) {
            *kind = (enum gw__node_kind)k;
            return true;
        }
    return false;
}

/* KIND NODE ... [KIND NODE ...] ... to the end of the line. */
static bool read_nodes(struct builder *b, size_t at)
{
    struct gw__words *words = b->words;
    unsigned hosts = b->t->host_count;
    uint64_t capacity = b->t->capacity;
    if (!is_kind(words, &b->kind))
        return gw__expected(words, words->word,
                            "socket, memory, switch, accelerator or nic");
    while (!gw__at_line_end(words)) {
        if (is_kind(words, &b->kind)) {
            if (!gw__next_word(words))
                return false;
            if (gw__at_line_end(words) || is_kind(words, &b->kind))
                return gw__expected(words, words->word, "a node's name");
        }
        if (!gw__names_read(words, words->word, words->end, add_node, b) ||
            !gw__next_word(words))
            return false;
    }
    return (b->t->host_count > hosts && b->t->capacity > capacity) ||
           gw__source_fail(&words->source, at,
                           "a server must have an accelerator");
}

/* ---- server ---- */

static bool add_server_rack(void *context, const char *name, size_t at)
{
    struct builder *b = context;
    struct gw_topology *t = b->t;
    struct gw__source *source = &b->words->source;
    if (gw__rack_find(t, name, strlen(name)) != UINT32_MAX)
        return gw__source_fail(source, at, "server `%s` occurs twice", name);
    if (t->rack_count == GW__GRAPH_NODES_MAX)
        return gw__source_fail(source, at,
                               "a topology can have at most %d servers",
                               GW__GRAPH_NODES_MAX);
    return gw__rack_add(t, name) || gw__source_exhausted(source);
}

/* NAME ...: in words, the last one with a colon. */
static bool read_names(struct builder *b, gw__on_name *on_name)
{
    struct gw__words *words = b->words;
    for (bool last = false; !last;) {
        size_t end = words->end;
        if (gw__at_line_end(words))
            return gw__expected(words, words->word, "a name and `:`");
        last = gw__byte_at(words, end - 1) == ':';
        if (!gw__names_read(words, words->word, end - last, on_name, b) ||
            !gw__next_word(words))
            return false;
    }
    return true;
}

/* New hosts belong to the last rack. So each server is added before its nodes,
 * and the text after the colon is parsed once per server. */
static bool add_server(struct builder *b, const char *name, bool alone,
                       size_t at)
{
    struct gw_topology *t = b->t;
    if (!add_server_rack(b, name, at))
        return false;
    b->server = t->rack_count - 1;
    b->prefix = alone ? NULL : t->racks[b->server].name;
    t->racks[b->server].first = t->host_count;
    return read_nodes(b, at);
}

struct names {
    char name[GW__GRAPH_NODES_MAX][GW_TOPOLOGY_NAME_MAX];
    size_t at[GW__GRAPH_NODES_MAX];
    unsigned count;
};

struct name_list {
    struct builder builder; /* must be first: read_names passes it on */
    struct names *names;
};

static bool list_name(void *context, const char *name, size_t at)
{
    struct name_list *list = context;
    struct names *names = list->names;
    if (names->count == GW__GRAPH_NODES_MAX)
        return gw__source_fail(&list->builder.words->source, at,
                               "a topology can have at most %d servers",
                               GW__GRAPH_NODES_MAX);
    memcpy(names->name[names->count], name, strlen(name) + 1);
    names->at[names->count++] = at;
    return true;
}

static bool read_server(struct gw__words *words, struct gw_topology *t)
{
    struct names names = {.count = 0};
    struct name_list list = {.builder = {.words = words, .t = t},
                             .names = &names};
    if (!read_names(&list.builder, list_name))
        return false;
    size_t word = words->word, end = words->end;
    bool right = true;
    for (unsigned i = 0; i < names.count && right; i++) {
        words->word = word;
        words->end = end;
        right = add_server(&list.builder, names.name[i], names.count == 1,
                           names.at[i]);
    }
    return right;
}

static bool read_switch(struct gw__words *words, struct gw_topology *t)
{
    struct builder b = {
        .words = words, .t = t, .kind = GW__NODE_SWITCH, .server = UINT32_MAX};
    if (gw__at_line_end(words))
        return gw__expected(words, words->word, "a switch's name");
    while (!gw__at_line_end(words))
        if (!gw__names_read(words, words->word, words->end, add_node, &b) ||
            !gw__next_word(words))
            return false;
    return true;
}

/* ---- link ---- */

struct ends {
    struct gw__words *words;
    struct gw_topology *t;
    char from[GW_TOPOLOGY_NAME_MAX];
    size_t from_at;
    uint32_t kind;
    unsigned first; /* the statement's first edge */
};

static bool set_link_kind(void *context, const char *name, size_t at)
{
    struct ends *e = context;
    struct gw__graph *g = &e->t->graph;
    if (strlen(name) >= GW__EDGE_KIND_NAME_MAX)
        return gw__source_fail(&e->words->source, at,
                               "a kind of link must have at most %d characters",
                               GW__EDGE_KIND_NAME_MAX - 1);
    for (e->kind = 0; e->kind < g->kind_count; e->kind++)
        if (strcmp(g->kinds[e->kind], name) == 0)
            return true;
    if (g->kind_count == GW__EDGE_KINDS_MAX)
        return gw__source_fail(&e->words->source, at,
                               "a topology can have at most %d kinds of links",
                               GW__EDGE_KINDS_MAX);
    memcpy(g->kinds[g->kind_count++], name, strlen(name) + 1);
    return true;
}

static bool set_from(void *context, const char *name, size_t at)
{
    struct ends *e = context;
    if (*e->from)
        return gw__source_fail(&e->words->source, at,
                               "a link must have one node before `:`");
    memcpy(e->from, name, strlen(name) + 1);
    e->from_at = at;
    return true;
}

/* The node with that name, or with that name in `server`. */
static uint32_t find_end(const struct ends *e, const char *name,
                         unsigned server)
{
    char full[MANY];
    uint32_t node = gw__node_find(e->t, name, strlen(name));
    if (node != UINT32_MAX || server >= e->t->rack_count)
        return node;
    int length =
        snprintf(full, sizeof full, "%s.%s", e->t->racks[server].name, name);
    return gw__node_find(e->t, full, (size_t)length);
}

static bool add_edge(struct ends *e, uint32_t from, uint32_t to, size_t at)
{
    struct gw__source *source = &e->words->source;
    struct gw__edge edge = {.a = from, .b = to, .kind = e->kind};
    if (from == to)
        return gw__source_fail(source, at, "a link must have two ends");
    if (e->t->graph.edge_count == GW__EDGES_MAX)
        return gw__source_fail(
            source, at, "a topology can have at most %d links", GW__EDGES_MAX);
    return gw__edge_add(e->t, &edge) || gw__source_exhausted(source);
}

static bool add_edges_to(void *context, const char *name, size_t at)
{
    struct ends *e = context;
    const uint32_t none = UINT32_MAX;
    uint32_t from = find_end(e, e->from, none), to = find_end(e, name, none);
    unsigned before = e->t->graph.edge_count;
    if (from != none && to != none)
        return add_edge(e, from, to, at);
    for (unsigned s = 0; s < e->t->rack_count; s++) {
        uint32_t a = find_end(e, e->from, s), b = find_end(e, name, s);
        if (a != none && b != none && !add_edge(e, a, b, at))
            return false;
    }
    return e->t->graph.edge_count > before ||
           gw__source_fail(&e->words->source, at,
                           "no server above has both nodes `%s` and `%s`",
                           e->from, name);
}

static bool read_link(struct gw__words *words, struct gw_topology *t)
{
    struct ends e = {.words = words, .t = t, .first = t->graph.edge_count};
    struct gw__settings settings = {0};
    size_t begin = words->word, end = words->end;
    if (gw__at_line_end(words))
        return gw__expected(words, words->word, "a kind of link");
    if (!gw__names_read(words, begin, end, set_link_kind, &e) ||
        !gw__next_word(words))
        return false;
    end = words->end;
    if (gw__at_line_end(words) || gw__byte_at(words, end - 1) != ':')
        return gw__expected(words, words->word, "a node's name and `:`");
    if (!gw__names_read(words, words->word, end - 1, set_from, &e) ||
        !gw__next_word(words))
        return false;
    if (gw__at_line_end(words) || gw__is_setting(words))
        return gw__expected(words, words->word, "a node's name");
    while (!gw__at_line_end(words) && !gw__is_setting(words))
        if (!gw__names_read(words, words->word, words->end, add_edges_to, &e) ||
            !gw__next_word(words))
            return false;
    if (!gw__at_line_end(words) &&
        !gw__settings_read(words, GW__RATE | GW__LATENCY, &settings))
        return false;
    for (unsigned i = e.first; i < t->graph.edge_count; i++)
        t->graph.edges[i].link = settings.link;
    return true;
}

/* ---- statements ---- */

bool gw__graph_statement(const struct gw__words *words)
{
    return gw__is_word(words, "server") || gw__is_word(words, "switch") ||
           gw__is_word(words, "link");
}

bool gw__graph_read(struct gw__words *words, struct gw_topology *t)
{
    bool server = gw__is_word(words, "server");
    bool is_switch = gw__is_word(words, "switch");
    if (!gw__next_word(words))
        return false;
    if (t->fabric.kind != GW__GRAPH && t->rack_count > 0)
        return gw__source_fail(&words->source, words->word,
                               "a topology with servers cannot also have "
                               "racks, a fat tree or a torus");
    t->fabric.kind = GW__GRAPH;
    return server      ? read_server(words, t)
           : is_switch ? read_switch(words, t)
                       : read_link(words, t);
}
