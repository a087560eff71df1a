/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of a ring's members. A returning member is inserted at its place in
 * this order, between two steps. So a ring over two racks does not cross them
 * more often after deaths and returns than before:
 *
 *   numbers   by node (from the beginning)
 *   racks     rack by rack of the topology, and by node within a rack
 *   list      as given, then by node
 *
 * All members are given the list; the one that admits applies it
 * (gw_ring_order).
 */
#include "supervisor_verbs.h"

#include <string.h>

static const char *const names[] = {[ORDER_NUMBERS] = "numbers",
                                    [ORDER_RACKS] = "racks",
                                    [ORDER_LIST] = "list"};

/* ---- the intended order ---- */

static bool is_named(const struct gw__order *order, unsigned node)
{
    for (unsigned i = 0; i < order->count; i++)
        if (order->nodes[i] == node)
            return true;
    return false;
}

static void name_rack(const struct run *run, unsigned first,
                      struct gw__order *out)
{
    for (unsigned n = first; n < RUN_RANKS_MAX; n++)
        if (!is_named(out, n) && run->rack_of[n] == run->rack_of[first])
            out->nodes[out->count++] = (uint16_t)n;
}

void ring_wanted(const struct run *run, struct gw__order *out)
{
    *out = (struct gw__order){0};
    if (run->order.by == ORDER_LIST)
        *out = run->order.list;
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        if (is_named(out, n))
            continue;
        else if (run->order.by == ORDER_RACKS)
            name_rack(run, n, out);
        else
            out->nodes[out->count++] = (uint16_t)n;
}

/* ---- racks ---- */

void ring_racks(struct run *run, const struct gw_topology *topology)
{
    unsigned ranks = gw_topology_ranks(topology);
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        unsigned first = n < ranks ? 0 : n;
        while (first < n && strcmp(gw_topology_rack(topology, first),
                                   gw_topology_rack(topology, n)) != 0)
            first++;
        run->rack_of[n] = (uint16_t)first;
    }
}

/* The number of steps of the ring between racks; -1: no topology. */
static int crossings(const struct run *run)
{
    const struct gw__view *view = &run->update.view;
    int count = 0;
    if (!*run->topology)
        return -1;
    for (unsigned i = 0; i < view->ring_count; i++) {
        unsigned next = view->ring[(i + 1) % view->ring_count].node;
        count += run->rack_of[view->ring[i].node] != run->rack_of[next];
    }
    return count;
}

void ring_status(const struct run *run, json_t *status)
{
    int count = crossings(run);
    json_object_set_new(status, "order", json_string(names[run->order.by]));
    json_object_set_new(status, "crossings",
                        count < 0 ? json_null() : json_integer(count));
}

/* ---- the verb ---- */

bool ring_is_ordered(const struct run *run)
{
    struct gw__order wanted;
    ring_wanted(run, &wanted);
    return gw__view_in_order(&run->update.view, &wanted);
}

void ring_answer_order(struct run *run, const struct requester *requester)
{
    char text[SENTENCE_MAX], racks[64] = "";
    json_t *data = json_pack("{}");
    int count = crossings(run);
    ring_status(run, data);
    if (count >= 0)
        snprintf(racks, sizeof racks, ", with %d rack crossing%s", count,
                 count == 1 ? "" : "s");
    serve_answer(run, requester, GW_OK, data, "order by %s%s: %s%s",
                 names[run->order.by], ring_is_ordered(run) ? "" : " (not yet)",
                 ring_text(run, text), racks);
}

static bool read_list(const json_t *json, struct gw__order *list,
                      struct gw_error *why)
{
    size_t i;
    const json_t *item;
    *list = (struct gw__order){0};
    json_array_foreach(json, i, item)
    {
        json_int_t node = json_integer_value(item);
        if (!json_is_integer(item) || node < 0 || node >= RUN_RANKS_MAX ||
            is_named(list, (unsigned)node)) {
            gw_fail(why, GW_EINVAL,
                    "order: node %lld is listed twice or is not from 0 to %d",
                    (long long)node, RUN_RANKS_MAX - 1);
            return false;
        }
        list->nodes[list->count++] = (uint16_t)node;
    }
    return true;
}

static bool read_order(const struct run *run, const json_t *json,
                       struct ring_order *order, struct gw_error *why)
{
    const json_t *list = json_object_get(json, "list");
    const char *by = json_string_value(json_object_get(json, "by"));
    *order = run->order;
    if (list) {
        order->by = ORDER_LIST;
        return read_list(list, &order->list, why);
    }
    for (unsigned i = 0; by && i < sizeof names / sizeof *names; i++)
        if (strcmp(by, names[i]) == 0)
            order->by = (enum ring_order_by)i;
    if (by && strcmp(by, names[order->by]) != 0) {
        gw_fail(why, GW_EINVAL,
                "order must be numbers, racks or a list of nodes, not "
                "\"%.40s\"",
                by);
        return false;
    }
    if (order->by != ORDER_RACKS || *run->topology)
        return true;
    gw_fail(
        why, GW_EINVAL,
        "order: the run has no racks; give it a topology first (topo FILE)");
    return false;
}

void verb_order(const struct request *request)
{
    struct run *run = request->run;
    struct gw_error why;
    struct ring_order order;
    if (has_servers(run)) {
        refuse(
            request, GW_ENOTSUP,
            "order: this run has parameter servers; only a ring has an order");
        return;
    }
    if (!read_order(run, request->json, &order, &why)) {
        refuse(request, why.code, "%s", why.text);
        return;
    }
    run->order = order;
    children_send_desired(run);
    later_order(request);
}

/* ---- add --rank ---- */

static unsigned find_position(const struct gw__order *order, unsigned node)
{
    unsigned at = 0;
    while (at < order->count && order->nodes[at] != node)
        at++;
    return at;
}

/* Before the member that has this rank, or after the last one. All other
 * members keep their places, absent ones as well. */
void ring_insert(struct run *run, unsigned rank, unsigned node)
{
    struct gw__view now = run->update.view;
    struct gw__order *list = &run->order.list;
    uint16_t *nodes = list->nodes;
    struct gw__order wanted;
    ring_wanted(run, &wanted);
    gw__view_reorder(&now, &wanted);
    *list = wanted;
    run->order.by = ORDER_LIST;
    unsigned from = find_position(list, node);
    memmove(nodes + from, nodes + from + 1,
            (--list->count - from) * sizeof *nodes);
    unsigned at =
        rank < now.ring_count ? find_position(list, now.ring[rank].node)
        : now.ring_count
            ? find_position(list, now.ring[now.ring_count - 1].node) + 1
            : list->count;
    memmove(nodes + at + 1, nodes + at, (list->count++ - at) * sizeof *nodes);
    nodes[at] = (uint16_t)node;
}
