/* SPDX-License-Identifier: MIT
 *
 * Parser of topologies; see gradwire-topology(5). A line is a statement. It may
 * only use names that were defined before, so each error has the position of
 * the wrong word.
 *
 *     topology NAME
 *     nic | inner [HOST ...] [rate=R] [latency=T]
 *     uplink [RACK ...] [rate=R | oversubscription=A:B] [latency=T]
 *     rack NAME: HOST ...
 *     fat-tree k=N [levels=2|3] [rate=R | oversubscription=A:B] [latency=T]
 *     torus XxY[xZ] [rate=R] [latency=T]
 *     server NAME ...: socket | memory | switch | accelerator | nic NODE ...
 *     switch NODE ...
 *     link KIND NODE: NODE ... [rate=R] [latency=T]
 *     host HOST ... ranks=N
 *     order racks | interleaved | ring | HOST ...
 */
#include "topology_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pick {
    uint32_t which;
    size_t at; /* in the text */
};

struct reader {
    struct gw__words words;
    struct gw_topology *t;
    struct pick *picked; /* hosts or racks of the statement */
    unsigned picked_count;
    size_t picked_room;
};

static bool fail_at_word(struct reader *r, const char *sentence)
{
    return gw__source_fail(&r->words.source, r->words.word, "%s", sentence);
}

/* ---- rack ---- */

static bool add_host(void *context, const char *name, size_t at)
{
    struct reader *r = context;
    struct gw__source *source = &r->words.source;
    uint32_t there = gw__host_find(r->t, name, strlen(name));
    if (there != UINT32_MAX)
        return gw__source_fail(source, at, "host `%s` is already in rack `%s`",
                               name, r->t->racks[r->t->hosts[there].rack].name);
    if (r->t->host_count == GW_HOSTS_MAX || r->t->capacity == GW_HOSTS_MAX)
        return gw__source_fail(
            source, at, "a topology can have at most %d hosts", GW_HOSTS_MAX);
    return gw__host_add(r->t, name) || gw__source_exhausted(source);
}

static bool add_rack(void *context, const char *name, size_t at)
{
    struct reader *r = context;
    struct gw__source *source = &r->words.source;
    if (gw__rack_find(r->t, name, strlen(name)) != UINT32_MAX)
        return gw__source_fail(source, at, "rack `%s` occurs twice", name);
    if (r->t->rack_count == GW_RACKS_MAX)
        return gw__source_fail(
            source, at, "a topology can have at most %d racks", GW_RACKS_MAX);
    return gw__rack_add(r->t, name) || gw__source_exhausted(source);
}

static bool read_rack(struct reader *r)
{
    struct gw__words *words = &r->words;
    size_t at = words->word, colon = words->end - 1;
    unsigned racks = r->t->rack_count;
    if (gw__at_line_end(words) || gw__byte_at(words, colon) != ':')
        return gw__expected(words, at, "a rack's name and `:`");
    if (r->t->fabric.kind != GW__RACKS)
        return fail_at_word(r,
                            "a fat tree, a torus or servers cannot have racks");
    if (!gw__names_read(words, at, colon, add_rack, r) || !gw__next_word(words))
        return false;
    if (r->t->rack_count != racks + 1)
        return gw__source_fail(&words->source, at, "a line must have one rack");
    if (gw__at_line_end(words))
        return gw__expected(words, words->word, "the rack's hosts");
    while (!gw__at_line_end(words))
        if (!gw__names_read(words, words->word, words->end, add_host, r) ||
            !gw__next_word(words))
            return false;
    return true;
}

/* ---- fat-tree, torus ---- */

/* Creates the hosts h0, h1 and so on, in the racks r0, r1 and so on. */
static bool build_fabric(struct reader *r, size_t at)
{
    char name[GW_TOPOLOGY_NAME_MAX];
    const struct gw__fabric *fabric = &r->t->fabric;
    unsigned hosts = gw__fabric_hosts(fabric);
    unsigned each = gw__fabric_rack_hosts(fabric);
    for (unsigned h = 0; h < hosts; h++) {
        snprintf(name, sizeof name, "r%u", h / each);
        if (h % each == 0 && !add_rack(r, name, at))
            return false;
        snprintf(name, sizeof name, "h%u", h);
        if (!add_host(r, name, at))
            return false;
    }
    return true;
}

static bool may_have_fabric(struct reader *r)
{
    return (r->t->rack_count == 0 && r->t->fabric.kind == GW__RACKS) ||
           fail_at_word(
               r,
               "a topology with a fat tree or a torus cannot also have racks");
}

static bool read_fat_tree(struct reader *r)
{
    size_t at = r->words.word;
    return may_have_fabric(r) && gw__fat_tree_read(&r->words, &r->t->fabric) &&
           build_fabric(r, at);
}

static bool read_torus(struct reader *r)
{
    size_t at = r->words.word;
    return may_have_fabric(r) && gw__torus_read(&r->words, &r->t->fabric) &&
           build_fabric(r, at);
}

/* ---- names in a statement ---- */

static bool pick(struct reader *r, uint32_t which, size_t at)
{
    unsigned most = r->t->host_count + r->t->rack_count;
    if (r->picked_count > most)
        return gw__source_fail(&r->words.source, at,
                               "a name occurs more than once in this line");
    if (r->picked_count == r->picked_room) {
        size_t room = r->picked_room ? 2 * r->picked_room : 64;
        struct pick *moved = realloc(r->picked, room * sizeof *moved);
        if (!moved)
            return gw__source_exhausted(&r->words.source);
        r->picked = moved;
        r->picked_room = room;
    }
    r->picked[r->picked_count++] = (struct pick){which, at};
    return true;
}

static bool find_host(struct reader *r, const char *name, size_t at,
                      uint32_t *host)
{
    *host = gw__host_find(r->t, name, strlen(name));
    return *host != UINT32_MAX ||
           gw__source_fail(&r->words.source, at,
                           "host `%s` is not in a rack above", name);
}

static bool pick_host(void *context, const char *name, size_t at)
{
    struct reader *r = context;
    uint32_t host;
    return find_host(r, name, at, &host) && pick(r, host, at);
}

static bool pick_rack(void *context, const char *name, size_t at)
{
    struct reader *r = context;
    uint32_t rack = gw__rack_find(r->t, name, strlen(name));
    if (rack == UINT32_MAX)
        return gw__source_fail(&r->words.source, at,
                               "rack `%s` must be defined above", name);
    return pick(r, rack, at);
}

/* Reads names up to the first setting, then the settings. */
static bool read_picks(struct reader *r, gw__on_name *on_name, unsigned allowed,
                       struct gw__settings *settings)
{
    struct gw__words *words = &r->words;
    r->picked_count = 0;
    while (!gw__at_line_end(words) && !gw__is_setting(words))
        if (!gw__names_read(words, words->word, words->end, on_name, r) ||
            !gw__next_word(words))
            return false;
    return gw__settings_read(words, allowed, settings);
}

/* ---- nic, inner, uplink ---- */

/* Adds settings to a link; each may be given only once. */
static bool merge(struct reader *r, struct gw__link_settings *link,
                  const struct gw__settings *settings, size_t at)
{
    const struct gw__link_settings *new = &settings->link;
    bool rated = link->has_rate || link->under,
         rates = new->has_rate || new->under;
    if ((rated && rates) || (link->has_latency && new->has_latency))
        return gw__source_fail(&r->words.source, at, "the %s is set twice",
                               rated && rates ? "rate" : "latency");
    if (rates) {
        link->has_rate = new->has_rate;
        link->rate = new->rate;
        link->over = new->over;
        link->under = new->under;
    }
    if (new->has_latency) {
        link->has_latency = true;
        link->latency_ns = new->latency_ns;
    }
    return true;
}

static bool read_nic(struct reader *r)
{
    struct gw__settings settings;
    size_t at = r->words.word;
    if (r->t->fabric.kind == GW__GRAPH)
        return fail_at_word(
            r, "the NIC of a server is a node; set its links with `link`");
    bool right = read_picks(r, pick_host, GW__RATE | GW__LATENCY, &settings);
    if (right && r->picked_count == 0)
        return merge(r, &r->t->nic, &settings, at);
    for (unsigned i = 0; right && i < r->picked_count; i++)
        right = merge(r, &r->t->hosts[r->picked[i].which].nic, &settings,
                      r->picked[i].at);
    return right;
}

static bool read_inner(struct reader *r)
{
    struct gw__settings settings;
    size_t at = r->words.word;
    bool right = read_picks(r, pick_host, GW__RATE | GW__LATENCY, &settings);
    if (right && r->picked_count == 0)
        return merge(r, &r->t->inner, &settings, at);
    for (unsigned i = 0; right && i < r->picked_count; i++)
        right = merge(r, &r->t->hosts[r->picked[i].which].inner, &settings,
                      r->picked[i].at);
    return right;
}

static bool read_uplink(struct reader *r)
{
    struct gw__settings settings;
    size_t at = r->words.word;
    if (r->t->fabric.kind != GW__RACKS)
        return fail_at_word(r, "set the links of a fat tree, a torus or "
                               "servers in their own lines");
    bool right = read_picks(
        r, pick_rack, GW__RATE | GW__LATENCY | GW__OVERSUBSCRIPTION, &settings);
    if (right && r->picked_count == 0)
        return merge(r, &r->t->uplink, &settings, at);
    for (unsigned i = 0; right && i < r->picked_count; i++)
        right = merge(r, &r->t->racks[r->picked[i].which].uplink, &settings,
                      r->picked[i].at);
    return right;
}

/* ---- host, order ---- */

static bool read_host(struct reader *r)
{
    struct gw__settings settings;
    struct gw_topology *t = r->t;
    size_t at = r->words.word;
    if (t->listed_count > 0)
        return fail_at_word(
            r, "the number of ranks per host must come before the order");
    if (!read_picks(r, pick_host, GW__RANKS, &settings))
        return false;
    if (r->picked_count == 0)
        return gw__source_fail(&r->words.source, at,
                               "expected the name of a host before ranks=");
    for (unsigned i = 0; i < r->picked_count; i++) {
        struct gw__host *host = &t->hosts[r->picked[i].which];
        t->capacity += settings.ranks - host->ranks;
        host->ranks = settings.ranks;
        if (t->capacity > GW_HOSTS_MAX)
            return gw__source_fail(&r->words.source, r->picked[i].at,
                                   "the hosts can have at most %d ranks",
                                   GW_HOSTS_MAX);
    }
    return true;
}

static bool place_rank(void *context, const char *name, size_t at)
{
    struct reader *r = context;
    struct gw__source *source = &r->words.source;
    uint32_t which;
    if (!find_host(r, name, at, &which))
        return false;
    struct gw__host *host = &r->t->hosts[which];
    if (host->assigned == host->ranks)
        return gw__source_fail(
            source, at, "host `%s` has room for %u rank%s; this is one more",
            name, host->ranks, host->ranks == 1 ? "" : "s");
    host->assigned++;
    return gw__host_list(r->t, which) || gw__source_exhausted(source);
}

static bool read_order(struct reader *r)
{
    struct gw__words *words = &r->words;
    struct gw_topology *t = r->t;
    enum gw_rank_order order = gw__is_word(words, "racks") ? GW_ORDER_RACKS
                               : gw__is_word(words, "interleaved")
                                   ? GW_ORDER_INTERLEAVED
                               : gw__is_word(words, "ring") ? GW_ORDER_RING
                                                            : GW_ORDER_FILE;
    if (gw__at_line_end(words))
        return gw__expected(words, words->word,
                            "racks, interleaved, ring or hosts");
    if (t->default_order != GW_ORDER_FILE ||
        (order != GW_ORDER_FILE && t->listed_count > 0))
        return fail_at_word(r, "the order is set twice");
    if (order != GW_ORDER_FILE) {
        t->default_order = order;
        if (!gw__next_word(words))
            return false;
        return gw__at_line_end(words) ||
               gw__expected(words, words->word, "the end of the line");
    }
    while (!gw__at_line_end(words))
        if (!gw__names_read(words, words->word, words->end, place_rank, r) ||
            !gw__next_word(words))
            return false;
    return true;
}

/* ---- the text ---- */

static bool set_name(void *context, const char *name, size_t at)
{
    struct reader *r = context;
    if (*r->t->name)
        return gw__source_fail(&r->words.source, at,
                               "a topology must have one name");
    memcpy(r->t->name, name, strlen(name) + 1);
    return true;
}

static bool read_topology(struct reader *r)
{
    struct gw__words *words = &r->words;
    if (*r->t->name)
        return fail_at_word(r, "a file can have only one topology");
    if (!gw__names_read(words, words->word, words->end, set_name, r) ||
        !gw__next_word(words))
        return false;
    return gw__at_line_end(words) ||
           gw__expected(words, words->word, "the end of the line");
}

static const struct statement {
    const char *name;
    bool (*read)(struct reader *);
} statements[] = {
    {"topology", read_topology}, {"nic", read_nic},
    {"inner", read_inner},       {"uplink", read_uplink},
    {"rack", read_rack},         {"host", read_host},
    {"order", read_order},       {"fat-tree", read_fat_tree},
    {"torus", read_torus},
};

static bool read_statement(struct reader *r)
{
    struct gw__words *words = &r->words;
    if (*r->t->name && gw__graph_statement(words))
        return gw__graph_read(words, r->t);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (gw__is_word(words, statements[i].name)) {
            if (i > 0 && !*r->t->name)
                break;
            return gw__next_word(words) && statements[i].read(r);
        }
    return gw__expected(words, words->word,
                        *r->t->name
                            ? "nic, inner, uplink, rack, fat-tree, torus, "
                              "server, switch, link, host or order"
                            : "`topology NAME`");
}

static bool read_lines(struct reader *r)
{
    struct gw__words *words = &r->words;
    bool right = gw__next_word(words);
    while (right &&
           (!gw__at_line_end(words) || words->end < words->source.bytes))
        right =
            gw__at_line_end(words) ? gw__next_line(words) : read_statement(r);
    if (right && !*r->t->name)
        return gw__source_fail(&words->source, words->word,
                               "expected `topology NAME`, found the end of the "
                               "text");
    if (right && r->t->rack_count == 0)
        return gw__source_fail(&words->source, words->word,
                               "a topology must have at least one rack");
    return right;
}

enum gw_err gw_topology_parse(const char *text, size_t bytes, const char *name,
                              struct gw_topology **topology,
                              struct gw_error *why)
{
    struct gw_error own;
    *topology = NULL;
    why = why ? why : &own;
    if (bytes > GW__TOPOLOGY_BYTES_MAX)
        return gw_fail(why, GW_EDATA,
                       "%.200s:1:1: the text has more than %d bytes", name,
                       GW__TOPOLOGY_BYTES_MAX);
    struct reader r = {
        .words = {.source = {.name = name, .text = text, .bytes = bytes},
                  .kind = "topology"},
        .t = calloc(1, sizeof *r.t),
    };
    enum gw_err err = GW_OK;
    if (!r.t)
        err = gw_fail(why, GW_ENOMEM, "a topology");
    else if (!read_lines(&r))
        err = gw_fail(why, r.words.source.error.code, "%s",
                      r.words.source.error.text);
    else
        err = gw__topology_finish(r.t, why);
    free(r.picked);
    if (err)
        gw_topology_destroy(&r.t);
    *topology = r.t;
    return err;
}
