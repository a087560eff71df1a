/* SPDX-License-Identifier: MIT
 *
 * Sets of nodes as text and as bytes; see nodes.h.
 */
#include "nodes.h"

#include <stdio.h>

bool gw_nodes_has(const struct gw_nodes *nodes, unsigned node)
{
    return node < GW__NODES_MAX && gw__nodes_has(nodes, node);
}

unsigned gw_nodes_count(const struct gw_nodes *nodes)
{
    return gw__nodes_count(*nodes);
}

struct gw_nodes gw__nodes_first(unsigned count)
{
    struct gw_nodes set = {{0}};
    for (unsigned w = 0; w < GW__NODE_WORDS && 64 * w < count; w++)
        set.words[w] = count - 64 * w >= 64
                           ? UINT64_MAX
                           : ((uint64_t)1 << (count - 64 * w)) - 1;
    return set;
}

/* The end of the run that begins with the node `first`. */
static unsigned run_end(const struct gw_nodes *set, unsigned first)
{
    unsigned end = first + 1;
    while (end < GW__NODES_MAX && gw__nodes_has(set, end))
        end++;
    return end;
}

void gw__nodes_text(const struct gw_nodes *set, char *out, size_t room)
{
    size_t used = 0;
    unsigned first = gw__nodes_next(set, 0);
    out[0] = 0;
    while (first < GW__NODES_MAX && used + 16 < room) {
        unsigned end = run_end(set, first);
        if (end == first + 2) /* two are a list, more a range */
            end--;
        used += (size_t)(end - first == 1
                             ? snprintf(out + used, room - used, "%s%u",
                                        used ? ", " : "", first)
                             : snprintf(out + used, room - used, "%s%u-%u",
                                        used ? ", " : "", first, end - 1));
        first = gw__nodes_next(set, end);
    }
}

/* ---- as bytes ---- */

static void put_run(struct gw__writer *w, unsigned first, unsigned length)
{
    gw__put_u16(w, first);
    gw__put_u16(w, length);
}

/* A run of at least one node; bad and empty if it leaves the range. */
static unsigned get_run(struct gw__reader *r, unsigned *first)
{
    *first = gw__get_u16_below(r, GW__NODES_MAX);
    unsigned length = gw__get_u16_below(r, GW__NODES_MAX + 1 - *first);
    gw__reader_demand(r, length > 0);
    return r->bad ? 0 : length;
}

void gw__put_nodes(struct gw__writer *w, const struct gw_nodes *set)
{
    unsigned runs = 0;
    for (unsigned n = gw__nodes_next(set, 0); n < GW__NODES_MAX; runs++)
        n = gw__nodes_next(set, run_end(set, n));
    gw__put_u16(w, runs);
    for (unsigned n = gw__nodes_next(set, 0); n < GW__NODES_MAX;
         n = gw__nodes_next(set, run_end(set, n)))
        put_run(w, n, run_end(set, n) - n);
}

struct gw_nodes gw__get_nodes(struct gw__reader *r)
{
    struct gw_nodes set = {{0}};
    unsigned runs = gw__get_u16_below(r, GW__NODES_MAX / 2 + 1), next = 0;
    for (unsigned i = 0; i < runs && !r->bad; i++) {
        unsigned first, length = get_run(r, &first);
        gw__reader_demand(r, first >= next);
        for (unsigned k = 0; k < length; k++)
            gw__nodes_add(&set, first + k);
        next = first + length + 1;
    }
    return r->bad ? (struct gw_nodes){{0}} : set;
}

void gw__put_node(struct gw__writer *w, unsigned node)
{
    gw__put_u16(w, node);
}

unsigned gw__get_node(struct gw__reader *r)
{
    return gw__get_u16_below(r, GW__NODES_MAX);
}

static unsigned ascending(const uint16_t *list, unsigned count)
{
    unsigned length = 1;
    while (length < count && list[length] == list[0] + length)
        length++;
    return length;
}

void gw__put_node_list(struct gw__writer *w, const uint16_t *list,
                       unsigned count)
{
    unsigned runs = 0;
    for (unsigned i = 0; i < count; i += ascending(list + i, count - i))
        runs++;
    gw__put_u16(w, runs);
    for (unsigned i = 0; i < count; i += ascending(list + i, count - i))
        put_run(w, list[i], ascending(list + i, count - i));
}

unsigned gw__get_node_list(struct gw__reader *r, uint16_t list[GW__NODES_MAX])
{
    struct gw_nodes seen = {{0}};
    unsigned runs = gw__get_u16_below(r, GW__NODES_MAX + 1), count = 0;
    for (unsigned i = 0; i < runs && !r->bad; i++) {
        unsigned first, length = get_run(r, &first);
        for (unsigned k = 0; k < length && !r->bad; k++) {
            gw__reader_demand(r, !gw__nodes_has(&seen, first + k));
            gw__nodes_add(&seen, first + k);
            if (!r->bad)
                list[count++] = (uint16_t)(first + k);
        }
    }
    return r->bad ? 0 : count;
}
