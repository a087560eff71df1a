/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See chaos_schedule.h. Nodes have the names of `ringctl sim`: 2 or w2, s0, c1;
 * a star means all that exist at the beginning. Each process that a fault hits
 * is one action, and so is each link that it changes. The effects add to the
 * links' earlier profiles.
 */
#include "chaos_schedule.h"

#include "chaos_faults.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/sim/sim.h"
#include "run/node/child_channel.h"

#include <base/link_profile.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct schedule {
    struct gw__faults faults;
    struct fault_edges edges;
    bool servers;
    /* Processes at the beginning, by the schedule's numbers. */
    struct gw_nodes there;
    struct gw_link_profile before[GW__NODES_MAX][GW__NODES_MAX];
    chaos_blow *blow;
    void *context;
};

/* ---- names ---- */

static json_t *role_of(const struct schedule *s, unsigned node)
{
    if (node >= CHAOS_CONTROLLER_0)
        return json_pack("{sssi}", "role", "controller", "node",
                         (int)(node - CHAOS_CONTROLLER_0));
    bool server = s->servers && node >= CHAOS_SERVER;
    return json_pack("{sssi}", "role", server ? "server" : "worker", "node",
                     (int)(server ? node - CHAOS_SERVER : node));
}

static const char *name_of(const struct schedule *s, unsigned node,
                           char out[16])
{
    bool controller = node >= CHAOS_CONTROLLER_0;
    bool server = !controller && s->servers && node >= CHAOS_SERVER;
    unsigned first = controller ? CHAOS_CONTROLLER_0
                     : server   ? CHAOS_SERVER
                                : 0;
    snprintf(out, 16, "%s%u",
             controller ? "c"
             : server   ? "s"
                        : "",
             node - first);
    return out;
}

static unsigned node_number(const json_t *node)
{
    unsigned number =
        (unsigned)json_integer_value(json_object_get(node, "node"));
    const char *role = text_of(node, "role", "");
    return number + (strcmp(role, "server") == 0       ? CHAOS_SERVER
                     : strcmp(role, "controller") == 0 ? CHAOS_CONTROLLER_0
                                                       : 0);
}

/* The library's numbers, as in the status of links. */
static unsigned from_library(unsigned node)
{
    return node > OBSERVER_NODE ? CHAOS_CONTROLLER_0 + CONTROLLER_NODE - node
                                : node;
}

static void read_link(struct schedule *s, const json_t *profile)
{
    unsigned from = from_library((unsigned)integer_of(profile, "from", 0));
    unsigned to = from_library((unsigned)integer_of(profile, "to", 0));
    if (from >= GW__NODES_MAX || to >= GW__NODES_MAX)
        return;
    s->before[from][to] = (struct gw_link_profile){
        .delay_us = (uint32_t)integer_of(profile, "delay_us", 0),
        .jitter_us = (uint32_t)integer_of(profile, "jitter_us", 0),
        .loss_ppm = (uint32_t)integer_of(profile, "loss_ppm", 0),
        .down = json_is_true(json_object_get(profile, "down"))};
}

static enum gw_err find_processes(struct schedule *s, struct gw_error *why)
{
    size_t i;
    json_t *status, *item;
    enum gw_err code = request_status(&status, why);
    if (code)
        return code;
    s->servers = integer_of(status, "servers", 0) > 0;
    json_array_foreach(json_object_get(status, "nodes"), i, item)
    {
        unsigned node = node_number(item);
        if (node < GW__NODES_MAX &&
            strcmp(text_of(item, "state", ""), "dead") != 0)
            gw__nodes_add(&s->there, node);
    }
    json_array_foreach(json_object_get(status, "links"), i, item)
    {
        read_link(s, item);
    }
    json_decref(status);
    return GW_OK;
}

/* ---- actions ---- */

static enum gw_err strike_node(const struct schedule *s, enum chaos_kind kind,
                               const char *verb, unsigned node,
                               const struct gw__fault *f, struct gw_error *why)
{
    enum { MILLION = 1000000 };
    char name[16];
    json_t *request = role_of(s, node);
    json_object_set_new(request, "verb", json_string(verb));
    /* The next fault does not wait for the members' reaction. */
    json_object_set_new(request, "timeout_ns", json_integer(1));
    if (f->kind == GW__CLOCK)
        json_object_set_new(
            request, "rate",
            json_real(kind == CHAOS_DRIFT ? 1 + (double)f->ppm / MILLION : 1));
    return s->blow(s->context, kind, name_of(s, node, name), request, why);
}

static enum gw_err strike_nodes(const struct schedule *s,
                                const struct fault_edge *edge,
                                struct gw_error *why)
{
    static const struct {
        enum chaos_kind begins, ends;
        const char *begin, *end;
    } verbs[GW__FAULT_KINDS] = {
        [GW__CRASH] = {CHAOS_KILL, CHAOS_RESTART, "kill", "restart"},
        [GW__RESTART] = {CHAOS_RESTART, CHAOS_RESTART, "restart", "restart"},
        [GW__PAUSE] = {CHAOS_PAUSE, CHAOS_RESUME, "pause", "resume"},
        [GW__RESUME] = {CHAOS_RESUME, CHAOS_RESUME, "resume", "resume"},
        [GW__CLOCK] = {CHAOS_DRIFT, CHAOS_RIGHT, "drift", "drift"},
    };
    const struct gw__fault *f = edge->fault;
    bool all = gw__nodes_equal(f->nodes, GW__ALL_NODES);
    const struct gw_nodes *nodes = all ? &s->there : &f->nodes;
    enum gw_err code = GW_OK;
    for (unsigned n = gw__nodes_next(nodes, 0); n < GW__NODES_MAX && !code;
         n = gw__nodes_next(nodes, n + 1))
        code = strike_node(
            s, edge->ends ? verbs[f->kind].ends : verbs[f->kind].begins,
            edge->ends ? verbs[f->kind].end : verbs[f->kind].begin, n, f, why);
    return code;
}

static enum gw_err set_link(const struct schedule *s, unsigned from,
                            unsigned to, const struct gw_link_profile *link,
                            struct gw_error *why)
{
    enum { MILLION = 1000000 };
    char name[40], a[16], b[16];
    const struct gw_link_profile *before = &s->before[from][to];
    uint32_t loss = before->loss_ppm + link->loss_ppm;
    json_t *request =
        json_pack("{sssososIsIsIsb}", "verb", "link", "from", role_of(s, from),
                  "to", role_of(s, to), "delay_us",
                  (json_int_t)before->delay_us + link->delay_us, "jitter_us",
                  (json_int_t)before->jitter_us + link->jitter_us, "loss_ppm",
                  (json_int_t)(loss < MILLION ? loss : MILLION), "down",
                  (int)(before->down || link->down));
    snprintf(name, sizeof name, "%s>%s", name_of(s, from, a),
             name_of(s, to, b));
    return s->blow(s->context,
                   link->down ? CHAOS_CUT
                   : link->delay_us || link->jitter_us || link->loss_ppm
                       ? CHAOS_SLOW_LINK
                       : CHAOS_CLEAR_LINK,
                   name, request, why);
}

/* All links that the edge with this index changes. */
static enum gw_err strike_links(const struct schedule *s, size_t index,
                                struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned from = gw__nodes_next(&s->there, 0); from < GW__NODES_MAX;
         from = gw__nodes_next(&s->there, from + 1))
        for (unsigned to = gw__nodes_next(&s->there, 0);
             to < GW__NODES_MAX && !code;
             to = gw__nodes_next(&s->there, to + 1)) {
            struct gw_link_profile was = fault_link(&s->edges, index, from, to);
            struct gw_link_profile is =
                fault_link(&s->edges, index + 1, from, to);
            if (!gw__link_profile_equal(&was, &is))
                code = set_link(s, from, to, &is, why);
        }
    return code;
}

/* No wire of a run delivers twice, which a row reports. */
static enum gw_err strike_dup(const struct schedule *s, struct gw_error *why)
{
    return s->blow(s->context, CHAOS_KINDS, "*", NULL, why);
}

static enum gw_err strike(const struct schedule *s, size_t index,
                          struct gw_error *why)
{
    const struct fault_edge *edge = &s->edges.edges[index];
    if (edge->fault->kind == GW__DUP)
        return edge->ends ? GW_OK : strike_dup(s, why);
    if (fault_is_of_links(edge->fault) || edge->fault->kind == GW__HEAL)
        return strike_links(s, index, why);
    return strike_nodes(s, edge, why);
}

/* ---- the schedule ---- */

static enum gw_err read_schedule(struct schedule *s, const char *word,
                                 struct gw_error *why)
{
    const struct simcluster_group groups[SIMCLUSTER_GROUPS] = {
        {'w', 0, s->servers ? CHAOS_SERVER : CHAOS_CONTROLLER_0},
        {'s', CHAOS_SERVER, s->servers ? CHAOS_CONTROLLER_0 - CHAOS_SERVER : 0},
        {'c', CHAOS_CONTROLLER_0, CHAOS_CONTROLLERS}};
    struct sim_faults input;
    enum gw_err code = sim_faults_read("--faults", word, groups, &input, why);
    if (!code)
        code = sim_faults_timed(&input, why);
    if (!code)
        code = gw__faults_parse(input.text, input.bytes, input.name,
                                GW__NODES_MAX, &s->faults, why);
    sim_faults_fini(&input);
    if (!code)
        fault_edges(&s->faults, &s->edges);
    return code;
}

bool chaos_sleep(uint64_t until_ns)
{
    for (uint64_t now; !interrupted && (now = gw_now_ns()) < until_ns;) {
        uint64_t ms = (until_ns - now) / 1000000 + 1;
        poll(NULL, 0, ms < 1000 ? (int)ms : 1000);
    }
    return !interrupted;
}

static enum gw_err play_schedule(const struct schedule *s, struct gw_error *why)
{
    uint64_t begin_ns = gw_now_ns();
    for (size_t i = 0; i < s->edges.count; i++) {
        if (!chaos_sleep(begin_ns + s->edges.edges[i].at_ns))
            return GW_OK;
        enum gw_err code = strike(s, i, why);
        if (code)
            return code;
    }
    return GW_OK;
}

enum gw_err chaos_schedule_run(const char *word, chaos_blow *blow,
                               void *context, struct gw_error *why)
{
    struct schedule *s = calloc(1, sizeof *s);
    if (!s)
        return gw_fail(why, GW_ENOMEM, "a fault schedule");
    s->blow = blow;
    s->context = context;
    enum gw_err code = find_processes(s, why);
    if (!code)
        code = read_schedule(s, word, why);
    if (!code)
        code = play_schedule(s, why);
    free(s);
    return code;
}
